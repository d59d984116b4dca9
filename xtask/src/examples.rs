//! The examples of the crates, run as a service would, on a server of their own.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::cluster::Cluster;
use crate::process::{line, target, without_settings};
use crate::psql::Session;
use crate::steps::Steps;

/// Examples that end with another code on purpose: this one is a gate, and shows it closed.
const OTHER_CODE: [(&str, i32); 1] = [("gate_any_table", 1)];

/// Runs the built examples, each in an empty database.
pub(crate) fn run(names: &BTreeSet<String>, cluster: &Cluster, steps: &mut Steps) -> Result<()> {
    let admin = Session::open(&cluster.url())?;
    for name in names {
        admin.run("drop database if exists example with (force); create database example")?;
        let what = format!("example {name} on PostgreSQL {}", cluster.server.major);
        let outcome = one(name, &cluster.url_of("postgres", "example"), cluster.port);
        println!("{} {what}", if outcome.is_ok() { "ok  " } else { "FAIL" });
        steps.note(&what, outcome);
    }
    Ok(())
}

fn one(name: &str, url: &str, port: u16) -> Result<()> {
    let mut command = Command::new(target()?.join("debug/examples").join(name));
    without_settings(&mut command);
    command
        .env("DATABASE_URL", url)
        .env("THRICE_TEST_DATABASE_URL", url)
        .env("DATABASE_ADDRESS", format!("127.0.0.1:{port}"))
        .stdin(Stdio::null());
    let output = command.output()?;
    let wanted = OTHER_CODE.iter().find(|(of, _)| *of == name).map_or(0, |(_, code)| *code);
    if output.status.code() != Some(wanted) || output.stdout.is_empty() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{}: {}, wanted {wanted} and some output\n{out}{err}", line(&command), output.status);
    }
    Ok(())
}
