//! The figures as tables, their marks, and `docs/performance.md`.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::bench::scene::Scene;
use crate::process::{read, root};

/// A ratio and what it may be at most.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) what: String,
    pub(crate) ratio: f64,
    pub(crate) most: f64,
}

/// One workload's figures.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    lines: Vec<String>,
    mark: Option<Mark>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: String, columns: &[&str], mark: Mark) -> Self {
        let lines = head(columns);
        Self { mark: Some(mark), ..Self::without_mark_of(title, lines) }
    }

    /// Figures that nothing is required of yet.
    pub(crate) fn without_mark(title: String, columns: &[&str]) -> Self {
        Self::without_mark_of(title, head(columns))
    }

    fn without_mark_of(title: String, lines: Vec<String>) -> Self {
        Self { title, lines, mark: None, notes: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn text(&self) -> String {
        let mark = self.mark.as_ref().map(|Mark { ratio, most, .. }| {
            let verdict = if ratio <= most { "held" } else { "not held" };
            format!("Mark: at most {most}; measured {ratio:.2}: {verdict}.")
        });
        let mut parts = vec![format!("## {}", self.title), self.lines.join("\n")];
        parts.extend(mark);
        parts.extend(self.notes.iter().cloned());
        parts.join("\n\n") + "\n\n"
    }
}

fn head(columns: &[&str]) -> Vec<String> {
    vec![format!("| {} |", columns.join(" | ")), format!("|{}", "---|".repeat(columns.len()))]
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Report {
    server: String,
    cores: usize,
    tables: Vec<Table>,
}

impl Report {
    pub(crate) fn new(scene: &Scene) -> Result<Self> {
        Ok(Self {
            server: scene.value("select 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)")?,
            cores: std::thread::available_parallelism()?.get(),
            tables: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Every table with its mark.
    pub(crate) fn tables(&self) -> String {
        self.tables.iter().map(Table::text).collect()
    }

    /// Writes `docs/performance.md`: the figures, then the part that people write.
    pub(crate) fn write(&self) -> Result<()> {
        let commit = read(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()?))?;
        let head = format!(
            "# Performance\n\nWritten by `cargo xtask bench` at commit {} on {} and {} cores, one connection, everything on\none \
             machine. Times are that machine's on that day; only ratios carry over. Contenders took turns, and every result\nwas \
             compared with one set-based statement before its time counted.\n\n",
            commit.trim(),
            self.server,
            self.cores
        );
        let explained = include_str!("where_the_time_goes.md");
        fs::write(root()?.join("docs/performance.md"), format!("{head}{}{explained}", self.tables()))?;
        println!("written: docs/performance.md");
        Ok(())
    }

    /// Fails where a ratio is half as much again as its mark.
    pub(crate) fn judge(&self) -> Result<()> {
        let over: Vec<String> = self
            .tables
            .iter()
            .filter_map(|table| table.mark.as_ref())
            .filter(|mark| mark.ratio > mark.most * 1.5)
            .map(|mark| format!("{}: {:.2}, at most {:.1}", mark.what, mark.ratio, mark.most))
            .collect();
        if over.is_empty() { Ok(()) } else { bail!("far over their marks: {}", over.join("; ")) }
    }
}
