//! Bytes into messages: what has arrived is kept until a whole message is there.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A message: one type byte, then a length that counts itself and the body.
const HEADER: usize = 5;

/// Bytes that have arrived and are not yet taken, always beginning at a message boundary.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    taken: usize,
}

/// A whole message in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Type byte.
    pub(crate) tag: u8,
    /// What follows the length.
    pub(crate) body: &'a [u8],
    /// The message from its type byte on.
    pub(crate) whole: &'a [u8],
}

impl Frames {
    /// Waits for more bytes; 0 at the end of the stream. Nothing is lost when the wait is given up.
    pub(crate) async fn fill(&mut self, from: &mut (impl AsyncRead + Unpin + ?Sized)) -> io::Result<usize> {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.reserve(16 * 1024);
        from.read_buf(&mut self.bytes).await
    }

    /// Takes the next message when it is whole. An impossible length is an error: this is not the protocol.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        let Some(range) = self.whole()? else { return Ok(None) };
        self.taken = range.end;
        let whole = self.bytes.get(range).unwrap_or_default();
        Ok(Some(Frame {
            tag: whole.first().copied().unwrap_or_default(),
            body: whole.get(HEADER..).unwrap_or_default(),
            whole,
        }))
    }

    fn whole(&self) -> io::Result<Option<Range<usize>>> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some([_, a, b, c, d]) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if !(4..=0x7fff_ffff).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of length {length}")));
        }
        let end = self.taken + 1 + length;
        Ok((end <= self.bytes.len()).then_some(self.taken..end))
    }

    #[cfg(test)]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"Q\0\0\0\x0bcommit\0S\0\0\0\x04";

    #[test]
    fn coalesced_messages_come_out_one_by_one() {
        let mut frames = Frames::default();
        frames.push(TWO);
        let first = frames.next().unwrap().unwrap();
        assert_eq!((first.tag, first.body, first.whole.len()), (b'Q', &b"commit\0"[..], 12));
        let second = frames.next().unwrap().unwrap();
        assert_eq!((second.tag, second.body, second.whole), (b'S', &b""[..], &b"S\0\0\0\x04"[..]));
        assert_eq!(frames.next().unwrap(), None);
    }

    #[tokio::test]
    async fn a_message_in_single_bytes_is_whole_at_its_last_byte() {
        let mut frames = Frames::default();
        for (at, byte) in TWO.iter().enumerate() {
            assert_eq!(frames.fill(&mut &[*byte][..]).await.unwrap(), 1);
            let tag = frames.next().unwrap().map(|frame| frame.tag);
            assert_eq!(
                tag,
                if at == 11 {
                    Some(b'Q')
                } else if at == 16 {
                    Some(b'S')
                } else {
                    None
                },
                "byte {at}"
            );
        }
    }

    #[test]
    fn an_impossible_length_is_refused() {
        for length in [[0, 0, 0, 3], [0xff, 0, 0, 0]] {
            let mut frames = Frames::default();
            frames.push(b"Q");
            frames.push(&length);
            assert!(frames.next().is_err(), "{length:?}");
        }
    }
}
