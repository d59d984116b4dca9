//! The page about error codes: the table of `thrice-core`, and the page of each code.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use thrice_core::code::ErrorCode;

use crate::process::root;

/// The page.
pub(super) fn page() -> Result<String> {
    let mut page = String::from(
        "# Error codes\n\n\
         A code names one kind of fault: `error[TH0531]`. `thrice explain TH0531` prints its page, which is also below. Its class \
         decides the exit code of the call; where a run failed, its failure class does (`check` 4, `guard` 5, `timeout` and \
         `permanent` 8, others 7). TH0901 ends with 143 where the signal was SIGTERM. Codes of features that are not built are \
         reserved.\n\n\
         | code | class | exit | |\n|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let (class, anchor) = (code.class(), anchor(&heading(*code)));
        writeln!(page, "| [{code}](#{anchor}) | {} | {} | {} |", class.as_str(), class.exit(), code.title())?;
    }
    for code in ErrorCode::ALL {
        let path = root()?.join("crates/cli/codes").join(format!("{code}.md"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        write!(page, "\n## {}\n", heading(*code))?;
        for line in text.lines().skip(1) {
            match line.strip_prefix("## ") {
                Some(section) => writeln!(page, "**{section}**")?,
                None => writeln!(page, "{line}")?,
            }
        }
    }
    Ok(page)
}

fn heading(code: ErrorCode) -> String {
    format!("{code}: {}", code.title())
}

/// As mdBook names a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
