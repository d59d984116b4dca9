//! The page about error codes: the table of `thrice-core`.

use std::fmt::Write as _;

use anyhow::Result;
use thrice_core::code::ErrorCode;

/// The page.
pub(super) fn page() -> Result<String> {
    let mut page = String::from(
        "# Error codes\n\n\
         A code names one kind of fault: `error[TH0531]`. Its class decides the exit code of the call; where a run failed, its \
         failure class does (`check` 4, `guard` 5, `timeout` and `permanent` 8, others 7). TH0901 ends with 143 where the signal \
         was SIGTERM. Codes of features that are not built are reserved.\n\n\
         | code | class | exit | |\n|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let class = code.class();
        writeln!(page, "| {code} | {} | {} | {} |", class.as_str(), class.exit(), code.title())?;
    }
    Ok(page)
}
