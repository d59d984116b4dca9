//! `thrice demo`: the promise on one page. A day of orders is published, published again, loses the answer to its
//! COMMIT, is killed at COMMIT; after each the table is as if it had been run once.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thrice_connect::ConnectionSettings;
use thrice_core::actor::Actor;
use thrice_core::code::ErrorCode;
use thrice_core::schedule::Partition;
use thrice_fault_relay::{Fault as RelayFault, FaultRelay, Listen, Plan, Until, Upstream};
use thrice_ledger::Ledger;
use thrice_local_postgres::{LocalPostgres, Running};
use thrice_runner::{Done, Outcome as Ended, Prepared, RunRequest, Runner, RunnerOptions, Silent, Trigger};
use thrice_sql_publish::CancellationToken;

use crate::args::{Demo, Global};
use crate::commands::init;
use crate::commands::lint::placed;
use crate::exit_code::Exit;
use crate::fault::{Failed, Fault, Outcome};
use crate::local_server;
use crate::output::Output;
use crate::project::{FILE, Loaded, Project};

const FOLDER: &str = "thrice-demo";
const PIPELINE: &str = "daily_order_summary";
const FIRST: &str = "2026-03-11";
const DAY: &str = "2026-03-24";
/// The last statement before the COMMIT of a publish names the table of receipts.
const RECEIPT: &str = "insert into thrice.publications";

pub(crate) async fn run(global: &Global, args: &Demo, output: Output) -> Outcome<Exit> {
    let dir = global.dir.join(FOLDER);
    if !dir.join(FILE).exists() {
        init::write(&dir, false)?;
    }
    let project = Project::load(&dir)?;
    let begun = Instant::now();
    let running = local_server::start(&project.root).await?;
    let took = begun.elapsed();
    let how = if running.started { "started" } else { "runs already" };
    output.line(format!("private PostgreSQL {} {how} (socket only){:>30.1}s", running.major, took.as_secs_f64()));
    let shown = Box::pin(show(&project, &running, output)).await;
    let stopped = if args.keep || !running.started {
        "left it running".to_owned()
    } else {
        match LocalPostgres::of_project(&project.root).stop(false).await {
            Ok(_) => "stopped what it started".to_owned(),
            Err(error) => format!("the private PostgreSQL runs on: {error}"),
        }
    };
    let runs = shown?;
    let identical = runs.identical;
    output.line(format!("{stopped}; the project stays in ./{FOLDER}. Try there:"));
    output.line(format!("  cd {FOLDER}"));
    output.line(format!("  thrice status     thrice ledger     thrice show {PIPELINE} {DAY}"));
    output.object(&json!({ "schema": "thrice.demo/1", "runs": runs.items, "identical": identical }));
    if identical {
        return Ok(Exit::Ok);
    }
    Err(Fault::new(ErrorCode::Bug, "the results of the runs differ").into())
}

/// What was shown.
struct Shown {
    items: Vec<Value>,
    checksums: Vec<String>,
    identical: bool,
}

impl Shown {
    fn add(&mut self, outcome: &str, done: &Done) {
        self.items.push(json!({ "outcome": outcome, "attempt_no": done.attempt_no, "rows": done.rows.total, "checksum": done.checksum }));
        self.checksums.push(done.checksum.clone());
    }
}

async fn show(project: &Project, running: &Running, output: Output) -> Outcome<Shown> {
    let direct = local_server::settings(running);
    let begun = Instant::now();
    load(&direct).await?;
    output.line(format!("loaded 40,000 orders, {FIRST} to {DAY}, Asia/Seoul{:>26.1}s", begun.elapsed().as_secs_f64()));
    let loaded = project.pipeline(PIPELINE)?;
    let day =
        loaded.job.schedule.partition_for_key(DAY).map_err(|error| Fault::new(ErrorCode::Bug, error.to_string()))?;
    let mut shown = Shown { items: Vec::new(), checksums: Vec::new(), identical: false };

    let begun = Instant::now();
    let mut worker = Worker::open(&direct, loaded, &day).await?;
    let mut next = loaded.job.schedule.partition_for_key(FIRST).ok();
    let mut days = 0;
    while let Some(partition) = next.filter(|partition| partition.interval.start() <= day.interval.start()) {
        let done = worker.run(&partition).await?;
        days += 1;
        if partition == day {
            output.line(format!("{days} days published{:>58.1}s", begun.elapsed().as_secs_f64()));
            output.line(format!("{DAY} published {} rows   (run #{})", done.rows.total, done.attempt_no));
            shown.add("published", &done);
        }
        next = loaded.job.schedule.next(&partition);
    }
    let done = worker.run(&day).await?;
    output.line(format!("{DAY} unchanged {} rows   (run #{}, nothing written)", done.rows.total, done.attempt_no));
    shown.add("unchanged", &done);
    worker.close().await?;

    let relay = relay(running).await?;
    let through = direct.clone().with_host(relay.address().ip().to_string(), relay.address().port());
    lose_the_answer(&relay, &direct, &through, loaded, &day, output, &mut shown).await?;
    kill_at_commit(&relay, &project.root, &through, output).await?;
    relay.stop().await;

    let mut worker = Worker::open(&direct, loaded, &day).await?;
    let done = worker.run(&day).await?;
    let how = if done.resumed_from.is_some() { ", adopting what it had staged" } else { "" };
    output.line(format!(
        "{DAY} the next run takes over at once{how}: {} rows   (run #{})",
        done.rows.total, done.attempt_no
    ));
    shown.add("taken_over", &done);
    worker.close().await?;

    let plain = equals_plain_sql(&direct).await?;
    let first = shown.checksums.first().cloned().unwrap_or_default();
    shown.identical = plain && shown.checksums.iter().all(|checksum| *checksum == first);
    let short = first.get(..first.len().min(16)).unwrap_or_default().to_owned();
    let all: Vec<String> = shown
        .checksums
        .iter()
        .map(|checksum| checksum.get(..checksum.len().min(16)).unwrap_or_default().to_owned())
        .collect();
    if shown.identical {
        output.line(format!(
            "the table is as if you ran it once: {}… = one plain SELECT over the orders",
            all.join("… = ")
        ));
    } else {
        output.line(format!("NOT the same: {short}… against {}, plain SELECT equal: {plain}", all.join(", ")));
    }
    calendar(&direct, loaded, output).await?;
    Ok(shown)
}

/// COMMIT reaches the server, its answer never comes back.
async fn lose_the_answer(
    relay: &FaultRelay,
    direct: &ConnectionSettings,
    through: &ConnectionSettings,
    loaded: &Loaded,
    day: &Partition,
    output: Output,
    shown: &mut Shown,
) -> Outcome<()> {
    // an order arrives, so that there is something to publish, and is taken back afterwards
    change_source(direct, "update ods.orders set amount = amount + 1000 where order_id = (select min(order_id) from ods.orders where order_time >= '2026-03-24 00:00+09' and status = 'paid')").await?;
    relay.arm(Plan::on_commit(RelayFault::lose_reply(Duration::ZERO)).in_transaction_with(RECEIPT));
    let mut worker = Worker::open(through, loaded, day).await?;
    let done = worker.run(day).await?;
    relay.disarm();
    let named = if done.resolved { "committed" } else { "not lost" };
    output.line(format!(
        "{DAY} COMMIT sent, answer lost; asked the ledger behind the barrier: {named}   (run #{})",
        done.attempt_no
    ));
    worker.close().await?;
    change_source(direct, "update ods.orders set amount = amount - 1000 where order_id = (select min(order_id) from ods.orders where order_time >= '2026-03-24 00:00+09' and status = 'paid')").await?;
    let mut worker = Worker::open(direct, loaded, day).await?;
    let done = worker.run(day).await?;
    output.line(format!(
        "{DAY} source corrected, published again: {} rows   (run #{})",
        done.rows.total, done.attempt_no
    ));
    shown.add("resolved", &done);
    worker.close().await
}

/// A process of its own is killed with its COMMIT on the way.
async fn kill_at_commit(relay: &FaultRelay, root: &Path, through: &ConnectionSettings, output: Output) -> Outcome<()> {
    relay.arm(
        Plan::on_commit(RelayFault::BlackHole { forwarded: false, until: Until::Released, then_cut: true })
            .in_transaction_with(RECEIPT),
    );
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failed::from(Fault::new(ErrorCode::Bug, format!("{what}: {error}")))
    };
    let program = std::env::current_exe().map_err(|error| failed("this program's own path", &error))?;
    let password = through.password().map(|password| password.expose().clone()).unwrap_or_default();
    let mut child = Command::new(program)
        .arg("-C")
        .arg(root)
        .args(["-q", "run", PIPELINE, DAY])
        .env_remove("DATABASE_URL")
        .env("PGHOST", through.host().to_string())
        .env("PGPORT", through.port().to_string())
        .env("PGUSER", through.user())
        .env("PGPASSWORD", password)
        .env("PGDATABASE", through.database())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed("a second process", &error))?;
    let fired = tokio::time::timeout(Duration::from_secs(20), relay.wait_fired(2)).await;
    child.kill().map_err(|error| failed("the kill", &error))?;
    let status = child.wait().map_err(|error| failed("the killed process", &error))?;
    relay.cut_all();
    relay.release();
    relay.disarm();
    if fired.is_err() {
        return Err(failed("the second process did not reach its COMMIT", &status));
    }
    output.line(format!("{DAY} a second process killed at COMMIT ({status})"));
    Ok(())
}

/// One worker on one connection.
struct Worker {
    runner: Runner,
    prepared: Prepared,
}

impl Worker {
    async fn open(settings: &ConnectionSettings, loaded: &Loaded, sample: &Partition) -> Outcome<Self> {
        let ledger = Ledger::open(settings).await?;
        ledger.migrate().await?;
        let options = RunnerOptions {
            host: "demo".to_owned(),
            os_pid: std::process::id(),
            lease_ttl: Duration::from_mins(1),
            actor: Actor::default(),
            resolve_wait: Duration::from_secs(30),
        };
        let mut runner = Runner::open(ledger, settings.clone(), options).await?;
        let prepared = runner
            .prepare(loaded.job.clone(), sample, &CancellationToken::new())
            .await
            .map_err(|error| placed(loaded, error))?;
        Ok(Self { runner, prepared })
    }

    async fn run(&mut self, partition: &Partition) -> Outcome<Done> {
        let report =
            self.runner.run_partition(&self.prepared, partition, &RunRequest::new(Trigger::Demo), &mut Silent).await;
        match report.outcome {
            Ended::Published(done) | Ended::Unchanged(done) => Ok(done),
            Ended::Failed(problem) | Ended::Refused(problem) | Ended::Held(problem) | Ended::Unknown(problem) => {
                Err(problem.into())
            }
        }
    }

    async fn close(self) -> Outcome<()> {
        Ok(self.runner.close().await?)
    }
}

async fn relay(running: &Running) -> Outcome<FaultRelay> {
    let upstream = Upstream::unix(&running.socket_dir, running.port);
    FaultRelay::start(upstream, Listen::tcp())
        .await
        .map_err(|error| Fault::new(ErrorCode::Unreachable, error.to_string()).into())
}

/// A fresh source, an empty target, no ledger: the demonstration starts anew each time, in its own private server.
async fn load(settings: &ConnectionSettings) -> Outcome<()> {
    execute(settings, "drop schema if exists thrice, thrice_staging, thrice_history cascade").await?;
    execute(settings, include_str!("../../template/sample.sql")).await
}

async fn change_source(settings: &ConnectionSettings, sql: &str) -> Outcome<()> {
    execute(settings, sql).await
}

async fn execute(settings: &ConnectionSettings, sql: &str) -> Outcome<()> {
    let data = thrice_connect::connect(settings).await?;
    let done = data.client.batch_execute(sql).await;
    data.close(Duration::from_secs(2)).await;
    done.map_err(|error| Fault::new(ErrorCode::SqlFailed, error.to_string()).into())
}

/// Compares the whole target with one statement over the source, without intervals and without our checksum.
async fn equals_plain_sql(settings: &ConnectionSettings) -> Outcome<bool> {
    const DIFFERENCE: &str = "
        with plain as (
          select timezone('Asia/Seoul', order_time)::date as dt, store_id, count(*) as order_count, sum(amount) as total_amount
          from ods.orders where status = 'paid' group by 1, 2
        ), published as (
          select dt, store_id, order_count, total_amount from mart.daily_order_summary
        )
        select (select count(*) from (table plain except all table published) a)
             + (select count(*) from (table published except all table plain) b)";
    let data = thrice_connect::connect(settings).await?;
    let row = data.client.query_one(DIFFERENCE, &[]).await;
    data.close(Duration::from_secs(2)).await;
    let differing: i64 =
        row.and_then(|row| row.try_get(0)).map_err(|error| Fault::new(ErrorCode::SqlFailed, error.to_string()))?;
    Ok(differing == 0)
}

async fn calendar(settings: &ConnectionSettings, loaded: &Loaded, output: Output) -> Outcome<()> {
    let ledger = Ledger::open(settings).await?;
    let end = loaded.job.schedule.partition_for_key("2026-03-25").map(|next| next.interval.end());
    let as_of = end.map_err(|error| Fault::new(ErrorCode::Bug, error.to_string()))?;
    for line in crate::commands::status::lines_of(&ledger, loaded, as_of, output).await? {
        output.line(line);
    }
    let runs = ledger.runs(Some(PIPELINE), None, 7).await?;
    for line in crate::commands::ledger::lines_of(&runs) {
        output.line(line);
    }
    ledger.close().await;
    Ok(())
}
