//! The outline of a query: which parentheses hold statements, and in which clause each token stands.
//!
//! Enough structure for guards and lint rules, and defined for every text, also for one that no parser accepts.

use crate::sql_lexer::{Token, TokenKind};

/// The code of one statement with its outline. All indexes count code tokens.
pub(crate) struct Shape<'a> {
    sql: &'a str,
    tokens: Vec<Token>,
    /// Lower-case text of bare words.
    words: Vec<Option<String>>,
    groups: Vec<Group>,
    group_of: Vec<usize>,
    clause_of: Vec<Clause>,
}

/// The whole statement (the first group), or what stands between a pair of brackets.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Index of the bracket that opens it; `None` for the whole statement.
    pub(crate) open: Option<usize>,
    /// Index of the closing bracket, or one past the last token.
    pub(crate) close: usize,
    /// It begins with a keyword of a statement.
    pub(crate) statement: bool,
    /// It is the query itself or a member of its UNION: its columns are the columns of the result.
    pub(crate) outermost: bool,
}

/// The part of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    Other,
    Select,
    From,
    Condition,
}

/// A bracket without its partner: its token index, and whether it is an opening one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unbalanced {
    pub(crate) token: usize,
    pub(crate) opening: bool,
}

const STATEMENT_WORDS: [&str; 4] = ["select", "with", "values", "table"];
pub(crate) const WRITING_WORDS: [&str; 4] = ["insert", "update", "delete", "merge"];

impl<'a> Shape<'a> {
    /// The outline of the code among these tokens, and the first bracket without a partner.
    pub(crate) fn of(sql: &'a str, tokens: &[Token]) -> (Self, Option<Unbalanced>) {
        let tokens: Vec<Token> = tokens.iter().filter(|token| token.is_code()).cloned().collect();
        let words = tokens
            .iter()
            .map(|token| (token.kind == TokenKind::Word).then(|| token.text(sql).to_ascii_lowercase()))
            .collect();
        let mut shape = Self { sql, tokens, words, groups: Vec::new(), group_of: Vec::new(), clause_of: Vec::new() };
        let unbalanced = shape.outline();
        (shape, unbalanced)
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(crate) fn kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.text(self.sql))
    }

    /// Bytes from the first to the last of these tokens, both included.
    pub(crate) fn span(&self, first: usize, last: usize) -> std::ops::Range<usize> {
        let start = self.tokens.get(first).map_or(self.sql.len(), |token| token.span.start);
        let end = self.tokens.get(last).map_or(self.sql.len(), |token| token.span.end);
        start..end.max(start)
    }

    /// The text from the first to the last of these tokens.
    pub(crate) fn slice(&self, first: usize, last: usize) -> &'a str {
        self.sql.get(self.span(first, last)).unwrap_or_default()
    }

    /// The bare word at this place in lower case, where it is no column after a dot.
    pub(crate) fn keyword(&self, index: usize) -> Option<&str> {
        if index > 0 && self.text(index - 1) == "." {
            return None;
        }
        self.words.get(index)?.as_deref()
    }

    pub(crate) fn is(&self, index: usize, word: &str) -> bool {
        self.keyword(index) == Some(word)
    }

    /// The keyword, where it cannot be a label given by AS either.
    pub(crate) fn clause_word(&self, index: usize) -> Option<&str> {
        let word = self.keyword(index)?;
        (index == 0 || !self.is(index - 1, "as")).then_some(word)
    }

    /// The name of a function that is called here: folded, without its schema, which must be `pg_catalog`.
    pub(crate) fn called(&self, index: usize) -> Option<String> {
        if self.text(index + 1) != "(" {
            return None;
        }
        let name = self.name(index)?;
        let qualified = index > 0 && self.text(index - 1) == ".";
        let ours = !qualified || (index > 1 && self.name(index - 2).as_deref() == Some("pg_catalog"));
        ours.then_some(name)
    }

    /// A name as the server folds it.
    pub(crate) fn name(&self, index: usize) -> Option<String> {
        let text = self.text(index);
        let kind = self.kind(index)?;
        if kind == TokenKind::Word {
            return Some(text.to_ascii_lowercase());
        }
        let quoted = (kind == TokenKind::QuotedName).then_some(text)?;
        Some(quoted.strip_prefix('"')?.strip_suffix('"')?.replace("\"\"", "\""))
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Tokens directly in a group, without those of inner brackets (whose opening bracket does count).
    pub(crate) fn direct(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        let (from, to) = self.groups.get(group).map_or((0, 0), |g| (g.open.map_or(0, |open| open + 1), g.close));
        (from..to).filter(move |index| self.group_of.get(*index) == Some(&group))
    }

    pub(crate) fn group_of(&self, index: usize) -> usize {
        self.group_of.get(index).copied().unwrap_or_default()
    }

    /// The group that this bracket opens.
    pub(crate) fn opened_by(&self, index: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.open == Some(index))
    }

    pub(crate) fn clause(&self, index: usize) -> Clause {
        self.clause_of.get(index).copied().unwrap_or(Clause::Other)
    }

    /// True inside WHERE, HAVING, ON or FROM of its own statement or of one around it.
    pub(crate) fn decides_rows(&self, index: usize) -> bool {
        let mut at = Some(index);
        while let Some(index) = at {
            if matches!(self.clause(index), Clause::Condition | Clause::From) {
                return true;
            }
            at = self.groups.get(self.group_of(index)).and_then(|group| group.open);
        }
        false
    }

    /// True inside a statement whose columns are not those of the result: a CTE or a sub-select.
    pub(crate) fn in_inner_statement(&self, index: usize) -> bool {
        let mut at = Some(index);
        while let Some(index) = at {
            let Some(group) = self.groups.get(self.group_of(index)) else { return false };
            if group.statement && !group.outermost {
                return true;
            }
            at = group.open;
        }
        false
    }

    /// Fills groups and clauses; the first bracket without a partner, if any.
    fn outline(&mut self) -> Option<Unbalanced> {
        let count = self.tokens.len();
        let statement = self.begins_statement(0);
        self.groups.push(Group { open: None, close: count, statement, outermost: true });
        let mut stack = vec![(0_usize, Clause::Other)];
        let mut unbalanced = None;
        for index in 0..count {
            let Some(&(group, clause)) = stack.last() else { break };
            let is_bracket = self.kind(index) == Some(TokenKind::Punctuation);
            match self.text(index) {
                ")" | "]" if is_bracket => {
                    let partner = self.groups[group].open.map(|open| self.text(open));
                    let fits = partner == Some(if self.text(index) == ")" { "(" } else { "[" });
                    if fits {
                        self.groups[group].close = index;
                        stack.pop();
                    } else {
                        unbalanced = unbalanced.or(Some(Unbalanced { token: index, opening: false }));
                    }
                    let (outer, clause) = stack.last().copied().unwrap_or((0, Clause::Other));
                    self.group_of.push(outer);
                    self.clause_of.push(clause);
                }
                "(" | "[" if is_bracket => {
                    self.group_of.push(group);
                    self.clause_of.push(clause);
                    let opened = self.open(index, group);
                    let inner = if self.is(index + 1, "where") { Clause::Condition } else { Clause::Other };
                    stack.push((self.groups.len(), inner));
                    self.groups.push(opened);
                }
                _ => {
                    let clause = if self.groups[group].statement { self.next_clause(index, clause) } else { clause };
                    if let Some(top) = stack.last_mut() {
                        top.1 = clause;
                    }
                    self.group_of.push(group);
                    self.clause_of.push(clause);
                }
            }
        }
        let open = stack.get(1).and_then(|(group, _)| self.groups[*group].open);
        unbalanced.or(open.map(|token| Unbalanced { token, opening: true }))
    }

    /// A keyword of a statement, or one behind opening parentheses: `((select …) union …) limit …`.
    fn begins_statement(&self, index: usize) -> bool {
        let first = (index..self.len()).find(|at| self.text(*at) != "(");
        first.and_then(|at| self.keyword(at)).is_some_and(|word| STATEMENT_WORDS.contains(&word))
    }

    fn open(&self, index: usize, parent: usize) -> Group {
        let first = self.keyword(index + 1).unwrap_or_default();
        let before = index.checked_sub(1).and_then(|before| self.keyword(before)).unwrap_or_default();
        let writes = WRITING_WORDS.contains(&first) && matches!(before, "as" | "materialized");
        let set_word = |at: Option<usize>| {
            at.and_then(|at| self.keyword(at)).is_some_and(|word| matches!(word, "union" | "except" | "intersect"))
        };
        let starts = index == self.groups[parent].open.map_or(0, |open| open + 1)
            || set_word(index.checked_sub(1))
            || (matches!(before, "all" | "distinct") && set_word(index.checked_sub(2)));
        Group {
            open: Some(index),
            close: self.tokens.len(),
            statement: self.text(index) == "(" && (self.begins_statement(index + 1) || writes),
            outermost: self.groups[parent].outermost && starts && self.text(index) == "(",
        }
    }

    fn next_clause(&self, index: usize, clause: Clause) -> Clause {
        match self.clause_word(index) {
            Some("select") => Clause::Select,
            // `is distinct from` compares.
            Some("from") if index == 0 || !self.is(index - 1, "distinct") => Clause::From,
            Some("join") => Clause::From,
            Some("where" | "having") => Clause::Condition,
            Some("on") if clause == Clause::From => Clause::Condition,
            Some("group" | "order" | "limit" | "offset" | "window" | "union" | "except" | "intersect" | "values") => {
                Clause::Other
            }
            _ => clause,
        }
    }
}
