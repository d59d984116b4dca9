//! Schemas that are nobody's to publish into: those of the server and those of thrice itself.

use crate::identifier::Identifier;

/// Whose a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedSchema {
    /// The ledger, the staging tables and the kept rows of thrice.
    Thrice,
    /// The catalog, temporary and TOAST tables of `PostgreSQL`; it reserves every name that begins with `pg_`.
    Server,
}

impl ReservedSchema {
    /// Whose this schema is; `None`: the user's.
    pub fn of(schema: &Identifier) -> Option<Self> {
        match schema.as_str() {
            "thrice" | "thrice_staging" | "thrice_history" => Some(Self::Thrice),
            "information_schema" => Some(Self::Server),
            name if name.starts_with("pg_") => Some(Self::Server),
            _ => None,
        }
    }

    /// Why nothing is published there.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Thrice => {
                "thrice keeps its runs, receipts and staged rows there: replacing some would falsify the ledger"
            }
            Self::Server => "PostgreSQL keeps its own tables there",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_the_server_and_of_thrice_are_told_from_the_users() {
        let of = |text: &str| ReservedSchema::of(&Identifier::parse(text).unwrap());
        for ours in ["thrice", "THRICE", "\"thrice\"", "thrice_staging", "Thrice_History"] {
            assert_eq!(of(ours), Some(ReservedSchema::Thrice), "{ours}");
        }
        for servers in ["pg_catalog", "pg_temp", "pg_temp_3", "PG_TOAST", "information_schema"] {
            assert_eq!(of(servers), Some(ReservedSchema::Server), "{servers}");
        }
        for users in ["mart", "public", "\"Thrice\"", "thrice_mart", "pgx", "\"PG_mart\"", "my_pg_catalog"] {
            assert_eq!(of(users), None, "{users}");
        }
    }
}
