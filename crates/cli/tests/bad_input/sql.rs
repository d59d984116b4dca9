//! Query files.

use thrice_core::code::ErrorCode;

use crate::edits::overwrite;
use crate::shop;
use crate::told::{Told, bad, fine};

const SQL: &str = "pipelines/daily_order_summary.sql";
const WHERE: &str = "where order_time >= :interval_start and order_time < :interval_end";
const AS_OF: &str = "--as-of 2026-03-25T12:00:00+09:00";

/// Each text as the whole query of a fresh project.
fn each(mut told: Told, queries: &[&str]) {
    for query in queries {
        let what = query.lines().next().unwrap_or_default();
        told.given(what, overwrite(SQL, query)).call("lint");
    }
    told.shown();
}

#[test]
fn b64() {
    each(bad("b64_no_statement", ErrorCode::NoStatement), &["", "-- later\n/* nothing yet */\n", " ;\n;\n"]);
}

#[test]
fn b65() {
    let first = format!("select 1 as dt from t {WHERE}");
    let two = format!("{first};\ndelete from ods.orders;\n");
    let three = format!("{first}; select 2; select 3");
    each(bad("b65_two_statements", ErrorCode::SeveralStatements), &[&two, &three]);
}

#[test]
fn b66() {
    let query = format!("select dt from t {WHERE}");
    let ends = [";", ";\n-- that is all\n", " -- that is all", "\n/* that is all */", "\n;\n;"];
    let queries: Vec<String> = ends.iter().map(|end| format!("{query}{end}")).collect();
    each(fine("b66_ends_of_a_query"), &queries.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn b67() {
    let queries = [
        "insert into mart.t select 1",
        "update mart.t set a = 1",
        "delete from mart.t",
        "merge into mart.t using s on true when matched then delete",
        "create table mart.t (a int)",
        "drop table mart.t",
        "truncate mart.t",
        "call load_orders()",
        "do $$ begin perform 1; end $$",
        "copy mart.t to stdout",
        "begin",
        "set search_path = mart",
        "explain select 1",
        "\"select\" 1",
        "1 + 1",
    ];
    each(bad("b67_not_a_select", ErrorCode::NotASelect), &queries);
}

#[test]
fn b68() {
    let delete =
        format!("with gone as (\n  delete from ods.orders {WHERE} returning *\n)\nselect order_time from gone\n");
    let nested = format!(
        "select dt from (\n  with i as (insert into t values (1) returning dt) select dt from i\n) x {WHERE}\n"
    );
    let second = format!("with a as (select 1), b as (update t set a = 1 returning dt)\nselect dt from b {WHERE}\n");
    each(bad("b68_data_modifying_cte", ErrorCode::NotASelect), &[&delete, &nested, &second]);
}

#[test]
fn b69() {
    let into = format!("select dt\ninto mart.copy\nfrom t {WHERE}");
    let locks = ["for update", "for no key update", "for share skip locked", "for key share of t"];
    let mut queries = vec![into];
    queries.extend(locks.iter().map(|lock| format!("select dt from t {WHERE}\n{lock}")));
    each(
        bad("b69_select_into_and_locks", ErrorCode::SelectIntoOrLock),
        &queries.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn b70() {
    let queries = ["select dt from t", "select dt from t where note = ':interval_start' -- :interval_end"];
    each(bad("b70_no_interval", ErrorCode::NoIntervalPlaceholder), &queries);
}

#[test]
fn b71() {
    let queries = [
        "select dt from t where at >= :interval_strat and at < :interval_end",
        "select dt from t where at >= :interval_start and at < :interval_end and a = :nothing_like_it",
        "select dt from t where at >= $1 and at < :interval_end",
    ];
    each(bad("b71_unknown_placeholder", ErrorCode::UnknownPlaceholder), &queries);
}

#[test]
fn b72() {
    let texts = [
        format!("select ':interval_strat' as a from t {WHERE}"),
        format!("select a::text, b :: int from t {WHERE}"),
        format!("select $$:interval_strat$$ as a, $q$ :nope $q$ as b from t {WHERE}"),
        format!("select arr[1:2] as a, arr[:2] as b from t {WHERE}"),
        format!("select \":nope\" as a, e'\\':nope' as b /* :nope /* :nope */ */ from t {WHERE} -- :nope"),
    ];
    each(fine("b72_colons_that_bind_nothing"), &texts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn b73() {
    let queries = [
        "select dt from t where at between :interval_start and :interval_end",
        "select dt from t\nwhere a = 1\n  and at between :interval_start\n      and :interval_end",
    ];
    each(bad("b73_between_the_bounds", ErrorCode::BetweenInterval), &queries);
}

#[test]
fn b74() {
    let uses = ["now()", "current_date", "clock_timestamp()", "'today'::date", "timestamp 'now'", "age(at)"];
    let queries: Vec<String> =
        uses.iter().map(|clock| format!("select dt from t {WHERE}\n  and b < {clock}")).collect();
    each(bad("b74_wall_clock", ErrorCode::WallClock), &queries.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn b74_allowed() {
    let with_reason =
        format!("select now() as read_at -- thrice: allow(wall_clock) for people, not compared\nfrom t {WHERE}");
    each(fine("b74_wall_clock_with_a_reason"), &[&with_reason]);
}

#[test]
fn b74_without_a_reason() {
    let without = format!("select now() as read_at -- thrice: allow(wall_clock)\nfrom t {WHERE}");
    each(bad("b74_wall_clock_without_a_reason", ErrorCode::WallClock), &[&without]);
}

#[test]
fn b75() {
    let queries = [
        "select dt from t where day = '{{ ds }}'",
        "{% if full %}\nselect dt from t\n{% endif %}",
        "\\set day '2026-03-24'\nselect dt from t where day = :'day'",
        "select dt from t where day = :'day'",
        "select dt from t where day = '${day}' and a = ${b}",
    ];
    each(bad("b75_templates", ErrorCode::TemplateSyntax), &queries);
}

#[test]
fn b76() {
    let queries = [
        "select 'it is open\nfrom t where at >= :interval_start",
        "select \"open\nfrom t",
        "select $q$ open\nfrom t",
        "select 1 /* open /* twice */\nfrom t",
        "select (1 + (2\nfrom t where at >= :interval_start and at < :interval_end",
        "select 1)\nfrom t where at >= :interval_start and at < :interval_end",
        "select arr[1)\nfrom t where at >= :interval_start and at < :interval_end",
    ];
    each(bad("b76_not_closed", ErrorCode::Unclosed), &queries);
}

/// The query of the shop with one text replaced, as the server sees it.
fn on_the_server(name: &'static str, code: ErrorCode, changes: &[(&str, &str)]) {
    let mut told = shop::bad_on(name, code);
    let text = std::fs::read_to_string(told.place().path().join(SQL)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        told.place().write(SQL, text.replace(from, to));
        told.call(&format!("run daily_order_summary 2026-03-24 {AS_OF}"));
    }
    told.call("lint --db").shown();
    assert_eq!(told.scratch().number("select count(*) from thrice.pipeline_run_ledger"), 0);
}

#[test]
fn b77() {
    let changes = [
        ("sum(amount) as total_amount", "sum(amount) totl amount"),
        ("from ods.orders", "from ods.ordrs"),
        ("count(*) as", "cuont(*) as"),
        ("sum(amount)", "sum(amoutn)"),
    ];
    on_the_server("b77_syntax_error_found_by_the_server", ErrorCode::SqlFailed, &changes);
}

#[test]
fn b78() {
    let changes = [
        ("       count(*) as order_count,\n", ""),
        ("as order_count", "as order_cuont"),
        ("count(*) as order_count", "'many'::text as order_count"),
        ("count(*) as order_count", "count(*) as store_id"),
        ("as total_amount", ""),
    ];
    on_the_server("b78_columns_do_not_fit", ErrorCode::ValueDoesNotFit, &changes);
}

#[test]
fn b79() {
    let queries = [
        format!("select order_time::date as dt from t {WHERE}"),
        format!("select dt, random() as r from t {WHERE}"),
        format!("select dt from t {WHERE} limit 10"),
        format!("select * from t {WHERE}"),
        format!("select string_agg(a, ',') as a from t {WHERE}"),
        "select dt from t where at >= :interval_start".to_owned(),
    ];
    let mut told = bad("b79_may_differ_from_run_to_run", ErrorCode::MayDiffer);
    for query in queries {
        told.given(&query, overwrite(SQL, &query)).call("lint");
        assert_eq!(told.place().run("lint --deny warnings").code, Some(2), "{query}");
    }
    told.shown();
}
