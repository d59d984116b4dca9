//! A pooler in transaction mode, as small as one can be: each transaction of a client gets the server session that was
//! freed last.

use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Codes that stand where a startup message has its version.
const SSL_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;

pub(crate) struct Pooler {
    url: String,
}

/// What all clients share.
struct Shared {
    server: String,
    idle: Mutex<Vec<TcpStream>>,
}

impl Pooler {
    /// Listens in front of the server of a URL, and accepts until the process ends.
    pub(crate) fn before(url: &str) -> Self {
        let (_, rest) = url.split_once('@').unwrap();
        let server = rest.split(['/', '?']).next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = url.replace(&format!("@{server}"), &format!("@{}", listener.local_addr().unwrap()));
        let shared = Arc::new(Shared { server, idle: Mutex::default() });
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
    let mut held: Option<TcpStream> = None;
    loop {
        let mut batch = Vec::new();
        loop {
            let message = typed(&mut client)?;
            let kind = message[0];
            if kind == b'X' {
                return Ok(());
            }
            batch.extend(message);
            if matches!(kind, b'S' | b'Q') {
                break;
            }
        }
        let free = held.take().or_else(|| shared.idle.lock().unwrap().pop());
        let mut session = match free {
            Some(session) => session,
            None => login(shared, &startup)?.0,
        };
        session.write_all(&batch)?;
        let in_transaction = loop {
            let message = typed(&mut session)?;
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

/// A session of the server, and everything it said up to its readiness.
fn login(shared: &Shared, startup: &[u8]) -> Result<(TcpStream, Vec<u8>)> {
    let mut session = TcpStream::connect(&shared.server)?;
    session.write_all(startup)?;
    let mut greeting = Vec::new();
    loop {
        let message = typed(&mut session)?;
        let kind = message[0];
        greeting.extend(message);
        if matches!(kind, b'Z' | b'E') {
            return Ok((session, greeting));
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
