//! Words on the command line.

use std::io::Read as _;
use std::process::Stdio;

use thrice_core::code::ErrorCode;

use crate::shop;
use crate::support::Place;
use crate::told::{bad, bad_in};

const AS_OF: &str = "--as-of 2026-03-25T12:00:00+09:00";

fn run(rest: &str) -> String {
    format!("run daily_order_summary {rest} {AS_OF}")
}

#[test]
fn b01() {
    bad("b01_unknown_command", ErrorCode::UnknownCommand).call("rnu daily").call("launch").shown();
}

#[test]
fn b02() {
    let mut told = bad("b02_unknown_pipeline", ErrorCode::UnknownPipeline);
    told.call("run daily_order_sumary 2026-03-24").call("status weekly").shown();
}

#[test]
fn b03() {
    let mut told = bad("b03_day_that_does_not_exist", ErrorCode::BadKey);
    told.call(&run("2026-02-30")).call(&run("2026-13-01")).call(&run("2026-00-10")).shown();
}

#[test]
fn b04() {
    let mut told = bad("b04_date_of_another_form", ErrorCode::BadKey);
    told.call(&run("24/03/2026")).call(&run("20260324")).call(&run("'24 March 2026'")).shown();
}

#[test]
fn b05() {
    bad("b05_digits_left_out", ErrorCode::BadKey).call(&run("2026-3-4")).shown();
}

#[test]
fn b06() {
    bad("b06_hour_of_a_day_pipeline", ErrorCode::OtherGrain).call(&run("2026-03-24T13")).shown();
}

#[test]
fn b07() {
    bad("b07_range_backwards", ErrorCode::RangeBackwards).call(&run("--from 2026-03-24 --to 2026-03-20")).shown();
}

#[test]
fn b08() {
    let mut told = bad("b08_half_a_range", ErrorCode::RangeHalf);
    told.call(&run("--from 2026-03-24")).call(&run("--to 2026-03-24")).shown();
}

#[test]
fn b09() {
    let mut told = bad("b09_range_with_dots", ErrorCode::DotsRange);
    told.call(&run("2026-03-11..2026-03-17")).call(&run("2026-03-11..=2026-03-17")).shown();
}

#[test]
fn b10() {
    let mut told = bad("b10_before_the_start", ErrorCode::BeforeStart);
    told.call(&run("--from 1970-01-01 --to 2026-03-20")).call(&run("2026-03-10")).shown();
}

#[test]
fn b11() {
    bad("b11_tomorrow", ErrorCode::NotEnded).call(&run("2026-03-26")).shown();
}

#[test]
fn b12() {
    bad("b12_today", ErrorCode::NotEnded)
        .call(&run("2026-03-25"))
        .call(&run("2026-03-25 --early --reason abc"))
        .shown();
}

#[test]
fn b13() {
    let mut told = bad("b13_delay_not_over", ErrorCode::NotDue);
    told.call("run daily_order_summary 2026-03-24 --as-of 2026-03-25T02:09:59+09:00").shown();
}

#[test]
fn b14() {
    let mut told = bad("b14_year_out_of_range", ErrorCode::BadKey);
    told.call(&run("10000-01-01")).call(&run("99999999-01-01")).call(&run("0000-01-01")).shown();
}

#[test]
fn b15() {
    let mut told = bad("b15_millions_of_intervals", ErrorCode::TooManyIntervals);
    told.call(&run("--from 0001-01-01 --to 9999-01-01")).shown();
}

#[test]
fn b18() {
    let mut told = bad("b18_reason_that_says_nothing", ErrorCode::BadReason);
    told.call(&run("2026-03-20 --reason ''")).call(&run("2026-03-20 --reason '   '"));
    told.call(&run("2026-03-20 --reason 'a\u{7}larm bells'"));
    let long = "x".repeat(5000);
    let mut told = told.mask(&long, "[5,000 letters]");
    told.call(&run(&format!("2026-03-20 --reason {long}"))).shown();
}

#[test]
fn b24() {
    let mut told = bad("b24_no_consent", ErrorCode::NoConsent);
    told.call("adopt daily_order_summary --from 2026-03-11 --to 2026-03-12 --reason 'loaded by the old job'").shown();
}

#[test]
fn b26() {
    let mut told = bad("b26_wrong_flags", ErrorCode::BadArgument);
    told.call(&run("2026-03-20 --bogus")).call(&run("2026-03-20 --reson x"));
    told.call(&run("2026-03-20 --reason abc --reason abd")).call(&run("2026-03-20 --wait=yes"));
    told.call("show daily_order_summary").call("ledger --limit 0").call("ledger --limit abc");
    told.call("status --require fianl").call("run --as-of yesterday").call("run --from 2026-03-20 --to 2026-03-21");
    told.call("run --early").call("migrate now").shown();
}

#[test]
fn b26_conflict() {
    let mut told = bad("b26_flags_that_exclude_each_other", ErrorCode::ArgumentsConflict);
    told.call(&run("2026-03-20 --from 2026-03-20 --to 2026-03-21"));
    told.call("status --month 2026-03 --from 2026-03-01 --to 2026-03-02").shown();
}

#[test]
fn b30() {
    let mut told = shop::bad_on("b30_closed_partition", ErrorCode::Closed);
    assert_eq!(told.place().run(&run("2026-03-24")).code, Some(0));
    told.scratch().execute("update thrice.partitions set closed_at = '2026-03-28 00:00+00'");
    told.scratch().execute("update ods.orders set amount = 1");
    told.call(&run("2026-03-24")).shown();
}

#[test]
fn b34() {
    let place = Place::project().env("LANG", "C").env("LC_ALL", "C");
    for ending in ["toml", "sql"] {
        let from = place.path().join(format!("pipelines/daily_order_summary.{ending}"));
        std::fs::rename(from, place.path().join(format!("pipelines/일일_주문.{ending}"))).unwrap();
    }
    let mut told = bad_in("b34_names_in_other_scripts", ErrorCode::UnknownPipeline, place);
    told.call("run 일일_주 2026-03-24").shown();
    assert_eq!(told.place().run("lint 일일_주문").code, Some(0));
}

#[test]
fn b35() {
    // nothing to write down: it ends without a word
    let place = Place::project();
    for words in ["explain", "lint", "--help"] {
        let mut child = place.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""), "{words}");
    }
}

#[test]
fn b104() {
    let mut told = shop::bad_on("b104_rows_that_no_receipt_accounts_for", ErrorCode::ExistingRows);
    told.scratch().execute("insert into mart.daily_order_summary values ('2026-03-24', 1, 1, 1, now())");
    told.call(&run("2026-03-24")).shown();
}

#[test]
fn b105() {
    let mut told = shop::bad_on("b105_more_than_seven_published", ErrorCode::ThatIsABackfill);
    for _ in 0..2 {
        assert_eq!(told.place().run(&format!("run {AS_OF}")).code, Some(0));
    }
    told.call(&run("--from 2026-03-11 --to 2026-03-24")).shown();
}

#[test]
fn b106() {
    let told = shop::bad_on("b106_held_by_a_living_worker", ErrorCode::HeldByWorker);
    told.place().change(
        "pipelines/daily_order_summary.sql",
        "where order_time >= :interval_start",
        "where (select pg_sleep(60)) is not null and order_time >= :interval_start",
    );
    let mut child =
        told.place().command(&run("2026-03-24")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let sleeping =
        "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
    let begun = std::time::Instant::now();
    while told.scratch().number(sleeping) == 0 {
        assert!(begun.elapsed().as_secs() < 30, "the other worker does not run");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let mut told = told.mask(format!("process {} on {}", child.id(), host.trim()), "process [n] on [host]");
    told.call(&run("2026-03-24"));
    child.kill().unwrap();
    child.wait().unwrap();
    told.shown();
}
