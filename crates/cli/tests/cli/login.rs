//! A role that may log in to a scratch database and has no privilege there; dropped when the value goes.

use crate::scratch::Scratch;

pub(crate) struct Login<'a> {
    scratch: &'a Scratch,
    name: String,
    url: String,
}

impl<'a> Login<'a> {
    pub(crate) fn new(scratch: &'a Scratch, what: &str) -> Self {
        let (_, address) = scratch.url().split_once('@').expect("the URL names a user");
        // roles belong to the whole server: the database's name sets this one apart
        let name = format!("{}_{what}", database(scratch));
        scratch.execute(&format!("create role {name} login password 'secret'"));
        Self { scratch, url: format!("postgres://{name}:secret@{address}"), name }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The database's URL for this role.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        self.scratch.execute(&format!("drop owned by {0}; drop role {0}", self.name));
    }
}

/// The name of the database.
pub(crate) fn database(scratch: &Scratch) -> &str {
    let (_, path) = scratch.url().rsplit_once('/').expect("the URL names a database");
    path.split('?').next().unwrap_or_default()
}
