//! Guards that count keys: judged inside the publish, under its lock, where nobody can change the rows any more.
//!
//! What they refuse rolls back before a row is touched. What a person took responsibility for is on record before a row is
//! touched.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use thrice_checks::guard::GuardVerdict;
use thrice_checks::{CheckResult, GuardLimits, KeyCounts};
use thrice_ledger::{CheckRow, Ledger, LedgerError};
use thrice_sql_publish::CancellationToken;
use thrice_sql_publish::staging::Staged;

use crate::attempt::Work;
use crate::failure::Failing;
use crate::runner::Runner;
use crate::validate::{refused, row_of};

/// The guards of one publish, and what they said.
pub(crate) struct Guarding {
    limits: GuardLimits,
    staged_rows: i64,
    accept_drop: bool,
    attempt_id: i64,
    ledger: Ledger,
    over: CancellationToken,
    said: Mutex<Said>,
}

/// What the guards said, and whether that is on record.
#[derive(Debug, Default)]
pub(crate) struct Said {
    verdicts: Vec<GuardVerdict>,
    not_recorded: Option<LedgerError>,
}

impl Guarding {
    /// `None`: the keys need not be counted.
    pub(crate) fn of(work: &Work<'_>, staged: &Staged, ledger: &Ledger, over: CancellationToken) -> Option<Self> {
        let limits = work.prepared.job.guards;
        let counts = limits.needs_keys() && !work.prepared.target.key.is_empty();
        counts.then(|| Self {
            limits,
            staged_rows: staged.content.rows,
            accept_drop: work.request.accept_drop,
            attempt_id: work.started.attempt_id,
            ledger: ledger.clone(),
            over,
            said: Mutex::default(),
        })
    }

    /// Whether the publish may go on.
    pub(crate) fn judge(&self, comparison: &Value) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let verdicts = KeyCounts::of_comparison(comparison)
            .map(|counts| self.limits.keys(counts, self.staged_rows, self.accept_drop))
            .unwrap_or_default();
        let refuses = verdicts.iter().any(|verdict| verdict.refusal().is_some());
        let rows: Vec<CheckRow> = verdicts.iter().filter_map(GuardVerdict::result).map(row_of).collect();
        self.with(|said| said.verdicts = verdicts);
        Box::pin(async move {
            if refuses || rows.is_empty() {
                return !refuses;
            }
            let recording = self.over.run_until_cancelled(self.ledger.record_checks(self.attempt_id, &rows)).await;
            let recorded = recording.unwrap_or_else(|| Err(LedgerError::given_up()));
            let is_recorded = recorded.is_ok();
            self.with(|said| said.not_recorded = recorded.err());
            is_recorded
        })
    }

    /// What they said.
    pub(crate) fn said(self) -> Said {
        self.said.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Runner {
    /// The end of a run whose publish the guards stopped.
    pub(crate) async fn stopped_by_guards(&self, work: &Work<'_>, said: Said) -> Option<Box<Failing>> {
        if let Some(why) = said.not_recorded {
            return Some(Failing::ledger(why));
        }
        let refusal = said.verdicts.iter().find_map(GuardVerdict::refusal)?;
        let results: Vec<CheckResult> = said.verdicts.iter().filter_map(GuardVerdict::result).cloned().collect();
        let rows: Vec<CheckRow> = results.iter().map(row_of).collect();
        let recording = self.ledger().record_checks(work.started.attempt_id, &rows);
        if let Err(error) = self.patience.ledger(recording).await {
            return Some(Failing::ledger(error));
        }
        Some(refused(refusal, results))
    }
}
