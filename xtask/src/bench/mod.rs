//! `cargo xtask bench`: what the protocol costs, as ratios to plain SQL measured in the same run.
//!
//! Contenders take turns, so that a noisy neighbour hits both; a ratio is taken inside one repetition. Every result is
//! compared with one set-based statement before its time counts.

mod cold;
mod due;
mod figures;
mod measure;
mod report;
mod scene;
mod statements;
mod status;
mod strategies;
mod swap;
mod throughput;

use anyhow::{Result, bail};

use crate::bench::report::Report;
use crate::bench::scene::Scene;

/// What to measure, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    what: Vec<String>,
    reps: usize,
    /// Days of W1 and W2, where not all of them are wanted.
    days: Option<u32>,
}

const ALL: [&str; 10] = ["W1", "W2", "W3", "start", "status", "due", "swap", "merge", "compare", "checks"];

/// `cargo xtask bench [W1 W2 W3 start status due swap merge compare checks] [--reps N] [--days N]`
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let plan = parse(arguments)?;
    let scene = Scene::set(plan.what.iter().any(|what| what.starts_with('W')))?;
    let mut report = Report::new(&scene)?;
    for what in &plan.what {
        println!("\n== {what}");
        match what.as_str() {
            "W1" => report.add(throughput::measure(&scene, &throughput::W1, &plan)?),
            "W2" => report.add(throughput::measure(&scene, &throughput::W2, &plan)?),
            "W3" => report.add(cold::partition(&scene, &plan)?),
            "start" => cold::start(&scene, &plan)?.into_iter().for_each(|table| report.add(table)),
            "status" => report.add(status::measure(&scene, &plan)?),
            "merge" => report.add(strategies::log_of_a_merge(&scene, &plan)?),
            "compare" => report.add(strategies::comparison(&scene, &plan)?),
            "checks" => report.add(strategies::checks(&scene, &plan)?),
            "swap" => report.add(swap::lock(&scene, &plan)?),
            _ => report.add(due::measure(&scene, &plan)?),
        }
    }
    print!("\n{}", report.tables());
    if plan.what == ALL && plan.days.is_none() {
        report.write()?;
    }
    report.judge()
}

fn parse(arguments: &[String]) -> Result<Plan> {
    let mut plan = Plan { what: Vec::new(), reps: 3, days: None };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || match words.next().map(|word| word.parse::<u32>()) {
            Some(Ok(number)) if number > 0 => Ok(number),
            _ => bail!("{word} needs a number above 0"),
        };
        match word.as_str() {
            "--reps" => plan.reps = usize::try_from(number()?)?,
            "--days" => plan.days = Some(number()?),
            name => match ALL.iter().find(|known| known.eq_ignore_ascii_case(name)) {
                Some(known) => plan.what.push((*known).to_owned()),
                None => bail!("{name:?} is no workload; there are {}", ALL.join(", ")),
            },
        }
    }
    if plan.what.is_empty() {
        plan.what = ALL.map(ToOwned::to_owned).to_vec();
    }
    Ok(plan)
}

#[cfg(test)]
mod unit {
    use super::*;

    fn plan(line: &str) -> Result<Plan> {
        parse(&line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn workloads_and_numbers_are_told_apart() {
        let read = plan("w2 --reps 5 W3 --days 30").unwrap();
        assert_eq!(read, Plan { what: vec!["W2".to_owned(), "W3".to_owned()], reps: 5, days: Some(30) });
        assert_eq!(plan("").unwrap().what, ALL);
        assert!(plan("W9").is_err() && plan("--reps 0").is_err() && plan("--days").is_err());
    }
}
