//! What changes the code hash, and what does not.

use std::collections::BTreeSet;

use crate::support::{pipeline_toml, project};
use thrice_pipeline::{Definition, Pipeline, Project};

const SQL: &str = "select A, 'x  y' from t where at >= :interval_start and at < :interval_end and r = :region";
const VARS: &str = "[vars]\nregion = \"kr\"";

fn hash_in(project: &Project, toml: &str, sql: &str) -> String {
    let definition = Definition::read(project, "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    Pipeline::new(definition, "pipelines/sales.sql", sql.as_bytes()).unwrap().value.code_hash().to_string()
}

fn hash(toml: &str, sql: &str) -> String {
    hash_in(&project(), toml, sql)
}

#[test]
fn layout_and_policies_do_not_count() {
    let plain = hash(&pipeline_toml("", "", "", VARS), SQL);
    assert_eq!(plain.len(), 64);
    let spread = SQL.replace(' ', "\n  /* x */ ").replace("'x\n  /* x */ \n  /* x */ y'", "'x  y'");
    assert_eq!(hash(&pipeline_toml("", "", "", VARS), &format!("-- 매출\n{spread};\n-- end")), plain);
    assert_eq!(hash(&pipeline_toml("", "", "", VARS), &SQL.replace("select A", "SELECT a")), plain);
    let rest = format!(
        "{VARS}\n[[checks]]\nrows = {{ min = 1 }}\n[retry]\nattempts = 1\n[timeouts]\nstage = \"1h\"\n[session]\njit = false"
    );
    assert_eq!(
        hash(&pipeline_toml("description = \"x\"\npaused = true\nsql = \"other.sql\"", "", "", &rest), SQL),
        plain
    );
    let written = "grain = \"day\"\nstart = 2026-01-01\ndelay = \"0\"\ncatch_up = 7\ntime_zone = \"Asia/Seoul\"";
    assert_eq!(hash(&pipeline_toml("", written, "", VARS), SQL), plain, "defaults may be written");
}

#[test]
fn everything_that_is_published_counts() {
    let day = "grain = \"day\"\nstart = \"2026-01-01\"";
    let target = "table = \"mart.sales\"\ninterval_column = \"day\"";
    let mut hashes = BTreeSet::from([hash(&pipeline_toml("", "", "", VARS), SQL)]);
    let mut other = |toml: String, sql: &str| assert!(hashes.insert(hash(&toml, sql)), "{toml}\n{sql}");
    other(pipeline_toml("", "", "", VARS), &SQL.replace("'x  y'", "'x y'"));
    other(pipeline_toml("", "", "", VARS), &SQL.replace("'x  y'", "'X  y'"));
    other(pipeline_toml("", "", "", VARS), &SQL.replace("at <", "at <="));
    other(pipeline_toml("", "", "", "[vars]\nregion = \"us\""), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = 1"), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = \"1\""), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = true"), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = 2026-01-01"), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = 2026-01-01T00:00:00"), SQL);
    other(pipeline_toml("", "", "", "[vars]\nregion = 2026-01-01T00:00:00Z"), SQL);
    other(pipeline_toml("", "", "", &format!("{VARS}\n[session]\nsearch_path = [\"ods\"]")), SQL);
    other(pipeline_toml("", "", "", &format!("{VARS}\n[session]\nsearch_path = [\"ods\", \"mart\"]")), SQL);
    other(pipeline_toml("", "grain = \"hour\"\nstart = \"2026-01-01T00\"", "", VARS), SQL);
    other(pipeline_toml("", &format!("{day}\ntime_zone = \"UTC\""), "", VARS), SQL);
    other(pipeline_toml("", &format!("{day}\ndelay = \"1h\""), "", VARS), SQL);
    other(
        pipeline_toml(
            "",
            "",
            &target.replace("mart", "\"Mart\"").replace("\"\"Mart\".sales\"", "'\"Mart\".sales'"),
            VARS,
        ),
        SQL,
    );
    other(pipeline_toml("", "", &format!("{target}\nkey = [\"day\"]"), VARS), SQL);
    other(pipeline_toml("", "", &format!("{target}\nallow_empty = true"), VARS), SQL);
}

#[test]
fn the_hash_is_the_same_for_ever() {
    // A new value here means that every pipeline in the world is outdated: change the form's number, and say so.
    insta::assert_snapshot!(hash(&pipeline_toml("", "", "", VARS), SQL));
}

#[test]
fn the_ledger_gets_everything() {
    let toml = "description = \"Orders per store\"\nowner = \"team\"\n[vars]\nratio = 1.5\nlast = 0x10\nday = 2026-01-02\nlocal = 2026-01-02 03:04:05.1234567\nat = 2026-01-02T03:04:05+09:00\n[labels]\ntier = \"1\"\n\
        [interval]\ngrain = \"hour\"\ntime_zone = \"America/New_York\"\nstart = \"2026-11-01T01-05:00\"\nend = 2027-01-01\ndelay = \"2h10m\"\ncatch_up = \"all\"\n\
        [target]\ntable = 'mart.\"Weird \"\"T\"'\nstrategy = \"delete_insert\"\ninterval_column = \"DT\"\nkey = [\"dt\", '\"Store Id\"']\npublished_at = \"updated_at\"\ncolumns = \"allow_extra_target\"\n\
        [[checks]]\nrows = { min = 1, max = 10 }\n[[checks]]\nseverity = \"warn\"\nexpression = \"amount >= 0 -- never\"\n[[checks]]\nnot_null = [\"a\"]\n\
        [retry]\nattempts = 5\nbudget = \"1h\"\nfirst_delay = \"1s\"\nmax_delay = \"1m\"\non_timeout = true\n\
        [timeouts]\nstage = \"1h\"\n[session]\nsearch_path = 'mart, \"Ods,x\"'\nwork_mem = \"256MB\"\njit = false\nrandom_page_cost = 1.1\n";
    let definition = Definition::read(&project(), "sales", "pipelines/sales.toml", toml.as_bytes()).unwrap().value;
    insta::assert_json_snapshot!(definition.to_json());
}
