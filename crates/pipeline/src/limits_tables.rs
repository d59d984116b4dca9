//! `[retry]` and `[timeouts]`: how long and how often a run may try.

use thrice_core::duration::HumanDuration;
use thrice_core::retry::RetryPolicy;

use crate::toml_reader::Reader;

/// Longest times of the steps of a run; `None` where the file says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeouts {
    /// The query.
    pub stage: Option<HumanDuration>,
    /// All checks of a run together.
    pub checks: Option<HumanDuration>,
    /// Waiting for a lock.
    pub lock: Option<HumanDuration>,
    /// The publish transaction.
    pub publish: Option<HumanDuration>,
}

impl Timeouts {
    /// What holds: 30 minutes for the query, 5 for the checks, 5 seconds for a lock, 10 minutes for the publish.
    pub fn or_default(self) -> EffectiveTimeouts {
        let or = |written: Option<HumanDuration>, seconds| written.unwrap_or(HumanDuration::from_seconds(seconds));
        EffectiveTimeouts {
            stage: or(self.stage, 30 * 60),
            checks: or(self.checks, 5 * 60),
            lock: or(self.lock, 5),
            publish: or(self.publish, 10 * 60),
        }
    }
}

/// Longest times of the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveTimeouts {
    /// The query.
    pub stage: HumanDuration,
    /// All checks of a run together.
    pub checks: HumanDuration,
    /// Waiting for a lock.
    pub lock: HumanDuration,
    /// The publish transaction.
    pub publish: HumanDuration,
}

pub(crate) fn timeouts(root: &mut Reader<'_, '_>) -> Timeouts {
    let Some(field) = root.take("timeouts") else { return Timeouts::default() };
    let Some(mut table) = root.inside(&field) else { return Timeouts::default() };
    let mut one = |key| {
        let (duration, field) = table.duration(key)?;
        if duration.is_zero() {
            let message = format!("`{}` must be longer than 0", field.path);
            table.bad_value(&field, message, "leave it out for the default; a step without a limit can block for ever");
        }
        Some(duration)
    };
    let timeouts = Timeouts { stage: one("stage"), checks: one("checks"), lock: one("lock"), publish: one("publish") };
    table.finish();
    timeouts
}

pub(crate) fn retry(root: &mut Reader<'_, '_>) -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    let Some(field) = root.take("retry") else { return policy };
    let Some(mut table) = root.inside(&field) else { return policy };
    if let Some((attempts, field)) = table.count("attempts") {
        match u32::try_from(attempts) {
            Ok(attempts @ 1..=100) => policy.attempts = attempts,
            _ => table.bad_value(&field, "`retry.attempts` is 1 to 100", "1 means that nothing is tried again"),
        }
    }
    for (key, place) in
        [("budget", &mut policy.budget), ("first_delay", &mut policy.first_delay), ("max_delay", &mut policy.max_delay)]
    {
        if let Some((duration, _)) = table.duration(key) {
            *place = duration.as_std();
        }
    }
    if policy.first_delay > policy.max_delay
        && let Some(field) = table.take("first_delay").or_else(|| table.take("max_delay"))
    {
        table.bad_value(
            &field,
            "`retry.first_delay` is longer than `retry.max_delay`",
            "the delay grows from first to max",
        );
    }
    if let Some((value, _)) = table.boolean("on_timeout") {
        policy.on_timeout = value;
    }
    table.finish();
    policy
}
