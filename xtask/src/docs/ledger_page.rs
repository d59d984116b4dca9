//! The page about the ledger's tables: their columns as a migrated database has them, with our texts.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::ledger_texts::{FUNCTIONS, TABLES, Table, VIEWS};
use crate::cluster::Cluster;
use crate::migrations;
use crate::psql::Session;
use crate::server::{self, MAJORS};

const COLUMNS: &str = "
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity <> '', pg_get_expr(d.adbin, d.adrelid)
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relnamespace = 'thrice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
 order by c.oid, a.attnum";

const VIEW_COLUMNS: &str = "
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), true, false, null
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
 where c.relnamespace = 'thrice'::regnamespace and c.relkind = 'v'
 order by c.oid, a.attnum";

/// Functions that people call: of the others, triggers aside, `assert` is for publishes alone.
const FUNCTION_NAMES: &str = "
select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid)
  from pg_proc p where p.pronamespace = 'thrice'::regnamespace and p.prorettype <> 'trigger'::regtype and p.proname <> 'assert'
 order by 1";

const KEYS: &str = "
select c.relname, k.contype, pg_get_constraintdef(k.oid)
  from pg_constraint k join pg_class c on c.oid = k.conrelid
 where c.relnamespace = 'thrice'::regnamespace and not c.relispartition and k.contype in ('p', 'u', 'f') and k.conparentid = 0
 order by c.oid, array_position(array['p', 'u', 'f']::\"char\"[], k.contype), k.conname";

/// The page.
pub(super) fn page() -> Result<String> {
    let cluster = Cluster::start(&server::of_version(MAJORS[0])?)?;
    let session = Session::open(&cluster.url())?;
    migrations::run(&session)?;
    let mut page = String::from(
        "# Ledger tables\n\n\
         The schema `thrice`, made by `thrice migrate` in the database that is published into. The tables are for reading: \
         nothing but thrice writes them.\n",
    );
    let (columns, keys) = (session.rows(COLUMNS)?, session.rows(KEYS)?);
    complete(&columns, TABLES)?;
    for table in TABLES {
        section(&mut page, table, &columns, &keys)?;
    }
    let columns = session.rows(VIEW_COLUMNS)?;
    complete(&columns, VIEWS)?;
    for view in VIEWS {
        section(&mut page, view, &columns, &[])?;
    }
    let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
    let there = session.rows(FUNCTION_NAMES)?;
    if there != names {
        bail!("xtask/src/docs/ledger_texts.rs: the functions are {there:?}");
    }
    for (name, text) in FUNCTIONS {
        write!(page, "\n## thrice.{}\n\n`thrice.{name}`\n\n{text}\n", name.split('(').next().unwrap_or_default())?;
    }
    Ok(page)
}

/// The cells of the lines that begin with this table's name.
fn of_table<'r>(rows: &'r [String], table: &'r str, cells: usize) -> impl Iterator<Item = Vec<&'r str>> {
    rows.iter()
        .map(move |row| row.splitn(cells, '|').collect())
        .filter(move |row: &Vec<&str>| row.first() == Some(&table))
}

/// Fails where a column has no text, or a text no column.
fn complete(columns: &[String], tables: &[Table]) -> Result<()> {
    let there: Vec<(&str, &str)> = columns
        .iter()
        .filter_map(|row| {
            let mut cells = row.split('|');
            cells.next().zip(cells.next())
        })
        .collect();
    let told = tables.iter().flat_map(|table| table.columns.iter().map(|(column, _)| (table.name, *column)));
    let told: Vec<(&str, &str)> = told.collect();
    let missing = there.iter().filter(|column| !told.contains(column));
    let too_many = told.iter().filter(|column| !there.contains(column));
    let lines: Vec<String> = missing
        .map(|(table, column)| format!("{table}.{column} has no text"))
        .chain(too_many.map(|(table, column)| format!("{table}.{column} is in no database")))
        .collect();
    if lines.is_empty() { Ok(()) } else { bail!("xtask/src/docs/ledger_texts.rs:\n  {}", lines.join("\n  ")) }
}

fn section(page: &mut String, table: &Table, columns: &[String], keys: &[String]) -> Result<()> {
    write!(page, "\n## thrice.{}\n\n{}\n\n| column | type | |\n|---|---|---|\n", table.name, table.text)?;
    for cells in of_table(columns, table.name, 6) {
        let [_, column, kind, not_null, identity, default] = cells.as_slice() else { bail!("{cells:?}") };
        let text = table.columns.iter().find(|(name, _)| name == column).map_or("", |(_, text)| text);
        let null = if *not_null == "t" { "" } else { ", may be null" };
        let default = match (*identity, *default) {
            ("t", _) => ", numbered".to_owned(),
            (_, "") => String::new(),
            (_, default) => format!(", default `{}`", default.replace('|', "\\|")),
        };
        writeln!(page, "| `{column}` | {kind}{null}{default} | {text} |")?;
    }
    let lines: Vec<String> = of_table(keys, table.name, 3)
        .filter_map(|cells| cells.get(2).map(|definition| format!("- `{}`\n", definition.to_lowercase())))
        .collect();
    if !lines.is_empty() {
        write!(page, "\n{}", lines.concat())?;
    }
    Ok(())
}
