//! Percent-encoding as connection URLs use it: `%40` is `@`; `+` is a plus sign.

use std::fmt::Write as _;

/// Why a text could not be decoded. Carries no part of the text: it may be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PercentError {
    /// A `%` that two hexadecimal digits do not follow.
    Broken,
    /// The decoded bytes are not UTF-8.
    NotUtf8,
    /// `%00`: PostgreSQL ends its texts there.
    Nul,
}

impl PercentError {
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Broken => "a % is not followed by two hexadecimal digits (a % itself is written %25)",
            Self::NotUtf8 => "the decoded text is not UTF-8",
            Self::Nul => "%00 cannot be part of a name or password",
        }
    }
}

pub(crate) fn decode(text: &str) -> Result<String, PercentError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let [high, low, tail @ ..] = tail else {
                return Err(PercentError::Broken);
            };
            let (Some(high), Some(low)) = (hex(*high), hex(*low)) else {
                return Err(PercentError::Broken);
            };
            bytes.push(high * 16 + low);
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    if bytes.contains(&0) {
        return Err(PercentError::Nul);
    }
    String::from_utf8(bytes).map_err(|_| PercentError::NotUtf8)
}

/// Leaves letters, digits and `-._~` as they are, and `/` where `keep_slash`.
pub(crate) fn encode(text: &str, keep_slash: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slash && byte == b'/') {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            write!(out, "%{byte:02X}").unwrap_or_default();
        }
    }
    out
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_bytes_and_leaves_plus_alone() {
        assert_eq!(decode("p%40ss%2Fw+rd").as_deref(), Ok("p@ss/w+rd"));
        assert_eq!(decode("%ED%95%9C").as_deref(), Ok("한"));
        assert_eq!(decode("100%"), Err(PercentError::Broken));
        assert_eq!(decode("%zz"), Err(PercentError::Broken));
        assert_eq!(decode("%ff"), Err(PercentError::NotUtf8));
        assert_eq!(decode("a%00"), Err(PercentError::Nul));
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        for text in ["", "a b", "한국", "%25", "a/b@c:d?e#f&g=h", "\u{7f}\t"] {
            for keep_slash in [true, false] {
                assert_eq!(decode(&encode(text, keep_slash)).as_deref(), Ok(text));
            }
        }
    }
}
