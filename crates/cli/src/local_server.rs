//! The private PostgreSQL of a project, as the commands need it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use thrice_connect::{ConnectionSettings, Host};
use thrice_core::code::ErrorCode;
use thrice_local_postgres::{LocalPostgres, LocalPostgresError, Running, Status, Stopped, Surroundings};

use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome, io_fault};
use crate::output::{Output, to_stdout};
use crate::project::{DatabaseChoice, Project};

/// The database in it.
const DATABASE: &str = "thrice";

/// Starts it where it does not run, and says how to reach it.
pub(crate) async fn ensure(root: &Path, output: Output) -> Outcome<ConnectionSettings> {
    let running = start(root).await?;
    if running.started {
        output.note(format!("private PostgreSQL {} started (socket only); thrice pg stop ends it", running.major));
    }
    Ok(settings(&running))
}

/// Starts it where it does not run.
pub(crate) async fn start(root: &Path) -> Outcome<Running> {
    let local = LocalPostgres::of_project(root);
    Ok(local.ensure_running(&Surroundings::of_process(), DATABASE).await.map_err(fault)?)
}

/// How to reach it.
pub(crate) fn settings(running: &Running) -> ConnectionSettings {
    let host = Host::Socket(running.socket_dir.display().to_string());
    ConnectionSettings::new(host, running.port, running.user.clone(), running.database.clone())
        .with_password(running.password.clone())
}

pub(crate) fn status(root: &Path, output: Output) -> Outcome<Exit> {
    let status = LocalPostgres::of_project(root).status().map_err(fault)?;
    let (word, text) = match &status {
        Status::None => ("none", "this project has no private PostgreSQL".to_owned()),
        Status::Stopped { folder } => ("stopped", format!("stopped   files {}", folder.display())),
        Status::Running { pid, folder, socket_dir } => (
            "running",
            format!("running   process {pid}   socket {}   files {}", socket_dir.display(), folder.display()),
        ),
    };
    output.line(text);
    output.object(json!({ "schema": "thrice.pg/1", "status": word }));
    Ok(Exit::Ok)
}

pub(crate) async fn stop(root: &Path, force: bool, output: Output) -> Outcome<Exit> {
    let stopped = LocalPostgres::of_project(root).stop(force).await.map_err(fault)?;
    output.line(match stopped {
        Stopped::Now => "stopped",
        Stopped::Before => "it was not running",
    });
    output.object(json!({ "schema": "thrice.pg/1", "status": "stopped", "stopped_now": stopped == Stopped::Now }));
    Ok(Exit::Ok)
}

pub(crate) fn log(root: &Path, output: Output) -> Outcome<Exit> {
    let Some(path) = LocalPostgres::of_project(root).log_path().map_err(fault)? else {
        return Err(Fault::new(ErrorCode::NothingConfigured, "this project has no private PostgreSQL")
            .fix("thrice pg psql starts it, where thrice.toml says mode = \"local\"")
            .into());
    };
    let bytes = std::fs::read(&path).map_err(|error| io_fault("cannot read", &path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if output.json {
        output.object(json!({ "schema": "thrice.pg/1", "log": text }));
    } else {
        to_stdout(&thrice_core::text::printable(&text));
    }
    Ok(Exit::Ok)
}

/// Becomes psql in it. Comes back only with why it could not.
pub(crate) async fn psql(root: &Path, args: &[OsString], output: Output) -> Outcome<Fault> {
    let project = Project::load(root)?;
    if project.database != DatabaseChoice::Local {
        let what = "the database of this project is not its private PostgreSQL";
        return Err(Fault::new(ErrorCode::BadArgument, what).fix("psql \"$DATABASE_URL\"").into());
    }
    let surroundings = Surroundings::of_process();
    let settings = ensure(root, output).await?;
    // the client of PATH, else the one beside the server's programs
    let beside = surroundings.find_binaries(None, None).map(|found| found.bin).ok();
    let program = surroundings.path.iter().chain(&beside).map(|folder| folder.join("psql")).find(|path| path.is_file());
    let Some(program) = program else {
        return Err(Fault::new(ErrorCode::LocalServer, "no psql is installed")
            .fix("apt install postgresql-client, or brew install libpq")
            .into());
    };
    let password = settings.password().map(|password| password.expose().clone()).unwrap_or_default();
    let failed = Command::new(&program)
        .args(args)
        .env("PGHOST", settings.host().to_string())
        .env("PGPORT", settings.port().to_string())
        .env("PGUSER", settings.user())
        .env("PGPASSWORD", password)
        .env("PGDATABASE", settings.database())
        .exec();
    Ok(io_fault("cannot start", &program, &failed))
}

/// What is wrong with the private server, with the ways out.
pub(crate) fn fault(error: LocalPostgresError) -> Fault {
    let fault = Fault::new(ErrorCode::LocalServer, error.to_string());
    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others the server's log tells more")]
    match error {
        LocalPostgresError::NoBinaries { candidates } => {
            let looked: Vec<String> = candidates.iter().map(ToString::to_string).collect();
            let why = if looked.is_empty() {
                "neither PATH nor the usual folders hold one".to_owned()
            } else {
                format!("looked at: {}", looked.join("; "))
            };
            fault.why(why).fix("install one (apt install postgresql, brew install postgresql), or THRICE_PG_BIN=/folder/with/initdb, or --database-url URL of another server")
        }
        LocalPostgresError::InUse { .. } => {
            fault.why("they would lose their connection").fix("end them first, or: thrice pg stop --force")
        }
        LocalPostgresError::OtherHost { .. } => {
            fault.why("two machines on one cluster destroy it").fix("use another folder on this machine")
        }
        LocalPostgresError::NotReachable { .. } => {
            fault.fix("use a folder that other users may enter, or run as an ordinary user")
        }
        LocalPostgresError::Io { .. } => fault.fix(
            "let this user read and write there; what is damaged comes back only with the folder's backup: \
             to begin anew without it, delete .thrice",
        ),
        _ => fault.fix("thrice pg log shows what the server said"),
    }
}
