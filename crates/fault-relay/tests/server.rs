//! The relay in front of a real PostgreSQL, named by `THRICE_TEST_DATABASE_URL`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, too, stop at the first surprise"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use thrice_fault_relay::{Fault, FaultRelay, Listen, Occurrence, Plan, ServerSide, Then, Until, Upstream};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, Config, NoTls, config::Host};

const LONG: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(150);

fn config() -> Config {
    std::env::var("THRICE_TEST_DATABASE_URL")
        .unwrap_or_else(|_| panic!("THRICE_TEST_DATABASE_URL is not set: run the tests through `cargo xtask test`"))
        .parse()
        .unwrap()
}

fn upstream() -> Upstream {
    let config = config();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first().unwrap() {
        Host::Tcp(name) => Upstream::tcp(format!("{name}:{port}")),
        Host::Unix(folder) => Upstream::unix(folder, port),
    }
}

/// The server's own address replaced, everything else kept.
fn at(address: std::net::SocketAddr) -> Config {
    let old = config();
    let mut new = Config::new();
    new.host(address.ip().to_string()).port(address.port());
    new.user(old.get_user().unwrap()).dbname(old.get_dbname().unwrap_or("postgres"));
    if let Some(password) = old.get_password() {
        new.password(password);
    }
    new
}

async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// A relay, a session through it, a session past it, and a table of its own.
struct Stage {
    relay: FaultRelay,
    through: Client,
    direct: Client,
    table: String,
}

impl Stage {
    async fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let table = format!("relay_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let direct = connect(&config()).await.unwrap();
        direct.batch_execute(&format!("drop table if exists {table}; create table {table} (n int)")).await.unwrap();
        let relay = FaultRelay::start(upstream(), Listen::tcp()).await.unwrap();
        let through = connect(&at(relay.address())).await.unwrap();
        Self { relay, through, direct, table }
    }

    async fn insert(&self, n: i32) {
        self.through.batch_execute("begin").await.unwrap();
        self.through.execute(&format!("insert into {} values ($1)", self.table), &[&n]).await.unwrap();
    }

    async fn commit(&self) -> Result<(), tokio_postgres::Error> {
        timeout(LONG, self.through.batch_execute("commit")).await.expect("an answer or an end within 10 s")
    }

    async fn rows(&self) -> i64 {
        self.direct.query_one(&format!("select count(*) from {}", self.table), &[]).await.unwrap().get(0)
    }

    /// Waits until nobody holds the table, so that what is read next is the end.
    async fn settled_rows(&self) -> i64 {
        self.direct
            .batch_execute(&format!("begin; lock {} in access exclusive mode; commit", self.table))
            .await
            .unwrap();
        self.rows().await
    }

    async fn end(self) {
        self.direct.batch_execute(&format!("drop table {}", self.table)).await.unwrap();
        self.relay.stop().await;
    }
}

async fn commit_under(fault: Fault) -> (bool, i64) {
    let stage = Stage::new().await;
    stage.relay.arm(Plan::on_commit(fault));
    stage.insert(1).await;
    let answered = stage.commit().await.is_ok();
    assert_eq!(stage.relay.fired(), 1, "{fault:?}");
    let rows = stage.settled_rows().await;
    stage.end().await;
    (answered, rows)
}

#[tokio::test]
async fn without_a_plan_the_relay_is_not_noticed() {
    let stage = Stage::new().await;
    stage.insert(1).await;
    stage.commit().await.unwrap();
    // more than any buffer, both ways, with pipelined requests
    let text = "x".repeat(300_000);
    let given: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&text];
    let (a, b, c) = tokio::join!(
        stage.through.query_one("select $1::text || $1", &given),
        stage.through.query_one("select length($1::text)", &given),
        stage.through.query("select repeat('y', 10000) from generate_series(1, 500)", &[]),
    );
    assert_eq!(a.unwrap().get::<_, String>(0).len(), 600_000);
    assert_eq!(b.unwrap().get::<_, i32>(0), 300_000);
    assert_eq!(c.unwrap().len(), 500);
    assert_eq!((stage.rows().await, stage.relay.fired()), (1, 0));
    stage.end().await;
}

#[tokio::test]
async fn a_message_cut_before_or_inside_never_commits() {
    assert_eq!(commit_under(Fault::CutBefore).await, (false, 0));
    // "commit" as a simple query has 12 bytes; the last of them is never sent
    for bytes in [0, 1, 5, 6, 11, 12, 99] {
        assert_eq!(commit_under(Fault::CutInside { bytes }).await, (false, 0), "{bytes} bytes");
    }
}

#[tokio::test]
async fn a_lost_reply_is_a_commit_all_the_same() {
    let ms = Duration::from_millis;
    for fault in [
        Fault::lose_reply(ms(0)),
        Fault::lose_reply(ms(1)),
        Fault::lose_reply(ms(10)),
        Fault::lose_client(ms(300)),
        Fault::Reset { cut: ms(50) },
    ] {
        // even a cut at once: what the server has received it still processes
        assert_eq!(commit_under(fault).await, (false, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn a_reset_at_once_may_take_the_message_with_it() {
    // the system may throw away what the server had not read yet: either end is right, an answer is not
    for _ in 0..5 {
        let (answered, rows) = commit_under(Fault::reset()).await;
        assert!(!answered && rows <= 1, "{answered} {rows}");
    }
}

#[tokio::test]
async fn the_servers_side_stays_open_for_as_long_as_asked() {
    let stage = Stage::new().await;
    stage.through.batch_execute("set application_name = 'left behind'").await.unwrap();
    let pid: i32 = stage.through.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let alive = async || {
        let sql = "select count(*) from pg_stat_activity where pid = $1 and application_name = 'left behind'";
        stage.direct.query_one(sql, &[&pid]).await.unwrap().get::<_, i64>(0) == 1
    };
    let open_for = Duration::from_millis(600);
    stage.relay.arm(Plan::on_commit(Fault::LoseReply { cut: SHORT, server: ServerSide::OpenFor(open_for) }));
    stage.insert(1).await;
    let begun = Instant::now();
    stage.commit().await.unwrap_err();
    assert!(begun.elapsed() >= SHORT);
    assert!(alive().await);
    while alive().await {
        assert!(begun.elapsed() < LONG);
        sleep(Duration::from_millis(10)).await;
    }
    assert!(begun.elapsed() >= open_for, "{:?}", begun.elapsed());
    assert_eq!(stage.rows().await, 1);
    stage.end().await;
}

#[tokio::test]
async fn a_reset_reaches_the_client_as_a_reset() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let relay = FaultRelay::start(upstream(), Listen::tcp()).await.unwrap();
    relay.arm(Plan::on_text("kill me", Fault::reset()));
    let mut client = tokio::net::TcpStream::connect(relay.address()).await.unwrap();
    let startup = format!("user\0{}\0\0", config().get_user().unwrap());
    let length = u32::try_from(startup.len() + 8).unwrap();
    client
        .write_all(&[&length.to_be_bytes()[..], &196_608_u32.to_be_bytes(), startup.as_bytes()].concat())
        .await
        .unwrap();
    sleep(SHORT).await;
    client.write_all(b"Q\0\0\0\x16select 'kill me'\0\0").await.unwrap();
    let error = client.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    relay.stop().await;
}

#[tokio::test]
async fn a_black_hole_holds_until_it_is_released() {
    for forwarded in [false, true] {
        let stage = Stage::new().await;
        stage.relay.arm(Plan::on_commit(Fault::BlackHole { forwarded, until: Until::Released, then_cut: false }));
        stage.insert(1).await;
        let mut answer = Box::pin(stage.through.batch_execute("commit"));
        assert!(timeout(SHORT, &mut answer).await.is_err(), "an answer came through a black hole");
        assert_eq!(stage.rows().await, i64::from(forwarded));
        stage.relay.release();
        timeout(LONG, &mut answer).await.unwrap().unwrap();
        drop(answer);
        assert_eq!(stage.rows().await, 1);
        // the session is whole again
        stage.insert(2).await;
        stage.commit().await.unwrap();
        assert_eq!(stage.rows().await, 2);
        stage.end().await;
    }
}

#[tokio::test]
async fn a_black_hole_may_end_with_the_connection() {
    let begun = Instant::now();
    assert_eq!(commit_under(Fault::black_hole(SHORT)).await, (false, 0));
    assert!(begun.elapsed() >= SHORT);
    let forwarded = Fault::BlackHole { forwarded: true, until: Until::Elapsed(SHORT), then_cut: true };
    assert_eq!(commit_under(forwarded).await, (false, 1));
}

#[tokio::test]
async fn a_delayed_commit_is_answered_later() {
    let begun = Instant::now();
    assert_eq!(commit_under(Fault::Delay(SHORT)).await, (true, 1));
    assert!(begun.elapsed() >= SHORT);
}

#[tokio::test]
async fn a_prepared_commit_is_one_too() {
    let stage = Stage::new().await;
    stage.relay.arm(Plan::on_commit(Fault::lose_reply(Duration::ZERO)));
    stage.insert(1).await;
    let commit = stage.through.prepare("COMMIT").await.unwrap();
    assert_eq!(stage.relay.fired(), 0, "preparing is not committing");
    stage.through.execute(&commit, &[]).await.unwrap_err();
    assert_eq!((stage.relay.fired(), stage.settled_rows().await), (1, 1));
    stage.end().await;
}

#[tokio::test]
async fn replies_to_what_was_pipelined_before_are_not_lost() {
    let stage = Stage::new().await;
    stage.relay.arm(Plan::on_commit(Fault::lose_reply(SHORT)));
    stage.insert(1).await;
    let sql = format!("insert into {} values (2)", stage.table);
    let (slow, insert, commit) = tokio::join!(
        stage.through.simple_query("select pg_sleep(0.05)"),
        stage.through.simple_query(&sql),
        stage.through.simple_query("commit"),
    );
    assert!(slow.is_ok() && insert.is_ok(), "{slow:?} {insert:?}");
    commit.unwrap_err();
    assert_eq!(stage.settled_rows().await, 2);
    stage.end().await;
}

#[tokio::test]
async fn a_plan_picks_the_transaction_and_the_occurrence() {
    let stage = Stage::new().await;
    stage.relay.arm(Plan::on_commit(Fault::CutBefore).in_transaction_with("thrice:").occurrence(Occurrence::Nth(2)));
    for name in ["thrice:1#1", "other", "other"] {
        stage.insert(1).await;
        // the text is seen in parameters as well
        stage.through.execute("select set_config('application_name', $1, true)", &[&name]).await.unwrap();
        stage.commit().await.unwrap();
    }
    stage.insert(1).await;
    stage.through.batch_execute("set local application_name = 'thrice:1#2'").await.unwrap();
    stage.commit().await.unwrap_err();
    assert_eq!((stage.relay.fired(), stage.settled_rows().await), (1, 3));
    stage.end().await;
}

#[tokio::test]
async fn the_relay_can_be_out_of_reach_from_the_fault_on() {
    let stage = Stage::new().await;
    let bystander = connect(&at(stage.relay.address())).await.unwrap();
    stage.relay.arm(Plan::on_commit(Fault::CutBefore).then(Then::Unreachable));
    stage.insert(1).await;
    stage.commit().await.unwrap_err();
    bystander.simple_query("select 1").await.unwrap_err();
    assert!(connect(&at(stage.relay.address())).await.is_err());
    stage.relay.accept_again();
    stage.relay.disarm();
    let back = connect(&at(stage.relay.address())).await.unwrap();
    back.simple_query("select 1").await.unwrap();
    stage.relay.cut_all();
    back.simple_query("select 1").await.unwrap_err();
    stage.end().await;
}

#[tokio::test]
async fn a_cancel_request_reaches_the_server() {
    let stage = Stage::new().await;
    let cancel = stage.through.cancel_token();
    let (slept, ()) = tokio::join!(stage.through.simple_query("select pg_sleep(10)"), async {
        sleep(SHORT).await;
        cancel.cancel_query(NoTls).await.unwrap();
    });
    assert_eq!(slept.unwrap_err().code().unwrap().code(), "57014");
    stage.end().await;
}

#[tokio::test]
async fn a_stopped_relay_refuses_and_its_socket_is_gone() {
    let folder = std::env::temp_dir().join(format!("thrice-relay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let relay = FaultRelay::start(upstream(), Listen::tcp().and_socket_in(&folder)).await.unwrap();
    let (address, socket) = (relay.address(), relay.socket().unwrap().to_owned());
    assert_eq!(socket, folder.join(format!(".s.PGSQL.{}", relay.port())));
    let mut by_socket = Config::new();
    by_socket.host_path(&folder).port(relay.port()).user(config().get_user().unwrap()).dbname("postgres");
    let session = connect(&by_socket).await.unwrap();
    session.simple_query("select 1").await.unwrap();
    relay.stop().await;
    session.simple_query("select 1").await.unwrap_err();
    assert_eq!(
        tokio::net::TcpStream::connect(address).await.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    assert!(!socket.exists());
    std::fs::remove_dir(&folder).unwrap();
}
