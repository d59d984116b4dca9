//! A new cluster: `initdb` into a folder beside its place, then one rename, so that a killed one leaves no half cluster.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::binaries::Binaries;
use crate::error::{LocalPostgresError, io};
use crate::server_user::ServerUser;

/// The superuser of the private cluster.
pub(crate) const USER: &str = "thrice";

/// Makes `folder/data`.
pub(crate) fn create(
    folder: &Path,
    binaries: &Binaries,
    password: &str,
    user: &ServerUser,
) -> Result<(), LocalPostgresError> {
    let making = folder.join(format!("data.tmp-{}", std::process::id()));
    remove_left(folder);
    fs::create_dir(&making).map_err(io("cannot make", &making))?;
    fs::set_permissions(&making, fs::Permissions::from_mode(0o700)).map_err(io("cannot close", &making))?;
    user.give(&making)?;
    let secret = folder.join("password.tmp");
    drop(fs::remove_file(&secret));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&secret)
        .map_err(io("cannot write", &secret))?;
    writeln!(file, "{password}").map_err(io("cannot write", &secret))?;
    user.give(&secret)?;
    let mut command = Command::new(binaries.bin.join("initdb"));
    command.args(["-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]);
    command.arg(format!("--pwfile={}", secret.display())).arg("-D").arg(&making);
    user.run_as(&mut command);
    let made = output(&mut command, "initdb");
    drop(fs::remove_file(&secret));
    made?;
    let data = folder.join("data");
    fs::rename(&making, &data).map_err(io("cannot put in place", &data))?;
    remove_left(folder);
    Ok(())
}

/// The configuration of each start: a socket only, for its owner alone.
pub(crate) fn configure(folder: &Path, port: u16, socket: &Path, user: &ServerUser) -> Result<(), LocalPostgresError> {
    let path = folder.join("data/postgresql.auto.conf");
    let socket = in_configuration(socket);
    let text = format!(
        "# written by thrice at each start\nlisten_addresses = ''\nport = {port}\nunix_socket_directories = {socket}\nunix_socket_permissions = 0700\ntimezone = 'UTC'\nlog_timezone = 'UTC'\nmax_connections = 40\nlog_destination = 'stderr'\nlogging_collector = off\n"
    );
    fs::write(&path, text).map_err(io("cannot write", &path))?;
    user.give(&path)
}

/// A folder as the only element of a list setting: a quoted name inside a quoted text, whatever is in it.
fn in_configuration(folder: &Path) -> String {
    let element = folder.display().to_string().replace('"', "\"\"");
    format!("'\"{}\"'", element.replace('\\', "\\\\").replace('\'', "''"))
}

/// 24 random bytes as text.
pub(crate) fn password() -> Result<String, LocalPostgresError> {
    let mut bytes = [0_u8; 24];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(io("cannot read", "/dev/urandom"))?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
}

/// Removes the folders that starters which were killed have left.
///
/// The lock keeps other starters out, but the `initdb` of a killed one may still be at work and write its folder anew: it
/// is looked at until it stays away. `initdb` ends when its folder is gone; at most a few seconds are spent on it.
fn remove_left(folder: &Path) {
    const LOOKS: u32 = 50;
    let mut quiet = 0;
    for look in 0..LOOKS {
        let left = left_folders(folder);
        quiet = if left.is_empty() { quiet + 1 } else { 0 };
        if quiet > 3 || (look == 0 && left.is_empty()) {
            return;
        }
        for path in left {
            drop(fs::remove_dir_all(path));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn left_folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let left = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("data.tmp-"));
    left.map(|entry| entry.path()).collect()
}

/// Runs a program of PostgreSQL; its last lines are the error.
pub(crate) fn output(command: &mut Command, program: &'static str) -> Result<String, LocalPostgresError> {
    let failed = |message: String| LocalPostgresError::Program { program, message };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let tail: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(4).collect();
    Err(failed(tail.into_iter().rev().collect::<Vec<_>>().join(" · ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_element_whatever_is_in_its_name() {
        let cases = [
            ("/a b", r#"'"/a b"'"#),
            ("/a,b", r#"'"/a,b"'"#),
            (r#"/a"b"#, r#"'"/a""b"'"#),
            ("/o'neil", r#"'"/o''neil"'"#),
            (r"/a\b", r#"'"/a\\b"'"#),
        ];
        for (folder, written) in cases {
            assert_eq!(in_configuration(Path::new(folder)), written);
        }
    }

    #[test]
    fn passwords_are_long_and_never_the_same() {
        let (one, other) = (password().unwrap(), password().unwrap());
        assert_eq!(one.len(), 48);
        assert_ne!(one, other);
    }
}
