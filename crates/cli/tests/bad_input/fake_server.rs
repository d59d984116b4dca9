//! Something that listens on a port and answers as a server would that this machine does not have: one that is too old,
//! a standby, one without room, one that wants another password.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// What it says to everybody.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// An error at the login: SQLSTATE and message.
    Refuse(&'static str, &'static str),
    /// A session with these settings, whose statements fail with SQLSTATE 0A000.
    Greet(Vec<(&'static str, &'static str)>),
    /// Nothing, and it hangs up.
    HangUp,
}

/// A listener that ends with the value.
#[derive(Debug)]
pub(crate) struct FakeServer {
    port: u16,
    _thread: JoinHandle<()>,
}

impl FakeServer {
    pub(crate) fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                // a client that goes away is no matter of ours
                std::thread::spawn(move || drop(serve(stream, &answer)));
            }
        });
        Self { port, _thread: thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://kim:hush@127.0.0.1:{}/shop", self.port)
    }

    pub(crate) fn port(&self) -> String {
        self.port.to_string()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut rest = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap_or(4) - 4];
    stream.read_exact(&mut rest)?;
    match answer {
        Answer::HangUp => Ok(()),
        Answer::Refuse(state, message) => stream.write_all(&error("FATAL", state, message)),
        Answer::Greet(settings) => {
            let mut hello = message(b'R', &0_u32.to_be_bytes());
            for (name, value) in settings {
                hello.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
            }
            hello.extend(message(b'K', &[0, 0, 0, 1, 0, 0, 0, 1]));
            hello.extend(message(b'Z', b"I"));
            stream.write_all(&hello)?;
            let mut kind = [0; 1];
            while stream.read_exact(&mut kind).is_ok() {
                stream.read_exact(&mut length)?;
                let mut body = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap_or(4) - 4];
                stream.read_exact(&mut body)?;
                match kind[0] {
                    b'X' => return Ok(()),
                    b'Q' | b'S' => {
                        let mut reply = error("ERROR", "0A000", "this server only greets");
                        reply.extend(message(b'Z', b"I"));
                        stream.write_all(&reply)?;
                    }
                    _ => {}
                }
            }
            Ok(())
        }
    }
}

fn error(severity: &str, state: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{state}\0M{text}\0\0").as_bytes())
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}
