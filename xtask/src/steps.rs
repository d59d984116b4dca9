//! A list of steps: all of them run, the end tells which failed.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::process;

/// Steps that all run, and what failed of them.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: usize,
    failed: Vec<String>,
}

impl Steps {
    /// Runs a step; a failure is told at the end.
    pub(crate) fn run(&mut self, what: &str, command: &mut Command) {
        if let Err(error) = self.must(what, command) {
            eprintln!("failed: {what}: {error:#}");
            self.failed.push(what.to_owned());
        }
    }

    /// Runs a step without which the next ones mean nothing.
    pub(crate) fn must(&mut self, what: &str, command: &mut Command) -> Result<()> {
        println!("\n== {what}");
        let begun = Instant::now();
        self.done += 1;
        process::run(command)?;
        println!("== {what}: {} s", begun.elapsed().as_secs());
        Ok(())
    }

    /// Notes the outcome of a step that ran elsewhere.
    pub(crate) fn note(&mut self, what: &str, outcome: Result<()>) {
        self.done += 1;
        if let Err(error) = outcome {
            eprintln!("failed: {what}: {error:#}");
            self.failed.push(what.to_owned());
        }
    }

    /// The sum of it.
    pub(crate) fn finish(self) -> Result<()> {
        if self.failed.is_empty() {
            println!("\nall {} steps passed", self.done);
            return Ok(());
        }
        bail!("{} of {} steps failed: {}", self.failed.len(), self.done, self.failed.join("; "))
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_fails_is_named_at_the_end() {
        let mut steps = Steps::default();
        steps.run("nothing", &mut Command::new("true"));
        steps.run("trouble", &mut Command::new("false"));
        let told = steps.finish().unwrap_err().to_string();
        assert_eq!(told, "1 of 2 steps failed: trouble");
    }
}
