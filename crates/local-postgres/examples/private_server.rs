//! What a service's developers' setup does: a server of its own for this folder, made when it is missing.
//!
//! `cargo run -p thrice-local-postgres --example private_server` starts one, stops it again and removes it;
//! with a folder as argument it stays there, running.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use thrice_local_postgres::{LocalPostgres, LocalPostgresError, Surroundings};

#[tokio::main]
async fn main() -> Result<(), LocalPostgresError> {
    let folder = std::env::args().nth(1).map(std::path::PathBuf::from);
    let keep = folder.is_some();
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("private-server-example"));

    let local = LocalPostgres::of_project(&folder);
    let running = match local.ensure_running(&Surroundings::of_process(), "shop").await {
        Ok(running) => running,
        Err(LocalPostgresError::NoBinaries { candidates }) => {
            println!("no PostgreSQL server programs here; looked at:");
            for candidate in candidates {
                println!("  {candidate}");
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let how = if running.started { "started" } else { "was running already" };
    println!("PostgreSQL {} {how}", running.major);
    println!("psql -h {} -p {} -U {} {}", running.socket_dir.display(), running.port, running.user, running.database);
    if !keep {
        println!("stopped: {:?}", local.stop(false).await?);
        if let Err(error) = std::fs::remove_dir_all(&folder) {
            println!("{} stays: {error}", folder.display());
        }
    }
    Ok(())
}
