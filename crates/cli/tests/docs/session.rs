//! A shell that runs one command after the other, as a reader's does: folder and variables stay.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

/// Begins the line that ends the output of a command; the exit status follows.
const MARK: char = '\u{1e}';

/// A command that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(2);

pub(crate) struct Session {
    folder: TempDir,
    shell: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

/// What one command did.
pub(crate) struct Did {
    /// Both streams, in the order in which they were written; blank lines at the end are left out.
    pub(crate) lines: Vec<String>,
    pub(crate) exit: i32,
}

impl Session {
    /// A shell in an empty folder, with `thrice` and `psql` on its path and without this process's settings.
    pub(crate) fn start(database_url: Option<&str>) -> Self {
        let folder = tempfile::Builder::new().prefix("thrice-docs-").tempdir().unwrap();
        // the server of a page may run as another user, who has to enter the folder
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let (bin, home) = (folder.path().join(".bin"), folder.path().join(".home"));
        std::fs::create_dir(&bin).unwrap();
        std::fs::create_dir(&home).unwrap();
        symlink(env!("CARGO_BIN_EXE_thrice"), bin.join("thrice")).unwrap();
        if let Some(psql) = std::env::var_os("THRICE_TEST_PSQL") {
            symlink(psql, bin.join("psql")).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).current_dir(folder.path()).env_clear();
        command.env("PATH", path).env("HOME", home).env("LANG", "C.UTF-8").env("PGTZ", "UTC");
        if let Some(bin) = std::env::var_os("THRICE_TEST_PG_BIN") {
            command.env("THRICE_PG_BIN", bin);
        }
        if let Some(url) = database_url {
            command.env("DATABASE_URL", url);
        }
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash is installed");
        let mut stdin = shell.stdin.take().unwrap();
        writeln!(stdin, "exec 2>&1").unwrap();
        let stdout = BufReader::new(shell.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { folder, shell, stdin, lines }
    }

    /// Runs shell text to its end.
    pub(crate) fn run(&mut self, command: &str) -> Did {
        // the blank line ends a line that the command did not end
        writeln!(self.stdin, "{{ {command}\n}} </dev/null; printf '\\n\\036%s\\n' $?").unwrap();
        let mut lines = Vec::new();
        loop {
            let line = self.lines.recv_timeout(LONGEST).unwrap_or_else(|error| {
                panic!("{command}: {error}\n{}", lines.join("\n"));
            });
            if let Some(exit) = line.strip_prefix(MARK) {
                while lines.last().is_some_and(|line: &String| line.trim().is_empty()) {
                    lines.pop();
                }
                return Did { lines, exit: exit.parse().unwrap() };
            }
            lines.push(line);
        }
    }

    /// The folder that the page started in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Projects with a private server.
    fn projects(&self) -> Vec<PathBuf> {
        let mut open = vec![self.folder.path().to_path_buf()];
        let mut found = Vec::new();
        while let Some(at) = open.pop() {
            if at.join(".thrice").is_dir() {
                found.push(at.clone());
            }
            let entries = std::fs::read_dir(&at).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.ends_with(".thrice")));
        }
        found
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for project in self.projects() {
            let mut stop = Command::new(env!("CARGO_BIN_EXE_thrice"));
            // a failing test says more than a server that stays
            let _stopped = stop.arg("-C").arg(project).args(["pg", "stop", "--force"]).stdout(Stdio::null()).status();
        }
        let _killed = self.shell.kill();
        let _gone = self.shell.wait();
    }
}
