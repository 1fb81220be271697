//! The raw limits: redb with nothing above it.

use redb::{Database, Durability, ReadableDatabase as _, TableDefinition};
use std::{path::Path, time::Instant};

const ROWS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("rows");
const BODIES: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("bodies");
const HEADS: TableDefinition<u64, &[u8]> = TableDefinition::new("heads");

/// What one row has: its bytes in the table of rows, and those in the table of bodies.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) inline: usize,
    pub(crate) spilled: usize,
}

/// Commits `rows`, `group` of them a transaction, with the head of the run in each; gives the seconds it took.
pub(crate) fn commit(path: &Path, rows: &[Row], group: usize, head: usize) -> f64 {
    let database = Database::builder().set_cache_size(32 << 20).create(path).expect("a database");
    let bytes = vec![b'x'; rows.iter().map(|row| row.inline.max(row.spilled)).max().unwrap_or_default()];
    let head = vec![b'h'; head];
    let began = Instant::now();
    let mut number = 0;
    for chunk in rows.chunks(group) {
        let mut transaction = database.begin_write().expect("a transaction");
        transaction.set_durability(Durability::Immediate).expect("durability");
        {
            let mut table = transaction.open_table(ROWS).expect("a table");
            let mut bodies = None;
            for row in chunk {
                number += 1;
                table.insert((1, number), &bytes[..row.inline]).expect("a row");
                if row.spilled > 0 {
                    let bodies =
                        bodies.get_or_insert_with(|| transaction.open_table(BODIES).expect("a table"));
                    bodies.insert((1, number), &bytes[..row.spilled]).expect("a body");
                }
            }
            let mut heads = transaction.open_table(HEADS).expect("a table");
            heads.insert(1, head.as_slice()).expect("a head");
        }
        transaction.commit().expect("a commit");
    }
    began.elapsed().as_secs_f64()
}

/// Writes `rows`, then gives the seconds it takes to open the file, read them, and hash `hashed` bytes as often.
pub(crate) fn scan(path: &Path, rows: &[Row], hashed: usize, times: usize) -> f64 {
    commit(path, rows, 1024, 200);
    let text = vec![b'p'; hashed];
    let began = Instant::now();
    let database = Database::builder().set_cache_size(32 << 20).open(path).expect("a database");
    let transaction = database.begin_read().expect("a transaction");
    let table = transaction.open_table(ROWS).expect("a table");
    let mut sum = 0_usize;
    for row in table.range((1, 0)..).expect("a range") {
        let (_, value) = row.expect("a row");
        sum += value.value().len();
    }
    for _ in 0..times {
        sum += usize::from(blake3::hash(&text).as_bytes()[0]);
    }
    assert!(sum > 0);
    began.elapsed().as_secs_f64()
}
