//! Real servers: made, shared, killed, moved. Needs server programs of PostgreSQL 15 to 18 on this machine, found as
//! the crate finds them (`THRICE_TEST_PG_BIN` and `THRICE_PG_BIN` name others).
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too, stop at the first surprise")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thrice_local_postgres::{LocalPostgres, LocalPostgresError, Running, Status, Stopped, Surroundings};
use tokio::time::sleep;
use tokio_postgres::{Client, NoTls};

/// A project folder that takes its server with it.
struct Project {
    base: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        Self::named("shop")
    }

    /// In a folder that every user may enter, unlike what `tempfile` makes.
    fn named(name: &str) -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let root = base.path().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { base, root }
    }

    fn local(&self) -> LocalPostgres {
        LocalPostgres::of_project(&self.root)
    }

    async fn start(&self) -> Running {
        self.local().ensure_running(&surroundings(), "thrice").await.unwrap()
    }

    fn pid(&self) -> u32 {
        match self.local().status().unwrap() {
            Status::Running { pid, .. } => pid,
            other @ (Status::None | Status::Stopped { .. }) => panic!("not running: {other:?}"),
        }
    }

    fn folder(&self) -> PathBuf {
        match self.local().status().unwrap() {
            Status::Running { folder, .. } | Status::Stopped { folder } => folder,
            Status::None => panic!("there is no cluster"),
        }
    }

    /// Kills the main process the hard way and waits until it is gone or a zombie.
    async fn kill(&self) -> u32 {
        let pid = self.pid();
        signal(pid, "-KILL");
        let begun = Instant::now();
        while matches!(self.local().status().unwrap(), Status::Running { .. }) {
            assert!(begun.elapsed() < Duration::from_secs(5), "it survived SIGKILL");
            sleep(Duration::from_millis(5)).await;
        }
        pid
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        for local in [self.local(), LocalPostgres::of_project(self.base.path().join("other"))] {
            let Ok(Status::Running { folder, .. } | Status::Stopped { folder }) = local.status() else { continue };
            let begun = Instant::now();
            while let Ok(Status::Running { pid, .. }) = local.status()
                && begun.elapsed() < Duration::from_secs(20)
            {
                signal(pid, "-QUIT");
                std::thread::sleep(Duration::from_millis(50));
            }
            if folder.starts_with("/var/lib/thrice") {
                drop(fs::remove_dir_all(folder));
            }
        }
    }
}

/// This machine, with the server programs that the suite is run for.
fn surroundings() -> Surroundings {
    let mut here = Surroundings::of_process();
    here.thrice_pg_bin = std::env::var_os("THRICE_TEST_PG_BIN").map(PathBuf::from).or(here.thrice_pg_bin);
    here
}

fn signal(pid: u32, name: &str) {
    Command::new("/bin/sh").args(["-c", "kill \"$1\" \"$2\"", "sh", name]).arg(pid.to_string()).status().unwrap();
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

async fn connect(running: &Running, name: &str) -> Client {
    let mut config = tokio_postgres::Config::new();
    config.host_path(&running.socket_dir).port(running.port).user(&running.user).password(&running.password);
    let (client, connection) = config.dbname(&running.database).application_name(name).connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn text(client: &Client, sql: &str) -> String {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn rows(client: &Client) -> i64 {
    client.query_one("select count(*) from t", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn made_started_used_stopped_and_started_again() {
    let project = Project::new();
    assert_eq!(project.local().status().unwrap(), Status::None);
    assert_eq!(project.local().stop(false).await.unwrap(), Stopped::Before);
    assert_eq!(project.local().log_path().unwrap(), None);

    let running = project.start().await;
    assert!(running.started && (15..=18).contains(&running.major));
    assert!(!format!("{running:?}").contains(&running.password));
    let client = connect(&running, "test").await;
    client.batch_execute("create table t (n int); insert into t values (1)").await.unwrap();
    let settings = "select concat_ws('|', current_setting('listen_addresses'), current_setting('TimeZone'), \
                    current_setting('server_encoding'), current_setting('fsync'), current_user, current_database())";
    assert_eq!(text(&client, settings).await, "|UTC|UTF8|on|thrice|thrice");

    // files and socket are for their owner alone, and a password is asked for
    for path in [running.socket_dir.clone(), project.folder(), project.folder().join("data")] {
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
    }
    let mut stranger = tokio_postgres::Config::new();
    stranger.host_path(&running.socket_dir).port(running.port).user("thrice").password("guess").dbname("thrice");
    assert_eq!(stranger.connect(NoTls).await.err().unwrap().code().unwrap().code(), "28P01");

    let again = project.start().await;
    assert!(!again.started);
    assert_eq!((&again.socket_dir, &again.password), (&running.socket_dir, &running.password));

    drop(client);
    assert_eq!(project.local().stop(false).await.unwrap(), Stopped::Now);
    assert!(matches!(project.local().status().unwrap(), Status::Stopped { .. }));
    assert_eq!(project.local().stop(true).await.unwrap(), Stopped::Before);
    assert!(fs::metadata(project.local().log_path().unwrap().unwrap()).unwrap().len() > 0);

    let restarted = project.start().await;
    assert!(restarted.started);
    assert_eq!(rows(&connect(&restarted, "test").await).await, 1);
}

#[tokio::test]
async fn a_server_that_thrice_uses_is_not_stopped_under_it_unless_forced() {
    let project = Project::new();
    let running = project.start().await;
    let _ours = connect(&running, "thrice:7#1").await;
    let _psql = connect(&running, "psql").await;
    let refused = project.local().stop(false).await.unwrap_err();
    assert!(matches!(&refused, LocalPostgresError::InUse { sessions } if sessions.len() == 2), "{refused}");
    let told = refused.to_string();
    assert!(told.starts_with("others are connected: thrice:7#1 of user thrice in thrice (process "), "{told}");
    assert!(told.contains(", psql of user thrice in thrice (process "), "{told}");
    assert_eq!(project.local().stop(true).await.unwrap(), Stopped::Now);
}

/// Not a test by itself: what the next tests run as another process.
#[tokio::test]
async fn as_another_process() {
    if let Some(root) = std::env::var_os("THRICE_TEST_START_IN") {
        let local = LocalPostgres::of_project(root);
        let running = local.ensure_running(&surroundings(), "thrice").await.unwrap();
        println!("started={}", running.started);
    }
}

fn another_process(project: &Project) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "as_another_process", "--nocapture"])
        .env("THRICE_TEST_START_IN", &project.root)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn of_processes_that_start_at_once_one_starts_and_all_use_it() {
    let project = Project::new();
    let children: Vec<Child> = (0..4).map(|_| another_process(&project)).collect();
    let outputs: Vec<String> = children
        .into_iter()
        .map(|child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    let saying = |word: &str| outputs.iter().filter(|output| output.contains(word)).count();
    assert_eq!((saying("started=true"), saying("started=false")), (1, 3), "{outputs:?}");
    // the starter has ended; its server lives on
    assert!(!project.start().await.started);
}

#[tokio::test]
async fn a_starter_killed_at_any_moment_leaves_nothing_in_the_way() {
    let project = Project::new();
    let mut unfinished = 0;
    for wait in [30, 120, 400, 900] {
        let mut child = another_process(&project);
        sleep(Duration::from_millis(wait)).await;
        unfinished += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(unfinished > 0, "no starter was killed at work");
    let client = connect(&project.start().await, "test").await;
    assert_eq!(text(&client, "select 'up'").await, "up");
    let left = fs::read_dir(project.folder()).unwrap().flatten();
    let left: Vec<String> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.contains("tmp")), "{left:?}");
}

#[tokio::test]
async fn a_killed_server_comes_back_with_what_was_committed() {
    let project = Project::new();
    let running = project.start().await;
    let client = connect(&running, "test").await;
    client.batch_execute("create table t (n int); insert into t select generate_series(1, 1000)").await.unwrap();
    project.kill().await;
    let back = project.start().await;
    assert!(back.started);
    assert_eq!(rows(&connect(&back, "test").await).await, 1000);

    // the number in postmaster.pid now belongs to a living program: this test
    project.kill().await;
    let file = project.folder().join("data/postmaster.pid");
    let text = fs::read_to_string(&file).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{}\n{rest}", std::process::id())).unwrap();
    assert!(matches!(project.local().status().unwrap(), Status::Stopped { .. }));
    let back = project.start().await;
    assert!(back.started);
    assert_eq!(rows(&connect(&back, "test").await).await, 1000);
}

#[tokio::test]
async fn what_an_orphan_still_commits_is_there_when_the_next_server_answers() {
    let project = Project::new();
    let client = connect(&project.start().await, "test").await;
    client.batch_execute("create table t (n bigint)").await.unwrap();
    let insert = tokio::spawn(async move {
        // busy for a second or more, in autocommit
        client.batch_execute("insert into t select count(*) from generate_series(1, 6000000)").await
    });
    sleep(Duration::from_millis(300)).await;
    project.kill().await;
    let back = project.start().await;
    let answered = insert.await.unwrap().is_ok();
    let now = rows(&connect(&back, "test").await).await;
    // the answer may be lost; what was answered may not
    assert!(now == 1 || (now == 0 && !answered), "{now} rows, answered: {answered}");
    sleep(Duration::from_millis(500)).await;
    assert_eq!(rows(&connect(&back, "test").await).await, now, "an orphan committed behind the new server's back");
}

#[tokio::test]
async fn an_orphan_that_never_ends_is_told_to() {
    let project = Project::new();
    let client = connect(&project.start().await, "test").await;
    let pid: i32 = client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let endless = tokio::spawn(async move {
        client.batch_execute("do $$ begin loop end loop; end $$").await.unwrap_err();
    });
    sleep(Duration::from_millis(300)).await;
    project.kill().await;
    let begun = Instant::now();
    assert!(project.start().await.started);
    assert!(begun.elapsed() > Duration::from_secs(4), "it was given no time: {:?}", begun.elapsed());
    endless.await.unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[tokio::test]
async fn folders_with_long_and_odd_names() {
    for name in ["l".repeat(120).as_str(), "o'neil, \"the\" back\\slash 한국"] {
        let project = Project::named(name);
        let running = project.start().await;
        let inside = running.socket_dir.starts_with(&project.root);
        assert_eq!(inside, name.len() < 100, "{}", running.socket_dir.display());
        let mode = fs::symlink_metadata(&running.socket_dir).unwrap().mode();
        assert_eq!(mode & 0o170_777, 0o040_700, "{mode:o}");
        assert_eq!(text(&connect(&running, "test").await, "select 'up'").await, "up");
        project.local().stop(false).await.unwrap();
        if !inside {
            fs::remove_dir(&running.socket_dir).unwrap();
        }
    }
}

#[tokio::test]
async fn a_folder_that_only_root_may_enter() {
    let project = Project::new();
    fs::set_permissions(project.base.path(), Permissions::from_mode(0o700)).unwrap();
    let running = project.start().await;
    let folder = project.folder();
    // root hands the cluster to another user, who needs a way in; anybody else has one
    assert_eq!(folder.starts_with("/var/lib/thrice"), is_root(), "{}", folder.display());
    assert_eq!(text(&connect(&running, "test").await, "select 'up'").await, "up");
    assert!(!project.start().await.started, "found again by its pointer");
}

#[tokio::test]
async fn a_project_that_is_moved_keeps_its_server_and_its_data() {
    let mut project = Project::new();
    let running = project.start().await;
    connect(&running, "test").await.batch_execute("create table t (n int); insert into t values (1)").await.unwrap();

    // while it runs
    let moved = project.base.path().join("moved");
    fs::rename(&project.root, &moved).unwrap();
    project.root = moved;
    let running = project.start().await;
    assert!(running.started, "a server whose folder was moved no longer finds all of its files");
    assert!(running.socket_dir.starts_with(&project.root));
    assert_eq!(rows(&connect(&running, "test").await).await, 1);

    // while it does not
    project.local().stop(false).await.unwrap();
    let moved = project.base.path().join("moved again");
    fs::rename(&project.root, &moved).unwrap();
    project.root = moved;
    assert_eq!(rows(&connect(&project.start().await, "test").await).await, 1);
}

#[tokio::test]
async fn a_copied_project_has_a_server_of_its_own() {
    let project = Project::new();
    let running = project.start().await;
    connect(&running, "test").await.batch_execute("create table t (n int); insert into t values (1)").await.unwrap();
    project.local().stop(false).await.unwrap();
    let copy = project.base.path().join("other");
    assert!(Command::new("cp").arg("-a").args([&project.root, &copy]).status().unwrap().success());

    let original = connect(&project.start().await, "test").await;
    let other = LocalPostgres::of_project(&copy);
    let copied = other.ensure_running(&surroundings(), "thrice").await.unwrap();
    assert!(copied.started && copied.socket_dir.starts_with(&copy));
    let copied = connect(&copied, "test").await;
    copied.batch_execute("insert into t values (2)").await.unwrap();
    assert_eq!((rows(&original).await, rows(&copied).await), (1, 2));
}

#[tokio::test]
async fn another_machines_server_is_left_alone_until_it_is_stopped_there() {
    let project = Project::new();
    project.start().await;
    project.kill().await;
    let path = project.root.join(".thrice/pg/cluster.json");
    let mine = fs::read_to_string(&path).unwrap();
    let mut other: serde_json::Value = serde_json::from_str(&mine).unwrap();
    other["host"] = serde_json::json!({ "machine": "another", "boot": "another" });
    fs::write(&path, other.to_string()).unwrap();
    let refused = project.local().ensure_running(&surroundings(), "thrice").await.unwrap_err();
    assert!(matches!(refused, LocalPostgresError::OtherHost { .. }), "{refused}");

    // stopped properly, as postmaster.pid says by its absence, it may go on here
    fs::write(&path, &mine).unwrap();
    project.start().await;
    project.local().stop(false).await.unwrap();
    fs::write(&path, other.to_string()).unwrap();
    assert!(project.start().await.started);
}

#[tokio::test]
async fn a_lost_password_is_said_and_nothing_is_made_over_the_cluster() {
    let project = Project::new();
    project.start().await;
    project.local().stop(false).await.unwrap();
    let folder = project.folder();
    let path = project.root.join(".thrice/pg/cluster.json");
    fs::remove_file(&path).unwrap();
    let refused = project.local().ensure_running(&surroundings(), "thrice").await.unwrap_err();
    assert!(matches!(refused, LocalPostgresError::PasswordLost { .. }), "{refused}");
    assert!(folder.join("data/PG_VERSION").exists());
}

#[tokio::test]
async fn a_machine_without_a_server_is_told_where_was_looked() {
    let project = Project::new();
    let empty = Surroundings { version_roots: vec![project.base.path().into()], ..Surroundings::default() };
    let broken = project.base.path().join("17/bin");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("initdb"), "").unwrap();
    fs::write(broken.join("postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 14.2'\n").unwrap();
    fs::set_permissions(broken.join("postgres"), Permissions::from_mode(0o755)).unwrap();
    let error = project.local().ensure_running(&empty, "thrice").await.unwrap_err();
    let LocalPostgresError::NoBinaries { candidates } = error else { panic!("{error}") };
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidates[0].to_string(), format!("{}: version 14 is not supported (15 to 18 are)", broken.display()));
    assert_eq!(project.local().status().unwrap(), Status::None);
}

#[tokio::test]
async fn programs_that_the_servers_user_cannot_reach_are_refused() {
    if !is_root() {
        return; // only root hands the server to another user
    }
    let project = Project::new();
    let found = surroundings().find_binaries(None, None).unwrap();
    let closed = project.base.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&found.bin, closed.join("bin")).unwrap();
    let hidden = Surroundings { thrice_pg_bin: Some(closed.join("bin")), ..Surroundings::default() };
    let error = hidden.find_binaries(None, None).unwrap_err();
    let LocalPostgresError::NoBinaries { candidates } = error else { panic!("{error}") };
    assert!(candidates[0].refused.contains("does not run as user"), "{}", candidates[0]);
}

#[test]
fn a_relative_folder_is_the_same_project() {
    let here = std::env::current_dir().unwrap();
    let shown = |path: &Path| format!("{:?}", LocalPostgres::of_project(path));
    assert_eq!(shown(Path::new(".")), shown(&here));
    assert_eq!(shown(Path::new("not-made-yet")), shown(&here.join("not-made-yet")));
}
