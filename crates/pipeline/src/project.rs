//! `thrice.toml`: what all pipelines of a project share.

use thrice_core::code::ErrorCode;
use thrice_core::duration::HumanDuration;
use thrice_core::text::did_you_mean;
use thrice_core::time::Zone;
use toml::de::DeValue;

use crate::diagnostic::{Checked, Diagnostics};
use crate::keys::{self, File};
use crate::toml_reader::{self, Field, Reader};

/// A worker that stopped answering for so long is taken for dead, where its connection does not tell.
pub const DEFAULT_LEASE_TTL: HumanDuration = HumanDuration::from_seconds(60);

/// Where the project says that its database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// A URL in the environment variable of this name.
    UrlEnv(String),
    /// The private PostgreSQL of the project folder.
    Local,
    /// Nothing is said; flags and environment decide.
    None,
}

/// The checked content of `thrice.toml`.
///
/// ```
/// use thrice_pipeline::project::{Database, Project};
///
/// let file = b"[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"\n[database]\nmode = \"local\"\n";
/// let project = Project::read("thrice.toml", file)?.value;
/// assert_eq!(project.database, Database::Local);
/// # Ok::<(), thrice_pipeline::Diagnostics>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Name for people.
    pub name: String,
    /// Zone of pipelines that name none. thrice has no default.
    pub time_zone: Option<Zone>,
    /// Where the database is.
    pub database: Database,
    /// How long a silent worker keeps its partitions.
    pub lease_ttl: HumanDuration,
}

impl Project {
    /// Reads the file.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Checked<Self>, Diagnostics> {
        let (text, table) = toml_reader::parse(file, bytes, "[project] name = \"…\"")?;
        let mut found = Diagnostics::new();
        let mut root = Reader::root(File::Project, file, text, &table, &mut found);
        let shared = project_table(&mut root);
        let database = database_table(&mut root);
        let lease_ttl = lease_table(&mut root);
        root.all_not_built();
        newer_tables(&mut root);
        root.finish();
        let project = shared.map(|(name, time_zone)| Self { name, time_zone, database, lease_ttl });
        found.or(project)
    }
}

fn project_table(root: &mut Reader<'_, '_>) -> Option<(String, Option<Zone>)> {
    let Some(field) = root.take("project") else {
        root.missing("project", "[project]\nname = \"shop\"\ntime_zone = \"Asia/Seoul\"");
        return None;
    };
    let mut table = root.inside(&field)?;
    let time_zone = zone(&mut table);
    let name = match table.string("name") {
        Some((name, field)) if name.trim().is_empty() || name.len() > 100 || name.contains(char::is_control) => {
            table.bad_value(&field, "`project.name` must be 1 to 100 printable bytes", "name = \"shop\"");
            None
        }
        Some((name, _)) => Some(name.to_owned()),
        None => {
            if !table.has("name") {
                table.missing("name", "name = \"shop\"");
            }
            None
        }
    };
    table.finish();
    Some((name?, time_zone))
}

/// The key `time_zone` of a table.
pub(crate) fn zone(table: &mut Reader<'_, '_>) -> Option<Zone> {
    let (name, field) = table.string("time_zone")?;
    match Zone::named(name) {
        Ok(zone) => Some(zone),
        Err(unknown) => {
            let why = if name.contains('/') && !name.starts_with("Etc/") {
                "the time-zone database has no place of this name; letters count as written"
            } else {
                "an abbreviation or an offset does not say when the clocks of a place change"
            };
            let diagnostic = table
                .error(ErrorCode::UnknownZone, format!("{name:?} is not an IANA time zone"))
                .at(field.span)
                .why(why);
            let diagnostic = match unknown.nearest {
                Some(nearest) => {
                    diagnostic.label(format!("did you mean {nearest}?")).fix(format!("time_zone = \"{nearest}\""))
                }
                None => diagnostic.fix("name a place: time_zone = \"Asia/Seoul\", \"America/New_York\", or \"UTC\""),
            };
            table.report(diagnostic);
            None
        }
    }
}

fn database_table(root: &mut Reader<'_, '_>) -> Database {
    let Some(field) = root.take("database") else { return Database::None };
    let Some(mut table) = root.inside(&field) else { return Database::None };
    let url_env = table.string("url_env");
    let mode = table.string("mode");
    table.finish();
    if let (Some(_), Some((_, field))) = (&url_env, &mode) {
        let message = "`database.url_env` and `database.mode` exclude each other";
        root.bad_value(field, message, "keep `url_env` for a server of yours, `mode = \"local\"` for the private one");
    }
    match (url_env, mode) {
        (Some((name, field)), _) => {
            if !is_variable(name) {
                let message = "`database.url_env` is the name of an environment variable, not a URL";
                root.bad_value(&field, message, "url_env = \"DATABASE_URL\"");
            }
            Database::UrlEnv(name.to_owned())
        }
        (None, Some(("local", _))) => Database::Local,
        (None, Some((other, field))) => {
            root.bad_value(&field, format!("{other:?} is no database mode"), "mode = \"local\"");
            Database::None
        }
        (None, None) => Database::None,
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn lease_table(root: &mut Reader<'_, '_>) -> HumanDuration {
    let Some(field) = root.take("lease") else { return DEFAULT_LEASE_TTL };
    let Some(mut table) = root.inside(&field) else { return DEFAULT_LEASE_TTL };
    let ttl = table.duration("ttl");
    let ttl = match ttl {
        Some((ttl, field)) if ttl.is_zero() => {
            table.bad_value(&field, "`lease.ttl` must be longer than 0", "ttl = \"60s\"");
            DEFAULT_LEASE_TTL
        }
        Some((ttl, _)) => ttl,
        None => DEFAULT_LEASE_TTL,
    };
    table.finish();
    ttl
}

/// A whole table that this version has never heard of was most likely written for a later one.
fn newer_tables(root: &mut Reader<'_, '_>) {
    let tables: Vec<&str> = keys::of_table(File::Project, "").map(|key| key.name).collect();
    for (name, Field { key_span, value, .. }) in root.all() {
        let is_table = matches!(value, DeValue::Table(_));
        if tables.contains(&name.as_str()) || !is_table || did_you_mean(&name, tables.iter().copied()).is_some() {
            continue;
        }
        let version = env!("CARGO_PKG_VERSION");
        let diagnostic = root
            .error(ErrorCode::NewerFile, format!("thrice {version} knows no table [{name}]"))
            .at(key_span)
            .label("unknown table")
            .why("the file may have been written for a newer thrice, which would do something with it")
            .fix(format!("take the table out, or use a thrice newer than {version}"));
        root.report(diagnostic);
        root.pass_over(name);
    }
}
