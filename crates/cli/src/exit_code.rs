//! The exit code of a call: one enum, chosen from what happened.

use std::process::ExitCode;

use thrice_core::code::{ErrorClass, ErrorCode};
use thrice_core::failure_class::FailureClass;
use thrice_runner::{Outcome, Problem};

/// How a call ended. The numbers are part of the contract with scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exit {
    /// Done; already published counts.
    Ok,
    /// A fault in thrice.
    Bug,
    /// Usage or configuration, a wrong password and a missing privilege included.
    Usage,
    /// Nothing to do; only with `--detailed-exitcode`.
    Nothing,
    /// Checks failed, nothing was published.
    Checks,
    /// Refused by policy.
    Refused,
    /// Unavailable after retries, or held by another worker.
    Unavailable,
    /// The SQL failed.
    Sql,
    /// The outcome of a COMMIT is open.
    Unknown,
    /// Stopped by Ctrl-C.
    Interrupted,
    /// Stopped by SIGTERM.
    Terminated,
}

impl Exit {
    /// The number.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Bug => 1,
            Self::Usage => 2,
            Self::Nothing => 3,
            Self::Checks => 4,
            Self::Refused => 5,
            Self::Unavailable => 7,
            Self::Sql => 8,
            Self::Unknown => 9,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Of several causes in one call the highest-ranked is told: a bug, then what is open, then what may be retried,
    /// then what failed for good, was refused, did not pass its checks.
    pub(crate) fn worst(causes: impl IntoIterator<Item = Self>) -> Self {
        causes.into_iter().max_by_key(|exit| exit.rank()).unwrap_or(Self::Ok)
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Nothing => 1,
            Self::Checks => 2,
            Self::Refused => 3,
            Self::Sql => 4,
            Self::Usage => 5,
            Self::Unavailable => 6,
            Self::Unknown => 7,
            Self::Bug => 8,
            Self::Interrupted | Self::Terminated => 9,
        }
    }

    /// The exit of an error code.
    pub(crate) const fn of_code(code: ErrorCode) -> Self {
        match code.class() {
            ErrorClass::Ok => Self::Ok,
            ErrorClass::Usage | ErrorClass::Config => Self::Usage,
            ErrorClass::Refused => Self::Refused,
            ErrorClass::Unavailable => Self::Unavailable,
            ErrorClass::Sql => Self::Sql,
            ErrorClass::Checks => Self::Checks,
            ErrorClass::Unknown => Self::Unknown,
            ErrorClass::Stopped => Self::Interrupted,
            ErrorClass::Bug => Self::Bug,
        }
    }

    /// The exit of a problem: its class where a run has one, else its code.
    pub(crate) fn of_problem(problem: &Problem) -> Self {
        match problem.class {
            Some(FailureClass::Transient | FailureClass::Abandoned | FailureClass::Fenced) => Self::Unavailable,
            Some(FailureClass::Check) => Self::Checks,
            Some(FailureClass::Guard) => Self::Refused,
            Some(FailureClass::Timeout) => Self::Sql,
            // stopped by a signal, or cancelled on the server by somebody else: the code tells
            Some(FailureClass::Permanent | FailureClass::Cancelled) | None => Self::of_code(problem.code),
        }
    }

    /// The same, where it was a signal: the one that came.
    pub(crate) fn of_signal(self, came: Option<Self>) -> Self {
        if self == Self::Interrupted { came.unwrap_or(self) } else { self }
    }

    /// The exit of a partition's outcome.
    pub(crate) fn of_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Published(_) | Outcome::Unchanged(_) => Self::Ok,
            Outcome::Held(_) => Self::Unavailable,
            Outcome::Unknown(_) => Self::Unknown,
            Outcome::Refused(problem) | Outcome::Failed(problem) => Self::of_problem(problem),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_ends_a_call_as_its_class_says() {
        for code in ErrorCode::ALL {
            assert_eq!(Exit::of_code(*code).number(), code.class().exit(), "{code}");
        }
    }

    #[test]
    fn an_open_outcome_outranks_what_failed() {
        assert_eq!(Exit::worst([Exit::Ok, Exit::Sql, Exit::Unknown, Exit::Checks]), Exit::Unknown);
        assert_eq!(Exit::worst([Exit::Checks, Exit::Refused]), Exit::Refused);
        assert_eq!(Exit::worst([Exit::Sql, Exit::Unavailable]), Exit::Unavailable);
        assert_eq!(Exit::worst([]), Exit::Ok);
    }
}
