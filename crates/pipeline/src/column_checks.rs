//! The rules of `[[checks]]` that are tables: what must hold of the values of a column.

use thrice_core::Grain;
use thrice_core::code::ErrorCode;
use thrice_core::identifier::Identifier;

use crate::check_values::{self, CheckValue, Percent};
use crate::checks_table::CheckRule;
use crate::toml_reader::{Field, Reader};

pub(crate) fn null_rate(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    let field = reader.take("null_rate")?;
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, "null_rate = { column = \"email\", max = \"1%\" }");
    let max = table.take("max");
    if max.is_none() {
        table.missing("max", "null_rate = { column = \"email\", max = \"1%\" }");
    }
    let max = max.and_then(|field| Percent::read(&mut table, &field, "max = \"1%\""));
    table.finish();
    Some(CheckRule::NullRate { column: column?, max: max? })
}

pub(crate) fn range(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    let field = reader.take("range")?;
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, "range = { column = \"total_amount\", min = 0 }");
    let (has_min, has_max) = (table.has("min"), table.has("max"));
    let (min, max) = (bound(&mut table, "min"), bound(&mut table, "max"));
    let mut sound = min.is_some() == has_min && max.is_some() == has_max;
    if !has_min && !has_max {
        let fix = "range = { column = \"total_amount\", min = 0 }";
        table.bad_value(&field, "`range` says neither `min` nor `max`", fix);
        sound = false;
    }
    if let (Some((min, _)), Some((max, at))) = (&min, &max)
        && min.is_greater_than(max)
    {
        table.bad_value(at, "`range.max` is less than `range.min`", "no value would pass");
        sound = false;
    }
    table.finish();
    sound.then_some(CheckRule::Range {
        column: column?,
        min: min.map(|(value, _)| value),
        max: max.map(|(value, _)| value),
    })
}

/// A number, or text that is read as the column's type. True and false bound nothing.
fn bound<'t>(table: &mut Reader<'t, '_>, key: &'static str) -> Option<(CheckValue, Field<'t>)> {
    let field = table.take(key)?;
    let wanted = format!("`{}` must be a number, a date, a time or a string", field.path);
    let why = match check_values::read(field.value) {
        Ok(CheckValue::Bool(_)) => "true or false".to_owned(),
        Ok(value) => return Some((value, field)),
        Err(why) => why,
    };
    table.bad_value(&field, format!("{wanted}, not {why}"), format!("{key} = 0"));
    None
}

pub(crate) fn accepted_values(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    const EXAMPLE: &str = "accepted_values = { column = \"status\", values = [\"paid\", \"refunded\"] }";
    let field = reader.take("accepted_values")?;
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, EXAMPLE);
    let list = table.take("values");
    if list.is_none() {
        table.missing("values", EXAMPLE);
    }
    let mut values = Vec::new();
    let mut sound = list.is_some();
    if let Some(list) = list {
        let Some(array) = list.value.as_array() else {
            table.wrong_type(&list, "a list of values");
            table.finish();
            return None;
        };
        for value in array {
            let (message, at) = match check_values::read(value.get_ref()) {
                Ok(read) if values.contains(&read) => (format!("`{}` has {read} twice", list.path), value.span()),
                Ok(read) => {
                    values.push(read);
                    continue;
                }
                Err(why) => (format!("`{}` lists values of a column, not {why}", list.path), value.span()),
            };
            let diagnostic = table.error(ErrorCode::BadValue, message).at(at).fix(EXAMPLE);
            table.report(diagnostic);
            sound = false;
        }
        if array.iter().next().is_none() {
            table.bad_value(&list, format!("`{}` is an empty list: no row would pass", list.path), EXAMPLE);
            sound = false;
        }
    }
    table.finish();
    sound.then_some(CheckRule::AcceptedValues { column: column?, values })
}

pub(crate) fn distinct(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    let field = reader.take("distinct")?;
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, "distinct = { column = \"store_id\", min = 10 }");
    let (has_min, has_max) = (table.has("min"), table.has("max"));
    let (min, max) = (table.count("min"), table.count("max"));
    let mut sound = min.is_some() == has_min && max.is_some() == has_max;
    if !has_min && !has_max {
        table.bad_value(
            &field,
            "`distinct` says neither `min` nor `max`",
            "distinct = { column = \"store_id\", min = 10 }; where no value may come twice: unique = [\"store_id\"]",
        );
        sound = false;
    }
    if let (Some((min, _)), Some((max, at))) = (&min, &max)
        && min > max
    {
        table.bad_value(at, "`distinct.max` is less than `distinct.min`", "no number of values would pass");
        sound = false;
    }
    table.finish();
    sound.then_some(CheckRule::Distinct { column: column?, min: min.map(|(n, _)| n), max: max.map(|(n, _)| n) })
}

pub(crate) fn matches(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    const EXAMPLE: &str = "matches = { column = \"email\", pattern = '^[^@]+@[^@]+$' }";
    let field = reader.take("matches")?;
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, EXAMPLE);
    if !table.has("pattern") {
        table.missing("pattern", EXAMPLE);
    }
    let pattern = table.string("pattern").and_then(|(pattern, field)| {
        if pattern.is_empty() || pattern.contains('\0') {
            let message =
                format!("`{}` is {}", field.path, if pattern.is_empty() { "empty" } else { "text with a NUL" });
            table.bad_value(&field, message, EXAMPLE);
            return None;
        }
        Some(pattern.to_owned())
    });
    table.finish();
    Some(CheckRule::Matches { column: column?, pattern: pattern? })
}

pub(crate) fn references(reader: &mut Reader<'_, '_>) -> Option<CheckRule> {
    const EXAMPLE: &str = "references = { columns = [\"store_id\"], table = \"dim.stores\", key = [\"id\"] }";
    let field = reader.take("references")?;
    let mut table = reader.inside(&field)?;
    for key in ["columns", "table"] {
        if !table.has(key) {
            table.missing(key, EXAMPLE);
        }
    }
    let columns = table.identifiers("columns").map(|(columns, _)| columns);
    let other = table.table_name("table").map(|(table, _)| table);
    let has_key = table.has("key");
    let key = table.identifiers("key");
    let mut sound = key.is_some() == has_key;
    if let (Some(columns), Some((key, at))) = (&columns, &key)
        && columns.len() != key.len()
    {
        let message = format!("`{}` has {} columns, and `columns` {}", at.path, key.len(), columns.len());
        table.bad_value(at, message, "a column of the other table for each");
        sound = false;
    }
    table.finish();
    let columns = columns?;
    let key = key.map_or_else(|| columns.clone(), |(key, _)| key);
    sound.then_some(CheckRule::References { columns, table: other?, key })
}

pub(crate) fn freshness(reader: &mut Reader<'_, '_>, grain: &Grain) -> Option<CheckRule> {
    const EXAMPLE: &str = "freshness = { column = \"updated_at\", max_age = \"2h\" }";
    let field = reader.take("freshness")?;
    if *grain == Grain::Table {
        let message = "`freshness` is the age at the end of the interval, and grain \"table\" has none";
        reader.bad_value(
            &field,
            message,
            "compare with a time of the source: sql = \"select … from staged having max(…) < …\"",
        );
        return None;
    }
    let mut table = reader.inside(&field)?;
    let column = column(&mut table, EXAMPLE);
    if !table.has("max_age") {
        table.missing("max_age", EXAMPLE);
    }
    let max_age = table.duration("max_age").map(|(age, _)| age);
    table.finish();
    Some(CheckRule::Freshness { column: column?, max_age: max_age? })
}

fn column(table: &mut Reader<'_, '_>, example: &str) -> Option<Identifier> {
    if !table.has("column") {
        table.missing("column", example);
    }
    table.identifier("column").map(|(column, _)| column)
}
