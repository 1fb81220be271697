//! Whatever a plan is called, its labels stay labels.

use super::{escape, write};
use crate::layout::picture::{Arrow, BoxId, End, GroupId, Item, Picture, Shape};
use proptest::prelude::*;

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, coded)) = rest.split_once('#') {
        let (code, after) = coded.split_once(';').unwrap();
        out.push_str(before);
        out.push(char::from_u32(code.parse().unwrap()).unwrap());
        rest = after;
    }
    out + rest
}

/// Arbitrary texts, with more of what matters than chance would give.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z \"\\\\#;:&<>\\[\\](){}|`_*\n\r\t\u{0}-]{0,20}",
        "(style|end|[0-9]+[.)] )[:#;a]{0,4}"
    ]
}

proptest! {
    #[test]
    fn labels_round_trip(text in texts()) {
        let escaped = escape(&text);
        prop_assert!(!escaped.contains(['"', '\\', '[', ']', '<', '>', '&', ':', '`', '*', '|']), "{}", escaped);
        prop_assert!(!escaped.contains(char::is_control), "{}", escaped);
        prop_assert_eq!(unescape(&escaped), text);
    }

    #[test]
    fn every_text_stays_in_its_line(name in texts(), label in texts(), verb in texts()) {
        let lines = vec![name.clone(), label];
        let inner = vec![Item::Box { id: BoxId(1), shape: Shape::Person, lines: lines.clone(), state: None }];
        let items = vec![Item::Group { id: GroupId(1), lines, items: inner }];
        let to = End::Group(GroupId(1), BoxId(1));
        let arrows = vec![Arrow { from: BoxId(1), to, label: format!("v{verb}"), dashed: true }];
        let out = write(&Picture { title: name, items, arrows });
        let lines: Vec<_> = out.lines().skip(3).collect();
        prop_assert_eq!(lines.len(), 5, "{}", out);
        for line in lines {
            prop_assert!(matches!(line.matches('"').count(), 0 | 2), "{}", line);
        }
    }
}

#[test]
fn what_would_be_markdown_is_not() {
    assert_eq!(escape("draft_sections"), "draft_sections");
    assert_eq!(escape("_a_ 2. b"), "#95;a#95; 2. b");
    assert_eq!(escape("1. a"), "#49;. a");
    assert_eq!(escape("- a: #1"), "#45; a#58; #35;1");
    assert_eq!(escape("agent -> [T]"), "agent -#62; #91;T#93;");
}
