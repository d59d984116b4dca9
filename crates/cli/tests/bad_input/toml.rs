//! Project files.

use thrice_core::code::ErrorCode;

use crate::edits::{append, overwrite, replace};
use crate::support::Place;
use crate::told::{bad, bad_in, fine};

const TOML: &str = "pipelines/daily_order_summary.toml";
const SQL: &str = "pipelines/daily_order_summary.sql";

#[test]
fn b36() {
    let mut told = bad_in("b36_file_missing", ErrorCode::FileMissing, Place::empty());
    told.call("run").call("lint").call("-C nowhere lint");
    told.given("the query is missing", |place| std::fs::remove_file(place.path().join(SQL)).unwrap())
        .call("lint")
        .shown();
}

#[test]
fn b37() {
    let mut told = bad("b37_file_empty", ErrorCode::FileEmpty);
    told.given("an empty pipeline", overwrite(TOML, "")).call("lint");
    told.given("comments only", overwrite(TOML, "# later\n\n")).call("lint");
    told.given("an empty project", overwrite("thrice.toml", "\n")).call("lint").shown();
}

#[test]
fn b38() {
    let mut told = bad("b38_not_toml", ErrorCode::NotToml);
    let yaml = "interval:\n  grain: day\n  start: 2026-03-11\n";
    told.given("YAML", overwrite(TOML, yaml)).call("lint");
    told.given("JSON", overwrite(TOML, "{\"interval\": {\"grain\": \"day\"}}\n")).call("lint");
    told.given("an open string", replace(TOML, "grain = \"day\"", "grain = \"day")).call("lint");
    told.given("no value", replace(TOML, "grain = \"day\"", "grain =")).call("lint");
    told.given("no quotes", replace(TOML, "grain = \"day\"", "grain = day")).call("lint").shown();
}

#[test]
fn b39() {
    let mut told = fine("b39_bom_crlf_tabs");
    for path in ["thrice.toml", TOML, SQL] {
        let text = std::fs::read_to_string(told.place().path().join(path)).unwrap();
        let text = text.replace('\n', "\r\n").replace("  and ", "\tand ").replace("\r\ngrain", "\r\n\tgrain");
        told.place().write(path, format!("\u{feff}{text}"));
    }
    told.call("lint").shown();
}

#[test]
fn b40() {
    let mut told = bad("b40_not_utf8", ErrorCode::NotUtf8);
    let utf16: Vec<u8> = "\u{feff}[interval]\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    told.given("UTF-16", overwrite(TOML, utf16)).call("lint");
    told.given("Latin-1", overwrite(TOML, b"description = \"\xe9t\xe9\"\n")).call("lint");
    told.given("a query in Latin-1", overwrite(SQL, b"select '\xe9'\n")).call("lint").shown();
}

#[test]
fn b41() {
    let mut told = bad("b41_unknown_key", ErrorCode::UnknownKey);
    told.given("strategey", replace(TOML, "strategy =", "strategey =")).call("lint");
    told.given("colour", replace(TOML, "owner =", "colour =")).call("lint");
    told.given("tabel of thrice.toml", replace("thrice.toml", "[database]", "[databse]")).call("lint");
    told.given("session.timezone", append(TOML, "\n[session]\ntimezone = \"UTC\"\n")).call("lint");
    told.shown();
}

#[test]
fn b42() {
    let mut told = bad("b42_duplicate_key", ErrorCode::NotToml);
    told.given("twice", replace(TOML, "grain = \"day\"", "grain = \"day\"\ngrain = \"hour\""));
    told.call("lint");
    told.given("a table twice", append(TOML, "\n[interval]\ngrain = \"day\"\n")).call("lint").shown();
}

#[test]
fn b43() {
    let mut told = bad("b43_unknown_strategy", ErrorCode::UnknownStrategy);
    for word in ["upsert", "delete-insert", "fast"] {
        told.given(word, replace(TOML, "\"delete_insert\"", &format!("{word:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b44() {
    let mut told = bad("b44_merge_without_rows", ErrorCode::MergeWithoutRows);
    told.given("merge", replace(TOML, "\"delete_insert\"", "\"merge\"")).call("lint").shown();
}

#[test]
fn b45() {
    let mut told = bad("b45_zone_without_a_place", ErrorCode::UnknownZone);
    for zone in ["KST", "GMT+9", "+09:00", "Etc/GMT+9", "asia/seoul", ""] {
        told.given(zone, replace(TOML, "\"Asia/Seoul\"", &format!("{zone:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b46() {
    let mut told = bad("b46_misspelt_zone", ErrorCode::UnknownZone);
    told.given("a pipeline", replace(TOML, "Asia/Seoul", "Asia/Soeul")).call("lint");
    told.given("the project", replace("thrice.toml", "Asia/Seoul", "Europe/Berln")).call("lint").shown();
}

#[test]
fn b47() {
    let mut told = bad("b47_unknown_grain", ErrorCode::UnknownGrain);
    for grain in ["daily", "1 day", "36h", "hourly"] {
        told.given(grain, replace(TOML, "\"day\"", &format!("{grain:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b48() {
    let mut told = bad("b48_start_inside_an_interval", ErrorCode::StartNotOnBoundary);
    for start in ["2026-03-11T12:00", "2026-03-11T00:00:00Z"] {
        told.given(start, replace(TOML, "\"2026-03-11\"", &format!("{start:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b49() {
    let mut told = bad("b49_cron_that_cannot_be_read", ErrorCode::BadCron);
    for cron in ["10 25 * * *", "0 10 2 * * * *", "@daily x", "@reboot", "0 0 MON * *", ""] {
        told.given(&format!("{cron:?}"), replace(TOML, "grain = \"day\"", &format!("cron = {cron:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b50() {
    let mut told = bad("b50_cron_that_never_fires", ErrorCode::BadCron);
    for cron in ["0 3 31 2 *", "0 0 30 FEB *"] {
        told.given(&format!("{cron:?}"), replace(TOML, "grain = \"day\"", &format!("cron = {cron:?}"))).call("lint");
    }
    told.shown();
}

#[test]
fn b51() {
    let mut told = bad("b51_bad_duration", ErrorCode::BadDuration);
    for delay in ["3 dyas", "-2h", "", "1mo", "10m2h", "2", "99999999999w"] {
        told.given(&format!("{delay:?}"), replace(TOML, "\"2h10m\"", &format!("{delay:?}")));
        told.call("lint");
    }
    told.shown();
}

#[test]
fn b52() {
    let mut told = bad("b52_not_a_percentage", ErrorCode::BadPercent);
    for guard in ["removed = \"130\"", "shrink = \"30\"", "changed = { max = 0.3 }", "shrink = \"130%\""] {
        told.given(guard, append(TOML, &format!("\n[guards]\n{guard}\n"))).call("lint");
    }
    let check = "null_rate = { column = \"store_id\", max = \"1\" }";
    told.given(check, append(TOML, &format!("\n[[checks]]\n{check}\n"))).call("lint").shown();
}

#[test]
fn b53() {
    let mut told = bad("b53_never_final", ErrorCode::LatePolicyContradicts);
    for policy in ["revisit = [1, 3]\nfinal_after = 4", "window = 3\nfinal_after = 3", "final_after = 1"] {
        told.given(policy, append(TOML, &format!("\n[late_data]\n{policy}\n"))).call("lint");
    }
    told.shown();
}

#[test]
fn b54() {
    let mut told = bad("b54_revisited_when_closed", ErrorCode::LatePolicyContradicts);
    for policy in ["revisit = [1, 3]\nclose_after = 2", "revisit = [1, 3]\nfinal_after = 3\nclose_after = 1"] {
        told.given(policy, append(TOML, &format!("\n[late_data]\n{policy}\n"))).call("lint");
    }
    told.shown();
}

#[test]
fn b56() {
    let mut told = bad("b56_two_checks_with_one_name", ErrorCode::DuplicateName);
    let more = "\n[[checks]]\nname = \"no negative amounts\"\nexpression = \"order_count >= 0\"\n";
    told.given("two checks", append(TOML, more)).call("lint");
    let taken = "\n[[checks]]\nname = \"key unique\"\nunique = [\"store_id\"]\n";
    told.given("a name of the checks that are always on", append(TOML, taken)).call("lint").shown();
}

#[test]
fn b57() {
    let mut told = bad("b57_two_pipelines_one_target", ErrorCode::TargetShared);
    told.given("a copy", |place| {
        for (from, to) in [(TOML, "pipelines/again.toml"), (SQL, "pipelines/again.sql")] {
            std::fs::copy(place.path().join(from), place.path().join(to)).unwrap();
        }
    });
    told.call("lint").call("run").shown();
}

#[test]
fn b59() {
    let mut told = bad("b59_secret_in_a_file", ErrorCode::SecretInFile);
    let env = "url_env = \"DATABASE_URL\"";
    told.given("url", replace("thrice.toml", env, "url = \"postgres://kim:hush@db/shop\""));
    told.call("lint");
    told.given("url_env", replace("thrice.toml", env, "url_env = \"postgres://kim:hush@db/shop\""));
    told.call("lint");
    told.given("password", append("thrice.toml", "password = \"hush\"\n")).call("lint");
    told.given("vars", append(TOML, "\n[vars]\napi_token = \"hush\"\n")).call("lint").shown();
}

#[test]
fn b60() {
    let mut told = bad("b60_query_outside_the_project", ErrorCode::OutsideProject);
    let owner = "owner = \"commerce-data\"";
    told.given("upwards", replace(TOML, owner, "sql = \"../../etc/passwd\"")).call("lint");
    told.given("absolute", replace(TOML, owner, "sql = \"/etc/passwd\"")).call("lint");
    told.given("a link", |place| {
        std::fs::remove_file(place.path().join(SQL)).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", place.path().join(SQL)).unwrap();
    });
    told.call("lint").call("run").shown();
}

#[test]
fn b61() {
    let mut told = bad("b61_bad_table_name", ErrorCode::BadName);
    let long = format!("mart.{}", "t".repeat(64));
    for table in ["a.b.c", "", "orders", "mart.Daily Sales", "mart.\\u0000x", long.as_str()] {
        told.given(table, replace(TOML, "\"mart.daily_order_summary\"", &format!("\"{table}\"")));
        told.call("lint");
    }
    told.shown();
}

#[test]
fn b62() {
    let mut told = bad("b62_file_of_a_newer_thrice", ErrorCode::NewerFile);
    told.given("a table", append("thrice.toml", "\n[streams]\nbuffer = 3\n")).call("lint").call("run").shown();
}

#[test]
fn b63() {
    let mut told = bad("b63_a_megabyte_of_brackets", ErrorCode::FileTooLarge);
    let nested = format!("a = {}{}\n", "[".repeat(500_000), "]".repeat(500_000));
    told.given("1 MB", overwrite(TOML, &nested)).call("lint").shown();
}

#[test]
fn b63_nested() {
    let mut told = bad("b63_deep_brackets_in_a_small_file", ErrorCode::NotToml);
    let nested = format!("a = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    // the line is too long to be written down
    told.given("200 kB", overwrite(TOML, &nested)).call("lint");
}

#[test]
fn b108() {
    let mut told = crate::shop::bad_on("b108_date_column_under_hours", ErrorCode::DateColumnUnderDay);
    told.place().change(TOML, "grain = \"day\"", "grain = \"hour\"");
    told.call("run daily_order_summary 2026-03-24T05 --as-of 2026-03-25T12:00:00+09:00").call("lint --db").shown();
}

#[test]
fn b109() {
    let mut told = crate::shop::bad_on("b109_cron_beside_a_date_column", ErrorCode::CronBesideDate);
    told.place().change(TOML, "grain = \"day\"", "cron = \"10 2 * * *\"");
    told.place().change(TOML, "start = \"2026-03-11\"", "start = \"2026-03-11T02:10\"");
    told.call("run daily_order_summary 2026-03-23T02:10 --as-of 2026-03-25T12:00:00+09:00").call("lint --db").shown();
}

/// The query alone says it, before a server is asked.
#[test]
fn b109_warns() {
    let mut told = bad("b109_cron_beside_a_date_warns", ErrorCode::CronBesideDate).warns();
    told.place().change(TOML, "grain = \"day\"", "cron = \"0 */6 * * *\"");
    told.call("lint").shown();
}

/// Not a line of the list: a check's expression is spliced into a statement, and must not reach out of its place.
#[test]
fn expressions_of_checks_that_reach_out() {
    let mut told = bad("check_expressions_that_reach_out", ErrorCode::BadValue);
    for text in [
        "true) or (true",
        "(total_amount > 0",
        "true; drop table mart.t",
        "true /* or",
        "x = 'it''s",
        "a > 0, true",
        "",
    ] {
        told.given(text, replace(TOML, "\"total_amount >= 0\"", &format!("{text:?}"))).call("lint");
    }
    told.given("a check without a name", append(TOML, "\n[[checks]]\nexpression = 'true) or (true'\n")).call("lint");
    told.shown();
}
