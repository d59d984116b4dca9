//! Server settings that weaken a promise, and who set them: the server, the database or the role.

use std::time::Duration;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;

use super::Patient;
use super::check::Report;

const SETTINGS: &str = "select s.name, s.setting, s.source from pg_catalog.pg_settings s \
    where s.name in ('fsync', 'full_page_writes', 'synchronous_commit', 'statement_timeout', 'transaction_timeout', \
                     'idle_session_timeout', 'idle_in_transaction_session_timeout') order by s.name";

/// Shorter than this, a time limit of the server ends ordinary work.
const SHORT_STATEMENT: Duration = Duration::from_mins(1);
const SHORT_TRANSACTION: Duration = Duration::from_mins(5);
/// The limit that thrice sets inside its own transactions replaces a longer one; a shorter one may end a step before.
const SHORT_IDLE: Duration = Duration::from_secs(5);

/// What is wrong with a setting, and how to undo it.
struct Weakness {
    what: String,
    fix: String,
}

pub(super) async fn check(patient: &Patient<'_>, connection: &DataConnection, report: &mut Report) {
    let rows = match connection.client.query(SETTINGS, &[]).await {
        Ok(rows) => rows,
        Err(error) => return report.unseen("settings", "the server's settings", &error),
    };
    let lease = patient.project.map_or(Duration::from_mins(1), |project| project.lease_ttl);
    let mut weak = false;
    for row in &rows {
        let (name, setting, source): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        if let Some(found) = weakness(&name, &setting, &source, lease, patient.database.settings.user()) {
            weak = true;
            report.warn("settings", ErrorCode::WeakSetting, found.what, found.fix);
        }
    }
    if !weak {
        report.ok("settings", "no server setting weakens a promise (crash safety, time limits)");
    }
}

fn weakness(name: &str, setting: &str, source: &str, lease: Duration, role: &str) -> Option<Weakness> {
    let limit = setting.parse().map(Duration::from_millis).unwrap_or_default();
    let short = |floor: Duration| !limit.is_zero() && limit < floor;
    let harm = match (name, setting) {
        ("fsync", "off") => "after a crash of the machine the database may be damaged, receipts and rows alike",
        ("full_page_writes", "off") => {
            "after a crash of the machine pages may be half written, receipts and rows alike"
        }
        ("synchronous_commit", "off") => {
            "a crash of the server may lose the last publishes, rows and receipts together, although they were told as published"
        }
        ("statement_timeout", _) if short(SHORT_STATEMENT) => {
            "steps of a run that take longer are ended, unless the pipeline's [timeouts] say otherwise"
        }
        ("transaction_timeout", _) if short(SHORT_TRANSACTION) => "a staging or a publish that takes longer is ended",
        ("idle_session_timeout", _) if short(lease) => {
            "it ends the session by which others see that a worker lives, so that its partitions can be taken over"
        }
        ("idle_in_transaction_session_timeout", _) if short(SHORT_IDLE) => {
            "a transaction of a run may be ended between two of its steps"
        }
        _ => return None,
    };
    let value = if limit.is_zero() { setting.to_owned() } else { format!("{limit:?}") };
    let (by, fix) = who_set(name, source, role);
    Some(Weakness { what: format!("{name} = {value}, set by {by}: {harm}"), fix })
}

/// Who set it, and the statement that takes it back.
fn who_set(name: &str, source: &str, role: &str) -> (String, String) {
    let role_name = format!("\"{}\"", role.replace('"', "\"\""));
    match source {
        "database" => ("the database".to_owned(), format!("alter database … reset {name};")),
        "user" => (format!("the role {role}"), format!("alter role {role_name} reset {name};")),
        "database user" => {
            (format!("the role {role} in this database"), format!("alter role {role_name} in database … reset {name};"))
        }
        "client" | "session" => {
            ("the connection's options".to_owned(), format!("take {name} out of PGOPTIONS or the URL"))
        }
        "command line" => ("the server's command line".to_owned(), format!("take {name} out of the server's start")),
        _ => ("the server's configuration".to_owned(), format!("alter system reset {name}; select pg_reload_conf();")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, setting: &str, source: &str) -> Option<String> {
        weakness(name, setting, source, Duration::from_mins(1), "app").map(|found| found.what)
    }

    #[test]
    fn zero_is_no_limit_and_long_limits_are_fine() {
        for name in
            ["statement_timeout", "transaction_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout"]
        {
            assert_eq!(found(name, "0", "default"), None);
            assert_eq!(found(name, "3600000", "configuration file"), None);
            assert!(found(name, "1000", "user").is_some_and(|what| what.starts_with(&format!("{name} = 1s"))));
        }
        assert_eq!(found("fsync", "on", "default"), None);
    }

    #[test]
    fn the_fix_names_the_level_at_which_it_was_set() {
        let fix = |source| weakness("synchronous_commit", "off", source, Duration::ZERO, "a\"b").map(|found| found.fix);
        assert_eq!(fix("user").as_deref(), Some("alter role \"a\"\"b\" reset synchronous_commit;"));
        assert_eq!(fix("default").as_deref(), Some("alter system reset synchronous_commit; select pg_reload_conf();"));
    }
}
