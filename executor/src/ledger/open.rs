//! How a ledger file is opened, made, and refused: before anything is written to a file, it has proved to be a ledger of a
//! format that this version reads.

use super::{
    LedgerError, RedbStore,
    gate::Gate,
    holder::{Holder, Note, beside},
    redb_store::{META, lay_out},
};
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase as _, StorageBackend, TableError,
    backends::{FileBackend, InMemoryBackend},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::Duration,
};

/// The format this version writes, and the newest it reads.
pub(super) const FORMAT: u64 = 1;
/// Under this key of the table `meta` stands the format: no other program's file has it.
const FORMAT_KEY: &str = "hermes ledger format";
/// redb's cache: its own default is 1 GiB.
const CACHE: usize = 32 << 20;

/// How often the lock of a holder that is no more, or has no name, is tried, 10 ms apart.
const PATIENCE: u32 = 200;

/// Where a file's format stands.
enum Format {
    Known,
    Newer(u64),
    /// There is no table at all.
    Blank,
    Foreign,
}

impl RedbStore {
    /// Opens the ledger at `path`, and makes it where there is no file.
    ///
    /// # Errors
    /// When another process has it, or the file is not a ledger that this version reads: it is then not changed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        // Absolute, so that it stays the same file when the process changes its directory.
        let path =
            std::path::absolute(path.as_ref()).map_err(|error| wrong(path.as_ref(), "finding", &error))?;
        if !is_there(&path)? {
            make(&path)?;
        }
        let (gate, db) = known(&path)?;
        gate.release().map_err(|error| wrong(&path, "opening", &error))?;
        let note = Note::write(&path, &Holder::this(crate::Clock::system().now()))
            .map_err(|error| wrong(&path, "noting its holder", &error))?;
        Ok(Self { db, path: Some(path), failed: OnceLock::new(), note: Some(note), read_only: false })
    }

    /// Opens the ledger at `path` for reading. Nothing is ever written to the file: what redb repairs after a crash, it
    /// repairs in memory. The lock that keeps writers away meanwhile needs the right to write to the file.
    ///
    /// # Errors
    /// When there is no such file, another process has it, or it is not a ledger that this version reads.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path =
            std::path::absolute(path.as_ref()).map_err(|error| wrong(path.as_ref(), "finding", &error))?;
        if !is_there(&path)? {
            return Err(not_a_ledger(&path, "there is no such file"));
        }
        let (_, db) = known(&path)?;
        Ok(Self { db, path: Some(path), failed: OnceLock::new(), note: None, read_only: true })
    }

    /// A ledger in memory.
    ///
    /// # Errors
    /// When it cannot be laid out.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Self::on_backend(InMemoryBackend::new())
    }

    /// A ledger on a redb backend, laid out where the backend is empty. For tests that crash it.
    ///
    /// # Errors
    /// As [`RedbStore::open`].
    #[doc(hidden)]
    pub fn on_backend(backend: impl StorageBackend) -> Result<Self, LedgerError> {
        let path = Path::new("(a backend)");
        let db = builder().create_with_backend(backend).map_err(|error| refused(path, error))?;
        match format(&db).map_err(|error| unreadable(path, error))? {
            Format::Known => {}
            Format::Newer(found) => {
                return Err(LedgerError::Newer { path: path.to_owned(), found, known: FORMAT });
            }
            Format::Blank => lay_out(&db, FORMAT_KEY, FORMAT).map_err(|error| unreadable(path, error))?,
            Format::Foreign => return Err(not_a_ledger(path, "it is a redb file of another program")),
        }
        Ok(Self { db, path: None, failed: OnceLock::new(), note: None, read_only: false })
    }
}

/// Whether there is a file at `path` that may be a ledger.
fn is_there(path: &Path) -> Result<bool, LedgerError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(wrong(path, "opening", &error)),
        Ok(found) if !found.is_file() => Err(not_a_ledger(path, "it is not a file")),
        Ok(found) if found.len() == 0 => Err(not_a_ledger(path, "the file is empty")),
        Ok(_) => Ok(true),
    }
}

/// Opens a file that proves to be a ledger of a format this version reads, behind its closed gate.
fn known(path: &Path) -> Result<(Gate, Database), LedgerError> {
    let (gate, db) = locked(path)?;
    match format(&db).map_err(|error| unreadable(path, error))? {
        Format::Known => Ok((gate, db)),
        Format::Newer(found) => Err(LedgerError::Newer { path: path.to_owned(), found, known: FORMAT }),
        Format::Blank | Format::Foreign => Err(not_a_ledger(path, "it is a redb file of another program")),
    }
}

/// Opens the file and takes its lock. A process that is killed while it starts another leaves its locks with that one, for
/// the moment until the other has become a program of its own; and for a moment a holder has not yet, or no longer, said
/// who it is. These moments are waited for, a living holder never is.
fn locked(path: &Path) -> Result<(Gate, Database), LedgerError> {
    let mut patience = PATIENCE;
    loop {
        match attempt(path)? {
            Ok(opened) => return Ok(opened),
            Err(error)
                if is_held(&error) && patience > 0 && Holder::read(path).is_none_or(|it| it.is_gone()) =>
            {
                patience -= 1;
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(refused(path, error)),
        }
    }
}

fn attempt(path: &Path) -> Result<Result<(Gate, Database), DatabaseError>, LedgerError> {
    let opening = |error: &io::Error| wrong(path, "opening", error);
    let file = File::options().read(true).write(true).open(path).map_err(|error| opening(&error))?;
    let backend = match FileBackend::new(file) {
        Ok(backend) => backend,
        Err(error) => return Ok(Err(error)),
    };
    let gate = Gate::new(backend).map_err(|error| opening(&error))?;
    Ok(builder().create_with_backend(gate.clone()).map(|db| (gate, db)))
}

fn is_held(error: &DatabaseError) -> bool {
    matches!(error, DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch)
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

/// Makes the file under another name and then gives it its own: no crash leaves half a ledger at `path`.
fn make(path: &Path) -> Result<(), LedgerError> {
    let failed = |error: &io::Error| wrong(path, "making", error);
    let directory = path.parent().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        return Err(LedgerError::Io {
            ledger: format!("the ledger {}", path.display()),
            doing: "making".to_owned(),
            why: format!("there is no directory {}; make it first", directory.display()),
        });
    }
    let mut prefix = path.file_name().unwrap_or(OsStr::new("ledger")).to_owned();
    prefix.push(".new-");
    // Readable and writable by its owner only.
    let new =
        tempfile::Builder::new().prefix(&prefix).tempfile_in(directory).map_err(|error| failed(&error))?;
    let file = new.reopen().map_err(|error| failed(&error))?;
    let backend = FileBackend::new(file).map_err(|error| refused(path, error))?;
    let db = builder().create_with_backend(backend).map_err(|error| refused(path, error))?;
    lay_out(&db, FORMAT_KEY, FORMAT).map_err(|error| unreadable(path, error))?;
    db.close().map_err(|error| refused(path, error))?;
    match new.persist_noclobber(path) {
        Ok(_) => {}
        // Somebody made it at the same moment: theirs is as good.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(failed(&error.error)),
    }
    // The name must be durable too. Not every file system lets a directory be synced; then there is nothing to do.
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}

/// The format that `db` says it is of. Nothing else is read.
fn format(db: &Database) -> Result<Format, redb::Error> {
    let transaction = db.begin_read()?;
    if transaction.list_tables()?.next().is_none() && transaction.list_multimap_tables()?.next().is_none() {
        return Ok(Format::Blank);
    }
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => return Ok(Format::Foreign),
    };
    Ok(match meta.get(FORMAT_KEY)?.map(|format| format.value()) {
        None | Some(0) => Format::Foreign,
        Some(FORMAT) => Format::Known,
        Some(newer) => Format::Newer(newer),
    })
}

fn not_a_ledger(path: &Path, why: impl Into<String>) -> LedgerError {
    LedgerError::NotALedger { path: path.to_owned(), why: why.into() }
}

fn wrong(path: &Path, doing: &str, error: &io::Error) -> LedgerError {
    LedgerError::io(format!("the ledger {}", path.display()), doing, error)
}

/// Why redb did not open the file.
fn refused(path: &Path, error: DatabaseError) -> LedgerError {
    match error {
        error if is_held(&error) => LedgerError::Held { path: path.to_owned(), holder: Holder::read(path) },
        DatabaseError::UpgradeRequired(version) => not_a_ledger(
            path,
            format!(
                "it is in version {version} of redb's file format, which no version of this program wrote"
            ),
        ),
        error => unreadable(path, error.into()),
    }
}

/// Why what redb opened does not read.
fn unreadable(path: &Path, error: redb::Error) -> LedgerError {
    match error {
        redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            not_a_ledger(path, "it does not begin as a ledger does")
        }
        redb::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            not_a_ledger(path, "it ends too early: part of the file is missing")
        }
        redb::Error::Io(error) => wrong(path, "opening", &error),
        redb::Error::Corrupted(why) => not_a_ledger(path, format!("it is damaged or cut off ({why})")),
        error => LedgerError::Io {
            ledger: format!("the ledger {}", path.display()),
            doing: "opening".to_owned(),
            why: error.to_string(),
        },
    }
}

/// The directory beside a ledger file that work is done in.
pub(super) fn work_directory(path: &Path) -> PathBuf {
    beside(path, ".work")
}
