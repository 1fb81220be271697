//! Whatever a plan is called, its labels stay labels.

use super::{escape, write};
use crate::layout::picture::{Arrow, BoxId, End, GroupId, Item, Picture, Shape};
use proptest::prelude::*;

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.push(rest.next().unwrap()),
            '&' => match rest.by_ref().take_while(|&c| c != ';').collect::<String>().as_str() {
                "amp" => out.push('&'),
                "lt" => out.push('<'),
                "gt" => out.push('>'),
                code => out.push(char::from_u32(code.strip_prefix('#').unwrap().parse().unwrap()).unwrap()),
            },
            c => out.push(c),
        }
    }
    out
}

/// Arbitrary texts, with more of what matters than chance would give.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-zN \"\\\\#;:&<>\\[\\](){}|\n\r\t\u{0}]{0,20}"]
}

/// The line without its quoted strings; `None` where a quote is left open.
fn outside(line: &str) -> Option<String> {
    let mut out = String::new();
    let mut quoted = false;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if quoted => drop(rest.next()),
            '"' => quoted = !quoted,
            c if !quoted => out.push(c),
            _ => {}
        }
    }
    (!quoted).then_some(out)
}

proptest! {
    #[test]
    fn labels_round_trip(text in texts()) {
        let escaped = escape(&text);
        prop_assert!(!escaped.contains(['[', ']', '<', '>']), "{}", escaped);
        prop_assert!(!escaped.contains(char::is_control), "{}", escaped);
        prop_assert_eq!(unescape(&escaped), text);
    }

    #[test]
    fn every_text_stays_in_its_line(name in texts(), label in texts(), verb in texts()) {
        let lines = vec![name.clone(), label];
        let inner = vec![Item::Box { id: BoxId(1), shape: Shape::Step, lines: lines.clone(), state: None }];
        let items = vec![Item::Group { id: GroupId(1), lines, items: inner }];
        let to = End::Group(GroupId(1), BoxId(1));
        let arrows = vec![Arrow { from: BoxId(1), to, label: format!("v{verb}"), dashed: true }];
        let out = write(&Picture { title: name, items, arrows });
        let lines: Option<Vec<_>> = out.lines().map(outside).collect();
        let expected = [
            "digraph  {", "  compound=true;", "  node [shape=box];", "  subgraph cluster_1 {", "    label=;",
            "    n1 [label=];", "  }", "  n1 -> n1 [label=, style=dashed, lhead=cluster_1];", "}",
        ];
        prop_assert_eq!(lines.unwrap(), expected, "{}", out);
    }
}
