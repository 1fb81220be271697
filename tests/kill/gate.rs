//! The gate: where the process and its agents announce what they are about to do, and wait to be let go on. A socket in
//! the desk, the folder of one run.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

pub(crate) fn socket(desk: &Path) -> PathBuf {
    desk.join("gate")
}

/// Announces `what`, and waits. With nobody at the gate any more there is nothing to go on for.
pub(crate) fn pass(desk: &Path, what: &str) {
    let announced = UnixStream::connect(socket(desk)).and_then(|mut gate| {
        writeln!(gate, "{what}")?;
        gate.read_exact(&mut [0])
    });
    if announced.is_err() {
        std::process::exit(1);
    }
}

/// One announcement, and who waits for an answer to it.
pub(crate) struct Waiting {
    what: String,
    stream: UnixStream,
}

impl Waiting {
    pub(crate) fn new(stream: UnixStream) -> std::io::Result<Self> {
        let mut what = String::new();
        BufReader::new(&stream).read_line(&mut what)?;
        Ok(Self { what: what.trim_end().to_owned(), stream })
    }

    /// Its first two words, and the rest.
    pub(crate) fn words(&self) -> (String, String, String) {
        let mut words = self.what.splitn(3, ' ').map(str::to_owned);
        let mut next = || words.next().unwrap_or_default();
        (next(), next(), next())
    }

    /// Lets it go on. It may have been killed since.
    pub(crate) fn go_on(mut self) {
        let _ = self.stream.write_all(b"g");
    }

    /// Waits until the one who waits is gone.
    pub(crate) fn must_be_gone(mut self) -> Result<(), String> {
        // It has been told nothing: it ends by being killed, or not at all.
        self.stream
            .set_read_timeout(Some(std::time::Duration::from_secs(60)))
            .map_err(|error| error.to_string())?;
        match self.stream.read(&mut [0]) {
            Ok(0) => Ok(()),
            other => Err(format!("`{}` is still there: {other:?}", self.what)),
        }
    }
}
