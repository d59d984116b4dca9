//! How a publish replaces the rows of an interval: the word of pipeline files and of the ledger.

/// A publish strategy that is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublishStrategy {
    /// Delete the interval's rows, insert the staged ones.
    DeleteInsert,
    /// Delete the rows whose keys the staged ones no longer have, change those that differ, insert those that are new; rows
    /// that are equal are not touched. The staged rows are the whole interval (`rows = "complete"`).
    MergeComplete,
    /// Apply changes by key: rows that are not named stay, in whichever interval they are (`rows = "changes"`).
    MergeChanges,
    /// Prepare a table beside the target, then let it take the place of the interval's partition.
    PartitionSwap,
}

impl PublishStrategy {
    /// The word of the file and of the ledger.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeleteInsert => "delete_insert",
            Self::MergeComplete | Self::MergeChanges => "merge",
            Self::PartitionSwap => "partition_swap",
        }
    }

    /// What the query gives: `complete` where rows that it no longer gives are to vanish.
    pub const fn rows(self) -> &'static str {
        match self {
            Self::DeleteInsert | Self::MergeComplete | Self::PartitionSwap => "complete",
            Self::MergeChanges => "changes",
        }
    }

    /// Whether rows of the target are changed in place.
    pub const fn updates(self) -> bool {
        matches!(self, Self::MergeComplete | Self::MergeChanges)
    }

    /// Whether the query gives changes, and not all rows of an interval.
    pub const fn takes_changes(self) -> bool {
        matches!(self, Self::MergeChanges)
    }

    /// Whether a table takes the place of another: a short exclusive lock instead of written rows.
    pub const fn swaps(self) -> bool {
        matches!(self, Self::PartitionSwap)
    }
}

#[cfg(test)]
mod tests {
    use super::PublishStrategy;

    #[test]
    fn words_of_the_file() {
        let words = [PublishStrategy::DeleteInsert, PublishStrategy::MergeComplete, PublishStrategy::PartitionSwap]
            .map(PublishStrategy::as_str);
        assert_eq!(words, ["delete_insert", "merge", "partition_swap"]);
    }
}
