//! Why a run failed, as the ledger's column `failure_class` spells it.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word in the ledger and in `--json`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::failure_class::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
                    .ok_or_else(|| $crate::failure_class::UnknownWord { word: text.to_owned(), of: stringify!($name) })
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Why a run ended without a receipt.
    FailureClass {
        /// May succeed when tried again.
        Transient = "transient",
        /// Will fail the same way again.
        Permanent = "permanent",
        /// A check of severity error failed.
        Check = "check",
        /// A guard protects what is published.
        Guard = "guard",
        /// A statement took longer than allowed.
        Timeout = "timeout",
        /// Stopped by a person or a signal.
        Cancelled = "cancelled",
        /// Another worker has taken the partition over.
        Fenced = "fenced",
        /// Its worker is gone; behind the barrier no receipt was found.
        Abandoned = "abandoned",
    }
}

impl FailureClass {
    /// True for the classes that are tried again by themselves.
    pub const fn is_retried(self) -> bool {
        matches!(self, Self::Transient | Self::Abandoned)
    }
}

/// A word that the ledger holds and this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a {of}")]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The type it was read as.
    pub of: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_only_two_classes_are_retried() {
        for class in FailureClass::ALL {
            assert_eq!(class.as_str().parse(), Ok(*class));
        }
        assert!("lost".parse::<FailureClass>().is_err());
        let retried: Vec<_> = FailureClass::ALL.iter().filter(|class| class.is_retried()).collect();
        assert_eq!(retried, [&FailureClass::Transient, &FailureClass::Abandoned]);
    }
}
