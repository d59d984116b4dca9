//! What a prepared table needs so that it can take the place of a partition, and nothing of the old one is lost.
//!
//! The catalog answers with names and with the server's own text of what stands behind them; here they become statements.

use thrice_core::identifier::{Identifier, MAX_BYTES, TableName};
use thrice_core::sql_constant::string_constant;
use tokio_postgres::types::Type;

use crate::{
    columns::identifier,
    error::{ErrorKind, PublishError},
    session::get,
    steps::Steps,
    swap::interval::IntervalPartition,
    target::Target,
};

/// One thing that the new table must have.
struct Item {
    kind: String,
    name: String,
    definition: String,
    detail: String,
    flag: bool,
}

/// Everything that the new table must have, in the order of making.
pub(crate) struct Shape(Vec<Item>);

/// A statement with a short phrase for errors and traces.
pub(crate) type Made = (&'static str, String);

/// An index of the new table, and the name that it has in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: Identifier,
    pub(crate) to: Identifier,
}

const READ: &str = "read what the partition has";

impl Shape {
    /// Reads it from the old partition, or from the parent where there is none.
    pub(crate) async fn read(
        steps: &Steps<'_>,
        target: &Target,
        old: Option<&IntervalPartition>,
    ) -> Result<Self, PublishError> {
        let old = old.map_or(0, |old| old.oid);
        let params = [(&target.oid as _, Type::OID), (&old as _, Type::OID)];
        let rows = steps.rows(READ, include_str!("../../sql/swap_shape.sql"), &params).await?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            // the server's text of an index did not begin as it does: nothing is guessed
            let definition: Option<String> = get(row, 2)?;
            let definition = definition.ok_or_else(|| PublishError::new(READ, ErrorKind::NoRow))?;
            items.push(Item {
                kind: get(row, 0)?,
                name: get(row, 1)?,
                definition,
                detail: get(row, 3)?,
                flag: get(row, 4)?,
            });
        }
        Ok(Self(items))
    }

    /// Makes the empty table: columns, defaults, generated values and checks are the parent's.
    pub(crate) fn create(&self, table: &TableName, target: &Target) -> Vec<Made> {
        let model = self.0.iter().find(|item| item.kind == "table");
        let method = model.map(|model| model.definition.as_str()).filter(|method| !method.is_empty());
        let using = method.and_then(|method| Identifier::new(method).ok()).map(|method| format!(" using {method}"));
        vec![
            in_tablespace(model.map_or("", |model| &model.detail)),
            (
                "create the table that is swapped in",
                format!(
                    "create table {table} (like {} including defaults including generated including constraints including storage including compression){}",
                    target.table,
                    using.unwrap_or_default()
                ),
            ),
        ]
    }

    /// Everything that is made once the rows are in, foreign keys without looking at the rows.
    pub(crate) fn finish(&self, table: &TableName) -> Result<Vec<Made>, PublishError> {
        let mut made = Vec::new();
        let mut indexes = 0;
        for item in &self.0 {
            let name = || identifier(&item.name);
            let (definition, alter) = (&item.definition, format!("alter table {table}"));
            match item.kind.as_str() {
                "index" | "unique index" => {
                    indexes += 1;
                    let index = own_index(table, indexes)?;
                    made.push(in_tablespace(&item.detail));
                    made.push((
                        "index the table",
                        format!("create {} {index} on {table} using {definition}", item.kind),
                    ));
                }
                "constraint" => {
                    indexes += 1;
                    let index = own_index(table, indexes)?;
                    made.push(in_tablespace(&item.detail));
                    made.push(("index the table", format!("{alter} add constraint {index} {definition}")));
                }
                "cluster" => {
                    let at = self.indexes().position(|index| index.name == item.name && !index.flag);
                    if let Some(at) = at {
                        made.push(("mark the index", format!("{alter} cluster on {}", own_index(table, at + 1)?)));
                    }
                }
                "check" => made.push(("add a check", format!("{alter} add constraint {} {definition}", name()?))),
                "not null" => made.push(("refuse nulls", format!("{alter} alter column {} set not null", name()?))),
                "statistics" => {
                    made.push((
                        "set statistics",
                        format!("{alter} alter column {} set statistics {definition}", name()?),
                    ));
                }
                "column option" => {
                    made.push(("set an option", format!("{alter} alter column {} set ({definition})", name()?)));
                }
                "option" => made.push(("set an option", format!("{alter} set ({definition})"))),
                "comment" => {
                    made.push(("comment", format!("comment on table {table} is {}", string_constant(definition))));
                }
                "column comment" => made.push((
                    "comment",
                    format!("comment on column {table}.{} is {}", name()?, string_constant(definition)),
                )),
                "grant" => {
                    let of = if item.name.is_empty() { String::new() } else { format!(" ({})", name()?) };
                    let to = if item.detail.is_empty() {
                        "public".to_owned()
                    } else {
                        identifier(&item.detail)?.to_string()
                    };
                    let on = if item.flag { " with grant option" } else { "" };
                    made.push(("grant", format!("grant {definition}{of} on table {table} to {to}{on}")));
                }
                "foreign key" => {
                    // without its rows being read: it locks the table that it refers to until the transaction's end
                    let not_valid = if definition.ends_with(" NOT VALID") { "" } else { " not valid" };
                    made.push((
                        "add a foreign key",
                        format!("{alter} add constraint {} {definition}{not_valid}", name()?),
                    ));
                }
                _ => {}
            }
        }
        Ok(made)
    }

    /// Looks at the rows for each foreign key.
    pub(crate) fn validate(&self, table: &TableName) -> Result<Vec<Made>, PublishError> {
        let keys = self.0.iter().filter(|item| item.kind == "foreign key" && !item.definition.ends_with(" NOT VALID"));
        keys.map(|key| {
            let name = identifier(&key.name)?;
            Ok(("validate a foreign key", format!("alter table {table} validate constraint {name}")))
        })
        .collect()
    }

    /// What the indexes are called in the end: as those of the old partition; those that come from the parent as the server
    /// would call them, which is the parent's name with the partition's in front.
    pub(crate) fn renames(
        &self,
        table: &TableName,
        parent: &TableName,
        becomes: &Identifier,
    ) -> Result<Vec<Rename>, PublishError> {
        let mut renames = Vec::new();
        for (at, index) in self.indexes().enumerate() {
            let to = if index.flag {
                let rest = index.name.strip_prefix(parent.table.as_str()).unwrap_or(&index.name);
                let joint = if rest.starts_with('_') { "" } else { "_" };
                let name = format!("{}{joint}{rest}", becomes.as_str());
                // a name that does not fit stays the short one
                if name.len() > MAX_BYTES {
                    continue;
                }
                identifier(&name)?
            } else {
                identifier(&index.name)?
            };
            renames.push(Rename { from: own_index(table, at + 1)?, to });
        }
        Ok(renames)
    }

    /// What the table is to autovacuum once it is a partition.
    pub(crate) fn autovacuum(&self) -> String {
        let own =
            self.0.iter().find(|item| item.kind == "option" && item.definition.starts_with("autovacuum_enabled = "));
        own.map_or_else(|| "reset (autovacuum_enabled)".to_owned(), |own| format!("set ({})", own.definition))
    }

    fn indexes(&self) -> impl Iterator<Item = &Item> {
        self.0.iter().filter(|item| matches!(item.kind.as_str(), "index" | "unique index" | "constraint"))
    }
}

/// The name of an index while its table is in staging: unique there as the table's name is.
fn own_index(table: &TableName, number: usize) -> Result<Identifier, PublishError> {
    identifier(&format!("{}_i{number}", table.table.as_str()))
}

fn in_tablespace(name: &str) -> Made {
    let set = format!("select pg_catalog.set_config('default_tablespace', {}, true)", string_constant(name));
    ("choose the tablespace", set)
}
