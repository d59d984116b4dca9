//! A pooler in transaction mode, as small as one can be: each transaction of a client gets the server session that was
//! freed last. It tracks prepared statements as `PgBouncer` from 1.21 on does, or loses them as older ones do.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Codes that stand where a startup message has its version.
const SSL_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;

/// Asks the server for what it has to say so far.
const FLUSH: [u8; 5] = [b'H', 0, 0, 0, 4];

static CLIENT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Pooler {
    url: String,
}

/// What all clients share.
struct Shared {
    server: String,
    tracks: bool,
    idle: Mutex<Vec<Session>>,
}

/// A session of the server, with the statements that it has prepared.
struct Session {
    stream: TcpStream,
    prepared: HashSet<Vec<u8>>,
}

/// The prepared statements of one client, by the names that they have at the server, each with its whole message.
struct Statements {
    client: u32,
    messages: HashMap<Vec<u8>, Vec<u8>>,
}

impl Pooler {
    /// Listens in front of the server of a URL, and accepts until the process ends.
    pub(crate) fn before(url: &str) -> Self {
        Self::listen(url, true)
    }

    /// One that knows nothing of prepared statements.
    pub(crate) fn without_statements(url: &str) -> Self {
        Self::listen(url, false)
    }

    fn listen(url: &str, tracks: bool) -> Self {
        let (_, rest) = url.split_once('@').unwrap();
        let server = rest.split(['/', '?']).next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = url.replace(&format!("@{server}"), &format!("@{}", listener.local_addr().unwrap()));
        let shared = Arc::new(Shared { server, tracks, idle: Mutex::default() });
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // a client that leaves ends its thread, one way or the other
                std::thread::spawn(move || drop(serve(client, &shared)));
            }
        });
        Self { url }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

fn serve(mut client: TcpStream, shared: &Shared) -> Result<()> {
    let startup = loop {
        let startup = untyped(&mut client)?;
        match u32::from_be_bytes([startup[4], startup[5], startup[6], startup[7]]) {
            SSL_REQUEST => client.write_all(b"N")?,
            CANCEL_REQUEST => return Ok(()),
            _ => break startup,
        }
    };
    let (session, greeting) = login(shared, &startup)?;
    client.write_all(&greeting)?;
    shared.idle.lock().unwrap().push(session);
    let mut held: Option<Session> = None;
    let mut statements = Statements { client: CLIENT.fetch_add(1, Ordering::Relaxed), messages: HashMap::new() };
    loop {
        let mut batch = Vec::new();
        loop {
            let message = typed(&mut client)?;
            let kind = message[0];
            if kind == b'X' {
                return Ok(());
            }
            batch.push(message);
            if matches!(kind, b'S' | b'Q') {
                break;
            }
        }
        let free = held.take().or_else(|| shared.idle.lock().unwrap().pop());
        let mut session = match free {
            Some(session) => session,
            None => login(shared, &startup)?.0,
        };
        if shared.tracks {
            for message in &mut batch {
                statements.follow(message, &mut session)?;
            }
        }
        session.stream.write_all(&batch.concat())?;
        let in_transaction = loop {
            let message = typed(&mut session.stream)?;
            client.write_all(&message)?;
            if message[0] == b'Z' {
                break message[5] != b'I';
            }
        };
        if in_transaction {
            held = Some(session);
        } else {
            shared.idle.lock().unwrap().push(session);
        }
    }
}

impl Statements {
    /// Gives a statement a name that no other client has, and prepares it where this session does not have it.
    fn follow(&mut self, message: &mut Vec<u8>, session: &mut Session) -> Result<()> {
        // where the statement's name begins
        let at = match message[0] {
            b'P' => 5,
            b'B' => 5 + zero(&message[5..]) + 1,
            b'D' | b'C' if message[5] == b'S' => 6,
            _ => return Ok(()),
        };
        let end = at + zero(&message[at..]);
        if end == at {
            return Ok(());
        }
        let name = [format!("c{}_", self.client).as_bytes(), &message[at..end]].concat();
        message.splice(at..end, name.iter().copied());
        let length = u32::try_from(message.len() - 1).unwrap();
        message[1..5].copy_from_slice(&length.to_be_bytes());
        match message[0] {
            b'P' => {
                self.messages.insert(name.clone(), message.clone());
                session.prepared.insert(name);
            }
            b'C' => drop(session.prepared.remove(&name)),
            _ if session.prepared.contains(&name) => {}
            _ => {
                let Some(parse) = self.messages.get(&name) else { return Ok(()) };
                session.stream.write_all(&[parse.as_slice(), &FLUSH].concat())?;
                let answer = typed(&mut session.stream)?;
                assert_eq!(answer[0], b'1', "{}", String::from_utf8_lossy(&answer));
                session.prepared.insert(name);
            }
        }
        Ok(())
    }
}

fn zero(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == 0).unwrap()
}

/// A session of the server, and everything it said up to its readiness.
fn login(shared: &Shared, startup: &[u8]) -> Result<(Session, Vec<u8>)> {
    let mut stream = TcpStream::connect(&shared.server)?;
    stream.write_all(startup)?;
    let mut greeting = Vec::new();
    loop {
        let message = typed(&mut stream)?;
        let kind = message[0];
        greeting.extend(message);
        if matches!(kind, b'Z' | b'E') {
            return Ok((Session { stream, prepared: HashSet::new() }, greeting));
        }
    }
}

fn untyped(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut message = vec![0; 4];
    stream.read_exact(&mut message)?;
    rest(stream, message, 4)
}

fn typed(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut message = vec![0; 5];
    stream.read_exact(&mut message)?;
    rest(stream, message, 5)
}

/// Reads on until the length that stands in the last four bytes of `head`.
fn rest(stream: &mut TcpStream, mut head: Vec<u8>, at: usize) -> Result<Vec<u8>> {
    let length = u32::from_be_bytes([head[at - 4], head[at - 3], head[at - 2], head[at - 1]]);
    let length = usize::try_from(length).unwrap();
    head.resize(at + length - 4, 0);
    stream.read_exact(&mut head[at..])?;
    Ok(head)
}
