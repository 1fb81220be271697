//! Writes a picture as a Mermaid flowchart. Every character that means something to Mermaid, or to the Markdown it
//! reads labels as, is written as `#code;`.

use super::picture::{Arrow, End, Item, Picture, Shape, State};
use std::fmt::{self, Write};

#[cfg(test)]
mod tests;

/// Writes a picture.
pub(super) fn write(picture: &Picture) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = whole(&mut out, picture);
    out
}

fn whole(out: &mut String, picture: &Picture) -> fmt::Result {
    writeln!(out, "---")?;
    // Read as YAML, of whose strings JSON's are some.
    writeln!(out, "title: {}", serde_json::Value::from(picture.title.as_str()))?;
    writeln!(out, "---")?;
    writeln!(out, "flowchart TD")?;
    picture.items.iter().try_for_each(|item| write_item(out, item, 1))?;
    for state in State::ALL.into_iter().filter(|state| picture.items.iter().any(|item| item.has(*state))) {
        let (name, colour) = state.drawn();
        writeln!(out, "  classDef {name} fill:{colour}")?;
    }
    picture.arrows.iter().try_for_each(|arrow| write_arrow(out, arrow))
}

fn write_item(out: &mut String, item: &Item, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    match item {
        Item::Box { id, shape, lines, state } => {
            let (open, close) = match shape {
                Shape::Step => ("[", "]"),
                Shape::Person => ("{{", "}}"),
                Shape::Value => ("([", "])"),
            };
            let class = state.map_or_else(String::new, |state| format!(":::{}", state.drawn().0));
            writeln!(out, "{indent}n{}{open}\"{}\"{close}{class}", id.0, label(lines))
        }
        Item::Group { id, lines, items } => {
            writeln!(out, "{indent}subgraph g{}[\"{}\"]", id.0, label(lines))?;
            items.iter().try_for_each(|item| write_item(out, item, depth + 1))?;
            writeln!(out, "{indent}end")
        }
    }
}

fn write_arrow(out: &mut String, arrow: &Arrow) -> fmt::Result {
    write!(out, "  n{} {}", arrow.from.0, if arrow.dashed { "-.->" } else { "-->" })?;
    if !arrow.label.is_empty() {
        write!(out, "|\"{}\"|", escape(&arrow.label))?;
    }
    match arrow.to {
        End::Box(id) => writeln!(out, " n{}", id.0),
        End::Group(id, _) => writeln!(out, " g{}", id.0),
    }
}

fn label(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br/>")
}

/// Text as it stands inside a quoted label.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let plain = match c {
            'a'..='z' | 'A'..='Z' => true,
            // At the beginning these could make a Markdown list or heading.
            '0'..='9' | '-' | ' ' | ',' | '.' => before.is_some(),
            // At the edge of a word this could make emphasis.
            '_' => is_word(before) && is_word(rest.peek().copied()),
            c => !c.is_ascii() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'),
        };
        if plain {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "#{};", u32::from(c));
        }
        before = Some(c);
    }
    out
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphanumeric())
}
