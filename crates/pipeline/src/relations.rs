//! Which tables a query reads, as far as its text tells: enough to write down the privileges that it needs.
//!
//! The server knows better (a view hides tables, a function may read any), and it is the server that refuses. This only
//! has to leave out what is no table: functions, common table expressions, the `from` of `extract(… from …)`.

use crate::sql_lexer::{Token, TokenKind, tokens_before_unclosed};

/// A table or view as the query spells it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// Its schema, unless `search_path` has to find it.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

/// The tables that the text reads, each once, in the order of their names.
///
/// ```
/// let read = thrice_pipeline::relations::of("with paid as (select * from ods.orders) select * from paid, \"S\".\"T\"");
/// let names: Vec<String> = read.iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["\"S\".\"T\"", "ods.orders"]);
/// ```
pub fn of(sql: &str) -> Vec<Relation> {
    let (tokens, _unclosed) = tokens_before_unclosed(sql);
    let code: Vec<Code<'_>> = tokens.iter().filter(|token| token.is_code()).map(|token| Code::of(token, sql)).collect();
    let expressions = common_table_expressions(&code);
    let mut found =
        Reading { code: &code, at: 0, groups: vec![Group::Query { lists: false }], found: Vec::new() }.all();
    found.retain(|relation| relation.schema.is_some() || !expressions.contains(&relation.name));
    found.sort();
    found.dedup();
    found
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A token without its place; a bare word in lower case, as the server reads it.
struct Code<'a> {
    kind: TokenKind,
    text: std::borrow::Cow<'a, str>,
}

impl<'a> Code<'a> {
    fn of(token: &Token, sql: &'a str) -> Self {
        let text = token.text(sql);
        let text = if token.kind == TokenKind::Word { text.to_lowercase().into() } else { text.into() };
        Self { kind: token.kind, text }
    }

    fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::QuotedName && self.text == text
    }

    const fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::QuotedName)
    }
}

/// Words that a query begins with.
const BEGINNINGS: [&str; 4] = ["select", "with", "values", "table"];
/// Words after which a comma no longer parts tables.
const ENDS_OF_FROM: [&str; 14] = [
    "where",
    "group",
    "having",
    "window",
    "union",
    "intersect",
    "except",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "select",
    "with",
];

/// What stands between a bracket and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// A query; `lists` inside its FROM, where commas part tables.
    Query { lists: bool },
    /// Arguments, conditions, column lists: a FROM here belongs to a function's own syntax.
    Other,
}

struct Reading<'a> {
    code: &'a [Code<'a>],
    at: usize,
    groups: Vec<Group>,
    found: Vec<Relation>,
}

impl Reading<'_> {
    fn next_is(&self, ahead: usize, text: &str) -> bool {
        self.code.get(self.at + ahead).is_some_and(|code| code.is(text))
    }

    fn begins_query(&self, ahead: usize) -> bool {
        let open = self.code.iter().skip(self.at + ahead).find(|code| !code.is("("));
        open.is_some_and(|code| BEGINNINGS.iter().any(|word| code.is(word)))
    }

    fn all(mut self) -> Vec<Relation> {
        while let Some(code) = self.code.get(self.at) {
            let in_query = matches!(self.groups.last(), Some(Group::Query { .. }));
            let lists = matches!(self.groups.last(), Some(Group::Query { lists: true }));
            let distinct = self.at > 0 && self.code[self.at - 1].is("distinct");
            if code.is("(") {
                let query = self.begins_query(1);
                self.at += 1;
                self.groups.push(if query { Group::Query { lists: false } } else { Group::Other });
            } else if code.is(")") {
                self.at += 1;
                self.groups.pop();
            } else if in_query && ((code.is("from") && !distinct) || code.is("join") || (lists && code.is(","))) {
                self.at += 1;
                self.lists(true);
                self.table();
            } else if in_query && code.is("table") && !self.next_is(1, "(") {
                self.at += 1;
                self.table();
            } else {
                if in_query && ENDS_OF_FROM.iter().any(|word| code.is(word)) {
                    self.lists(false);
                }
                self.at += 1;
            }
        }
        self.found
    }

    fn lists(&mut self, now: bool) {
        if let Some(Group::Query { lists }) = self.groups.last_mut() {
            *lists = now;
        }
    }

    /// What follows FROM, JOIN or a comma between tables.
    fn table(&mut self) {
        while self.next_is(0, "only") || self.next_is(0, "lateral") {
            self.at += 1;
        }
        if self.next_is(0, "(") {
            let query = self.begins_query(1);
            self.at += 1;
            // joined tables in brackets are read as a FROM of their own
            self.groups.push(Group::Query { lists: !query });
            if !query {
                self.table();
            }
            return;
        }
        let mut parts = Vec::new();
        while let Some(code) = self.code.get(self.at).filter(|code| code.is_name()) {
            parts.push(code.text.to_string());
            self.at += 1;
            if !self.next_is(0, ".") {
                break;
            }
            self.at += 1;
        }
        // a function, or `rows from (…)`
        let function = self.next_is(0, "(") || (self.next_is(0, "from") && self.next_is(1, "("));
        if function && self.next_is(0, "from") {
            self.at += 1;
        }
        if let (false, Some(name)) = (function, parts.pop()) {
            self.found.push(Relation { schema: parts.pop(), name });
        }
    }
}

/// Names of common table expressions: `name as (select …`, also with a list of columns.
fn common_table_expressions(code: &[Code<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, word) in code.iter().enumerate().filter(|(_, word)| word.is("as")) {
        let rest = code.iter().skip(at + 1).skip_while(|code| code.is("not") || code.is("materialized"));
        let mut rest = rest.skip_while(|code| code.is("("));
        let opens = code.iter().skip(at + 1).find(|code| !code.is("not") && !code.is("materialized"));
        let query = rest.next().is_some_and(|code| BEGINNINGS.iter().any(|word| code.is(word)));
        if !(word.is("as") && query && opens.is_some_and(|code| code.is("("))) {
            continue;
        }
        let mut before = at;
        if at > 0 && code[at - 1].is(")") {
            before = code[..at].iter().rposition(|code| code.is("(")).unwrap_or_default();
        }
        if let Some(name) = before.checked_sub(1).and_then(|before| code.get(before)).filter(|code| code.is_name()) {
            names.push(name.text.to_string());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> Vec<String> {
        of(sql).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tables_of_from_and_join() {
        for (sql, read) in [
            ("select 1", &[][..]),
            ("select * from ods.orders", &["ods.orders"]),
            ("SELECT * FROM Ods.Orders o JOIN ONLY ods.stores AS s USING (id)", &["ods.orders", "ods.stores"]),
            ("select * from a.x, b.y z, lateral (select * from c.z) q where 1 in (2, 3)", &["a.x", "b.y", "c.z"]),
            ("select a, b from x.t group by a, b order by a, b", &["x.t"]),
            ("select * from (a.x join b.y on a.i = b.i) left join c.z on true", &["a.x", "b.y", "c.z"]),
            ("select * from ((select * from a.x) union all (select * from b.y)) q", &["a.x", "b.y"]),
            ("select * from db.a.x where exists (select from b.y)", &["a.x", "b.y"]),
            ("table a.x", &["a.x"]),
            ("select * from orders", &["orders"]),
            ("select * from \"Ods\".\"from\" -- from c.d\n where x = ' from e.f '", &["\"Ods\".\"from\""]),
            (
                "select (select max(n) from a.x), array(select n from b.y), coalesce((select 1 from c.z), 2)",
                &["a.x", "b.y", "c.z"],
            ),
        ] {
            assert_eq!(names(sql), read, "{sql}");
        }
    }

    #[test]
    fn what_is_no_table_is_left_out() {
        for (sql, read) in [
            ("select extract(year from at), substring(name from 2), trim(both ' ' from name) from a.x", &["a.x"][..]),
            ("select * from generate_series(1, 2) n, a.x", &["a.x"]),
            ("select * from pg_catalog.generate_series(1, 2) n cross join a.x", &["a.x"]),
            ("select * from rows from (f(1), g(2)) as r, a.x", &["a.x"]),
            ("select a is distinct from b, c is not distinct from d from a.x", &["a.x"]),
            ("select count(distinct n) from a.x", &["a.x"]),
            (
                "with p as (select * from a.x), q (n, m) as materialized (table b.y) select * from p join q on true",
                &["a.x", "b.y"],
            ),
            ("with recursive t as (select 1 union select n from t) select * from t", &[]),
            ("with \"P\" as not materialized (select 1) select * from \"P\", p", &["p"]),
            ("select * from (values (1, 2)) v (a, b), a.x", &["a.x"]),
            ("select x from a.t where dt = :interval_date and n = any (array[1, 2])", &["a.t"]),
            ("select cast(x as (int)) from a.x", &["a.x"]),
        ] {
            assert_eq!(names(sql), read, "{sql}");
        }
    }
}
