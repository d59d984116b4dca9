//! Values as constants in SQL text, for those that are the same for every partition: the statement stays the same too.

pub(crate) use thrice_core::sql_constant::string_constant as literal;

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
    fn nothing_ends_a_value_of_an_array_early() {
        assert_eq!(array(["a", "NULL", "", "x,y", r#"q"\"#].into_iter()), r#"E'{"a","NULL","","x,y","q\\"\\\\"}'"#);
        assert_eq!(array(std::iter::empty()), "E'{}'");
    }
}
