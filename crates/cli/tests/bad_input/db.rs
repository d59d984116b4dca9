//! Servers, logins, ledgers and targets.

use thrice_core::code::ErrorCode;

use crate::fake_server::{Answer, FakeServer};
use crate::scratch::Scratch;
use crate::shop;
use crate::support::Place;
use crate::told::{Told, bad, bad_in};

const DAY: &str = "run daily_order_summary 2026-03-24 --as-of 2026-03-25T12:00:00+09:00";

/// A project whose database is this server.
fn at(name: &'static str, code: ErrorCode, server: &FakeServer) -> Told {
    let place = Place::project().env("DATABASE_URL", &server.url());
    bad_in(name, code, place).mask(server.port(), "[port]")
}

#[test]
fn b80() {
    let mut told = bad("b80_nothing_configured", ErrorCode::NothingConfigured);
    told.call(DAY).call("status").call("migrate").call("lint --db").shown();
}

#[test]
fn b80_variable() {
    let place = Place::project();
    place.change("thrice.toml", "\"DATABASE_URL\"", "\"SHOP_URL\"");
    bad_in("b80_variable_not_set", ErrorCode::NothingConfigured, place).call("status").shown();
}

#[test]
fn b81() {
    let mut told = bad("b81_url_that_cannot_be_read", ErrorCode::BadUrl);
    for url in [
        "mysql://root:hush@db/shop",
        "postgres://kim:hush@127.0.0.1:port/shop",
        "postgres://kim:hush@127.0.0.1:70000/shop",
        "postgres://kim:hush@127.0.0.1/shop?sslmode=maybe",
        "postgres://kim:hush@127.0.0.1/shop?conect_timeout=3",
        "db.example.org",
    ] {
        told.call(&format!("status --database-url {url}"));
    }
    told.mask("hush", "[password, as typed]").shown();
}

#[test]
fn b82() {
    let mut told = bad("b82_nobody_answers", ErrorCode::Unreachable);
    told.call("status --database-url postgres://kim@127.0.0.1:1/shop");
    told.call("status --database-url postgres:///shop?host=/nowhere");
    told.call("migrate --database-url postgres://kim@no-such-host.invalid/shop?sslmode=disable").shown();
}

#[test]
fn b82_hangs_up() {
    let server = FakeServer::start(Answer::HangUp);
    at("b82_something_that_hangs_up", ErrorCode::Unreachable, &server).call("status").shown();
}

#[test]
fn b83() {
    let wrong = Answer::Refuse("28P01", "password authentication failed for user \"kim\"");
    at("b83_wrong_password", ErrorCode::LoginRefused, &FakeServer::start(wrong)).call("status").call(DAY).shown();
}

#[test]
fn b83_hba() {
    let line = "no pg_hba.conf entry for host \"10.0.0.7\", user \"kim\", database \"shop\", no encryption";
    at("b83_no_line_in_pg_hba", ErrorCode::LoginRefused, &FakeServer::start(Answer::Refuse("28000", line)))
        .call("status")
        .shown();
}

#[test]
fn b84() {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", &format!("{}_not", scratch.url()));
    let told = bad("b84_database_missing", ErrorCode::DatabaseMissing).on(place, scratch);
    let mut told = mask_server(told);
    told.call("status").call(DAY).shown();
}

/// Host and port of the server of the tests.
fn mask_server(told: Told) -> Told {
    let url = told.scratch().url().to_owned();
    let (address, _) = url.rsplit_once('/').expect("a database");
    let host = address.rsplit(['@', '/']).next().unwrap_or_default().to_owned();
    told.mask(host, "[server]")
}

#[test]
fn b85() {
    let mut told = bad("b85_no_tls", ErrorCode::TlsFailed);
    told.call("status --database-url postgres://kim@db.example.org/shop");
    told.call("status --database-url postgres://kim@127.0.0.1/shop?sslmode=require").shown();
}

#[test]
fn b86() {
    let standby = vec![("server_version", "17.2"), ("in_hot_standby", "on"), ("default_transaction_read_only", "off")];
    let server = FakeServer::start(Answer::Greet(standby));
    let mut told = at("b86_standby", ErrorCode::ReadOnlyServer, &server);
    told.call("lint --db").shown();
}

#[test]
fn b87() {
    let server = FakeServer::start(Answer::Greet(vec![("server_version", "14.9")]));
    at("b87_server_too_old", ErrorCode::ServerVersion, &server).call("lint --db").call("status").call(DAY).shown();
}

#[test]
fn b89() {
    let (place, scratch) = shop::shop();
    // a role that exists on every server, and may do nothing here
    let place = place.env("PGOPTIONS", "-c role=pg_monitor");
    let mut told = bad("b89_privilege_missing", ErrorCode::PrivilegeMissing).on(place, scratch);
    told.call(DAY).call("status");
    for grant in [
        "grant usage on schema thrice, thrice_staging, ods, mart to pg_monitor",
        "grant all on all tables in schema thrice to pg_monitor",
        "grant create on schema thrice_staging to pg_monitor",
        "grant execute on all functions in schema thrice to pg_monitor",
    ] {
        told.scratch().execute(grant);
    }
    told.call(DAY).call("lint --db");
    told.scratch().execute("grant select, insert, delete on mart.daily_order_summary to pg_monitor");
    told.call(DAY).shown();
}

#[test]
fn b90() {
    let scratch = Scratch::new();
    let place = Place::project().env("DATABASE_URL", scratch.url());
    let mut told = bad("b90_ledger_of_another_version", ErrorCode::LedgerVersion).on(place, scratch);
    told.call(DAY).call("status");
    assert_eq!(told.place().run("migrate").code, Some(0));
    told.scratch().execute(
        "insert into thrice._sqlx_migrations select 9999, description, installed_on, success, checksum, execution_time \
         from thrice._sqlx_migrations where version = 1",
    );
    told.call(DAY).call("status").call("migrate").shown();
}

#[test]
fn b91() {
    let mut told = shop::bad_on("b91_no_unique_index", ErrorCode::NoUniqueIndex).warns();
    told.scratch().execute("alter table mart.daily_order_summary drop constraint daily_order_summary_pkey");
    told.call("lint --db").shown();
}

#[test]
fn b92() {
    let mut told = shop::bad_on("b92_target_is_no_table", ErrorCode::TargetKind);
    told.scratch().execute("alter table mart.daily_order_summary rename to real; create view mart.daily_order_summary as select * from mart.real");
    told.call(DAY).call("lint --db");
    told.scratch().execute("drop view mart.daily_order_summary; create foreign data wrapper far; create server far foreign data wrapper far; create foreign table mart.daily_order_summary (dt date) server far");
    told.call(DAY).shown();
}

#[test]
fn b92_rows() {
    let (place, scratch) = shop::shop();
    scratch.execute("alter table mart.daily_order_summary enable row level security; alter table mart.daily_order_summary force row level security");
    scratch.execute(
        "grant usage on schema ods, mart to pg_monitor; grant all on all tables in schema ods, mart to pg_monitor",
    );
    let place = place.env("PGOPTIONS", "-c role=pg_monitor");
    bad("b92_row_security", ErrorCode::TargetKind).on(place, scratch).call("lint --db").shown();
}

#[test]
fn b92_triggers() {
    let mut told = shop::bad_on("b92_triggers_warn", ErrorCode::TargetKind).warns();
    told.scratch().execute(
        "create function mart.note() returns trigger language plpgsql as 'begin return new; end'; \
         create trigger noted before insert on mart.daily_order_summary for each row execute function mart.note()",
    );
    told.call("lint --db").shown();
}

#[test]
fn b95() {
    let full = Answer::Refuse("53300", "sorry, too many clients already");
    let mut told = at("b95_no_connection_left", ErrorCode::ServerExhausted, &FakeServer::start(full));
    told.call("status").call(DAY).shown();
}

#[test]
fn b95_disk() {
    let full = Answer::Refuse("53100", "could not extend file \"base/5/16384\": No space left on device");
    at("b95_disk_full", ErrorCode::ServerExhausted, &FakeServer::start(full)).call("status").shown();
}

#[test]
fn b28() {
    let (place, scratch) = shop::shop();
    assert_eq!(place.run(DAY).code, Some(0));
    let mut told = bad("b28_nothing_kept", ErrorCode::NothingKept).on(place, scratch);
    told.call("rollback daily_order_summary 2026-03-24 --reason wrong --yes").shown();
}
