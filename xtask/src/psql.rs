//! Statements on a server, and rows as psql's unaligned output has them.

use anyhow::{Context, Result};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// A session with a runtime of its own.
pub(crate) struct Session {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Session {
    pub(crate) fn open(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(url, NoTls)).with_context(|| url.to_owned())?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    /// Runs a script of statements.
    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        self.runtime.block_on(self.client.batch_execute(sql))?;
        Ok(())
    }

    /// Rows of all statements: a line each, columns joined by `|`, NULL empty.
    pub(crate) fn rows(&self, sql: &str) -> Result<Vec<String>> {
        let messages = self.runtime.block_on(self.client.simple_query(sql))?;
        Ok(messages
            .iter()
            .filter_map(|message| {
                let SimpleQueryMessage::Row(row) = message else { return None };
                let cells: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or_default()).collect();
                Some(cells.join("|"))
            })
            .collect())
    }
}
