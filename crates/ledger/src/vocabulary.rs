//! The closed sets of words in the ledger's columns, as types.

use std::fmt;
use std::str::FromStr;

/// A column holds a word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger holds {word:?} as a {what}, a word that this version does not know")]
pub struct UnknownWord {
    what: &'static str,
    word: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The word as it stands in the ledger.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { what: $what, word: word.to_owned() }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = UnknownWord;
            fn try_from(word: String) -> Result<Self, UnknownWord> {
                word.parse()
            }
        }
    };
}

words! {
    /// What made a run start.
    Trigger, "trigger" {
        /// The partition had become due.
        Schedule = "schedule",
        /// A published partition was due to be looked at again.
        Revisit = "revisit",
        /// A person named the partition.
        Manual = "manual",
        /// An item of a backfill.
        Backfill = "backfill",
        /// The whole table was asked for anew.
        FullRefresh = "full_refresh",
        /// An earlier run had failed for a passing reason.
        Retry = "retry",
        /// An older state was put back.
        Rollback = "rollback",
        /// Existing rows were taken over as published.
        Adopt = "adopt",
        /// A proof of re-runnability.
        Prove = "prove",
        /// The demonstration.
        Demo = "demo",
    }
}

words! {
    /// What a receipt says about the rows.
    ReceiptKind, "receipt kind" {
        /// The run's rows are the partition now.
        Publish = "publish",
        /// The run's rows were equal to the published ones; nothing was written.
        Unchanged = "unchanged",
        /// An older state was put back.
        Rollback = "rollback",
        /// Rows that were there before are accounted for now.
        Adopt = "adopt",
    }
}

words! {
    /// Where a run keeps its result before it is published.
    StageMode, "stage mode" {
        /// In a table that outlives the process.
        Durable = "durable",
        /// Inside the publish transaction.
        Inline = "inline",
    }
}

words! {
    /// When a check ran.
    CheckPhase, "check phase" {
        /// In the snapshot of the sources.
        Source = "source",
        /// On the staged rows.
        Staged = "staged",
        /// Against what is published.
        Guard = "guard",
    }
}

words! {
    /// What a failing check does.
    CheckSeverity, "severity" {
        /// It stops the publish.
        Error = "error",
        /// It is recorded.
        Warn = "warn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for word in ["schedule", "full_refresh", "demo"] {
            assert_eq!(word.parse::<Trigger>().unwrap().as_str(), word);
        }
        let unknown = "sideways".parse::<ReceiptKind>().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "the ledger holds \"sideways\" as a receipt kind, a word that this version does not know"
        );
    }
}
