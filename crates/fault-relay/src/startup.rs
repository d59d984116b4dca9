//! The first bytes of a session, before messages have types.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
/// The server itself takes no longer start-up message.
const MOST_BYTES: u32 = 10_000;

/// How a session begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Startup {
    /// The start-up message, length included.
    Session(Vec<u8>),
    /// A cancel request; nothing follows it.
    Cancel(Vec<u8>),
    /// The client went away.
    Gone,
}

/// Reads up to the start-up message; encryption is declined on the way.
pub(crate) async fn read<S>(client: &mut S) -> io::Result<Startup>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let length = match client.read_u32().await {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Startup::Gone),
            Err(error) => return Err(error),
        };
        if !(8..=MOST_BYTES).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a start-up message of length {length}")));
        }
        let mut message = length.to_be_bytes().to_vec();
        message.resize(length as usize, 0);
        client.read_exact(&mut message[4..]).await?;
        let code = message.get(4..8).and_then(|code| code.try_into().ok()).map_or(0, u32::from_be_bytes);
        match code {
            SSL_REQUEST | GSS_REQUEST => client.write_all(b"N").await?,
            CANCEL_REQUEST => return Ok(Startup::Cancel(message)),
            _ => return Ok(Startup::Session(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(code: u32, rest: &[u8]) -> Vec<u8> {
        let length = u32::try_from(8 + rest.len()).unwrap();
        [&length.to_be_bytes()[..], &code.to_be_bytes(), rest].concat()
    }

    #[tokio::test]
    async fn encryption_is_declined_and_the_startup_comes_through() {
        let (mut client, mut relay) = tokio::io::duplex(1024);
        let startup = message(196_608, b"user\0kim\0\0");
        client.write_all(&message(GSS_REQUEST, b"")).await.unwrap();
        client.write_all(&message(SSL_REQUEST, b"")).await.unwrap();
        client.write_all(&startup).await.unwrap();
        assert_eq!(read(&mut relay).await.unwrap(), Startup::Session(startup));
        let mut answer = [0; 2];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"NN");
    }

    #[tokio::test]
    async fn a_cancel_request_is_told_apart() {
        let (mut client, mut relay) = tokio::io::duplex(1024);
        let cancel = message(CANCEL_REQUEST, b"\0\0\0\x07\0\0\0\x09");
        client.write_all(&cancel).await.unwrap();
        assert_eq!(read(&mut relay).await.unwrap(), Startup::Cancel(cancel));
    }

    #[tokio::test]
    async fn other_protocols_are_refused() {
        let (mut client, mut relay) = tokio::io::duplex(1024);
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(read(&mut relay).await.is_err());
    }
}
