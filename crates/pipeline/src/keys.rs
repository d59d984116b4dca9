//! Every key of the project's files in one table: what it takes, its default, what it is for, whether this version has
//! it. The readers know no other keys, so the reference of the book, which is made from it, cannot say anything else.

mod checks;
mod guards;
mod session;

/// The two kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// `thrice.toml`.
    Project,
    /// `pipelines/NAME.toml`.
    Pipeline,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `[table]`.
    Table,
    /// `[[table]]`, any number of times.
    Tables,
    /// A table whose keys the user chooses, with values of this kind.
    Names(&'static str),
    /// Any text.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The grain of an interval.
    Grain,
    /// A cron expression.
    Cron,
    /// An IANA time zone.
    Zone,
    /// An interval key, or a date or time on a boundary.
    Boundary,
    /// A duration such as `2h10m`.
    Duration,
    /// A whole number.
    Count,
    /// A list of whole numbers.
    Counts,
    /// A whole number, or `"all"`.
    CountOrAll,
    /// True or false.
    Flag,
    /// `schema.name`.
    TableName,
    /// A column.
    Column,
    /// A list of columns.
    Columns,
    /// A share of rows such as `"1%"`.
    Percent,
    /// The same, or a table that has it with more.
    PercentOrTable,
    /// A range of changes such as `"-50%..+100%"`.
    RowChange,
    /// A decimal number such as `"0.01"`, or a share.
    Tolerance,
    /// A value that a column is compared with.
    Bound,
    /// A list of values that a column may have.
    Values,
    /// Names of schemas.
    Schemas,
    /// A planner setting of PostgreSQL.
    Setting(Setting),
    /// Of a key that this version does not have.
    Open,
}

/// The values of a planner setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// On or off.
    Switch,
    /// A size such as `256MB`.
    Memory,
    /// A number such as 1.1.
    Number,
    /// A whole number.
    Whole,
}

/// Whether a key has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// It has.
    Yes,
    /// It may be written with its default; anything else is refused.
    DefaultOnly,
    /// It is refused, with what to do meanwhile.
    No(&'static str),
}

/// What holds where a key is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritten {
    /// Nothing: the key has to be written.
    Required,
    /// Nothing: the key has to be written, but with `grain = "table"`, where it must not.
    RequiredOfIntervals,
    /// Nothing: the key is for those who want it.
    Nothing,
    /// This value, as TOML.
    Is(&'static str),
    /// What these words say.
    Said(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The file it stands in.
    pub file: File,
    /// The table it stands in, such as `checks.rows`; empty at the top.
    pub table: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds where it is not written.
    pub default: Unwritten,
    /// What it is for, in one line.
    pub meaning: &'static str,
    /// Whether it has an effect.
    pub built: Built,
}

const fn key(
    file: File,
    table: &'static str,
    name: &'static str,
    kind: Kind,
    default: Unwritten,
    meaning: &'static str,
) -> Key {
    Key { file, table, name, kind, default, meaning, built: Built::Yes }
}

const fn pipeline(
    table: &'static str,
    name: &'static str,
    kind: Kind,
    default: Unwritten,
    meaning: &'static str,
) -> Key {
    key(File::Pipeline, table, name, kind, default, meaning)
}

const fn default_only(
    table: &'static str,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { built: Built::DefaultOnly, ..pipeline(table, name, kind, Unwritten::Is(default), meaning) }
}

const fn later(table: &'static str, name: &'static str, meaning: &'static str, meanwhile: &'static str) -> Key {
    Key { built: Built::No(meanwhile), ..pipeline(table, name, Kind::Open, Unwritten::Nothing, meaning) }
}

/// All keys, table by table.
pub const KEYS: &[Key] = &all();

/// The tables in the order of the reference.
const PARTS: [&[Key]; 4] = [OTHERS, session::KEYS, checks::KEYS, guards::KEYS];

const fn count() -> usize {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
}

#[expect(clippy::large_stack_arrays, reason = "made by the compiler, on no stack")]
const fn all() -> [Key; count()] {
    let mut all = [OTHERS[0]; count()];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut nth = 0;
        while nth < PARTS[part].len() {
            all[at] = PARTS[part][nth];
            (at, nth) = (at + 1, nth + 1);
        }
        part += 1;
    }
    all
}

/// The keys of every table that has no file of its own.
const OTHERS: &[Key] = &[
    key(File::Project, "", "project", Kind::Table, Unwritten::Required, "what all pipelines share"),
    key(File::Project, "", "database", Kind::Table, Unwritten::Nothing, "where the database is"),
    key(File::Project, "", "lease", Kind::Table, Unwritten::Nothing, "how long a silent worker keeps its partitions"),
    Key {
        built: Built::No("leave it out: this version has no lanes"),
        ..key(File::Project, "", "lanes", Kind::Open, Unwritten::Nothing, "limits that all workers share")
    },
    key(File::Project, "project", "name", Kind::Text, Unwritten::Required, "name for people"),
    key(File::Project, "project", "time_zone", Kind::Zone, Unwritten::Nothing, "zone of pipelines that name none"),
    key(
        File::Project,
        "database",
        "url_env",
        Kind::Text,
        Unwritten::Nothing,
        "name of the environment variable that holds the database's URL; not with `mode`",
    ),
    key(
        File::Project,
        "database",
        "mode",
        Kind::OneOf(&["local"]),
        Unwritten::Nothing,
        "`local`: a private PostgreSQL in the project's folder `.thrice`; not with `url_env`",
    ),
    key(
        File::Project,
        "lease",
        "ttl",
        Kind::Duration,
        Unwritten::Is("\"1m\""),
        "a worker that is silent for so long is taken for dead, where its connection does not tell",
    ),
    // a pipeline
    pipeline("", "description", Kind::Text, Unwritten::Nothing, "for people"),
    pipeline("", "owner", Kind::Text, Unwritten::Nothing, "who answers for it"),
    pipeline("", "labels", Kind::Names("string"), Unwritten::Nothing, "free words for people and tools"),
    pipeline(
        "",
        "sql",
        Kind::Text,
        Unwritten::Said("`NAME.sql` beside this file"),
        "path of the query, relative to this file; inside the project folder",
    ),
    pipeline(
        "",
        "vars",
        Kind::Names("string, number, true or false, date or time"),
        Unwritten::Nothing,
        "values that the query uses as `:name`",
    ),
    pipeline(
        "",
        "paused",
        Kind::Flag,
        Unwritten::Is("false"),
        "`thrice run` leaves it alone unless partitions are named",
    ),
    pipeline("", "interval", Kind::Table, Unwritten::Required, "which intervals there are, and when they are due"),
    pipeline("", "target", Kind::Table, Unwritten::Required, "the table that is published into, and how"),
    pipeline(
        "",
        "checks",
        Kind::Tables,
        Unwritten::Nothing,
        "what must hold of a result before it is published; each has a rule, which is any key but `name` and `severity`",
    ),
    pipeline("", "retry", Kind::Table, Unwritten::Nothing, "how often a transient failure is tried again"),
    pipeline("", "timeouts", Kind::Table, Unwritten::Nothing, "how long the steps of a run may take"),
    pipeline("", "session", Kind::Table, Unwritten::Nothing, "settings of the connection that runs the query"),
    later("", "lane", "the limit that its runs count against", "leave it out: this version has no lanes"),
    pipeline(
        "",
        "late_data",
        Kind::Table,
        Unwritten::Said("published once, and final at once"),
        "when published partitions are made again, because rows arrive late",
    ),
    later(
        "",
        "sources",
        "what the query reads, to notice late and changed rows",
        "leave it out; let the scheduler wait for the source, or use `delay`",
    ),
    pipeline(
        "",
        "guards",
        Kind::Table,
        Unwritten::Nothing,
        "how much of what is published one publish may take away or change; `--accept-drop --reason` lets one through",
    ),
    later(
        "",
        "depends_on",
        "pipelines that come first",
        "call `thrice run` in order, or gate with `thrice status PIPELINE --require published`",
    ),
    later("", "notify", "who is told", "use the exit status of `thrice run`, or its `--json`"),
    later("", "backfill", "defaults of backfills", "thrice run PIPELINE --from KEY --to KEY"),
    pipeline(
        "interval",
        "grain",
        Kind::Grain,
        Unwritten::Said("`cron` has to be there"),
        "length of an interval; or `cron` instead",
    ),
    pipeline(
        "interval",
        "cron",
        Kind::Cron,
        Unwritten::Said("`grain` has to be there"),
        "an interval goes from one tick to the next: it sets the boundaries, not the time of a run, which `delay` does",
    ),
    pipeline(
        "interval",
        "week_start",
        Kind::OneOf(&["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]),
        Unwritten::Said("`\"monday\"`"),
        "first day of a week, with `grain = \"week\"`",
    ),
    pipeline(
        "interval",
        "time_zone",
        Kind::Zone,
        Unwritten::Said("`time_zone` of `[project]`"),
        "the zone whose wall clock sets the boundaries",
    ),
    pipeline("interval", "start", Kind::Boundary, Unwritten::RequiredOfIntervals, "the first interval"),
    pipeline(
        "interval",
        "end",
        Kind::Boundary,
        Unwritten::Said("it goes on"),
        "the first interval that does not belong to the pipeline any more",
    ),
    pipeline("interval", "delay", Kind::Duration, Unwritten::Is("\"0\""), "an interval is due so long after its end"),
    pipeline(
        "interval",
        "catch_up",
        Kind::CountOrAll,
        Unwritten::Is("7"),
        "at most so many missed intervals are taken by one `thrice run`, newest first; 0: none",
    ),
    pipeline(
        "late_data",
        "revisit",
        Kind::Counts,
        Unwritten::Is("[]"),
        "a partition is made again when these intervals after it are due, such as `[1, 3]`; not with `window`",
    ),
    pipeline(
        "late_data",
        "window",
        Kind::Count,
        Unwritten::Nothing,
        "the newest so many partitions are made each time: 3 is short for `revisit = [1, 2]`",
    ),
    pipeline(
        "late_data",
        "final_after",
        Kind::Count,
        Unwritten::Said("the last revisit"),
        "a partition is provisional before this revisit, and final from it on",
    ),
    pipeline(
        "late_data",
        "close_after",
        Kind::Count,
        Unwritten::Said("never"),
        "once this revisit is published the partition is closed: nothing changes it unless it is reopened",
    ),
    later(
        "late_data",
        "only_if_changed",
        "a revisit runs only where the source has changed",
        "leave it out: a revisit that finds equal rows publishes nothing but a receipt",
    ),
    pipeline("target", "table", Kind::TableName, Unwritten::Required, "the table that is published into"),
    pipeline(
        "target",
        "strategy",
        Kind::OneOf(&["delete_insert", "merge", "partition_swap"]),
        Unwritten::Is("\"delete_insert\""),
        "how the rows of an interval are replaced",
    ),
    pipeline(
        "target",
        "rows",
        Kind::OneOf(&["complete", "changes"]),
        Unwritten::Said("\"complete\"; strategy \"merge\" has to say it"),
        "`complete`: the query gives the whole interval, and rows that it no longer gives vanish; `changes`: it gives what has changed, and other rows stay",
    ),
    pipeline(
        "target",
        "version",
        Kind::Column,
        Unwritten::Nothing,
        "a column that grows with every change of a key, with `rows = \"changes\"`: an older change is not applied over a newer one",
    ),
    pipeline(
        "target",
        "operation",
        Kind::Column,
        Unwritten::Nothing,
        "a column that says what a change is, `I`, `U` or `D`, with `rows = \"changes\"`: a deleted row stays, marked",
    ),
    pipeline(
        "target",
        "interval_column",
        Kind::Column,
        Unwritten::RequiredOfIntervals,
        "the column that places a row in an interval",
    ),
    pipeline(
        "target",
        "key",
        Kind::Columns,
        Unwritten::Nothing,
        "columns that tell rows apart; checked for nulls and duplicates",
    ),
    pipeline(
        "target",
        "published_at",
        Kind::Column,
        Unwritten::Nothing,
        "a column that the publish fills with its time; not part of checksums",
    ),
    pipeline(
        "target",
        "stage",
        Kind::OneOf(&["auto", "durable"]),
        Unwritten::Is("\"auto\""),
        "where a result waits for its publish; `auto` is `durable` in this version",
    ),
    pipeline(
        "target",
        "columns",
        Kind::OneOf(&["exact", "allow_extra_target"]),
        Unwritten::Is("\"exact\""),
        "`allow_extra_target`: the target may have columns that the query does not give; defaults fill them",
    ),
    pipeline("target", "allow_empty", Kind::Flag, Unwritten::Is("false"), "an interval without rows may be published"),
    default_only("target", "read_only", Kind::Flag, "false", "the query runs in a transaction that cannot write"),
    default_only("target", "publish_group", Kind::Count, "1", "so many intervals are published together"),
    pipeline(
        "target",
        "keep_old_for",
        Kind::Duration,
        Unwritten::Is("\"0\""),
        "rows that a publish replaces are kept for so long, so that `thrice rollback` can put them back",
    ),
    pipeline(
        "retry",
        "attempts",
        Kind::Count,
        Unwritten::Is("3"),
        "runs in a row that may fail, 1 to 100; 1: nothing is tried again",
    ),
    pipeline(
        "retry",
        "budget",
        Kind::Duration,
        Unwritten::Is("\"15m\""),
        "no new try so long after the first; staged rows of a dead run are taken over up to this age",
    ),
    pipeline(
        "retry",
        "first_delay",
        Kind::Duration,
        Unwritten::Is("\"2s\""),
        "wait before the second try; it grows from there",
    ),
    pipeline("retry", "max_delay", Kind::Duration, Unwritten::Is("\"2m\""), "longest wait between two tries"),
    pipeline("retry", "on_timeout", Kind::Flag, Unwritten::Is("false"), "a timed-out query counts as transient"),
    pipeline("timeouts", "stage", Kind::Duration, Unwritten::Is("\"30m\""), "the query"),
    pipeline("timeouts", "checks", Kind::Duration, Unwritten::Is("\"5m\""), "all checks of a run together"),
    pipeline(
        "timeouts",
        "lock",
        Kind::Duration,
        Unwritten::Said("\"5s\"; \"1s\" where a publish swaps"),
        "waiting for a lock",
    ),
    pipeline("timeouts", "publish", Kind::Duration, Unwritten::Is("\"10m\""), "the publish transaction"),
];

/// The keys of one table.
pub fn of_table(file: File, table: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.file == file && key.table == table)
}

/// One key.
pub fn find(file: File, table: &str, name: &str) -> Option<&'static Key> {
    of_table(file, table).find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::limits_tables::Timeouts;
    use crate::project::DEFAULT_LEASE_TTL;
    use crate::{Definition, Project};

    #[test]
    fn a_key_is_there_once_and_its_table_is_a_key() {
        for (nth, key) in KEYS.iter().enumerate() {
            let twice = KEYS[..nth]
                .iter()
                .any(|other| (other.file, other.table, other.name) == (key.file, key.table, key.name));
            assert!(!twice, "{}.{}", key.table, key.name);
            let (above, table) = key.table.rsplit_once('.').unwrap_or(("", key.table));
            let parent = find(key.file, above, table);
            assert!(
                table.is_empty()
                    || parent.is_some_and(|key| matches!(key.kind, Kind::Table | Kind::Tables | Kind::PercentOrTable)),
                "{table}"
            );
        }
    }

    /// A file that says nothing it need not say, as the ledger keeps it.
    fn defaults() -> Value {
        let project = Project::read("thrice.toml", b"[project]\nname = \"shop\"").unwrap().value;
        let file = b"[interval]\ngrain = \"day\"\ntime_zone = \"UTC\"\nstart = \"2026-01-01\"\n\
                     [target]\ntable = \"mart.days\"\ninterval_column = \"day\"\n";
        let mut defaults = Definition::read(&project, "days", "pipelines/days.toml", file).unwrap().value.to_json();
        let times = Timeouts::default().or_default();
        for (name, time) in
            [("stage", times.stage), ("checks", times.checks), ("lock", times.lock), ("publish", times.publish)]
        {
            defaults["timeouts"][name] = time.to_string().into();
        }
        defaults["lease"]["ttl"] = DEFAULT_LEASE_TTL.to_string().into();
        defaults["checks"] = serde_json::json!({ "severity": "error" });
        defaults
    }

    #[test]
    fn defaults_are_those_that_a_file_gets() {
        let defaults = defaults();
        for key in KEYS {
            let Unwritten::Is(written) = key.default else { continue };
            let place = if key.table.is_empty() { &defaults[key.name] } else { &defaults[key.table][key.name] };
            if key.built == Built::Yes {
                assert_eq!(place.to_string(), written, "{}.{}", key.table, key.name);
            }
        }
    }

    #[test]
    fn required_keys_are_those_without_which_a_file_is_refused() {
        let project = Project::read("thrice.toml", b"[project]\nname = \"shop\"\ntime_zone = \"UTC\"").unwrap().value;
        let required: Vec<&Key> = KEYS
            .iter()
            .filter(|key| key.file == File::Pipeline && key.kind != Kind::Table)
            .filter(|key| matches!(key.default, Unwritten::Required | Unwritten::RequiredOfIntervals))
            // those of a rule or a guard are required where there is one
            .filter(|key| !key.table.contains('.'))
            .collect();
        let value = |key: &Key| match key.name {
            "start" => "2026-01-01",
            "table" => "mart.days",
            _ => "day",
        };
        let file = |left_out: Option<&Key>, grain: &str| {
            let table = |table: &str| {
                let keys = required.iter().filter(|key| key.table == table && Some(**key) != left_out);
                let lines: Vec<String> = keys.map(|key| format!("{} = \"{}\"\n", key.name, value(key))).collect();
                lines.concat()
            };
            format!("[interval]\n{grain}{}[target]\n{}", table("interval"), table("target"))
        };
        let read = |text: String| Definition::read(&project, "days", "pipelines/days.toml", text.as_bytes()).is_ok();
        // one of two keys is required
        let grains = ["grain = \"day\"\n", "cron = \"0 0 * * *\"\n"];
        assert!(!read(file(None, "")) && !read(file(None, &grains.concat())));
        for grain in grains {
            assert!(read(file(None, grain)));
            for key in &required {
                assert!(!read(file(Some(key), grain)), "{}.{}", key.table, key.name);
            }
        }
        let of_a_table = |with: &str| {
            let lines = required
                .iter()
                .filter(|key| key.table == "target" && (key.default == Unwritten::Required || key.name == with));
            let target: Vec<String> = lines.map(|key| format!("{} = \"{}\"\n", key.name, value(key))).collect();
            let start = if with == "start" { "start = \"2026-01-01\"\n" } else { "" };
            format!("[interval]\ngrain = \"table\"\n{start}[target]\n{}", target.concat())
        };
        assert!(read(of_a_table("")) && !read(of_a_table("start")) && !read(of_a_table("interval_column")));
    }
}
