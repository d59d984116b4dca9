//! The real binary as a process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The binary under test, built with failpoints.
pub fn binary() -> PathBuf {
    let path = std::env::var_os("THRICE_TEST_BIN")
        .expect("THRICE_TEST_BIN is not set: run the suites through `cargo xtask test`");
    PathBuf::from(path)
}

/// One call of `thrice`, built up and started.
#[derive(Debug)]
pub struct Thrice {
    command: Command,
}

impl Thrice {
    /// A call in `project` against `url`.
    pub fn new(project: &Path, url: &str) -> Self {
        let mut command = Command::new(binary());
        for name in std::env::vars_os().map(|(name, _)| name) {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("THRICE_") || text == "DATABASE_URL" || text == "FAILPOINTS" {
                command.env_remove(&name);
            }
        }
        command.env("DATABASE_URL", url).env("NO_COLOR", "1").arg("-C").arg(project).stdin(Stdio::null());
        Self { command }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Arms failpoints, in the spelling of the `fail` crate.
    #[must_use]
    pub fn failpoints(mut self, plan: &str) -> Self {
        self.command.env("FAILPOINTS", plan);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs to the end.
    pub fn run(mut self) -> Result<Finished> {
        let output = self.command.output().with_context(|| format!("{:?}", self.command))?;
        Ok(Finished { output })
    }

    /// Starts and returns the running process.
    pub fn start(mut self) -> Result<Running> {
        let child = self
            .command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{:?}", self.command))?;
        Ok(Running { child: Some(child) })
    }
}

/// A call that has ended.
#[derive(Debug)]
pub struct Finished {
    output: Output,
}

impl Finished {
    /// Exit code; `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// How it ended.
    pub fn status(&self) -> ExitStatus {
        self.output.status
    }

    /// Standard output.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Standard error.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.output.stdout).with_context(|| format!("{}\n{}", self.stdout(), self.stderr()))
    }

    /// Fails with both streams when the exit code is another.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr());
        self
    }

    /// Fails with both streams when this error code was not reported.
    #[track_caller]
    pub fn expect_error(self, code: &str) -> Self {
        let told = self.stderr().contains(code);
        assert!(told, "{code} was not reported\nstdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr());
        self
    }

    /// Fails with both streams when standard output or standard error does not hold the text.
    #[track_caller]
    pub fn expect_text(self, text: &str) -> Self {
        let told = self.stderr().contains(text) || self.stdout().contains(text);
        assert!(told, "no {text:?}\nstdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr());
        self
    }

    /// Fails when no signal 9 ended it.
    #[track_caller]
    pub fn expect_killed(self) -> Self {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(self.status().signal(), Some(9), "stdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr());
        self
    }
}

/// A call that is under way. Killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
}

impl Running {
    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    /// Sends a signal by name, such as `KILL`, `TERM`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status()?;
        if !status.success() {
            bail!("kill -{name} {}: {status}", self.pid());
        }
        Ok(())
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<Finished> {
        let child = self.child.take().expect("running");
        Ok(Finished { output: child.wait_with_output()? })
    }

    /// Waits at most `limit`.
    pub fn wait_at_most(mut self, limit: Duration) -> Result<Finished> {
        let begun = Instant::now();
        loop {
            if self.child.as_mut().expect("running").try_wait()?.is_some() {
                return self.wait();
            }
            if begun.elapsed() > limit {
                bail!("still running after {limit:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}
