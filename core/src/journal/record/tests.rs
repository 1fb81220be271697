//! Records keep what they are given; bytes that are no record are refused.

use super::*;
use crate::{
    ids::{Place, ScopeNo, StepNo},
    journal::{CODEC, Decided, Event},
};
use proptest::prelude::*;

fn record() -> Record {
    let at = Address { place: Place { scope: ScopeNo(7), ordinal: 3 }, step: StepNo(9) };
    let event = Event::Decided(Decided { decision: "again".to_owned() });
    Record::new(at, 2, Digest::of_bytes(b"from"), Digest::of_bytes(b"to"), &event)
}

fn bytes(record: &Record) -> Vec<u8> {
    [record.header.to_bytes().as_slice(), &record.body].concat()
}

#[test]
fn a_record_reads_back() {
    let record = record();
    let back = Record::from_bytes(&bytes(&record)).unwrap();
    assert_eq!(back, record);
    assert!(matches!(back.event().unwrap(), Event::Decided(Decided { decision }) if decision == "again"));
}

#[test]
fn the_first_byte_is_the_codec_and_the_layout_is_fixed() {
    let bytes = bytes(&record());
    assert_eq!(bytes[0], CODEC);
    assert_eq!(bytes[1], Kind::Decided as u8);
    assert_eq!(bytes[12..28], [7, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(&bytes[92..], br#"{"decision":"again"}"#);
}

#[test]
fn what_is_newer_is_refused_as_newer() {
    let good = bytes(&record());
    for (at, value) in [(0, 2), (1, 250), (2, 99)] {
        let mut newer = good.clone();
        newer[at] = value;
        assert!(matches!(Record::from_bytes(&newer), Err(WireError::Newer { .. })), "byte {at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(record) = Record::from_bytes(&bytes) {
            let _ = record.event();
        }
    }

    #[test]
    fn headers_read_back(time in any::<i64>(), scope: u32, ordinal: u32, step: u32, generation: u32, a: [u8; 32], b: [u8; 32]) {
        let header = Header {
            kind: Kind::Started,
            writer: WRITER,
            time,
            at: Address { place: Place { scope: ScopeNo(scope), ordinal }, step: StepNo(step) },
            generation,
            fingerprint: Digest::from_bytes(a),
            output: Digest::from_bytes(b),
        };
        prop_assert_eq!(Header::from_bytes(&header.to_bytes()).unwrap(), header);
    }
}
