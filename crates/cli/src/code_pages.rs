//! The page of every error code, part of the program: `thrice explain` needs no file and no network.

use thrice_core::code::ErrorCode;

macro_rules! pages {
    ($($id:literal $variant:ident $class:ident $title:literal;)*) => {
        /// The page of a code, Markdown.
        pub(crate) const fn page(code: ErrorCode) -> &'static str {
            match code { $(ErrorCode::$variant => include_str!(concat!("../codes/", $id, ".md")),)* }
        }
    };
}

thrice_core::with_code_table!(pages);

#[cfg(test)]
mod tests {
    use super::*;

    const SECTIONS: [&str; 3] = ["## Cause", "## What is left behind", "## What to do"];

    #[test]
    fn every_page_has_the_title_of_the_table_and_three_sections() {
        for code in ErrorCode::ALL {
            let text = page(*code);
            assert_eq!(text.lines().next(), Some(format!("# {code}: {}", code.title()).as_str()));
            let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, SECTIONS, "{code}");
            for section in SECTIONS {
                let (_, rest) = text.split_once(section).expect("the section is there");
                let body = rest.split("\n## ").next().unwrap_or_default();
                assert!(body.trim().len() > 5, "{code}: {section} says nothing");
            }
        }
    }

    #[test]
    fn every_page_ends_in_something_to_type() {
        for code in ErrorCode::ALL {
            let (_, what_to_do) = page(*code).split_once("## What to do").expect("the section is there");
            assert!(what_to_do.contains("\n    ") || what_to_do.contains('`'), "{code}");
        }
    }

    #[test]
    fn pages_fit_a_screen() {
        for code in ErrorCode::ALL {
            let text = page(*code);
            assert!(text.lines().count() <= 32, "{code} is long");
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{code} is wide");
        }
    }

    #[test]
    fn no_page_is_without_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/codes");
        for entry in std::fs::read_dir(folder).expect("the folder of the pages") {
            let name = entry.expect("an entry").file_name().into_string().expect("a name in UTF-8");
            let id = name.strip_suffix(".md").unwrap_or(&name);
            assert!(ErrorCode::from_id(id).is_some_and(|code| code.id() == id), "{name} belongs to no code");
        }
    }
}
