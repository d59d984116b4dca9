//! Values as constants in SQL text, for those that are the same for every partition: the statement stays the same too.

/// A string constant that means the same whatever `standard_conforming_strings` says. Where nothing else gives it a type,
/// it takes that of what it is compared with.
pub(crate) fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A constant that becomes an array of the type that it is compared with.
pub(crate) fn array<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let quoted = |value: &str| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let values: Vec<String> = values.map(quoted).collect();
    literal(&format!("{{{}}}", values.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_constant_early() {
        assert_eq!(literal(r"it's \ here"), r"E'it''s \\ here'");
        assert_eq!(literal(r"\'; drop table t --"), r"E'\\''; drop table t --'");
        assert_eq!(array(["a", "NULL", "", "x,y", r#"q"\"#].into_iter()), r#"E'{"a","NULL","","x,y","q\\"\\\\"}'"#);
        assert_eq!(array(std::iter::empty()), "E'{}'");
    }
}
