//! How long single statements took, by the server's own log.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};

use anyhow::{Context, Result, bail};

use crate::bench::scene::Scene;

/// The log from here on.
pub(crate) struct Log<'s> {
    scene: &'s Scene,
    from: u64,
}

impl<'s> Log<'s> {
    /// Every statement of sessions that begin now is logged with its time.
    pub(crate) fn begin(scene: &'s Scene) -> Result<Self> {
        scene.session.run("alter system set log_min_duration_statement = 0")?;
        scene.session.run("select pg_reload_conf()")?;
        scene.session.run("select pg_sleep(0.5)")?;
        Ok(Self { scene, from: fs::metadata(scene.cluster.log()?)?.len() })
    }

    /// Milliseconds of the statements that hold all of these words: those of planning and those of running, all that came.
    pub(crate) fn milliseconds(&self, words: &[&str]) -> Result<f64> {
        let mut file = fs::File::open(self.scene.cluster.log()?)?;
        file.seek(SeekFrom::Start(self.from))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let sum = sum_of(&text, words)?;
        if sum == 0.0 {
            bail!("the server has logged no statement with {words:?}");
        }
        Ok(sum)
    }

    /// Statements are logged no more.
    pub(crate) fn end(self) -> Result<()> {
        self.scene.session.run("alter system reset log_min_duration_statement")?;
        self.scene.session.run("select pg_reload_conf()")
    }
}

fn sum_of(log: &str, words: &[&str]) -> Result<f64> {
    let mut sum = 0.0;
    for entry in log.split(" LOG:  duration: ").skip(1) {
        let (time, rest) = entry.split_once(" ms").context("a line of the log without a time")?;
        // a statement is logged once a phase, and its parameters in a line of their own
        if words.iter().all(|word| rest.contains(word)) {
            sum += time.parse::<f64>()?;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod unit {
    use super::sum_of;

    #[test]
    fn phases_of_a_statement_are_added() {
        let log = "2026-03-24 02:10:00.000 UTC [7] LOG:  duration: 0.250 ms  parse s1: delete from t\n\
                   2026-03-24 02:10:00.000 UTC [7] LOG:  duration: 1.500 ms  execute s1: delete from t\n\twhere a\n\
                   2026-03-24 02:10:00.000 UTC [7] LOG:  duration: 9.000 ms  execute s2: insert into t\n";
        assert!((sum_of(log, &["delete from t"]).unwrap() - 1.75).abs() < 1e-9);
        assert!((sum_of(log, &["into t", "insert"]).unwrap() - 9.0).abs() < 1e-9);
    }
}
