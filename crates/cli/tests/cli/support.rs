//! Runs the binary with a clean environment, in a folder of its own, and writes down what it says.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder and an environment for calls of `thrice`.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    env: Vec<(String, String)>,
}

/// One call, written down.
pub(crate) struct Said {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Place {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::Builder::new().prefix("thrice-cli-").tempdir().unwrap(), env: Vec::new() }
    }

    /// The project that `init` writes, for a server given by URL.
    pub(crate) fn project() -> Self {
        let place = Self::empty().env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
        let said = place.run("init");
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        Self { dir: place.dir, env: Vec::new() }
    }

    /// Sets a variable for the calls that follow.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Replaces text in a file of the project.
    pub(crate) fn change(&self, path: &str, from: &str, to: &str) -> &Self {
        let old = std::fs::read_to_string(self.path().join(path)).unwrap();
        assert!(old.contains(from), "{path} holds no {from:?}");
        self.write(path, old.replace(from, to))
    }

    /// A call in the folder; words are split as a shell does with single quotes.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thrice"));
        command.env_clear().current_dir(self.path()).stdin(Stdio::null()).args(split(words));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, words: &str) -> Said {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            let real = self.path().canonicalize().unwrap();
            text.replace(real.to_str().unwrap(), "[folder]").replace(self.path().to_str().unwrap(), "[folder]")
        };
        Said { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }

    /// What a terminal would show of several calls, standard error after standard output.
    pub(crate) fn transcript(&self, calls: &[&str]) -> String {
        calls.iter().map(|words| self.run(words).transcript(words)).collect::<Vec<_>>().join("\n")
    }
}

impl Said {
    pub(crate) fn transcript(&self, words: &str) -> String {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let mut text = format!("$ thrice {words}\n");
        for (mark, stream) in [("  ", &self.stdout), ("! ", &self.stderr)] {
            for line in stream.lines() {
                text += format!("{mark}{line}").trim_end();
                text.push('\n');
            }
        }
        text + &format!("[{code}]\n")
    }

    /// The one JSON object on standard output.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

fn split(words: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (number, piece) in words.split('\'').enumerate() {
        if number % 2 == 1 {
            parts.push(piece.to_owned());
        } else {
            parts.extend(piece.split_whitespace().map(ToOwned::to_owned));
        }
    }
    parts
}
