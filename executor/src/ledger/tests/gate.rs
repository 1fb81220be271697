//! The gate: until it is released the file is untouched, and afterwards it is as if there had been no gate.

use crate::ledger::gate::Gate;
use proptest::prelude::*;
use redb::{
    StorageBackend as _,
    backends::{FileBackend, InMemoryBackend},
};
use std::fs;

#[derive(Clone, Debug)]
enum Op {
    Length(u64),
    Write(u64, Vec<u8>),
    Sync,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0_u64..20_000).prop_map(Op::Length),
        (0_u64..15_000, prop::collection::vec(any::<u8>(), 0..9_000))
            .prop_map(|(at, data)| Op::Write(at, data)),
        Just(Op::Sync),
    ]
}

fn whole(backend: &impl redb::StorageBackend) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(backend.len().unwrap()).unwrap()];
    backend.read(0, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_holds_back_and_then_lets_through(
        start in prop::collection::vec(any::<u8>(), 0..15_000),
        ops in prop::collection::vec(op(), 0..12),
        release in 0_usize..12,
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &start).unwrap();
        let model = InMemoryBackend::new();
        model.set_len(start.len() as u64).unwrap();
        model.write(0, &start).unwrap();
        let gate = Gate::new(FileBackend::new(file.reopen().unwrap()).unwrap()).unwrap();
        for (count, op) in ops.iter().enumerate() {
            if count == release {
                gate.release().unwrap();
            }
            match op {
                Op::Length(length) => {
                    model.set_len(*length).unwrap();
                    gate.set_len(*length).unwrap();
                }
                Op::Write(at, data) if at + data.len() as u64 <= model.len().unwrap() => {
                    model.write(*at, data).unwrap();
                    gate.write(*at, data).unwrap();
                }
                Op::Write(..) => {}
                Op::Sync => gate.sync_data().unwrap(),
            }
            prop_assert_eq!(whole(&gate), whole(&model));
            if count < release {
                prop_assert_eq!(&fs::read(file.path()).unwrap(), &start);
            }
        }
        if ops.len() <= release {
            prop_assert!(gate.read(0, &mut vec![0; 30_000]).is_err());
            gate.release().unwrap();
        }
        prop_assert_eq!(fs::read(file.path()).unwrap(), whole(&model));
    }
}
