//! What people get wrong in a query, one snapshot each; names begin with the row of the list of bad input.

use std::collections::BTreeMap;

use crate::support::{pipeline_toml, project, show};
use insta::assert_snapshot;
use thrice_core::Grain;
use thrice_pipeline::placeholders::VarValue;
use thrice_pipeline::{Definition, Pipeline, Query};

const USED: &str = "from t where at >= :interval_start and at < :interval_end";

fn read_grain(sql: &str, grain: &Grain) -> String {
    let vars = BTreeMap::from([("region".to_owned(), VarValue::Text("kr".to_owned()))]);
    match Query::read("pipelines/sales.sql", sql.as_bytes(), grain, &vars) {
        Ok(checked) => show(&checked.warnings, sql),
        Err(found) => {
            assert!(found.has_errors());
            show(&found, sql)
        }
    }
}

fn read(sql: &str) -> String {
    read_grain(sql, &Grain::Day)
}

/// Reads `select COLUMNS` over the interval.
fn select(columns: &str) -> String {
    read(&format!("select {columns}\n{USED}"))
}

#[test]
fn b64_nothing() {
    assert_snapshot!("b64_empty", read(""));
    assert_snapshot!("b64_comments", read("-- todo\n/* later */\n"));
    assert_snapshot!("b64_semicolons", read(";;\n"));
}

#[test]
fn b65_two_statements() {
    assert_snapshot!("b65_two", read(&format!("select 1 {USED};\n-- then\nselect 2;")));
    assert_snapshot!("b65_break_out", read(&format!("select 1 {USED}) q; drop table t; --")));
}

#[test]
fn b66_ends_are_fine() {
    for end in ["", "\n", ";", " ; ", ";\n-- done", " -- done", "\n/* done */;\n;\n", "\r\n"] {
        assert_eq!(read(&format!("select a {USED}{end}")), "", "{end:?}");
        assert_eq!(read(&format!(";\u{b}\n/* x */ select a {USED}{end}")), "", "{end:?}");
    }
}

#[test]
fn b67_other_statements() {
    for word in [
        "insert into t select 1",
        "UPDATE t set a = 1",
        "delete from t",
        "create table t ()",
        "call p()",
        "do $$begin end$$",
        "copy t to stdout",
        "begin",
        "set x = 1",
        "explain select 1",
        "(((delete from t)))",
        "'select'",
    ] {
        let found = read(word);
        assert!(found.starts_with("error[TH0303]") && found.matches("TH0").count() == 1, "{word}: {found}");
    }
    assert_snapshot!("b67_insert", read("-- load\ninsert into t select 1"));
    for good in [
        "values (:interval_start)".to_owned(),
        format!("with x as (select a {USED}) table x"),
        format!("(select a {USED}) union all (select b {USED})"),
    ] {
        assert!(!read(&good).contains("TH0303"), "{good}");
    }
}

#[test]
fn b68_writing_ctes() {
    assert_snapshot!("b68_cte", read(&format!("with gone as (delete from t returning a)\nselect a {USED}")));
    assert_snapshot!(
        "b68_nested",
        read(&format!(
            "with a as materialized (with b as (select 1) insert into t select 2 returning *) select a {USED}"
        ))
    );
    assert_snapshot!("b68_main", read("with a as (select :interval_start) update t set x = 1"));
    assert_eq!(select("t.delete, \"update\", f(x) as merge, substring(a from 2 for 3), update"), "");
}

#[test]
fn b69_into_and_locks() {
    assert_snapshot!("b69_into", read(&format!("select a into other {USED}")));
    assert_snapshot!("b69_lock", read(&format!("select a {USED}\nfor update")));
    assert_snapshot!(
        "b69_locks",
        read(&format!("select a from (select a from u for no key update) q {USED} for key share"))
    );
    assert_snapshot!("b69_parentheses", read(&format!("((select a {USED}) union all (select b from u)) for update")));
    assert_eq!(select("1 as into, t.into"), "");
}

#[test]
fn b70_no_interval() {
    assert_snapshot!("b70_none", read("select a from t"));
    assert_snapshot!(
        "b70_only_output",
        read("select :interval_start as at, case when a > :interval_end then 1 end from t where b")
    );
    assert_snapshot!("b70_no_end", read("select a from t where at >= :interval_start and b"));
    let handed_on =
        "with p as (select :interval_start as s, :interval_end as e) select a from t, p where at >= s and at < e";
    assert_eq!(read(handed_on), "");
    assert_eq!(read("select a from t where since <= :interval_start and until > :interval_start"), "");
    assert_eq!(read("select a from t where d = :interval_date"), "");
    assert_eq!(read("select h from generate_series(:interval_start, :interval_end, '1 hour') h"), "");
    assert_eq!(read("select count(*) filter (where at < :interval_end) as n from t"), "");
}

#[test]
fn b71_unknown_placeholders() {
    assert_snapshot!("b71_near", read("select a from t where at >= :interval_strat and at < :interval_end"));
    assert_snapshot!("b71_var", select(":regoin, :nothing"));
    assert_snapshot!("b71_number", select("$1"));
    for name in ["interval_start", "interval_end", "interval_date"] {
        let text = read_grain(&format!("select 1 from t where at >= :{name}"), &Grain::Table);
        assert!(text.contains("TH0306") && text.contains("pipeline of grain table"), "{text}");
    }
    assert_eq!(read_grain("select id, name from d.shops", &Grain::Table), "");
    assert_snapshot!("b71_date_of_an_hour", read_grain(&format!("select :interval_date {USED}"), &Grain::Hour));
}

#[test]
fn b72_what_is_not_bound() {
    let sql = format!(
        "select ':interval_start', $$:interval_strat$$, a::text, arr[1:interval_end] -- :oops\n{USED} /* :x */"
    );
    assert_eq!(read(&sql), "");
    let query = Query::read("q.sql", sql.as_bytes(), &Grain::Day, &BTreeMap::new()).unwrap().value;
    assert_eq!(query.params().len(), 2);
    assert!(query.text().contains("arr[1:interval_end]"));
}

#[test]
fn b73_between() {
    assert_snapshot!(
        "b73_between",
        read("select a from t where at between :interval_start and :interval_end and b = 1")
    );
    assert_snapshot!(
        "b73_cast",
        read("select a from t where (d between (:interval_start)::text and (:interval_end)::text)")
    );
    assert_snapshot!(
        "b73_by_hand",
        read(
            "select a from t where at between :interval_start and :interval_end - interval '1 microsecond' group by 1"
        )
    );
    for fine in [
        "select a from t where d between :interval_date - 6 and :interval_date",
        "select a from t where :interval_start between valid_from and valid_to",
        "select a from t where x between 1 and 2 and at >= :interval_start and at < :interval_end",
    ] {
        assert_eq!(read(fine), "", "{fine}");
    }
}

#[test]
fn b74_wall_clock() {
    assert_snapshot!(
        "b74_many",
        select(
            "now(), Current_Date, clock_timestamp( ), 'today'::date, date 'yesterday', cast('now' as timestamptz), pg_catalog.now(), age(at), current_timestamp(3)"
        )
    );
    assert_snapshot!("b74_without_reason", select("now() as loaded_at -- thrice: allow(wall_clock)"));
    assert_snapshot!("b74_unknown_rule", select("now() as loaded_at -- thrice: allow(wallclock) it is fine"));
    assert_snapshot!("b74_other_line", select("a -- thrice: allow(wall_clock) only for this line\n, now()"));
    assert_eq!(select("now() as loaded_at -- thrice: allow(wall_clock) excluded from the comparison"), "");
    assert_eq!(select("t.current_date, now, age(a, b), 'now', 'today' as label, my.now(), a as localtime"), "");
}

#[test]
fn b75_templates() {
    assert_snapshot!("b75_jinja", read("select a from t where day = '{{ ds }}'"));
    assert_snapshot!("b75_bare", read("select a from {{ ref('t') }} where day = {{ds}}"));
    assert_snapshot!("b75_block", read("{% if x %}select 1{% endif %}"));
    assert_snapshot!("b75_psql", read(&format!("\\set x 1\nselect a {USED}")));
    assert_snapshot!("b75_psql_variable", select(":'region'"));
    assert_snapshot!("b75_shell", select("${DAY}"));
    assert_snapshot!("b75_open_quote", read("{# it's #} select 1"));
    assert_snapshot!("b75_perhaps", select("'{{ today }}'"));
    let fine = "'{{1,2},{3,4}}'::int[], '{{a}}'::text[], '{\"x\": {}}'::jsonb, $q$:x {{ ds }}$q$, 'hello {{ name }}!' -- {{ ds }}\n, json_object('a':'b')";
    assert_eq!(select(fine), "");
}

#[test]
fn b76_unclosed() {
    assert_snapshot!("b76_quote", read("select 'a from t\nwhere :interval_start"));
    assert_snapshot!("b76_name", read("select \"a from t"));
    assert_snapshot!("b76_dollar", read("select $x$ a $y$"));
    assert_snapshot!("b76_comment", read("select /* a /* b */ c"));
    assert_snapshot!("b76_bracket", read(&format!("select (a {USED}")));
    assert_snapshot!("b76_break_out", read(&format!("select a {USED}) q union all select * from (select b from u")));
    assert_snapshot!("b76_mixed", read(&format!("select a[1) {USED}")));
}

#[test]
fn b79_may_differ() {
    assert_snapshot!(
        "b79_casts",
        select("order_time::date, (t.at)::date, cast(at as date), :interval_start::date, \"O T\"::date")
    );
    assert_eq!(select("(at at time zone 'Asia/Seoul')::date, '2026-01-01'::date, date_trunc('day', d)::date, (a + 1)::date, x::date[1]").matches("TH0").count(), 1);
    assert_snapshot!("b79_random", select("random(), gen_random_uuid(), nextval('s')"));
    assert_snapshot!("b79_limit", read(&format!("select a {USED} limit 10")));
    assert_snapshot!(
        "b79_fetch",
        read(&format!("with x as (select a from u fetch first 5 rows only) select distinct on (a) a, b {USED}"))
    );
    assert_snapshot!("b79_star", read(&format!("select t.*, count(*) {USED} union all (select * {USED})")));
    assert_snapshot!(
        "b79_order",
        select(
            "array_agg(a), string_agg(b, ',' order by b), first_value(a) over (partition by b), last_value(a) over w"
        )
    );
    assert_snapshot!("b79_limit_outside", read(&format!("(select a {USED}) limit 10")));
    assert_snapshot!("b79_offset", read(&format!("select a {USED} offset 5")));
    assert_snapshot!("b79_sample", read(&format!("select a from u tablesample system (1), {}", &USED[5..])));
    assert_snapshot!("b79_windows", select("row_number() over (), lag(a) filter (where b) over (partition by c)"));
    for fine in [
        format!("(select a {USED} order by a) limit 10"),
        format!("select array_agg(a) filter (where b > 0 and c in (1, 2)) over (order by d) {USED}"),
        format!("select a from u tablesample system (1) repeatable (7), {}", &USED[5..]),
        format!("select a {USED} order by a limit 10"),
        format!("select a from (select *, row_number() over (order by a) from u) q, {}", &USED[5..]),
        format!("select a * b, count(*), 2 * a {USED}"),
        format!("select a {USED} limit all"),
        format!("select random() {USED} -- thrice: allow(limit) not this line").replace("random()", "a"),
        format!("select random() as r -- thrice: allow(random) a sample, not compared\n{USED}"),
    ] {
        assert_eq!(read(&fine), "", "{fine}");
    }
}

#[test]
fn what_no_parser_knows_is_still_read() {
    for sql in [
        format!("select (row(a, b)).*, (c).d from rows from (f(1), g(2)) as x(a, b), {}", &USED[5..]),
        format!("with x as (select a {USED}) table x"),
        format!("select a {USED} window w as (partition by b) -- 끝"),
    ] {
        assert!(!read(&sql).contains("error"), "{sql}: {}", read(&sql));
    }
}

#[test]
fn bounds_that_take_the_wrong_instant_along() {
    let of = |condition: &str| read(&format!("select a from b where {condition}"));
    assert_snapshot!("closed_end", of("at >= :interval_start and at <= :interval_end"));
    assert_snapshot!("open_start", of("t.at > :interval_start and t.at < :interval_end"));
    for closed in [
        ":interval_start <= at and :interval_end >= at",
        "at >= :interval_start and at <= (:interval_end)",
        "at >= :interval_start and at::timestamp <= :interval_end::timestamp",
        "at >= :interval_start and coalesce(at, seen) <= :interval_end",
    ] {
        assert!(of(closed).contains("`<=` includes the end"), "{closed}: {}", of(closed));
    }
    for open in [
        ":interval_start < at and at < :interval_end",
        "at < :interval_end and (:interval_start::timestamptz) < at",
        "\"at\" > (:interval_start) and :interval_end > \"at\"",
    ] {
        assert!(of(open).contains("`>` leaves out the start"), "{open}: {}", of(open));
    }
    for fine in [
        "at >= :interval_start and at < :interval_end",
        ":interval_start <= at and :interval_end > at",
        "since < :interval_end and upto > :interval_start",
        "since::timestamptz < :interval_end and upto::timestamptz > :interval_start",
        "day <= :interval_date",
        "at >= :interval_start and at < :interval_end and a > b and c <= d",
    ] {
        assert_eq!(of(fine), "", "{fine}");
    }
    let allowed = "select a from b where since <= :interval_end -- thrice: allow(between) the end counts\n and upto > :interval_start";
    assert_eq!(read(allowed), "");
}

/// The target by its name, wherever a relation stands; unqualified only where the pipeline's search path has its schema.
#[test]
fn a_query_that_reads_its_own_target() {
    let told = |sql: &str, rest: &str| {
        let toml = pipeline_toml("", "", "table = 'mart.\"Sales\"'\ninterval_column = \"day\"", rest);
        let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
        let sql = format!("{sql} where at >= :interval_start and at < :interval_end");
        match Pipeline::new(definition, "pipelines/sales.sql", sql.as_bytes()) {
            Ok(checked) => (show(&checked.warnings, &sql), checked.value.query().names_target()),
            Err(found) => panic!("{}", show(&found, &sql)),
        }
    };
    let path = "[session]\nsearch_path = [\"ods\", \"mart\"]";
    assert_snapshot!("own_target", told("select a from ods.orders join mart.\"Sales\" s using (id)", "").0);
    for sql in [
        "select a from mart.\"Sales\"",
        "select a from only MART.\"Sales\" t",
        "select a from ods.orders, mart.\"Sales\"",
        "select a from ods.orders left join lateral (select b from mart.\"Sales\") x on true",
        "with old as (select b from mart.\"Sales\") select a from old",
        "with old as (table mart.\"Sales\") select a from old",
        "select (select max(a) from mart.\"Sales\") as a from ods.orders",
        "select a from (mart.\"Sales\" join ods.orders using (id))",
    ] {
        let (said, names) = told(sql, "");
        assert!(said.contains("its own target") && names, "{sql}: {said}");
    }
    for sql in ["select a from \"Sales\"", "select a from ods.orders natural join \"Sales\""] {
        assert!(told(sql, path).0.contains("its own target"), "{sql}");
        assert_eq!(told(sql, ""), (String::new(), false), "{sql}: the role's path is not known here");
    }
    for sql in [
        "select a from mart.sales",
        "select mart.\"Sales\".a from ods.\"Sales\" as mart",
        "select a from mart.\"Sales\"(1)",
        "with \"Sales\" as (select a from ods.orders) select a from \"Sales\"",
        "select 'from mart.\"Sales\"' as a from ods.orders",
    ] {
        assert_eq!(told(sql, path), (String::new(), false), "{sql}");
    }
    let allowed =
        "select a from ods.orders join mart.\"Sales\" using (id) -- thrice: allow(own_target) yesterday's rows\n";
    assert_eq!(told(allowed, ""), (String::new(), true));
}
