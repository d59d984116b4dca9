//! Log lines as JSON objects, one a line: `ts`, `level`, then the fields of the event by their names, then `module`.

use std::fmt;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        let mut fields = Fields(vec![("ts", time.into()), ("level", level.into())]);
        event.record(&mut fields);
        fields.0.push(("module", event.metadata().target().into()));
        for (number, (name, value)) in fields.0.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            write!(line, "{before}{}:{value}", Value::from(*name))?;
        }
        writeln!(line, "}}")
    }
}

/// What is told outside of an event, in the same form: `ts`, `level`, then the keys of the object.
pub(crate) fn line(level: &str, object: &Value) -> String {
    let mut time = String::new();
    // a String takes whatever is written
    SystemTime.format_time(&mut Writer::new(&mut time)).unwrap_or_default();
    let mut line = format!("{{\"ts\":{},\"level\":{}", Value::from(time), Value::from(level));
    for (name, value) in object.as_object().into_iter().flatten().filter(|(name, _)| *name != "level") {
        line.extend([",", &Value::from(name.as_str()).to_string(), ":", &value.to_string()]);
    }
    line + "}\n"
}

struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.push((field.name(), value.into()));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
}
