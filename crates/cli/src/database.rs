//! Which database a call uses, and the ledger in it.

use std::time::Duration;

use thrice_connect::{ConnectionSettings, Origin, Sources};
use thrice_core::actor::Actor;
use thrice_core::code::ErrorCode;
use thrice_ledger::Ledger;
use thrice_runner::{Runner, RunnerOptions};

use crate::args::Global;
use crate::fault::{Fault, Outcome};
use crate::local_server;
use crate::output::Output;
use crate::project::{DatabaseChoice, Project};

/// How long an unknown COMMIT is asked about before the call ends with exit 9.
const RESOLVE_WAIT: Duration = Duration::from_mins(1);

/// How to reach the database, and whether it is the project's own.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) settings: ConnectionSettings,
    /// The private server of this project: its ledger is made when it is not there.
    pub(crate) private: bool,
    /// Who this process is to the operating system.
    os_user: Option<String>,
}

/// Flag, then environment, then the project's private server.
pub(crate) async fn find(global: &Global, project: Option<&Project>, output: Output) -> Outcome<Database> {
    let url_env = match project.map(|project| &project.database) {
        Some(DatabaseChoice::Env(name)) => Some(name.clone()),
        Some(DatabaseChoice::Local | DatabaseChoice::Unsaid) | None => None,
    };
    let (sources, warnings) = Sources::of_process(global.database_url.clone(), url_env);
    for warning in warnings {
        output.note(format!("warning: {warning}"));
    }
    if let Some((settings, origin)) = ConnectionSettings::resolve(&sources)? {
        if origin != Origin::Flag && project.is_some_and(|project| project.database == DatabaseChoice::Local) {
            output.note(format!(
                "note: {settings} is used: {origin} of the environment comes before mode = \"local\" of thrice.toml"
            ));
        }
        return Ok(Database { settings, private: false, os_user: sources.os_user });
    }
    if let Some(project) = project
        && project.database == DatabaseChoice::Local
    {
        let settings = local_server::ensure(&project.root, output).await?;
        return Ok(Database { settings, private: true, os_user: sources.os_user });
    }
    Err(Fault::new(ErrorCode::NothingConfigured, "no database is configured")
        .why("neither --database-url nor DATABASE_URL nor PGHOST is set, and thrice.toml does not say mode = \"local\"")
        .fix("export DATABASE_URL=postgres://user@host/database; or, for a private PostgreSQL of this project, write [database] mode = \"local\" in thrice.toml")
        .into())
}

/// Opens the ledger, whatever its version.
pub(crate) async fn open(settings: &ConnectionSettings) -> Outcome<Ledger> {
    // a command asks one thing after the other
    let error = match Ledger::open_with(settings, 1).await {
        Ok(ledger) => return Ok(ledger),
        Err(error) => error,
    };
    // the other driver tells who refused whom, and where
    match thrice_connect::connect(settings).await {
        Err(explained) => Err(explained.into()),
        Ok(connection) => {
            connection.close(Duration::from_secs(2)).await;
            Err(error.into())
        }
    }
}

/// Opens the ledger and sees that its version fits; that of a private server is brought up to date first.
pub(crate) async fn ledger(database: &Database) -> Outcome<Ledger> {
    let ledger = open(&database.settings).await?;
    if database.private {
        ledger.migrate().await?;
    }
    ledger.ensure_current().await?;
    Ok(ledger)
}

/// Registers this process as a worker.
pub(crate) async fn runner(database: &Database, ledger: Ledger, ttl: Duration, global: &Global) -> Outcome<Runner> {
    let options = RunnerOptions {
        host: host_name(),
        os_pid: std::process::id(),
        lease_ttl: ttl,
        actor: actor(database, global),
        resolve_wait: RESOLVE_WAIT,
    };
    Ok(Runner::open(ledger, database.settings.clone(), options).await?)
}

/// Who asks: a fact of this machine, and a claim beside it.
pub(crate) fn actor(database: &Database, global: &Global) -> Actor {
    Actor { os_user: database.os_user.clone(), on_behalf_of: global.on_behalf_of.clone() }
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_else(|| "unknown".to_owned())
}
