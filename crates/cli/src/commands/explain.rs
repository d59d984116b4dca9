//! `thrice explain`: the page of an error code, or all codes. Reads no file and asks no server.

use serde_json::{Value, json};
use thrice_core::code::ErrorCode;

use crate::args::Explain;
use crate::code_pages::page;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::output::Output;

pub(crate) fn run(args: &Explain, output: Output) -> Outcome<Exit> {
    let Some(word) = &args.code else {
        all(output);
        return Ok(Exit::Ok);
    };
    let Some(code) = ErrorCode::from_id(word) else { return Err(unknown(word).into()) };
    output.lines(page(code).lines().map(ToOwned::to_owned));
    let mut object = head(code);
    object["schema"] = "thrice.explain/1".into();
    object["page"] = page(code).into();
    output.object(object);
    Ok(Exit::Ok)
}

fn all(output: Output) {
    for code in ErrorCode::ALL {
        output.line(format!("{code}  {:<11}  {}", code.class().as_str(), code.title()));
    }
    let codes: Vec<Value> = ErrorCode::ALL.iter().map(|code| head(*code)).collect();
    output.object(json!({ "schema": "thrice.explain/1", "codes": codes }));
}

fn head(code: ErrorCode) -> Value {
    json!({
        "code": code.id(), "class": code.class().as_str(), "exit": Exit::of_code(code).number(), "title": code.title(),
    })
}

fn unknown(word: &str) -> Fault {
    let fault = Fault::new(ErrorCode::BadArgument, format!("{word:?} is no error code of this version"))
        .why("a code is TH and four digits, as in error[TH0531]");
    match nearest(word) {
        Some(near) => fault.fix(format!("thrice explain {near}")),
        None => fault.fix("thrice explain lists all codes"),
    }
}

/// The code whose number is nearest; a zero that was left out does not matter. Of two equally near ones the first.
fn nearest(word: &str) -> Option<ErrorCode> {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let number: u16 = digits.parse().ok().filter(|number| *number <= 9999)?;
    let of = |code: &ErrorCode| code.id().trim_start_matches("TH").parse::<u16>().unwrap_or_default();
    ErrorCode::ALL.iter().copied().min_by_key(|code| of(code).abs_diff(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_code_is_that_of_the_number() {
        for (word, near) in [
            ("TH531", Some("TH0531")),
            ("531", Some("TH0531")),
            ("th00531", Some("TH0531")),
            ("TH0599", Some("TH0601")),
            ("TH9999", Some("TH0901")),
            ("nonsense", None),
            ("TH", None),
            ("", None),
            ("TH123456", None),
        ] {
            assert_eq!(nearest(word).map(ErrorCode::id), near, "{word}");
        }
    }
}
