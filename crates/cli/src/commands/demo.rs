//! `thrice demo`: the promise on one page. A day of orders is published, published again, loses the answer to its
//! COMMIT, is killed at COMMIT; after each the table is as if it had been run once.

mod process;
mod source;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thrice_connect::ConnectionSettings;
use thrice_core::actor::Actor;
use thrice_core::code::ErrorCode;
use thrice_core::schedule::Partition;
use thrice_fault_relay::{Fault as RelayFault, FaultRelay, Listen, Plan, Upstream};
use thrice_ledger::Ledger;
use thrice_local_postgres::{LocalPostgres, Running};
use thrice_runner::{Done, Outcome as Ended, Prepared, RunRequest, Runner, RunnerOptions, Silent, Trigger};
use thrice_sql_publish::CancellationToken;

use crate::args::{Demo, Global};
use crate::commands::init;
use crate::exit_code::Exit;
use crate::fault::{Fault, Outcome};
use crate::local_server;
use crate::output::Output;
use crate::project::{FILE, Loaded, Project};
use crate::signals::Stop;

const FOLDER: &str = "thrice-demo";
const PIPELINE: &str = "daily_order_summary";
const FIRST: &str = "2026-03-11";
const DAY: &str = "2026-03-24";
const MONTH: &str = "2026-03";
/// The last statement before the COMMIT of a publish names the table of receipts.
const RECEIPT: &str = "insert into thrice.publications";

pub(crate) async fn run(global: &Global, args: &Demo, output: Output) -> Outcome<Exit> {
    let stop = Stop::listen(output);
    let dir = global.dir.join(FOLDER);
    if !dir.join(FILE).exists() {
        init::write(&dir, init::Server::Private)?;
    }
    refuse_changed(&dir)?;
    let project = Project::load(&dir)?;
    let begun = Instant::now();
    let running = local_server::start(&project.root).await?;
    let how = if running.started { "started" } else { "runs already" };
    timed(output, &format!("private PostgreSQL {} {how} (socket only)", running.major), begun.elapsed());
    let shown = tokio::select! {
        shown = Box::pin(show(&project, &running, output)) => Some(shown),
        () = stop.token.cancelled() => None,
    };
    let stopped = if args.keep || !running.started {
        "left it running".to_owned()
    } else {
        match LocalPostgres::of_project(&project.root).stop(false).await {
            Ok(_) => "stopped what it started".to_owned(),
            Err(error) => format!("the private PostgreSQL runs on: {error}"),
        }
    };
    let (Some(shown), None) = (shown, stop.exit()) else {
        output.note(stopped);
        return Ok(stop.exit().unwrap_or(Exit::Interrupted));
    };
    let shown = shown?;
    output.line(format!("{stopped}; the project stays in ./{FOLDER}. Try there:"));
    output.line(format!("  cd {FOLDER}"));
    output.line(format!("  thrice status --month {MONTH}     thrice ledger     thrice show {PIPELINE} {DAY}"));
    if shown.identical {
        output.object(json!({
            "schema": "thrice.demo/1", "runs": shown.items, "identical": true, "exit": Exit::Ok.number(),
        }));
        return Ok(Exit::Ok);
    }
    Err(Fault::new(ErrorCode::Bug, "the results of the runs differ").into())
}

/// The demonstration shows its own pipeline: one that was edited since would show something else.
fn refuse_changed(dir: &Path) -> Outcome<()> {
    for (path, text) in init::FILES.iter().filter(|(path, _)| path.starts_with("pipelines/")) {
        if std::fs::read_to_string(dir.join(path)).is_ok_and(|now| now == *text) {
            continue;
        }
        let what = format!("{FOLDER}/{path} is not the demonstration's any more");
        return Err(Fault::new(ErrorCode::BadArgument, what)
            .why("it would load its own orders and compare with its own answer")
            .fix(format!("run thrice demo in another folder, or delete ./{FOLDER}"))
            .into());
    }
    Ok(())
}

/// A line with the time that it took, in a column of its own.
fn timed(output: Output, text: &str, took: Duration) {
    output.line(format!("{text:<64}{:>5.1}s", took.as_secs_f64()));
}

/// What was shown.
#[derive(Default)]
struct Shown {
    items: Vec<Value>,
    checksums: Vec<String>,
    identical: bool,
}

impl Shown {
    /// A run whose result has to be the first one's.
    fn add(&mut self, outcome: &str, done: &Done) {
        self.tell(outcome, done);
        self.checksums.push(done.checksum.clone());
    }

    fn tell(&mut self, outcome: &str, done: &Done) {
        self.items.push(json!({
            "outcome": outcome, "attempt_no": done.attempt_no, "rows": done.rows.total, "checksum": done.checksum,
        }));
    }
}

/// Where it plays: the private server, a relay in front of it, one pipeline and one day.
struct Scene<'a> {
    output: Output,
    project: &'a Project,
    loaded: &'a Loaded,
    day: Partition,
    direct: ConnectionSettings,
    through: ConnectionSettings,
    relay: FaultRelay,
}

async fn show(project: &Project, running: &Running, output: Output) -> Outcome<Shown> {
    let direct = local_server::settings(running);
    let begun = Instant::now();
    source::load(&direct).await?;
    timed(output, &format!("loaded 40,000 orders, {FIRST} to {DAY}, Asia/Seoul"), begun.elapsed());
    let upstream = Upstream::unix(&running.socket_dir, running.port);
    let relay = FaultRelay::start(upstream, Listen::tcp())
        .await
        .map_err(|error| Fault::new(ErrorCode::Unreachable, error.to_string()))?;
    let loaded = project.pipeline(PIPELINE)?;
    let day =
        loaded.job.schedule.partition_for_key(DAY).map_err(|error| Fault::new(ErrorCode::Bug, error.to_string()))?;
    let address = relay.address();
    let through = direct.clone().with_host(address.ip().to_string(), address.port());
    let scene = Scene { output, project, loaded, day, direct, through, relay };
    let mut shown = Shown::default();
    Box::pin(scene.fourteen_days_and_one_again(&mut shown)).await?;
    Box::pin(scene.lose_the_answer(&mut shown)).await?;
    let never_arrived = Box::pin(scene.kill(&mut shown)).await?;
    let plain = source::equals_plain_sql(&scene.direct).await?;
    scene.compare(&mut shown, plain && never_arrived);
    scene.calendar().await?;
    scene.relay.stop().await;
    Ok(shown)
}

impl Scene<'_> {
    fn say(&self, what: &str, done: &Done) {
        self.output.line(format!("{DAY} {what}: {} rows   (run #{})", done.rows.total, done.attempt_no));
    }

    async fn fourteen_days_and_one_again(&self, shown: &mut Shown) -> Outcome<()> {
        let begun = Instant::now();
        let schedule = &self.loaded.job.schedule;
        let mut worker = Box::pin(self.worker(&self.direct)).await?;
        let mut next = schedule.partition_for_key(FIRST).ok();
        let mut days = 0;
        while let Some(partition) = next.filter(|partition| partition.interval.start() <= self.day.interval.start()) {
            let done = worker.run(&partition).await?;
            days += 1;
            if partition == self.day {
                timed(self.output, &format!("{days} days published"), begun.elapsed());
                self.say("published", &done);
                shown.add("published", &done);
            }
            next = schedule.next(&partition);
        }
        let done = worker.run(&self.day).await?;
        self.say("run again, unchanged, nothing written", &done);
        shown.add("unchanged", &done);
        worker.close().await
    }

    /// COMMIT reaches the server, its answer never comes back.
    async fn lose_the_answer(&self, shown: &mut Shown) -> Outcome<()> {
        // something to publish; it is taken back afterwards, so that all results can be compared
        source::add_to_an_order(&self.direct, 1000).await?;
        self.relay.arm(at_commit(RelayFault::lose_reply(Duration::ZERO)));
        let mut worker = Box::pin(self.worker(&self.through)).await?;
        let done = worker.run(&self.day).await?;
        self.relay.disarm();
        if !done.resolved {
            return Err(Fault::new(ErrorCode::Bug, "the answer to COMMIT was not lost").into());
        }
        self.say("an order changed; COMMIT sent, its answer lost; receipt found, so it is committed", &done);
        shown.tell("resolved", &done);
        worker.close().await?;
        source::add_to_an_order(&self.direct, -1000).await?;
        let mut worker = Box::pin(self.worker(&self.direct)).await?;
        let done = worker.run(&self.day).await?;
        self.say("the order corrected, published", &done);
        shown.add("published", &done);
        worker.close().await
    }

    /// A process of its own dies at COMMIT. True when the next run found that this COMMIT had never arrived.
    async fn kill(&self, shown: &mut Shown) -> Outcome<bool> {
        let words = ["-q", "run", PIPELINE, DAY];
        let root = &self.project.root;
        let status = process::kill_at_commit(&self.relay, at_commit, &words, root, &self.through).await?;
        self.output.line(format!("{DAY} another process killed with its COMMIT on the way ({status})"));
        let mut worker = Box::pin(self.worker(&self.direct)).await?;
        let done = worker.run(&self.day).await?;
        worker.close().await?;
        let ledger = Ledger::open(&self.direct).await?;
        let runs = ledger.runs(Some(PIPELINE), None, 2).await?;
        ledger.close().await;
        let never_arrived = runs.get(1).is_some_and(|run| run.failure_class.as_deref() == Some("abandoned"));
        self.say("the next run takes over at once; no receipt, so that COMMIT never arrived", &done);
        shown.add("taken_over", &done);
        Ok(never_arrived)
    }

    /// The line that all of this is for.
    fn compare(&self, shown: &mut Shown, others_agree: bool) {
        let first = shown.checksums.first().cloned().unwrap_or_default();
        shown.identical = others_agree && shown.checksums.iter().all(|checksum| *checksum == first);
        let short: Vec<String> =
            shown.checksums.iter().map(|checksum| checksum.chars().take(12).chain("..".chars()).collect()).collect();
        self.output.line(if shown.identical {
            format!("the table is as if you ran it once: {} = one plain SELECT over the orders", short.join(" = "))
        } else {
            format!("NOT the same: {}", shown.checksums.join(", "))
        });
    }

    async fn calendar(&self) -> Outcome<()> {
        let ledger = Ledger::open(&self.direct).await?;
        let next = self.loaded.job.schedule.next(&self.day);
        let as_of = next.as_ref().map_or(self.day.interval.end(), |next| next.interval.end());
        self.output.lines(crate::commands::status::lines_of(&ledger, self.loaded, as_of, self.output).await?);
        let runs = ledger.runs(Some(PIPELINE), None, 7).await?;
        self.output.lines(crate::commands::ledger::lines_of(&runs));
        ledger.close().await;
        Ok(())
    }

    async fn worker(&self, settings: &ConnectionSettings) -> Outcome<Worker> {
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
        let prepared =
            Box::pin(runner.prepare(self.loaded.job.clone(), &self.day, &CancellationToken::new(), &mut Silent))
                .await
                .map_err(|error| self.loaded.placed(error))?;
        Ok(Worker { runner, prepared })
    }
}

fn at_commit(fault: RelayFault) -> Plan {
    Plan::on_commit(fault).in_transaction_with(RECEIPT)
}

/// One worker on one connection.
struct Worker {
    runner: Runner,
    prepared: Prepared,
}

impl Worker {
    async fn run(&mut self, partition: &Partition) -> Outcome<Done> {
        let request = RunRequest::new(Trigger::Demo, partition.interval.end());
        let report = self.runner.run_partition(&self.prepared, partition, &request, &mut Silent).await;
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
