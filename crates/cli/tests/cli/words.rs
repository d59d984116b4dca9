//! What the command line says without a database: help, wrong words, wrong files, exit codes.

use std::io::Read;
use std::process::Stdio;

use crate::support::Place;

const AS_OF: &str = "--as-of 2026-03-25T12:00:00+09:00";

#[test]
fn help_of_every_command() {
    let place = Place::empty();
    let calls = [
        "--help",
        "init --help",
        "demo --help",
        "doctor --help",
        "lint --help",
        "run --help",
        "status --help",
        "show --help",
        "why --help",
        "intervals --help",
        "ledger --help",
        "explain --help",
        "adopt --help",
        "close --help",
        "reopen --help",
        "recut --help",
        "migrate --help",
        "grants --help",
        "config --help",
        "export --help",
        "export schema --help",
        "pg --help",
        "pg psql --help",
    ];
    insta::assert_snapshot!(place.transcript(&calls));
}

#[test]
fn no_command_is_a_fault_and_shows_the_first_screen() {
    let said = Place::empty().run("");
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(said.stderr.contains("Usage: thrice"), "{}", said.stderr);
}

#[test]
fn wrong_words() {
    let place = Place::project();
    let run = |rest: &str| format!("run daily_order_summary {rest} {AS_OF}");
    let calls = [
        "rnu daily".to_owned(),
        "run daily_order_sumary 2026-03-24".to_owned(),
        "status nothing_like_it".to_owned(),
        run("2026-02-30"),
        run("24/03/2026"),
        run("2026-3-4"),
        run("2026-03-24T13"),
        run("10000-01-01"),
        run("9999-12-31"),
        run("KST"),
        run("--from 2026-03-24 --to 2026-03-20"),
        run("--from 2026-03-24"),
        run("--to 2026-03-24"),
        run("2026-03-11..2026-03-17"),
        run("2026-03-11..=2026-03-17"),
        run("--from 0001-01-01 --to 9999-01-01"),
        run("2026-03-20 --from 2026-03-20 --to 2026-03-21"),
        run("2026-03-20 --bogus"),
        run("2026-03-20 --reson x"),
        run("2026-03-20 --reason abc --reason abd"),
        run("2026-03-20 --reason ''"),
        run("2026-03-20 --reason '   '"),
        run("2026-03-20 --wait=yes"),
        "run --from 2026-03-20 --to 2026-03-21".to_owned(),
        "run --early".to_owned(),
        "show daily_order_summary 2026-03".to_owned(),
        "show daily_order_summary".to_owned(),
        "why".to_owned(),
        "why daily_order_summary 2026-03".to_owned(),
        "ledger --limit 0".to_owned(),
        "ledger --since yesterday".to_owned(),
        "status --require fianl".to_owned(),
        "status --month 2026-03 --from 2026-03-01 --to 2026-03-02".to_owned(),
        "--as-of 2026-03-25T12:00:00 run".to_owned(),
        "lint --deny errors".to_owned(),
    ];
    insta::assert_snapshot!(place.transcript(&calls.each_ref().map(String::as_str)));
}

#[test]
fn refused_by_policy_before_a_database_is_looked_for() {
    let place = Place::project();
    let calls = [
        "run daily_order_summary 1970-01-01 --as-of 2026-03-25T12:00:00+09:00",
        "run daily_order_summary 2026-03 --as-of 2026-03-25T12:00:00+09:00",
        "run daily_order_summary 2026-03-25 --as-of 2026-03-25T12:00:00+09:00",
        "run daily_order_summary 2026-03-24 --as-of 2026-03-25T02:09:59+09:00",
        "run daily_order_summary 2026-03-24 --as-of 2026-03-25T02:09:59+09:00 --early",
        "run daily_order_summary 2026-03-20 --overwrite-existing",
        "run daily_order_summary 2026-03-20 --accept-drop",
        "run daily_order_summary 2026-03-20 --reopen",
        "adopt daily_order_summary --from 2026-03-11 --to 2026-03-12",
        "adopt daily_order_summary --from 2026-03-11 --to 2026-03-12 --reason 'loaded by the old job'",
    ];
    insta::assert_snapshot!(place.transcript(&calls));
}

#[test]
fn the_boundary_of_the_delay_is_due() {
    // one second earlier is TH0117, see above; here the call gets as far as the server that is not there
    let place = Place::project().env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let said = place.run("run daily_order_summary 2026-03-24 --as-of 2026-03-25T02:10:00+09:00");
    assert_eq!(said.code, Some(7), "{}", said.stderr);
}

#[test]
fn no_database() {
    let place = Place::project();
    let doctor = ["doctor", "doctor --database-url postgres://kim:hush@127.0.0.1:1/shop"];
    insta::assert_snapshot!("doctor_without_a_database", place.transcript(&doctor));
    insta::assert_snapshot!("no_database_is_configured", place.transcript(&["status", "run", "migrate", "lint --db"]));
    let calls = [
        "status --database-url mysql://root@db/shop",
        "status --database-url postgres://kim:hush@127.0.0.1:1/shop",
        "status --database-url postgres://kim:hush@127.0.0.1:port/shop",
        "status --database-url postgres://kim:hush@db.internal/shop",
    ];
    let text = place.transcript(&calls);
    let (shown, typed): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with("$ "));
    assert!(!shown.join("\n").contains("hush"), "a password was shown:\n{text}");
    assert_eq!(typed.len(), calls.len());
    insta::assert_snapshot!("database_urls_that_lead_nowhere", text);
}

#[test]
fn no_project() {
    let place = Place::empty();
    insta::assert_snapshot!(place.transcript(&["run", "lint", "status", "pg status", "-C nowhere lint"]));
}

#[test]
fn init_writes_a_project_and_never_over_one() {
    let place = Place::empty();
    let calls = ["init shop", "init shop", "-C shop lint", "-C shop/pipelines pg status", "-C shop pg log"];
    insta::assert_snapshot!(place.transcript(&calls));
    let text = |path: &str| std::fs::read_to_string(place.path().join(path)).unwrap();
    assert!(text("shop/thrice.toml").contains("mode = \"local\""));
    assert!(text("shop/thrice.toml").contains("name = \"shop\""));
    assert_eq!(text("shop/.gitignore"), ".thrice/\n");

    // one file in the way: nothing else is written
    place.write("half/sample.sql", "mine");
    assert_eq!(place.run("init half").code, Some(2));
    assert_eq!(text("half/sample.sql"), "mine");
    assert!(!place.path().join("half/thrice.toml").exists());

    let place = place.env("DATABASE_URL", "postgres://kim@127.0.0.1/shop");
    let said = place.run("init other --json");
    assert_eq!((said.code, said.json()["schema"].as_str()), (Some(0), Some("thrice.init/1")));
    let text = std::fs::read_to_string(place.path().join("other/thrice.toml")).unwrap();
    assert!(text.contains("url_env = \"DATABASE_URL\"") && !text.contains("kim"), "{text}");
}

#[test]
fn init_adds_to_a_gitignore_and_leaves_other_files_alone() {
    for (had, has, told) in [
        ("target/\n", "target/\n.thrice/\n", true),
        ("target/", "target/\n.thrice/\n", true),
        ("target/\r\n*.log", "target/\r\n*.log\r\n.thrice/\r\n", true),
        ("", ".thrice/\n", true),
        ("/.thrice\n", "/.thrice\n", false),
        (".thrice/ \ntarget/\n", ".thrice/ \ntarget/\n", false),
    ] {
        let place = Place::empty();
        place.write(".gitignore", had).write("README.md", "ours").write("pipelines/other.sql", "select 1");
        let said = place.run("init");
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let text = |path: &str| std::fs::read_to_string(place.path().join(path)).unwrap();
        assert_eq!((text(".gitignore").as_str(), text("README.md").as_str()), (has, "ours"));
        assert_eq!(said.stdout.contains("added .thrice/ to .gitignore\n"), told, "{}", said.stdout);
        assert!(!said.stdout.contains("created .gitignore"), "{}", said.stdout);
    }
    let place = Place::empty();
    place.write(".gitignore/file", "");
    assert_eq!(place.run("init").code, Some(2));
    assert!(!place.path().join("thrice.toml").exists(), "nothing is written where something is in the way");
}

#[test]
fn init_in_a_folder_with_a_long_name_writes_a_project_that_can_be_read() {
    let place = Place::empty();
    let name = "가게".repeat(35);
    assert_eq!(place.run(&format!("init {name}")).code, Some(0));
    let said = place.run(&format!("-C {name} lint"));
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "no findings\n"), "{}", said.stderr);
}

#[test]
fn init_writes_down_the_database_that_the_environment_names() {
    for (set, word, written, load) in [
        (vec![], "local", "mode = \"local\"", "thrice pg psql -f sample.sql"),
        (
            vec![("DATABASE_URL", "postgres://kim@127.0.0.1/shop")],
            "url_env",
            "url_env =",
            "psql \"$DATABASE_URL\" -f sample.sql",
        ),
        (vec![("PGHOST", "127.0.0.1")], "pg_variables", "url_env =", "psql -f sample.sql"),
    ] {
        let place = set.iter().fold(Place::empty(), |place, (name, value)| place.env(name, value));
        let said = place.run("init --json").json();
        assert_eq!(said["database"], word);
        assert_eq!(said["next"][0], load);
        let text = std::fs::read_to_string(place.path().join("thrice.toml")).unwrap();
        assert!(text.contains(written), "{text}");
    }
}

#[test]
fn an_empty_variable_does_not_lead_to_another_database() {
    for name in ["DATABASE_URL", "PGHOST"] {
        let private = Place::empty();
        assert_eq!(private.run("init").code, Some(0));
        let private = private.env(name, "");
        for words in ["status", "run", "migrate", "ledger", "init other"] {
            let said = private.run(words);
            assert_eq!(said.code, Some(2), "{words}: {}", said.stderr);
            assert!(said.stderr.contains(&format!("TH0402]: {name} is set and empty")), "{words}: {}", said.stderr);
        }
        assert!(!private.path().join(".thrice").exists(), "no private server was made");
        assert!(!private.path().join("other").exists());
    }
}

#[test]
fn the_environment_comes_before_the_private_server_and_says_so() {
    let place = Place::empty();
    assert_eq!(place.run("init").code, Some(0));
    let place = place.env("DATABASE_URL", "postgres://kim:hush@127.0.0.1:1/shop");
    let said = place.run("status");
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    let note = "note: postgres://kim:***@127.0.0.1:1/shop is used: DATABASE_URL of the environment comes before mode = \"local\" of thrice.toml\n";
    assert!(said.stderr.starts_with(note), "{}", said.stderr);
    for words in ["-q status", "status --database-url postgres://kim@127.0.0.1:1/shop"] {
        assert!(!place.run(words).stderr.contains("note:"), "{words}");
    }
    assert!(!place.path().join(".thrice").exists());
}

#[test]
fn wrong_project_files() {
    let (toml, sql) = ("pipelines/daily_order_summary.toml", "pipelines/daily_order_summary.sql");
    let mut shown = Vec::new();
    let mut lint = |what: &str, change: &dyn Fn(&Place)| {
        let place = Place::project();
        change(&place);
        shown.push(format!("# {what}\n{}", place.transcript(&["lint"])));
    };
    lint("unknown key", &|place| {
        place.change(toml, "strategy =", "strategey =");
    });
    lint("unknown zone", &|place| {
        place.change(toml, "Asia/Seoul", "Asia/Soeul");
    });
    lint("empty file", &|place| {
        place.write(toml, "");
    });
    lint("secret", &|place| {
        place.change("thrice.toml", "url_env = \"DATABASE_URL\"", "url = \"postgres://kim:hush@db/shop\"");
    });
    lint("not built", &|place| {
        place.change(toml, "\"delete_insert\"", "\"append\"");
    });
    lint("query missing", &|place| {
        std::fs::remove_file(place.path().join(sql)).unwrap();
    });
    lint("query outside", &|place| {
        place.change(toml, "owner = \"commerce-data\"", "sql = \"../../etc/passwd\"");
    });
    lint("query outside by a link", &|place| {
        std::fs::remove_file(place.path().join(sql)).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", place.path().join(sql)).unwrap();
    });
    lint("file too large", &|place| {
        place.write(toml, "#".repeat(300_000));
    });
    lint("between", &|place| {
        place.write(
            sql,
            "select 1 as dt\nfrom ods.orders\nwhere order_time between :interval_start and :interval_end\n",
        );
    });
    lint("two statements", &|place| {
        place.write(sql, "select 1 where :interval_start < now();\ndelete from ods.orders;\n");
    });
    lint("two pipelines, one target", &|place| {
        let copy = |from: &str, to: &str| std::fs::copy(place.path().join(from), place.path().join(to)).unwrap();
        copy(toml, "pipelines/again.toml");
        copy(sql, "pipelines/again.sql");
    });
    let text = shown.join("\n");
    assert!(!text.contains("hush"), "a secret was shown:\n{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn bom_and_line_ends_of_other_systems_are_read() {
    let place = Place::project();
    for path in ["thrice.toml", "pipelines/daily_order_summary.toml", "pipelines/daily_order_summary.sql"] {
        let text = std::fs::read_to_string(place.path().join(path)).unwrap();
        place.write(path, format!("\u{feff}{}", text.replace('\n', "\r\n")));
    }
    let said = place.run("lint");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "no findings\n"), "{}", said.stderr);
}

#[test]
fn warnings_fail_only_where_they_are_denied() {
    let place = Place::project();
    place.change("pipelines/daily_order_summary.sql", "group by 1, 2", "group by 1, 2\nlimit 10");
    let said = place.run("lint --deny warnings");
    assert!(said.stderr.ends_with("warnings are denied: this call fails for them\n"), "{}", said.stderr);
    assert_eq!(place.run("lint").code, Some(0));
    let denied = place.run("lint --deny warnings --json");
    assert_eq!(denied.code, Some(2));
    let object = denied.json();
    assert_eq!(object["schema"], "thrice.lint/1");
    assert_eq!(
        (&object["problems"][0]["code"], &object["problems"][0]["level"]),
        (&"TH0311".into(), &"warning".into())
    );
}

#[test]
fn one_bad_pipeline_does_not_hide_the_name_of_another() {
    let place = Place::project();
    place.write("pipelines/bad.toml", "strategey = 1\n").write("pipelines/bad.sql", "select 1");
    assert_eq!(place.run("lint daily_order_summary").code, Some(0));
    let all = place.run("run");
    assert_eq!(all.code, Some(2));
    assert!(all.stderr.contains("pipelines/bad.toml"), "{}", all.stderr);
}

#[test]
fn two_pipelines_of_one_target_do_not_stop_the_others() {
    let place = Place::project();
    for (name, target) in [("again", "daily_order_summary"), ("other", "other")] {
        for ending in ["toml", "sql"] {
            let path = |name: &str| place.path().join(format!("pipelines/{name}.{ending}"));
            std::fs::copy(path("daily_order_summary"), path(name)).unwrap();
        }
        place.change(&format!("pipelines/{name}.toml"), "mart.daily_order_summary", &format!("mart.{target}"));
    }
    let place = place.env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
    let not_due = "2026-03-25 --as-of 2026-03-25T00:00:00Z";
    for (words, code) in [
        ("lint other".to_owned(), 0),
        ("lint again".to_owned(), 2),
        ("lint daily_order_summary".to_owned(), 2),
        ("lint".to_owned(), 2),
        // as far as the policy, and no further
        (format!("run other {not_due}"), 5),
        (format!("run again {not_due}"), 2),
        (format!("run daily_order_summary {not_due}"), 2),
        // as far as the server that is not there
        ("run".to_owned(), 7),
    ] {
        let said = place.run(&words);
        assert_eq!(said.code, Some(code), "{words}: {}", said.stderr);
        let told = said.stderr.matches("error[TH0217]").count();
        assert_eq!(told, usize::from(code == 2 || code == 7), "{words}: {}", said.stderr);
    }
}

#[test]
fn a_query_without_its_file_is_not_passed_over() {
    let place = Place::project();
    place.write("pipelines/alone.sql", "select 1");
    let said = place.run("lint");
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("error[TH0201]: pipelines/alone.toml is missing"), "{}", said.stderr);
    assert!(said.stderr.contains("--> pipelines/alone.sql"), "{}", said.stderr);
    assert_eq!(place.run("lint daily_order_summary").code, Some(0));
    // a pipeline may name it
    place.change("pipelines/daily_order_summary.toml", "owner =", "sql = \"alone.sql\"\nowner =");
    std::fs::remove_file(place.path().join("pipelines/daily_order_summary.sql")).unwrap();
    let said = place.run("lint");
    assert!(!said.stderr.contains("TH0201"), "{}", said.stderr);

    let place = Place::project();
    std::fs::remove_dir_all(place.path().join("pipelines")).unwrap();
    let said = place.run("lint");
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "no findings\n"));
    assert!(said.stderr.contains("the project has no pipelines"), "{}", said.stderr);
}

#[test]
fn what_is_told_under_json_logs_is_json() {
    let place = Place::project();
    place.change("pipelines/daily_order_summary.sql", "group by 1, 2", "group by 1, 2\nlimit 10");
    for (words, levels) in [
        ("lint --log-format json", &["warn"][..]),
        ("lint --deny warnings --log-format json", &["warn", "info"]),
        ("run daily_order_summary 2026-02-30 --log-format json", &["error"]),
        ("status --log-format json", &["error"]),
    ] {
        let said = place.run(words);
        let lines: Vec<serde_json::Value> =
            said.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(told, levels, "{words}: {}", said.stderr);
        assert!(lines.iter().all(|line| line["ts"].is_string() && line["message"].is_string()), "{}", said.stderr);
    }
    let said = place.run("lint --log-format json");
    assert!(said.stderr.contains("\"code\":\"TH0311\""), "{}", said.stderr);
}

#[test]
fn errors_as_json_have_every_documented_key() {
    let place = Place::project();
    for (words, code, exit) in [
        ("run daily_order_summary 2026-02-30 --json", "TH0110", 2),
        ("--json run daily_order_summary 2026-03-25 --as-of 2026-03-25T00:00:00Z", "TH0116", 5),
        ("--json status", "TH0401", 2),
        ("--json bogus", "TH0101", 2),
        ("status --json --database-url postgres://kim:hush@127.0.0.1:1/shop", "TH0403", 7),
    ] {
        let said = place.run(words);
        let object = said.json();
        assert_eq!(object["schema"], "thrice.error/1", "{words}");
        let error = &object["errors"][0];
        for key in ["code", "class", "exit", "retryable", "message", "span", "sqlstate", "help"] {
            assert!(error.get(key).is_some(), "{words}: no {key} in {error}");
        }
        assert_eq!((error["code"].as_str(), error["exit"].as_i64()), (Some(code), Some(exit)), "{words}");
        assert_eq!((object["exit"].as_i64(), said.code.map(i64::from)), (Some(exit), Some(exit)), "{words}");
        assert_eq!(error["retryable"], exit == 7, "{words}");
        assert_eq!(said.stdout.lines().count(), 1, "{words}");
    }
}

#[test]
fn colour_only_where_it_is_asked_for() {
    let place = Place::project();
    place.change("pipelines/daily_order_summary.toml", "strategy =", "strategey =");
    let escape = |words: &str| place.run(words).stderr.contains('\u{1b}');
    assert!(!escape("lint"), "a pipe is no terminal");
    assert!(escape("lint --color always"));
    assert!(!escape("lint --color never"));
}

#[test]
fn control_characters_in_words_do_not_reach_the_terminal() {
    let said = Place::project().run("run evil\u{1b}[31m\u{202e}name 2026-03-24 --color never");
    assert_eq!(said.code, Some(2));
    assert!(!said.stderr.contains(['\u{1b}', '\u{202e}']), "{}", said.stderr);
}

#[test]
fn a_reader_that_goes_away_ends_the_call_quietly() {
    let place = Place::project();
    let mut child = place.command("lint --json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    let code = child.wait().unwrap().code();
    assert!(!errors.contains("panicked") && !errors.to_lowercase().contains("broken pipe"), "{errors}");
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn data_that_cannot_be_written_is_not_lost_in_silence() {
    let place = Place::project();
    for words in ["lint", "lint --json", "explain", "--help", "--version", "init other --json", "grants --print"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended =
            place.command(words).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{words}: {told}");
        assert!(told.contains("error[TH0105]: standard output cannot be written: No space left"), "{words}: {told}");
    }
    // what went wrong before keeps its exit
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let words = "run daily_order_summary 2026-03-25 --json --as-of 2026-03-25T00:00:00Z";
    assert_eq!(place.command(words).stdout(full).stderr(Stdio::null()).status().unwrap().code(), Some(5));
}

#[test]
fn names_in_other_scripts_are_written_as_they_are_in_any_locale() {
    let place = Place::project().env("LANG", "C").env("LC_ALL", "C");
    for ending in ["toml", "sql"] {
        let from = place.path().join(format!("pipelines/daily_order_summary.{ending}"));
        std::fs::rename(from, place.path().join(format!("pipelines/일일_주문.{ending}"))).unwrap();
    }
    let said = place.run("run 일일_주문 2026-03-25 --as-of 2026-03-25T00:00:00Z --json");
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let said = place.run("run 일일_주 2026-03-24");
    assert!(said.stderr.contains("did you mean 일일_주문?"), "{}", said.stderr);
}

#[test]
fn version_is_data() {
    let said = Place::empty().run("--version");
    assert_eq!((said.code, said.stdout.trim()), (Some(0), concat!("thrice ", env!("CARGO_PKG_VERSION"))));
}
