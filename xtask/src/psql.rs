//! Scripts on a server as `psql -XqAt -v ON_ERROR_STOP=1` runs them, which a fetched server does not bring along:
//! statement by statement, rows as text.

use anyhow::{Context, Result, bail};
use thrice_pipeline::sql_lexer::{TokenKind, tokens};
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

    /// Runs a script.
    pub(crate) fn run(&self, script: &str) -> Result<()> {
        self.rows(script).map(drop)
    }

    /// Runs a script and returns the rows of all its statements: a line each, columns joined by `|`, NULL empty.
    pub(crate) fn rows(&self, script: &str) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for statement in statements(script)? {
            let messages =
                self.runtime.block_on(self.client.simple_query(statement)).with_context(|| statement.to_owned())?;
            for message in &messages {
                let SimpleQueryMessage::Row(row) = message else { continue };
                let cells: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or_default()).collect();
                lines.push(cells.join("|"));
            }
        }
        Ok(lines)
    }
}

/// The statements of a script: cut at each semicolon outside strings, comments and parentheses.
fn statements(script: &str) -> Result<Vec<&str>> {
    let tokens = tokens(script).with_context(|| script.to_owned())?;
    let (mut statements, mut start, mut depth, mut code, mut line_begins) = (Vec::new(), 0, 0, false, true);
    for token in &tokens {
        let text = token.text(script);
        if token.kind == TokenKind::White {
            line_begins |= text.contains('\n');
            continue;
        }
        match text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "\\" if line_begins => {
                bail!("commands of psql are not understood: {}", script.get(token.span.start..).unwrap_or_default())
            }
            _ => {}
        }
        line_begins = false;
        if token.kind == TokenKind::Semicolon && depth <= 0 {
            if code {
                statements.push(script.get(start..token.span.start).unwrap_or_default().trim());
            }
            (start, depth, code) = (token.span.end, 0, false);
        } else {
            code |= token.is_code();
        }
    }
    if code {
        statements.push(script.get(start..).unwrap_or_default().trim());
    }
    Ok(statements)
}

#[cfg(test)]
mod unit {
    use super::statements;

    #[test]
    fn a_script_is_cut_at_semicolons_of_its_own() {
        let script = "select 1; -- a; b\ndo $x$ begin perform 1; end $x$;\n;; create rule r as on insert to t do (select 1; select 2);\nselect ';', \"a;b\" /* ; */";
        assert_eq!(
            statements(script).unwrap(),
            [
                "select 1",
                "-- a; b\ndo $x$ begin perform 1; end $x$",
                "create rule r as on insert to t do (select 1; select 2)",
                "select ';', \"a;b\" /* ; */"
            ]
        );
        assert!(statements("-- nothing\n").unwrap().is_empty());
    }

    #[test]
    fn what_only_psql_knows_is_refused() {
        assert!(statements("select 1;\n\\copy t from 'file'").is_err());
        assert!(statements("select 'open").is_err());
    }
}
