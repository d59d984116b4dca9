//! What people get wrong in TOML, one snapshot each; names begin with the row of the list of bad input.

use crate::support::{pipeline_toml, project, read, show};
use insta::assert_snapshot;
use proptest::prelude::*;
use thrice_core::code::ErrorCode;
use thrice_pipeline::{Definition, Project, together};

macro_rules! top {
    ($lines:expr) => {
        read(&pipeline_toml($lines, "", "", ""))
    };
}
macro_rules! interval {
    ($lines:expr) => {
        read(&pipeline_toml("", $lines, "", ""))
    };
}
macro_rules! target {
    ($lines:expr) => {
        read(&pipeline_toml("", "", concat!("table = \"mart.sales\"\ninterval_column = \"day\"\n", $lines), ""))
    };
}
macro_rules! rest {
    ($lines:expr) => {
        read(&pipeline_toml("", "", "", $lines))
    };
}

fn read_bytes(bytes: &[u8]) -> String {
    let found = Definition::read(&project(), "sales", "pipelines/sales.toml", bytes).unwrap_err();
    found.iter().map(|finding| format!("{finding} {:?}", finding.span)).collect::<Vec<_>>().join("\n")
}

fn read_project(toml: &str) -> String {
    match Project::read("thrice.toml", toml.as_bytes()) {
        Ok(checked) => show(&checked.warnings, toml),
        Err(found) => show(&found, toml),
    }
}

#[test]
fn b37_empty() {
    assert_snapshot!("b37_empty", read(""));
    assert_snapshot!("b37_comments", read("# later\n\n"));
    assert_snapshot!("b37_nothing_required", read("description = \"x\"\n"));
}

#[test]
fn b38_yaml() {
    assert_snapshot!("b38_yaml", read("# daily\nname: sales\ninterval:\n  grain: day\n"));
    assert_snapshot!("b38_broken", read("description = \"x\nowner = 1\n"));
}

#[test]
fn b39_mark_line_ends_and_tabs_are_fine() {
    let toml = pipeline_toml("description = \"x\"", "\tgrain = \"day\"\n\tstart = \"2026-01-01\"", "", "");
    assert_eq!(read(&format!("\u{feff}{}", toml.replace('\n', "\r\n"))), "");
}

#[test]
fn b40_encoding() {
    assert_snapshot!("b40_utf16", read_bytes(b"\xff\xfed\0"));
    assert_snapshot!("b40_invalid", read_bytes(b"description = \"caf\xe9\"\n"));
}

#[test]
fn b41_unknown_keys() {
    assert_snapshot!("b41_near", target!("strategey = \"delete_insert\""));
    assert_snapshot!("b41_far", top!("colour = \"blue\""));
    assert_snapshot!("b41_table", rest!("[retries]\nattempts = 3"));
}

#[test]
fn b42_twice() {
    assert_snapshot!("b42_key", interval!("grain = \"day\"\nstart = \"2026-01-01\"\ngrain = \"hour\""));
    assert_snapshot!("b42_table", rest!("[interval]\ngrain = \"hour\""));
}

#[test]
fn b43_strategies() {
    assert_snapshot!("b43_upsert", target!("strategy = \"upsert\""));
    assert_snapshot!("b44_merge_without_rows", target!("strategy = \"merge\"\nkey = [\"day\"]"));
    assert_snapshot!("b44_merge", target!("strategy = \"merge\"\nrows = \"complete\""));
    assert_snapshot!("b44_rows_of_no_kind", target!("strategy = \"merge\"\nrows = \"all\"\nkey = [\"day\"]"));
    assert_snapshot!(
        "b44_changes",
        target!("strategy = \"merge\"\nrows = \"changes\"\nkey = [\"day\"]\nversion = \"v\"")
    );
    assert_snapshot!("b44_changes_without_merge", target!("rows = \"changes\""));
    assert_snapshot!(
        "b44_version_of_complete",
        target!("strategy = \"merge\"\nrows = \"complete\"\nkey = [\"day\"]\nversion = \"v\"")
    );
}

#[test]
fn b45_zones() {
    for (name, zone) in [("kst", "KST"), ("gmt9", "GMT+9"), ("offset", "+09:00"), ("soeul", "Asia/Soeul")] {
        let interval = format!("grain = \"day\"\nstart = \"2026-01-01\"\ntime_zone = \"{zone}\"");
        assert_snapshot!(format!("b45_{name}"), interval!(&interval));
    }
    let nowhere = Project::read("thrice.toml", b"[project]\nname = \"shop\"\n").unwrap().value;
    let toml = pipeline_toml("", "", "", "");
    let found = Definition::read(&nowhere, "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap_err();
    assert_snapshot!("zone_of_nobody", show(&found, &toml));
}

#[test]
fn b47_grains() {
    for (name, grain) in [
        ("daily", "daily"),
        ("one_day", "1 day"),
        ("36h", "36h"),
        ("table", "table"),
        ("uneven", "7 minutes"),
        ("other_word", "60 minutes"),
    ] {
        let interval = format!("grain = \"{grain}\"\nstart = \"2026-01-01\"");
        assert_snapshot!(format!("b47_{name}"), interval!(&interval));
    }
}

#[test]
fn what_is_about_intervals_is_refused_of_a_whole_table() {
    let toml = |interval: &str, target: &str, rest: &str| {
        pipeline_toml("", &format!("grain = \"table\"{interval}"), &format!("table = \"mart.shops\"{target}"), rest)
    };
    assert_eq!(read(&toml("", "", "")), "");
    let all = toml(
        "\nstart = 2026-01-01\nend = 2027-01-01\ndelay = \"1h\"\ncatch_up = 3",
        "\ninterval_column = \"day\"",
        "[late_data]\nrevisit = [1]\n[[checks]]\nfreshness = { column = \"at\", max_age = \"1h\" }",
    );
    assert_snapshot!("whole_table", read(&all));
}

#[test]
fn b48_boundaries() {
    assert_snapshot!("b48_hour_of_a_day", interval!("grain = \"day\"\nstart = \"2026-01-01T05\""));
    assert_snapshot!("b48_utc", interval!("grain = \"day\"\nstart = \"2026-01-01T00:00:00Z\""));
    assert_snapshot!("b48_half_hour", interval!("grain = \"hour\"\nstart = 2026-01-01T05:30:00"));
    assert_snapshot!("b48_no_such_day", interval!("grain = \"day\"\nstart = \"2026-02-30\""));
    assert_snapshot!("b48_loose", interval!("grain = \"day\"\nstart = \"2026-3-4\""));
    assert_snapshot!("b48_type", interval!("grain = \"day\"\nstart = 20260101"));
    assert_snapshot!("b48_backwards", interval!("grain = \"day\"\nstart = \"2026-01-02\"\nend = \"2026-01-02\""));
}

#[test]
fn b49_b50_cron() {
    for (name, cron) in [
        ("b49_cron", "10 25 * * *"),
        ("b49_fields", "0 10 2 * * * *"),
        ("b49_name", "@daily x"),
        ("b49_word", " 0 0  MON * *"),
        ("b50_never", "0 0 31 2 *"),
    ] {
        assert_snapshot!(name, interval!(&format!("cron = {cron:?}\nstart = \"2026-01-01\"")));
    }
    assert_snapshot!("b49_both", interval!("grain = \"day\"\ncron = \"0 3 * * *\"\nstart = \"2026-01-01\""));
    assert_snapshot!("b48_cron", interval!("cron = \"0 3 * * *\"\nstart = \"2026-01-01\""));
    let weeks = "cron = \"0 3 * * *\"\nstart = \"2026-01-01T03:00\"\nweek_start = \"monday\"";
    assert_snapshot!("cron_week_start", interval!(weeks));
}

#[test]
fn b49_week_start_belongs_to_weeks() {
    assert_snapshot!("b49_week_start", interval!("grain = \"day\"\nstart = \"2026-01-01\"\nweek_start = \"sunday\""));
    assert_snapshot!("b49_weekday", interval!("grain = \"week\"\nstart = \"2026-W01\"\nweek_start = \"sundy\""));
}

#[test]
fn every_grain_that_is_built_is_read() {
    for (grain, start, first) in [
        ("5 minutes", "2026-01-01T00:05", "2026-01-01T00:05"),
        ("hour", "2026-01-01", "2026-01-01T00"),
        ("6 hours", "2026-01-01T06", "2026-01-01T06"),
        ("day", "2026-01-01", "2026-01-01"),
        ("week", "2026-W02", "2026-W02"),
        ("month", "2026-01-01", "2026-01"),
        ("quarter", "2026-Q1", "2026-Q1"),
        ("year", "2026", "2026"),
    ] {
        let toml = pipeline_toml("", &format!("grain = \"{grain}\"\nstart = \"{start}\""), "", "");
        let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes());
        let interval = definition.unwrap_or_else(|found| panic!("{}", show(&found, &toml))).value.interval;
        let found = interval.schedule().partition_at(interval.start).unwrap();
        assert_eq!((found.key.as_str(), found.interval.start()), (first, interval.start), "{grain}");
    }
    let sunday = "grain = \"week\"\nstart = \"2026-01-04\"\nweek_start = \"sunday\"";
    let toml = pipeline_toml("", sunday, "", "");
    let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    assert_eq!(definition.to_json()["interval"]["grain"], "week from sunday");
    let toml = pipeline_toml("", "cron = \"0 3 * * mon\"\nstart = \"2026-01-05T03:00\"", "", "");
    let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    assert_eq!(definition.to_json()["interval"]["grain"], "cron 0 3 * * MON");
}

#[test]
fn b51_durations() {
    for (name, delay) in [("typo", "3 dyas"), ("negative", "-2h"), ("empty", ""), ("month", "1mo")] {
        let interval = format!("grain = \"day\"\nstart = \"2026-01-01\"\ndelay = \"{delay}\"");
        assert_snapshot!(format!("b51_{name}"), interval!(&interval));
    }
    assert_snapshot!("b51_number", rest!("[timeouts]\nstage = 30\nlock = \"0\""));
}

#[test]
fn b52_guards() {
    for (name, guards) in [
        ("too_much", "removed = \"130\""),
        ("no_sign", "shrink = \"30\""),
        ("a_number", "shrink = 30"),
        ("no_limit", "shrink = { on_violation = \"warn\" }"),
        ("another_word", "shrink = { max = \"30%\", on_violation = \"error\" }"),
        ("another_guard", "max_drop = \"30%\""),
        ("without_a_key", "removed = \"30%\"\nchanged = \"5%\""),
    ] {
        assert_snapshot!(format!("b52_{name}"), rest!(&format!("[guards]\n{guards}")));
    }
}

#[test]
fn reconciliations() {
    for (name, rule) in [
        ("one_side", "ours = \"sum(a)\""),
        ("two_expressions", "ours = \"sum(a), sum(b)\", theirs = \"select 1\""),
        ("no_query", "ours = \"sum(a)\", theirs = \"-- later\""),
        ("a_write", "ours = \"sum(a)\", theirs = \"delete from t returning 1\""),
        ("a_misspelt_placeholder", "ours = \"sum(a)\", theirs = \"select :interval_strat\""),
        ("tolerances", "ours = \"sum(a)\", theirs = \"select 1\", tolerance = \"-1\""),
        ("percentages", "ours = \"sum(a)\", theirs = \"select 1\", tolerance = \"150%\""),
        ("another_key", "ours = \"sum(a)\", theirs = \"select 1\", tolerence = \"1\""),
    ] {
        assert_snapshot!(format!("reconcile_{name}"), rest!(&format!("[[checks]]\nreconcile = {{ {rule} }}")));
    }
}

#[test]
fn row_changes() {
    for (name, change) in [
        ("one_end", "\"-50%\""),
        ("no_sign", "\"50%..100%\""),
        ("more_than_all", "\"-150%..\""),
        ("backwards", "\"+10%..-10%\""),
        ("a_number", "50"),
    ] {
        assert_snapshot!(format!("row_change_{name}"), rest!(&format!("[[checks]]\nrows = {{ change = {change} }}")));
    }
}

#[test]
fn b53_to_b58_are_refused_by_name() {
    assert_snapshot!("b53_late_data", rest!("[late_data]\nrevisit = [1]\nfinal_after = 3"));
    assert_snapshot!("b54_late_data", rest!("[late_data]\nrevisit = [1, 3]\nclose_after = 2"));
    assert_snapshot!("b55_lane", top!("lane = \"fast\""));
    assert_snapshot!("b58_depends_on", rest!("[[depends_on]]\npipeline = \"a\""));
    assert_snapshot!(
        "sources",
        rest!("[[sources]]\ntable = \"ods.orders\"\n[[notify]]\non = [\"failed\"]\n[backfill]\nparallel = 2")
    );
    assert_snapshot!("target_features", target!("stage = \"inline\"\nread_only = true\npublish_group = 7"));
}

#[test]
fn defaults_of_unbuilt_features_may_be_written() {
    assert_eq!(target!("read_only = false\npublish_group = 1\nkeep_old_for = \"0\"\nstage = \"durable\""), "");
}

#[test]
fn b56_names() {
    assert_snapshot!(
        "b56_checks",
        rest!(
            "[[checks]]\nname = \"a\"\nrows = { min = 1 }\n[[checks]]\nname = \"a\"\nnot_null = [\"x\"]\n[[checks]]\nname = \"not empty\"\nrows = { min = 2 }"
        )
    );
    assert_snapshot!("b56_same_check", rest!("[[checks]]\nunique = [\"x\"]\n[[checks]]\nunique = [\"X\"]"));
}

#[test]
fn b57_one_target() {
    let define = |name: &str, table: &str| {
        let toml = pipeline_toml("", "", &format!("table = '{table}'\ninterval_column = \"day\""), "");
        Definition::read(&project(), name, &format!("pipelines/{name}.toml"), toml.as_bytes()).unwrap().value
    };
    let (a, b, c) = (define("a", "mart.sales"), define("b", "Mart.\"sales\""), define("a", "mart.other"));
    let codes = |found: &thrice_pipeline::Diagnostics| found.iter().map(|one| one.code).collect::<Vec<_>>();
    let found = together::check(&[&a, &b, &c]);
    assert_eq!(codes(&found), [ErrorCode::TargetShared, ErrorCode::DuplicateName]);
    assert_eq!(found.iter().next().unwrap().other.as_ref().unwrap().file, "pipelines/a.toml");
    assert!(together::check(&[&b, &c]).is_empty());
}

#[test]
fn b59_secrets_are_not_echoed() {
    for toml in [
        pipeline_toml("password = \"hunter2\"", "", "", ""),
        pipeline_toml("", "", "", "[vars]\nsource = \"postgres://app:hunter2@db/shop\""),
        pipeline_toml("", "", "", "[labels]\napi-key = \"hunter2\""),
        "password = hunter2\n".to_owned(),
        "password: hunter2\nurl: postgres://h/d\n".to_owned(),
        "a = 1\npassword = \"hunter2\"\na = 2\n".to_owned(),
    ] {
        let shown = read(&toml);
        assert!(!shown.contains("hunter2"), "{shown}");
        let found = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap_err();
        assert!(!format!("{found:?}").contains("hunter2"));
    }
    assert_snapshot!(
        "b59_url",
        read_project("[project]\nname = \"a\"\n[database]\nurl = \"postgres://app:hunter2@db/shop\"\n")
    );
}

#[test]
fn b60_paths() {
    for (nth, path) in ["../../etc/passwd", "/etc/passwd", "C:/x.sql", "a\\\\b.sql", "", "sub/"].iter().enumerate() {
        assert_snapshot!(format!("b60_{nth}"), top!(&format!("sql = \"{path}\"")));
    }
    let toml = pipeline_toml("sql = \"../shared/./sales.sql\"", "", "", "");
    let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    assert_eq!(definition.sql_path, "shared/sales.sql");
}

#[test]
fn b61_sql_names() {
    let long = "x".repeat(64);
    for (name, table) in [
        ("three", "a.b.c"),
        ("one", "sales"),
        ("empty", ""),
        ("long", &format!("mart.{long}")),
        ("nul", "mart.a\\u0000b"),
        ("bare", "mart.my table"),
        ("blanks", " mart.sales "),
        ("control", "mart.a\\tb"),
    ] {
        let target = format!("table = \"{table}\"\ninterval_column = \"day\"");
        assert_snapshot!(format!("b61_{name}"), read(&pipeline_toml("", "", &target, "")));
    }
    assert_snapshot!(
        "b61_numbers",
        read(&pipeline_toml("", "", "table = \"a.b\"\ninterval_column = \" day\"\nkey = [\"a\", 1]", ""))
    );
    assert_snapshot!(
        "b61_columns",
        read(&pipeline_toml("", "", "table = \"a.b\"\ninterval_column = \"my day\"\nkey = [\"a\", \"A\", \"1x\"]", ""))
    );
}

#[test]
fn targets_in_schemas_of_thrice_and_of_the_server() {
    let of = |table: &str| pipeline_toml("", "", &format!("table = '{table}'\ninterval_column = \"at\""), "");
    assert_snapshot!("target_of_thrice", read(&of("thrice.events")));
    assert_snapshot!("target_of_the_server", read(&of("PG_catalog.pg_class")));
    for table in
        ["\"thrice\".events", "Thrice_Staging.s", "thrice_history.h", "information_schema.tables", "pg_toast.x"]
    {
        let found = Definition::read(&project(), "sales", "pipelines/sales.toml", of(table).as_bytes()).unwrap_err();
        let codes: Vec<ErrorCode> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [ErrorCode::TargetKind], "{table}");
    }
    for table in ["\"Thrice\".events", "mart.thrice", "thrices.events", "mart.pg_class"] {
        assert_eq!(read(&of(table)), "", "{table}");
    }
}

#[test]
fn b62_newer_project_file() {
    assert_snapshot!(
        "b62_newer",
        read_project("[project]\nname = \"shop\"\n[cluster]\nnodes = 3\n[leese]\nttl = \"5s\"\n")
    );
    assert_snapshot!("b62_lanes", read_project("[project]\nname = \"shop\"\n[lanes]\nscheduled = { slots = 4 }\n"));
}

#[test]
fn b63_size() {
    assert_snapshot!("b63_size", read_bytes(&"[".repeat(1 << 20).into_bytes()));
    let nested = format!("a = {}", "[".repeat(200_000));
    let found = Definition::read(&project(), "sales", "pipelines/sales.toml", nested.as_bytes()).unwrap_err();
    assert_eq!(found.iter().next().unwrap().code, ErrorCode::NotToml);
}

/// Each kind with what people get wrong in it.
#[test]
fn checks_of_columns() {
    assert_snapshot!(
        "check_null_rate",
        rest!(
            "[[checks]]\nnull_rate = { email = \"1%\" }\n[[checks]]\nnull_rate = { column = \"my email\", max = 0.01 }\n[[checks]]\nnull_rate = { column = \"a\", max = \"120%\" }"
        )
    );
    assert_snapshot!(
        "check_range",
        rest!(
            "[[checks]]\nrange = { column = \"a\" }\n[[checks]]\nrange = { column = \"a\", min = 2.5, max = 2 }\n[[checks]]\nrange = { column = \"a\", min = true, max = nan }\n[[checks]]\nrange = [0, 1]"
        )
    );
    assert_snapshot!(
        "check_accepted_values",
        rest!(
            "[[checks]]\naccepted_values = { column = \"a\", values = [] }\n[[checks]]\naccepted_values = { column = \"a\", values = [\"x\", \"x\", [1], \"a\\u0000b\"] }\n[[checks]]\naccepted_values = { column = \"a\", values = \"x\" }\n[[checks]]\naccepted_values = { columns = [\"a\"] }"
        )
    );
    assert_snapshot!(
        "check_distinct",
        rest!(
            "[[checks]]\ndistinct = { column = \"a\" }\n[[checks]]\ndistinct = { column = \"a\", min = 3, max = 2 }\n[[checks]]\ndistinct = { column = \"a\", min = -1 }"
        )
    );
    assert_snapshot!(
        "check_matches",
        rest!(
            "[[checks]]\nmatches = { column = \"a\", pattern = \"\" }\n[[checks]]\nmatches = { column = \"a\", regex = \"^a\" }\n[[checks]]\nmatches = \"^a\""
        )
    );
    assert_snapshot!(
        "check_references",
        rest!(
            "[[checks]]\nreferences = { column = \"a\", table = \"stores\" }\n[[checks]]\nreferences = { columns = [\"a\", \"b\"], table = \"dim.stores\", key = [\"id\"] }"
        )
    );
    assert_snapshot!(
        "check_freshness",
        rest!(
            "[[checks]]\nfreshness = { column = \"a\", max_age = \"2 hours\" }\n[[checks]]\nfreshness = { column = \"a\" }"
        )
    );
    assert_snapshot!(
        "check_sql",
        rest!(
            "[[checks]]\nsql = \"select 1 from staged where at < :intervl_end\"\n[[checks]]\nsql = \"\"\"\nselect 1\nfrom staged) x, (select 2\"\"\"\n[[checks]]\nsql = 'delete from staged'\n[[checks]]\nsql = ''\n[[checks]]\nsql = 'select {{ ref(\"x\") }}'\n[[checks]]\nsql = 1"
        )
    );
    let all = "[[checks]]\nnull_rate = { column = 'a', max = '1%' }\n[[checks]]\nrange = { column = 'a', min = 2026-01-01 }\n\
               [[checks]]\naccepted_values = { column = '\"A b\"', values = ['x', 1, 1.5, true, 2026-01-01] }\n\
               [[checks]]\ndistinct = { column = 'a', min = 1, max = 5 }\n[[checks]]\nmatches = { column = 'a', pattern = '^\\d' }\n\
               [[checks]]\nreferences = { columns = ['a', 'b'], table = 'dim.stores' }\n\
               [[checks]]\nfreshness = { column = 'a', max_age = '90m' }\n\
               [[checks]]\nseverity = 'warn'\nsql = \"\"\"\n  select 1\n  from staged -- all\n\"\"\"";
    let toml = pipeline_toml("", "", "", all);
    let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    assert_snapshot!("check_kinds", serde_json::to_string_pretty(&definition.to_json()["checks"]).unwrap());
}

#[test]
fn values_of_the_wrong_type_or_range() {
    assert_snapshot!(
        "wrong_values",
        read(&pipeline_toml(
            "paused = \"yes\"\nowner = 7",
            "grain = \"day\"\nstart = \"2026-01-01\"\ncatch_up = -1",
            "table = \"mart.sales\"\ninterval_column = \"day\"\nkey = \"day\"\nallow_empty = 1\ncolumns = \"loose\"\nstage = \"memory\"\npublished_at = \"day\"",
            "[retry]\nattempts = 0\nfirst_delay = \"5m\"\n[session]\nwork_mem = \"lots\"\ntimezone = \"UTC\"\njitt = true\nsearch_path = []\n[vars]\ninterval_start = 1\nd = 12:30:00\n[[checks]]\nseverity = \"warning\"\nunique = []\n[[checks]]\nexpression = \"true) or (true\"\n[[checks]]\nexpression = \"a > :interval_start\"\n[[checks]]\nname = \"x\"\n[[checks]]\nrows = { min = 3, max = 2 }\nunique = [\"a\"]",
        ))
    );
    assert_snapshot!(
        "wrong_project",
        read_project(
            "[project]\nname = \"\"\n[database]\nurl_env = \"postgres://h/d\"\nmode = \"remote\"\n[lease]\nttl = \"0\"\n"
        )
    );
    assert_snapshot!("no_project", read_project("[database]\nmode = \"docker\"\n"));
    let toml = pipeline_toml("", "", "", "");
    let found = Definition::read(&project(), "-x y", "pipelines/-x y.toml", toml.as_bytes()).unwrap_err();
    assert_snapshot!("pipeline_name", show(&found, &toml));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// One line of a right file is replaced by something else: it is read or refused, and every place is in the text.
    #[test]
    fn any_file_is_read_or_refused(
        line in 0_usize..9,
        text in r#"([a-z_.]{1,12}|\[{1,2}(checks|target|session)\]{1,2}|"[ -~가]{0,9}"|= |[0-9.:T-]{1,9}|\{|\}|,|'|"|\n|\t){0,12}"#,
    ) {
        let right = pipeline_toml("paused = true", "", "", "[[checks]]\nrows = { min = 1 }");
        let mut lines: Vec<&str> = right.lines().collect();
        if let Some(replaced) = lines.get_mut(line) {
            *replaced = &text;
        }
        let toml = lines.join("
");
        let shown = read(&toml);
        prop_assert!(!shown.contains('\0'));
        let shown = read_project(&toml);
        prop_assert!(shown.contains("TH02"), "no project file: {}", shown);
    }

    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let found = Definition::read(&project(), "sales", "pipelines/sales.toml", &bytes).unwrap_err();
        prop_assert!(found.iter().all(|one| one.span.as_ref().is_none_or(|span| span.end <= bytes.len())));
    }
}
