//! A redb backend that holds every write back until it is let through.
//!
//! Opening a redb file may write to it: a repair after a crash, the mark that it is open. Behind the gate all of that
//! happens in memory; only when the file has proved to be a ledger of a format we know are the held writes replayed, in
//! their order and with their syncs, and from then on the gate only passes calls on. A file that is refused is
//! byte-identical afterwards.

use redb::{BackendError, StorageBackend, backends::FileBackend};
use std::{
    collections::BTreeMap,
    io,
    ops::Bound,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

const PAGE: u64 = 4096;

/// The gate; clones are the same gate.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: FileBackend,
    open: AtomicBool,
    held: Mutex<Held>,
}

/// The file as it would be.
#[derive(Debug, Default)]
struct Held {
    /// Its length.
    length: u64,
    /// Up to where the file itself still counts; it was cut there, and may have grown again.
    genuine: u64,
    /// Pages that differ from the file's.
    pages: BTreeMap<u64, Vec<u8>>,
    /// What to replay.
    log: Vec<Op>,
}

#[derive(Debug)]
enum Op {
    Length(u64),
    Write(u64, Vec<u8>),
    Sync,
}

impl Gate {
    /// A closed gate before `file`.
    pub(super) fn new(file: FileBackend) -> io::Result<Self> {
        let length = file.len()?;
        let held = Held { length, genuine: length, ..Held::default() };
        Ok(Self(Arc::new(Inner { file, open: AtomicBool::new(false), held: Mutex::new(held) })))
    }

    /// Lets everything through: what was held, and from now on every call. Nothing may be using the backend meanwhile.
    pub(super) fn release(&self) -> io::Result<()> {
        let mut held = self.held();
        for op in held.log.drain(..) {
            match op {
                Op::Length(length) => self.0.file.set_len(length)?,
                Op::Write(offset, data) => self.0.file.write(offset, &data)?,
                Op::Sync => self.0.file.sync_data()?,
            }
        }
        held.pages.clear();
        self.0.open.store(true, Ordering::Release);
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Acquire)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn page(&self, file: &FileBackend, number: u64) -> io::Result<Vec<u8>> {
        if let Some(page) = self.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = vec![0; size(PAGE)];
        let genuine = self.genuine.saturating_sub(number * PAGE).min(PAGE);
        if genuine > 0 {
            file.read(number * PAGE, &mut page[..size(genuine)])?;
        }
        Ok(page)
    }

    fn within(&self, offset: u64, length: usize) -> io::Result<()> {
        match offset.checked_add(length as u64) {
            Some(end) if end <= self.length => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the place is beyond the end of the file")),
        }
    }

    fn read(&self, file: &FileBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.within(offset, out.len())?;
        for (at, part) in spans(offset, out.len()) {
            let page = self.page(file, at / PAGE)?;
            let from = size(at % PAGE);
            let (start, end) = part;
            out[start..end].copy_from_slice(&page[from..from + end - start]);
        }
        Ok(())
    }

    fn write(&mut self, file: &FileBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        self.within(offset, data.len())?;
        for (at, (start, end)) in spans(offset, data.len()) {
            let mut page = self.page(file, at / PAGE)?;
            let from = size(at % PAGE);
            page[from..from + end - start].copy_from_slice(&data[start..end]);
            self.pages.insert(at / PAGE, page);
        }
        self.log.push(Op::Write(offset, data.to_vec()));
        Ok(())
    }

    fn set_len(&mut self, length: u64) {
        if length < self.length {
            self.genuine = self.genuine.min(length);
            self.pages.retain(|number, _| number * PAGE < length);
            if let Some(page) = self.pages.get_mut(&(length / PAGE)) {
                page[size(length % PAGE)..].fill(0);
            }
        }
        self.length = length;
        self.log.push(Op::Length(length));
    }
}

/// The parts of a range that lie in one page each: where each begins, and which bytes of the range it is.
fn spans(offset: u64, length: usize) -> impl Iterator<Item = (u64, (usize, usize))> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let at = offset + start as u64;
        let end = length.min(start + size(PAGE - at % PAGE));
        let span = (start < length).then_some((at, (start, end)));
        start = end;
        span
    })
}

/// A length within a page.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl StorageBackend for Gate {
    fn len(&self) -> io::Result<u64> {
        if self.is_open() { self.0.file.len() } else { Ok(self.held().length) }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if self.is_open() {
            self.0.file.read(offset, out)
        } else {
            self.held().read(&self.0.file, offset, out)
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        if self.is_open() {
            return self.0.file.set_len(length);
        }
        self.held().set_len(length);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.is_open() {
            return self.0.file.sync_data();
        }
        self.held().log.push(Op::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.is_open() {
            self.0.file.write(offset, data)
        } else {
            self.held().write(&self.0.file, offset, data)
        }
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
