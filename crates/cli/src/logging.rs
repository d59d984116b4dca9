//! Log lines on standard error: off by default, `-v` and `-vv` turn them on, `--log-format json` makes them one object a line.

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat};
use crate::json_lines::JsonLines;

/// Starts logging as the arguments say; `THRICE_LOG` takes a filter of its own.
pub(crate) fn start(global: &Global) {
    let level = match (global.quiet, global.verbose, global.log_format) {
        (true, _, _) => "error",
        (false, 0, LogFormat::Text) => "off",
        (false, 0, LogFormat::Json) | (false, 1, _) => "thrice=info",
        (false, ..) => "thrice=debug",
    };
    // other libraries only warn
    let default = match level.strip_prefix("thrice=") {
        Some(level) => {
            let ours = ["runner", "ledger", "sql_publish", "connect", "local_postgres", "fault_relay"];
            format!("warn,{}", ours.map(|name| format!("thrice_{name}={level}")).join(","))
        }
        None => level.to_owned(),
    };
    let filter = std::env::var("THRICE_LOG").ok().and_then(|text| EnvFilter::try_new(text).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match global.log_format {
        LogFormat::Json => builder.event_format(JsonLines).try_init(),
        LogFormat::Text => builder.with_ansi(false).try_init(),
    };
    // a second start can only come from a test in the same process
    drop(started);
}
