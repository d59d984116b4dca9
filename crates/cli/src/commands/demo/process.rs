//! A process of its own, killed with its COMMIT on the way.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use thrice_connect::ConnectionSettings;
use thrice_core::code::ErrorCode;
use thrice_fault_relay::{Fault as RelayFault, FaultRelay, Plan, Until};

use crate::fault::{Failed, Fault, Outcome};

/// How long the process may take to its COMMIT.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs `thrice run` through the relay, holds its COMMIT back, and kills it there. The COMMIT never reaches the server.
pub(super) async fn kill_at_commit(
    relay: &FaultRelay,
    plan: impl FnOnce(RelayFault) -> Plan,
    words: &[&str],
    root: &Path,
    through: &ConnectionSettings,
) -> Outcome<ExitStatus> {
    let earlier = relay.fired();
    relay.arm(plan(RelayFault::BlackHole { forwarded: false, until: Until::Released, then_cut: true }));
    let program = std::env::current_exe().map_err(|error| failed("this program's own path", &error))?;
    let password = through.password().map(|password| password.expose().clone()).unwrap_or_default();
    let mut child = tokio::process::Command::new(program)
        .arg("-C")
        .arg(root)
        .args(words)
        .env_remove("DATABASE_URL")
        .env("PGHOST", through.host().to_string())
        .env("PGPORT", through.port().to_string())
        .env("PGUSER", through.user())
        .env("PGPASSWORD", password)
        .env("PGDATABASE", through.database())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("a second process", &error))?;
    let fired = tokio::time::timeout(LIMIT, relay.wait_fired(earlier + 1)).await;
    child.start_kill().map_err(|error| failed("the kill", &error))?;
    let status = child.wait().await.map_err(|error| failed("the killed process", &error))?;
    relay.cut_all();
    relay.release();
    relay.disarm();
    if fired.is_err() {
        return Err(failed("the second process did not reach its COMMIT", &status));
    }
    Ok(status)
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Failed {
    Fault::new(ErrorCode::Bug, format!("{what}: {error}")).into()
}
