//! Tests of places.

use super::*;

#[test]
fn chains_are_written_as_paths() {
    let sections = Place::Field(&Place::Root, "sections");
    let third = Place::Index(&sections, 3);
    assert_eq!(Place::Root.to_string(), ".");
    assert_eq!(third.to_string(), ".sections[3]");
    assert_eq!(Place::Field(&third, "score").to_string(), ".sections[3].score");
    assert_eq!(Place::Index(&Place::Root, 0).to_string(), ".[0]");
    assert_eq!(Place::Field(&sections, "a.b").to_string(), ".sections.\"a.b\"");
}

#[test]
fn offsets_are_found() {
    let text = r#"{"a":[1,{"b c":"x]}\",","d":[[],{}]}],"e":2}"#;
    let after = |part: &str| place_at(text, text.find(part).unwrap() + part.len());
    assert_eq!(place_at(text, 0), ".");
    assert_eq!(after("[1"), ".a[0]");
    assert_eq!(after(r#"x]}\",""#), ".a[1].\"b c\"");
    assert_eq!(after("[[]"), ".a[1].d[0]");
    assert_eq!(after("[[],{}"), ".a[1].d[1]");
    assert_eq!(after("{}]"), ".a[1].d");
    assert_eq!(after("{}]}"), ".a[1]");
    assert_eq!(after("{}]}]"), ".a");
    assert_eq!(after("\"e\":2"), ".e");
    assert_eq!(place_at(text, text.len()), ".");
    assert_eq!(place_at(text, 10_000), ".");
}
