//! The page about the keys of `thrice.toml` and of pipeline files: the table that the readers go by.

use std::fmt::Write as _;

use anyhow::Result;
use thrice_pipeline::keys::{Built, File, KEYS, Key, Kind, Setting, Unwritten, of_table};

/// The page.
pub(super) fn page() -> Result<String> {
    let mut page = String::from(
        "# Keys of the files\n\n\
         A key that is not here is an error, with a suggestion. A key of the format that this version does not have is refused \
         by name and never ignored.\n\n\
         Editors know the keys that this version has from JSON Schemas, which are made from the same table. `thrice init` writes \
         them to `schemas/`; in a project that is there already `thrice export schema --write` does, also after an update of \
         thrice. An editor that uses taplo, such as VS Code with Even Better TOML, finds them by the first line of a file: \
         `#:schema ./schemas/thrice.json` in `thrice.toml`, `#:schema ../schemas/pipeline.json` in a pipeline.\n",
    );
    file(&mut page, File::Project, "`thrice.toml`")?;
    file(&mut page, File::Pipeline, "`pipelines/NAME.toml`")?;
    page += "\n## Not built in this version\n\n\
             These keys belong to the format, and are refused with what to do meanwhile.\n\n\
             | key | for | meanwhile |\n|---|---|---|\n";
    for key in KEYS {
        if let Built::No(meanwhile) = key.built {
            writeln!(page, "| `{}` | {} | {} |", path(key), key.meaning, cell(meanwhile))?;
        }
    }
    Ok(page)
}

fn path(key: &Key) -> String {
    match (key.table, key.name) {
        ("", name) => name.to_owned(),
        (table, name) => format!("{table}.{name}"),
    }
}

fn file(page: &mut String, file: File, title: &str) -> Result<()> {
    write!(page, "\n## {title}\n")?;
    let mut tables: Vec<(&str, Option<&Key>)> = vec![("", None)];
    for table in of_table(file, "").filter(|key| matches!(key.kind, Kind::Table | Kind::Tables)) {
        tables.push((table.name, Some(table)));
    }
    for (table, head) in tables {
        let keys: Vec<&Key> = KEYS
            .iter()
            .filter(|key| key.file == file && (key.table == table || under(key, table)))
            .filter(|key| !matches!(key.built, Built::No(_)) && !is_part(key))
            .collect();
        if keys.is_empty() {
            continue;
        }
        if let Some(head) = head {
            let brackets = if head.kind == Kind::Tables { format!("[[{table}]]") } else { format!("[{table}]") };
            let required = if head.default == Unwritten::Required { " Required." } else { "" };
            write!(page, "\n### `{brackets}`\n\n{}.{required}\n", sentence(head.meaning))?;
        }
        write!(page, "\n| key | takes | default | |\n|---|---|---|---|\n")?;
        let (settings, others): (Vec<&Key>, Vec<&Key>) =
            keys.into_iter().partition(|key| matches!(key.kind, Kind::Setting(_)));
        for key in others {
            let name = key.table.strip_prefix(table).unwrap_or_default().trim_start_matches('.');
            let name = if name.is_empty() { key.name.to_owned() } else { format!("{name}.{}", key.name) };
            let only = if key.built == Built::DefaultOnly { "; only the default is built" } else { "" };
            let (takes, default) = (kind(key.kind), default(key.default));
            writeln!(page, "| `{name}` | {takes} | {default} | {}{only} |", cell(key.meaning))?;
        }
        // settings are many and alike: those of one kind share a line
        for one in settings.chunk_by(|one, next| one.kind == next.kind) {
            let names: Vec<String> = one.iter().map(|key| format!("`{}`", key.name)).collect();
            for key in one.iter().take(1) {
                let (takes, default) = (kind(key.kind), default(key.default));
                writeln!(page, "| {} | {takes} | {default} | {} |", names.join(", "), cell(key.meaning))?;
            }
        }
    }
    Ok(())
}

/// A table inside this one, such as `checks.rows`.
fn under(key: &Key, table: &str) -> bool {
    !table.is_empty() && key.table.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

/// A table that has a section of its own.
fn is_part(key: &Key) -> bool {
    key.table.is_empty() && matches!(key.kind, Kind::Table | Kind::Tables)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Table => "table".to_owned(),
        Kind::Tables => "tables".to_owned(),
        Kind::Names(of) => format!("table of your own names: {of}"),
        Kind::Text => "string".to_owned(),
        Kind::OneOf(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or "),
        Kind::Grain => "`\"hour\"`, `\"day\"`, `\"week\"`, `\"month\"`, `\"quarter\"`, `\"year\"`, or minutes or hours that divide a \
             day, such as `\"15 minutes\"` and `\"6 hours\"`"
            .to_owned(),
        Kind::Cron => "cron expression of five fields, such as `\"0 3 * * *\"`, or a name such as `\"@daily\"`".to_owned(),
        Kind::Zone => "IANA time zone, such as `\"Asia/Seoul\"`".to_owned(),
        Kind::Boundary => "interval key, or a date or time at which an interval begins".to_owned(),
        Kind::Duration => "duration, such as `\"2h10m\"` (s, m, h, d, w)".to_owned(),
        Kind::Count | Kind::Setting(Setting::Whole) => "whole number".to_owned(),
        Kind::Counts => "list of whole numbers, rising".to_owned(),
        Kind::CountOrAll => "whole number, or `\"all\"`".to_owned(),
        Kind::Flag | Kind::Setting(Setting::Switch) => "`true` or `false`".to_owned(),
        Kind::TableName => "`\"schema.table\"`, quoted as in SQL where need be".to_owned(),
        Kind::Column => "column".to_owned(),
        Kind::Columns => "list of columns".to_owned(),
        Kind::Percent => "share, such as `\"1%\"` or `\"0.5%\"`".to_owned(),
        Kind::PercentOrTable => "share, such as `\"50%\"`, or a table `{ max = \"50%\" }`".to_owned(),
        Kind::RowChange => "range of changes, such as `\"-50%..+100%\"` or `\"-20%..\"`".to_owned(),
        Kind::Tolerance => "number or share, such as `\"0.01\"` or `\"0.1%\"`".to_owned(),
        Kind::Bound => "number, date, time, or string that the column's type reads".to_owned(),
        Kind::Values => "list of strings, numbers, true or false, dates".to_owned(),
        Kind::Schemas => "list of schemas".to_owned(),
        Kind::Setting(Setting::Memory) => "size, such as `\"256MB\"`".to_owned(),
        Kind::Setting(Setting::Number) => "number".to_owned(),
        Kind::Open => String::new(),
    }
}

fn default(default: Unwritten) -> String {
    match default {
        Unwritten::Required => "required".to_owned(),
        Unwritten::RequiredOfIntervals => "required; not with `grain = \"table\"`".to_owned(),
        Unwritten::Nothing => String::new(),
        Unwritten::Is(value) => format!("`{value}`"),
        Unwritten::Said(words) => words.to_owned(),
    }
}
