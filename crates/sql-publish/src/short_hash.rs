//! The short hash in the name of a table of ours: it fits in 63 bytes whatever it stands for is called.
//!
//! Ledgers store these names, so the same parts give the same hash in every version.

/// Hex digits: 96 bits.
const LENGTH: usize = 24;

/// The hash of these parts, in their order. Each counts with its length, so that no two lists run into the same text.
pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(LENGTH).collect()
}

/// The text can be one of them.
pub(crate) fn is_one(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_the_same_parts_never_changes() {
        assert_eq!(of(["1", "2"]), "3f9446f9e4dde7e6eaac2092");
        assert_ne!(of(["12"]), of(["1", "2"]));
        assert!(is_one(&of([])));
        for other in [
            "",
            "3f9446f9e4dde7e6eaac209",
            "3f9446f9e4dde7e6eaac20922",
            "3F9446f9e4dde7e6eaac2092",
            "3f9446f9e4dde7e6eaac209g",
        ] {
            assert!(!is_one(other), "{other}");
        }
    }
}
