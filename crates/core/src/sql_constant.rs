//! Text as a constant in SQL, for statements that cannot take it as a parameter.

/// A string constant that means the same whatever `standard_conforming_strings` says (`PostgreSQL` manual, 4.1.2.2). Where
/// nothing else gives it a type, it takes that of what it is compared with.
pub fn string_constant(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::string_constant;

    #[test]
    fn nothing_ends_a_constant_early() {
        assert_eq!(string_constant(r"it's \ here"), r"E'it''s \\ here'");
        assert_eq!(string_constant(r"\'; drop table t --"), r"E'\\''; drop table t --'");
    }
}
