//! Who asked: facts and a claim, kept apart.

use serde::{Deserialize, Serialize};

/// Who asked for a run. The database adds its session user by a trigger, so that nobody can write another's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Actor {
    /// User of the operating system: a fact of the calling machine.
    pub os_user: Option<String>,
    /// The person for whom it is done, as claimed by the caller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_behalf_of: Option<String>,
}
