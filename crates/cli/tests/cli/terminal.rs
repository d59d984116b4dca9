//! A terminal that is no person: calls of the binary see one, and what they write to it is kept.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::Place;

/// What a call writes to a terminal of so many columns.
pub(crate) fn shown(place: &Place, words: &str, columns: u16) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs: OwnedFd = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap().into();
    let mut child =
        place.command(words).stdin(Stdio::null()).stdout(theirs.try_clone().unwrap()).stderr(theirs).spawn().unwrap();
    // the command held the terminal's other end until here: after the call nobody has it, and reading ends
    let reading = std::thread::spawn(move || {
        let (mut ours, mut text, mut part) = (File::from(ours), Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = ours.read(&mut part) {
            text.extend_from_slice(&part[..count]);
        }
        text
    });
    child.wait().unwrap();
    String::from_utf8(reading.join().unwrap()).unwrap().replace("\r\n", "\n")
}
