//! The bytes of a project file as text: size and encoding are checked before anything else reads them.

use thrice_core::code::ErrorCode;

use crate::diagnostic::{Diagnostic, Diagnostics};

/// Largest file that is read, in bytes.
pub const MAX_BYTES: usize = 256 * 1024;

/// The text of a file. A byte order mark stays, so that places in the text are places in the file.
///
/// # Errors
/// A diagnostic where the file is over 256 KiB, is not UTF-8 (with the byte offset) or holds a NUL.
pub fn read<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostics> {
    if bytes.len() > MAX_BYTES {
        let message = format!("the file is larger than {} KiB", MAX_BYTES / 1024);
        let too_large = Diagnostic::error(ErrorCode::FileTooLarge, file, message)
            .why("a definition or a query of this size is almost surely data in the wrong place")
            .fix("load the data into a table and join it");
        return Err(too_large.into());
    }
    let not_utf8 = |message: String, at: usize| -> Diagnostics {
        Diagnostic::error(ErrorCode::NotUtf8, file, message)
            .at(at..(at + 1).min(bytes.len()))
            .why("project files are UTF-8, so that every machine reads the same letters")
            .fix("save it as UTF-8 in the editor")
            .into()
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(not_utf8("the file is UTF-16: it begins with a UTF-16 byte order mark at byte 0".to_owned(), 0));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            return Err(not_utf8(format!("byte {at} is not UTF-8"), at));
        }
    };
    match text.find('\0') {
        Some(at) => Err(not_utf8(format!("byte {at} is a NUL, which no text has; the file may be UTF-16"), at)),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> (ErrorCode, Option<std::ops::Range<usize>>) {
        let diagnostic = read("a.toml", bytes).unwrap_err().into_vec().remove(0);
        (diagnostic.code, diagnostic.span)
    }

    #[test]
    fn what_is_not_utf8_says_where() {
        assert_eq!(refused(b"\xff\xfea\0"), (ErrorCode::NotUtf8, Some(0..1)));
        assert_eq!(refused(b"a\0b\0"), (ErrorCode::NotUtf8, Some(1..2)), "UTF-16 without a mark");
        assert_eq!(refused(b"ab\xc3\x28"), (ErrorCode::NotUtf8, Some(2..3)));
        assert_eq!(refused(b"ab\xed"), (ErrorCode::NotUtf8, Some(2..3)), "cut off");
        assert_eq!(refused(&vec![b' '; MAX_BYTES + 1]), (ErrorCode::FileTooLarge, None));
        assert_eq!(read("a", "\u{feff}가".as_bytes()), Ok("\u{feff}가"));
        assert!(read("a", &vec![b' '; MAX_BYTES]).is_ok());
    }
}
