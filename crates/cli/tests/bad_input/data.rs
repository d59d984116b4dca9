//! Rows that are not fit to publish.

use thrice_core::code::ErrorCode;

use crate::shop;
use crate::told::Told;

const SQL: &str = "pipelines/daily_order_summary.sql";
const TOML: &str = "pipelines/daily_order_summary.toml";
const DAY: &str = "run daily_order_summary 2026-03-24 --as-of 2026-03-25T12:00:00+09:00";

/// Nothing was published, and the run is on record.
fn nothing_published(told: &Told) {
    assert_eq!(told.scratch().number("select count(*) from mart.daily_order_summary"), 0);
    assert_eq!(told.scratch().number("select count(*) from thrice.publications"), 0);
    assert!(told.scratch().number("select count(*) from thrice.pipeline_run_ledger where status = 'failed'") > 0);
}

#[test]
fn b96() {
    let mut told = shop::bad_on("b96_rows_outside_the_interval", ErrorCode::RowsOutside);
    told.place().change(SQL, "'Asia/Seoul'", "'UTC'");
    told.call(DAY).shown();
    nothing_published(&told);
}

#[test]
fn b97() {
    let mut told = shop::bad_on("b97_empty_result", ErrorCode::EmptyResult);
    told.scratch().execute("delete from ods.orders where order_time >= '2026-03-24 00:00+09'");
    told.call(DAY).shown();
    nothing_published(&told);
}

#[test]
fn b97_published() {
    let mut told = shop::bad_on("b97_empty_over_published", ErrorCode::EmptyOverPublished);
    told.place().change(TOML, "strategy =", "allow_empty = true\nstrategy =");
    assert_eq!(told.place().run(DAY).code, Some(0));
    told.scratch().execute("delete from ods.orders where order_time >= '2026-03-24 00:00+09'");
    told.call(DAY).shown();
}

#[test]
fn b98() {
    let mut told = shop::bad_on("b98_duplicate_keys", ErrorCode::DuplicateKeys);
    told.place().change(SQL, "group by 1, 2", "group by 1, 2, date_trunc('hour', order_time)");
    told.call(DAY).shown();
    nothing_published(&told);
}

#[test]
fn b98_null() {
    let mut told = shop::bad_on("b98_null_in_the_key", ErrorCode::DuplicateKeys);
    told.scratch().execute(
        "alter table mart.daily_order_summary drop constraint daily_order_summary_pkey, alter column store_id drop not null",
    );
    told.place().change(SQL, "       store_id,", "       case when store_id % 7 > 0 then store_id end as store_id,");
    told.call(DAY).shown();
    nothing_published(&told);
}

#[test]
fn b98_check() {
    let mut told = shop::bad_on("b98_a_check_of_the_file", ErrorCode::CheckFailed);
    told.place().change(SQL, "sum(amount)", "-sum(amount)");
    told.call(DAY).shown();
    nothing_published(&told);
}

#[test]
fn b100() {
    let mut told = shop::bad_on("b100_values_that_do_not_fit", ErrorCode::ValueDoesNotFit);
    let text = std::fs::read_to_string(told.place().path().join(SQL)).unwrap();
    for (from, to) in [
        ("sum(amount)", "sum(amount) * 10^15"),
        ("sum(amount)", "sum(amount) / (count(*) - count(*))"),
        ("sum(amount)", "'infinity'::numeric"),
        ("sum(amount)", "('secret' || count(*))::numeric"),
        ("count(*) as", "(count(*) * 9223372036854775807) as"),
        ("timezone('Asia/Seoul', order_time)::date", "(min(order_time) + interval '300000 years')::date"),
    ] {
        assert!(text.contains(from), "{from}");
        told.place().write(
            SQL,
            text.replace(from, to)
                .replace("group by 1, 2", if from.starts_with('t') { "group by 2" } else { "group by 1, 2" }),
        );
        told.call(DAY);
        let said = told.place().run(DAY);
        assert!(!said.stderr.contains("secret"), "a value was shown: {}", said.stderr);
    }
    told.shown();
    nothing_published(&told);
}

#[test]
fn b99() {
    let mut told = shop::bad_on("b99_too_many_rows_vanish", ErrorCode::TooManyVanish);
    assert_eq!(told.place().run(DAY).code, Some(0));
    told.scratch().execute(
        "delete from ods.orders where order_time >= '2026-03-24 00:00+09' and store_id not in \
         (select store_id from mart.daily_order_summary order by store_id limit 38)",
    );
    told.call(DAY).shown();
}
