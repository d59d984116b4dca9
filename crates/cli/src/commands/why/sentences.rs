//! The causes of a status as sentences, as `--json` spells them, and what to type.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;
use thrice_core::failure_class::FailureClass;
use thrice_core::partition_status::PartitionStatus;
use thrice_core::schedule::Partition;
use thrice_core::time::{Timestamp, Zone};
use thrice_core::why::{Action, Again, Cause, FailedRun, Holder, OpenRun, Step, Why};

use crate::output::count;
use crate::project::Loaded;
use crate::remedy::{Remedy, remedies};

/// What sentences about one partition need.
pub(super) struct Words<'a> {
    name: &'a str,
    key: &'a str,
    zone: &'a Zone,
}

/// What a person can do, in words and as commands.
#[derive(Default)]
pub(super) struct Advice {
    text: Option<String>,
    remedies: Vec<Remedy>,
    /// Time alone will change the answer.
    waits: bool,
}

impl Advice {
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.text.iter().cloned().collect();
        lines.extend(self.remedies.iter().map(|remedy| format!("{}: {}", remedy.lead, remedy.command)));
        if lines.is_empty() {
            let yet = if self.waits { " yet" } else { "" };
            lines.push(format!("nothing for you to do{yet}"));
        }
        lines
    }

    /// The first command, else what is to be done in words.
    pub(super) fn action(&self) -> Option<&str> {
        self.remedies.first().map(|remedy| remedy.command.as_str()).or(self.text.as_deref())
    }
}

impl<'a> Words<'a> {
    pub(super) fn of(loaded: &'a Loaded, partition: &'a Partition) -> Self {
        Self { name: &loaded.job.name, key: partition.key.as_str(), zone: loaded.job.schedule.zone() }
    }

    /// An instant in the pipeline's zone and in UTC.
    pub(super) fn instant(&self, at: Timestamp) -> String {
        format!("{} = {at}", self.zone.rfc3339(at))
    }

    pub(super) fn sentences(&self, cause: &Cause) -> Vec<String> {
        let since = |at: &Option<Timestamp>| at.map(|at| format!(" at {}", self.instant(at))).unwrap_or_default();
        match cause {
            Cause::Due { since } => vec![format!("due since {}", self.instant(*since))],
            Cause::End { until } => vec![format!("its interval goes on until {}", self.instant(*until))],
            Cause::Delay { until } => {
                vec![format!("due at {}: the delay gives late rows time to arrive", self.instant(*until))]
            }
            Cause::Retry { until } => vec![format!("tried again by `thrice run` from {}", self.instant(*until))],
            Cause::BeforeStart { start } => {
                vec![format!(
                    "before the pipeline's start, {}: nothing before it belongs to thrice",
                    self.instant(*start)
                )]
            }
            Cause::AfterEnd { end } => vec![format!("after the pipeline's end, {}", self.instant(*end))],
            Cause::Paused => vec![format!("{} is paused: `thrice run` takes only what is named", self.name)],
            Cause::CatchUp { most } => {
                vec![format!(
                    "older than what `thrice run` catches up by itself: the newest {most} that are open (catch_up)"
                )]
            }
            Cause::Claimed { holder, step, run } => {
                let mut lines = vec![format!("{}: {}", self.who(holder), self.at_work(*step, run.as_ref()))];
                if let Some(until) = holder.lease_until {
                    lines.push(format!(
                        "its lease is renewed while it lives and runs until {} now; if it dies, the next run takes over at once",
                        self.instant(until)
                    ));
                }
                lines
            }
            Cause::DeadWorker { holder, step, run } => vec![
                format!("{} and is gone: {}", self.who(holder), self.at_work(*step, run.as_ref())),
                "the next run takes over at once, and first finds out what this one left".to_owned(),
            ],
            Cause::LeftOpen { run } => vec![format!(
                "run #{} was left in state {}, and nobody has the partition: the next run ends it first",
                run.attempt_no, run.state
            )],
            Cause::OutcomeUnknown { run } => vec![
                format!(
                    "run #{} sent COMMIT and had no answer: it may have published{}",
                    run.attempt_no,
                    since(&run.started_at).replace(" at ", ", begun at ")
                ),
                "the next run waits for the old transaction, then reads the receipt; nothing is done twice".to_owned(),
            ],
            Cause::Failed { run, tries, most, again, over_published } => {
                self.failed(run, tries, *most, *again, *over_published)
            }
            Cause::Published { receipt } => {
                let rows = receipt.rows.map(|rows| format!(", {}", count(rows, "row"))).unwrap_or_default();
                vec![format!("published{}{rows}", since(&receipt.published_at))]
            }
            Cause::Empty => vec!["published with no rows: that was the query's result".to_owned()],
            Cause::OutdatedCode => vec![
                "outdated: its rows were made by other code than the pipeline has now; nothing recomputes it by itself"
                    .to_owned(),
            ],
            Cause::RevisitDue { revisit } => vec![format!(
                "late rows may be there: {} has come since, and it was not made again yet",
                following(*revisit)
            )],
            Cause::NextRevisit { revisit, at, closes } => {
                let then = if *closes { ", and closed then" } else { "" };
                vec![format!(
                    "made again for late rows{then} with {}, due at {}",
                    following(*revisit),
                    self.instant(*at)
                )]
            }
            Cause::Closed { since: at } => {
                vec![format!("closed{}: nothing changes it without --reopen and a reason", since(at))]
            }
        }
    }

    fn who(&self, holder: &Holder) -> String {
        let process = match (&holder.host, holder.os_pid) {
            (Some(host), Some(pid)) => format!("process {pid} on {host}"),
            _ => "another worker".to_owned(),
        };
        let since = holder.since.map(|at| format!(" since {}", self.instant(at))).unwrap_or_default();
        format!("{process} has it{since}")
    }

    #[expect(clippy::unused_self, reason = "one of the sentences")]
    fn at_work(&self, step: Step, run: Option<&OpenRun>) -> String {
        let what = match step {
            Step::Claimed => "no run has begun yet",
            Step::Staging => "the query fills the staging table",
            Step::Checking => "the staged rows are checked",
            Step::Publishing => "the checked rows are published",
            Step::Committing => "COMMIT was sent",
        };
        run.map_or_else(|| what.to_owned(), |run| format!("run #{}, {what}", run.attempt_no))
    }

    fn failed(&self, run: &FailedRun, tries: &[i32], most: u32, again: Again, over_published: bool) -> Vec<String> {
        let mut marks: Vec<String> = Vec::new();
        marks.extend(run.class.map(|class| format!("class {class}")));
        marks.extend(run.code.map(|code| code.to_string()));
        marks.extend(run.sqlstate.as_ref().map(|state| format!("SQLSTATE {state}")));
        let at = run.finished_at.map(|at| format!(" at {}", self.instant(at))).unwrap_or_default();
        let what = run.class.map_or("failed", ended);
        let mut lines = vec![format!("run #{} {what}{at}   {}", run.attempt_no, marks.join(", "))];
        lines.extend(run.message.as_ref().map(|message| format!("  {message}")));
        if tries.len() > 1 {
            let numbers: Vec<String> = tries.iter().map(|number| format!("#{number}")).collect();
            lines.push(format!("tried {} times in a row of at most {most}: {}", tries.len(), numbers.join(", ")));
        }
        lines.push(match again {
            // the cause before this one says when
            Again::At(_) => return lines,
            Again::Next => "the next `thrice run` tries it again by itself".to_owned(),
            Again::NewCode => {
                "the code has changed since: the next `thrice run` tries it by itself, with a budget of its own"
                    .to_owned()
            }
            Again::NotThisClass if over_published => {
                "readers still see what was published before; nothing tries it again by itself".to_owned()
            }
            Again::NotThisClass => {
                let why = run.class.map_or("nobody knows why it failed", not_again);
                format!("not tried again by itself: {why}")
            }
            Again::UsedUp => {
                format!("not tried again by itself: its retries ([retry], at most {most} in a row) are used up")
            }
        });
        lines
    }

    pub(super) fn advice(&self, why: &Why) -> Advice {
        let Self { name, key, .. } = self;
        let run = format!("thrice run {name} {key}");
        let one = |lead, command: String| Advice { remedies: vec![Remedy::new(lead, command)], ..Advice::default() };
        let words = |text: String| Advice { text: Some(text), ..Advice::default() };
        let Some(action) = why.action else {
            return Advice { waits: !why.status.is_published(), ..Advice::default() };
        };
        match action {
            Action::RunDue => one("run", format!("thrice run {name}")),
            Action::RunNamed if why.status.is_published() => one("to compute it anew", run),
            Action::RunNamed if matches!(why.status, PartitionStatus::Waiting(_)) => one("to try it now", run),
            Action::RunNamed => one("run", run),
            Action::RunEarly => one("to not wait for it", format!("{run} --early --reason \"…\"")),
            Action::RunAndWait => one("nothing for you to do yet; to run it after that", format!("{run} --wait")),
            Action::Reopen => one("if it must change", format!("{run} --reopen --reason \"…\"")),
            Action::MoveStart => words(format!("set an earlier start in [interval] of pipelines/{name}.toml")),
            Action::MoveEnd => words(format!("set a later end in [interval] of pipelines/{name}.toml")),
            Action::Mend(code) => {
                let known = code.map(|code| remedies(code, name, key)).unwrap_or_default();
                if known.is_empty() {
                    let lead = why
                        .causes
                        .iter()
                        .find_map(|cause| {
                            let Cause::Failed { run, .. } = cause else { return None };
                            run.class
                        })
                        .map_or("correct what it names, then", mend);
                    one(lead, run)
                } else {
                    Advice { remedies: known, ..Advice::default() }
                }
            }
        }
    }
}

/// How a run of this class ended.
const fn ended(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Transient | FailureClass::Permanent => "failed",
        FailureClass::Check => "did not pass its checks",
        FailureClass::Guard => "was refused by a guard",
        FailureClass::Timeout => "took too long",
        FailureClass::Cancelled => "was stopped",
        FailureClass::Fenced => "was replaced by another worker",
        FailureClass::Abandoned => "died and has no receipt",
    }
}

/// Why a class is not tried again by itself.
const fn not_again(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Permanent => "it would fail the same way again",
        FailureClass::Check => "the same rows would fail the same checks",
        FailureClass::Guard => "a person must say that it is meant",
        FailureClass::Timeout => "it would take as long again (retry.on_timeout would try it)",
        FailureClass::Cancelled => "somebody stopped it",
        FailureClass::Fenced => "it was another worker's turn",
        FailureClass::Transient | FailureClass::Abandoned => "its retries are used up",
    }
}

/// What comes before running it again.
const fn mend(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Permanent | FailureClass::Check => "correct the query or the source, then",
        FailureClass::Guard => "if it is meant",
        FailureClass::Timeout => "make the query faster or raise [timeouts], then",
        FailureClass::Transient | FailureClass::Cancelled | FailureClass::Fenced | FailureClass::Abandoned => "run",
    }
}

/// The detail of a cause for `--json`; instants in the pipeline's zone.
pub(super) fn detail(zone: &Zone, cause: &Cause) -> Value {
    let at = |at: Timestamp| zone.rfc3339(at);
    let open = |run: &OpenRun| json!({ "attempt_no": run.attempt_no, "state": run.state.as_str(), "started_at": run.started_at.map(at) });
    match cause {
        Cause::Due { since } => json!({ "since": at(*since) }),
        Cause::End { .. } | Cause::Delay { .. } | Cause::Retry { .. } | Cause::Paused | Cause::Empty => json!({}),
        Cause::OutdatedCode => json!({ "changed": "code" }),
        Cause::BeforeStart { start } => json!({ "start": at(*start) }),
        Cause::AfterEnd { end } => json!({ "end": at(*end) }),
        Cause::CatchUp { most } => json!({ "most": most }),
        Cause::Claimed { holder, step, run } | Cause::DeadWorker { holder, step, run } => json!({
            "host": holder.host,
            "os_pid": holder.os_pid,
            "since": holder.since.map(at),
            "lease_until": holder.lease_until.map(at),
            "alive": holder.alive,
            "step": step.as_str(),
            "run": run.as_ref().map(open),
        }),
        Cause::LeftOpen { run } | Cause::OutcomeUnknown { run } => json!({ "run": open(run) }),
        Cause::Failed { run, tries, most, again, .. } => json!({
            "attempt_no": run.attempt_no,
            "class": run.class.map(FailureClass::as_str),
            "code": run.code.map(ErrorCode::id),
            "sqlstate": run.sqlstate,
            "message": run.message,
            "finished_at": run.finished_at.map(at),
            "tries": tries,
            "most_tries": most,
            "again": match again {
                Again::At(_) => "at",
                Again::Next => "next_run",
                Again::NewCode => "next_run_with_new_code",
                Again::NotThisClass => "not_by_itself",
                Again::UsedUp => "used_up",
            },
        }),
        Cause::Published { receipt } => {
            json!({ "published_at": receipt.published_at.map(at), "rows": receipt.rows })
        }
        Cause::RevisitDue { revisit } => json!({ "revisit": revisit }),
        Cause::NextRevisit { revisit, at: due_at, closes } => {
            json!({ "revisit": revisit, "at": at(*due_at), "closes": closes })
        }
        Cause::Closed { since } => json!({ "since": since.map(at) }),
    }
}

/// The interval that a revisit comes with.
fn following(revisit: u32) -> String {
    if revisit == 1 { "the interval after it".to_owned() } else { format!("the interval {revisit} after it") }
}
