//! Reads the password file from disk, if nobody else can read it.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::secret::Secret;

/// What became of a password file.
#[derive(Debug, Default)]
pub struct Passfile {
    /// Its text, where it was read.
    pub text: Option<Secret<String>>,
    /// Why it was left alone although it is there: a line for the user.
    pub warning: Option<String>,
}

/// Reads `path`. A file that is not there is no warning; one that its group or others can read,
/// or that is not a plain file, is left alone with a warning, as libpq does.
pub fn read_passfile(path: &Path) -> Passfile {
    let left_alone = |why: String| Passfile {
        text: None,
        warning: Some(format!("password file {} is not used: {why}", path.display())),
    };
    // Looked at before it is opened: opening a fifo would wait for a writer.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Passfile::default();
        }
        Err(e) => return left_alone(e.to_string()),
    };
    if !metadata.is_file() {
        return left_alone("it is not a plain file".to_owned());
    }
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?.permissions().mode(), file)));
    let (mode, mut file) = match opened {
        Ok(opened) => opened,
        Err(e) => return left_alone(e.to_string()),
    };
    if mode & 0o077 != 0 {
        return left_alone(format!(
            "its group or others can read it (mode {:04o}); run chmod 0600 on it",
            mode & 0o7777
        ));
    }
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) => Passfile { text: Some(Secret::new(text)), warning: None },
        Err(e) => left_alone(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_others_can_read_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        fs::write(&path, "db:1:d:u:p").unwrap();

        for mode in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = read_passfile(&path);
            assert!(refused.text.is_none(), "{mode:o}");
            assert!(refused.warning.unwrap().contains("chmod 0600"));
        }

        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let read = read_passfile(&path);
        assert_eq!(read.text.unwrap().expose(), "db:1:d:u:p");
        assert!(read.warning.is_none());
    }

    #[test]
    fn missing_is_silent_and_a_directory_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let missing = read_passfile(&dir.path().join("none"));
        assert!(missing.text.is_none() && missing.warning.is_none());
        assert!(read_passfile(dir.path()).warning.unwrap().contains("plain file"));
    }
}
