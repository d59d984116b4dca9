//! The book: every command that a page shows is run, and every link leads somewhere.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod compare;
mod links;
mod page;
mod run_page;
#[path = "../cli/scratch.rs"]
#[expect(dead_code, reason = "of a scratch database a page needs the address alone")]
mod scratch;
mod session;

use std::path::PathBuf;

/// The folder of the book's pages.
fn source() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src"))
}

/// One test a page, and the list of pages that have one.
macro_rules! pages {
    ($($name:ident $path:literal;)*) => {
        const WITH_COMMANDS: &[&str] = &[$($path),*];

        $(
            #[test]
            fn $name() {
                run_page::run($path);
            }
        )*
    };
}

pages! {
    tutorial "tutorial.md";
    failed_at_night "how-to/failed-at-night.md";
    late_source "how-to/late-source.md";
    bug_over_14_days "how-to/bug-over-14-days.md";
    empty_partition "how-to/empty-partition.md";
    duplicates_from_insert "how-to/duplicates-from-insert.md";
    undo_a_publish "how-to/undo-a-publish.md";
    close_a_month "how-to/close-a-month.md";
    change_the_grain "how-to/change-the-grain.md";
    data_interval "concepts/data-interval.md";
    late_data "concepts/late-data.md";
    partition "concepts/partition.md";
    receipt "concepts/receipt.md";
    fence "concepts/fence.md";
    staging "concepts/staging.md";
    strategies "concepts/strategies.md";
    checks "concepts/checks.md";
    guards "concepts/guards.md";
}

#[test]
fn every_page_that_shows_commands_is_run() {
    let shows = |path: &String| std::fs::read_to_string(source().join(path)).unwrap().contains("```console");
    let mut with_commands: Vec<String> = links::pages().into_iter().filter(shows).collect();
    with_commands.sort();
    let mut run: Vec<&str> = WITH_COMMANDS.to_vec();
    run.sort_unstable();
    assert_eq!(with_commands, run);
}
