//! Log lines on standard error: off by default, `-v` and `-vv` turn them on, `--log-format json` makes them one object a line.

use tracing_subscriber::EnvFilter;

use crate::args::{Global, LogFormat};

/// Starts logging as the arguments say; `THRICE_LOG` takes a filter of its own.
pub(crate) fn start(global: &Global) {
    let level = match (global.quiet, global.verbose, global.log_format) {
        (true, _, _) => "error",
        (false, 0, LogFormat::Text) => "off",
        (false, 0, LogFormat::Json) => "thrice=info",
        (false, 1, _) => "thrice=info",
        (false, _, _) => "thrice=debug",
    };
    // the crates are called thrice_ledger, thrice_runner …: a prefix names them all
    let default = level.replace("thrice=", "warn,thrice_runner=");
    let default = match default.split_once("thrice_runner=") {
        Some((_, level)) => ["thrice_runner", "thrice_ledger", "thrice_sql_publish", "thrice_connect"]
            .map(|name| format!("{name}={level}"))
            .join(","),
        None => default,
    };
    let filter = std::env::var("THRICE_LOG").ok().and_then(|text| EnvFilter::try_new(text).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match global.log_format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
        LogFormat::Text => builder.with_ansi(false).try_init(),
    };
    // a second start can only come from a test in the same process
    drop(started);
}
