//! `[late_data]`: when published partitions are made again, final and closed.

use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::late_policy::{LatePolicy, LatePolicyError, Revisits};
use toml::de::DeValue;

use crate::toml_reader::{Field, Reader};

/// The policy; the default where the file says nothing, `None` where it is wrong.
pub(crate) fn read(root: &mut Reader<'_, '_>, grain: &Grain) -> Option<LatePolicy> {
    let Some(field) = root.take("late_data") else { return Some(LatePolicy::default()) };
    if *grain == Grain::Table {
        let message = "`late_data` counts the intervals that follow, and grain \"table\" has none";
        root.bad_value(&field, message, "remove it: `thrice run P` makes the table anew, late rows included");
        return None;
    }
    let mut table = root.inside(&field)?;
    table.all_not_built();
    let (list, window) = (table.take("revisit"), table.count("window"));
    let (final_after, close_after) = (table.count("final_after"), table.count("close_after"));
    let revisits = match (&list, &window) {
        (Some(_), Some((window, field))) => {
            let message = "`late_data.revisit` and `late_data.window` say the same thing in two ways";
            let list: Vec<String> = (1..*window.min(&8)).map(|revisit| revisit.to_string()).collect();
            table.bad_value(
                field,
                message,
                format!("keep one: window = {window} is short for revisit = [{}]", list.join(", ")),
            );
            None
        }
        (Some(field), None) => numbers(&mut table, field).map(Revisits::List),
        (None, Some((window, _))) => Some(Revisits::Window(number(*window))),
        (None, None) => Some(Revisits::List(Vec::new())),
    };
    let policy = revisits.and_then(|revisits| {
        let after = |given: &Option<(u64, Field<'_>)>| given.as_ref().map(|(count, _)| number(*count));
        match LatePolicy::new(revisits, after(&final_after), after(&close_after)) {
            Ok(policy) => Some(policy),
            Err(error) => {
                let written = list.as_ref().or(window.as_ref().map(|(_, field)| field));
                let at = match &error {
                    LatePolicyError::NeverFinal { .. } => final_after.as_ref().map(|(_, field)| field),
                    LatePolicyError::ClosesBeforeRevisit { .. } => close_after.as_ref().map(|(_, field)| field),
                    LatePolicyError::TooFar { revisit } => close_after
                        .as_ref()
                        .filter(|(close, _)| number(*close) == *revisit)
                        .map_or(written, |(_, field)| Some(field)),
                    LatePolicyError::NoWindow
                    | LatePolicyError::Zero
                    | LatePolicyError::Twice { .. }
                    | LatePolicyError::Unsorted { .. } => written,
                };
                let at = at.unwrap_or(&field);
                let code = match &error {
                    LatePolicyError::NeverFinal { .. } | LatePolicyError::ClosesBeforeRevisit { .. } => {
                        ErrorCode::LatePolicyContradicts
                    }
                    LatePolicyError::NoWindow
                    | LatePolicyError::Zero
                    | LatePolicyError::Twice { .. }
                    | LatePolicyError::Unsorted { .. }
                    | LatePolicyError::TooFar { .. } => ErrorCode::BadValue,
                };
                let what = format!("`{}`: {error}", at.path);
                table.report(table.error(code, what).at(at.span.clone()).fix(fix(&error)));
                None
            }
        }
    });
    table.finish();
    policy
}

/// What to write instead.
fn fix(error: &LatePolicyError) -> String {
    match error {
        LatePolicyError::NoWindow => "window = 3, or leave it out".to_owned(),
        LatePolicyError::Zero => {
            "revisit = [1, 3]: made again with the next interval and with the third one after".to_owned()
        }
        LatePolicyError::Twice { revisit } => format!("write {revisit} once"),
        LatePolicyError::Unsorted { earlier, later } => format!("write {later} before {earlier}"),
        LatePolicyError::TooFar { .. } => {
            "a smaller number; what is corrected later than that is a backfill".to_owned()
        }
        LatePolicyError::NeverFinal { last: 0, .. } => {
            "revisit = [1, 3] beside it; without revisits a partition is final at once".to_owned()
        }
        LatePolicyError::NeverFinal { last, .. } => format!("final_after = {last}, or a later revisit"),
        LatePolicyError::ClosesBeforeRevisit { last, .. } => format!("close_after = {last} or more, or fewer revisits"),
    }
}

fn numbers(table: &mut Reader<'_, '_>, field: &Field<'_>) -> Option<Vec<u32>> {
    let whole = |value: &DeValue<'_>| {
        value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok()).map(number)
    };
    let found: Option<Vec<u32>> =
        field.value.as_array().and_then(|list| list.iter().map(|item| whole(item.get_ref())).collect());
    if found.is_none() {
        let message = "`late_data.revisit` is a list of how many intervals later a partition is made again";
        table.bad_value(field, message, "revisit = [1, 3]");
    }
    found
}

/// Numbers beyond any policy stay beyond it.
fn number(written: u64) -> u32 {
    u32::try_from(written).unwrap_or(u32::MAX)
}
