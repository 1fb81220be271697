//! A redb backend for tests that crash: a file in memory that remembers every write, and gives the file as it would be
//! found after losing power at any sync.

use redb::StorageBackend;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What is lost of the writes that no sync followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them.
    All,
    /// About half of them, whole writes, chosen by this seed.
    Half(u64),
}

/// A file in memory that can be had as it was at each sync. Clones are the same file. It takes no locks.
#[derive(Clone, Debug, Default)]
pub struct CrashBackend(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    /// The file as it was given.
    base: Vec<u8>,
    /// The file as the program sees it.
    now: Vec<u8>,
    /// Everything done to it since the beginning.
    log: Vec<Op>,
    /// How many of `log` had been done at each sync.
    syncs: Vec<usize>,
    /// Which sync fails.
    failing: Option<usize>,
    /// Whether it has: then nothing works any more.
    gone: bool,
}

#[derive(Clone)]
enum Op {
    Length(u64),
    Write(u64, Vec<u8>),
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk")
            .field("len", &self.now.len())
            .field("syncs", &self.syncs.len())
            .finish_non_exhaustive()
    }
}

impl CrashBackend {
    /// An empty file.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file with this content.
    pub fn from_image(image: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Disk { now: image.clone(), base: image, ..Disk::default() })))
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it was synced.
    pub fn syncs(&self) -> usize {
        self.disk().syncs.len()
    }

    /// After `syncs` syncs the next one fails, and everything after it: the disk is gone. What was written before it may
    /// or may not have arrived: [`CrashBackend::image_at`] `syncs` with either loss.
    pub fn fail_after(&self, syncs: usize) {
        self.disk().failing = Some(syncs);
    }

    /// The file as found after a crash between its `sync`th sync and the next: 0 is before the first. What was written
    /// before that sync is there; of what was written after it, and before the next, `loss` says what is.
    pub fn image_at(&self, sync: usize, loss: Loss) -> Vec<u8> {
        let disk = self.disk();
        let done = |sync: usize| disk.syncs.get(sync).copied().unwrap_or(disk.log.len());
        let synced = if sync == 0 { 0 } else { done(sync - 1) };
        let mut image = disk.base.clone();
        for op in &disk.log[..synced] {
            // A write that the file took once is within its length.
            let _ = op.apply(&mut image);
        }
        if let Loss::Half(seed) = loss {
            let mut random = Random(seed ^ (sync as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            for op in &disk.log[synced..done(sync)] {
                if random.coin() {
                    // One beyond the end is lost with the resize that made room for it.
                    let _ = op.apply(&mut image);
                }
            }
        }
        image
    }
}

/// splitmix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn coin(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) & 1 == 1
    }
}

fn range(offset: u64, length: usize, within: usize) -> io::Result<std::ops::Range<usize>> {
    let end = || io::Error::new(io::ErrorKind::UnexpectedEof, "the place is beyond the end of the file");
    let start = usize::try_from(offset).map_err(|_| end())?;
    let stop = start.checked_add(length).filter(|stop| *stop <= within).ok_or_else(end)?;
    Ok(start..stop)
}

impl Op {
    fn apply(&self, file: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Length(length) => {
                let length = usize::try_from(*length).map_err(io::Error::other)?;
                file.resize(length, 0);
            }
            Self::Write(offset, data) => {
                let range = range(*offset, data.len(), file.len())?;
                file[range].copy_from_slice(data);
            }
        }
        Ok(())
    }
}

impl Disk {
    fn check(&self) -> io::Result<()> {
        if self.gone { Err(io::Error::other("the test's disk is gone")) } else { Ok(()) }
    }

    fn perform(&mut self, op: Op) -> io::Result<()> {
        self.check()?;
        op.apply(&mut self.now)?;
        self.log.push(op);
        Ok(())
    }
}

impl StorageBackend for CrashBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.disk();
        let range = range(offset, out.len(), disk.now.len())?;
        out.copy_from_slice(&disk.now[range]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.disk().perform(Op::Length(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.gone |= disk.failing.is_some_and(|syncs| disk.syncs.len() >= syncs);
        disk.check()?;
        let done = disk.log.len();
        disk.syncs.push(done);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk().perform(Op::Write(offset, data.to_vec()))
    }
}
