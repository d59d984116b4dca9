//! One timed process: wall time and peak memory.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::line;

/// What a process took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    pub(crate) wall: Duration,
    /// Most memory that was ever resident, in MiB; 0 where nobody looked.
    pub(crate) peak_mib: f64,
}

/// Runs a process to its end; its errors are kept for ours.
pub(crate) fn run(command: &mut Command, watch_memory: bool) -> Result<Took> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| line(command))?;
    let mut peak_mib = 0.0_f64;
    if watch_memory {
        // waiting would hide the figure: the kernel forgets it with the process
        while child.try_wait()?.is_none() {
            if let Some(now) = resident(child.id()) {
                peak_mib = peak_mib.max(now);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let output = child.wait_with_output()?;
    let wall = begun.elapsed();
    if !output.status.success() {
        bail!("{}: {}\n{}", line(command), output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(Took { wall, peak_mib })
}

fn resident(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
}
