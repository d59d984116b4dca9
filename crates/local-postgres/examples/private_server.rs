//! What a service's developers' setup does: a server of its own for this folder, made when it is missing.
//!
//! `cargo run -p thrice-local-postgres --example private_server [FOLDER]` starts one and stops it again;
//! with `--keep` it is left running.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use thrice_local_postgres::{LocalPostgres, LocalPostgresError, Surroundings};

#[tokio::main]
async fn main() -> Result<(), LocalPostgresError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let keep = arguments.iter().any(|word| word == "--keep");
    let project = arguments.iter().find(|word| !word.starts_with("--")).map_or_else(std::env::temp_dir, Into::into);

    let local = LocalPostgres::of_project(project.join("private-server-example"));
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
    }
    Ok(())
}
