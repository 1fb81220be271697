//! Writes a picture as a Graphviz graph in DOT. Labels are quoted strings: backslashes and quotes are escaped, and what
//! HTML means something by, or would end a line, is written as a character reference.

use super::picture::{Arrow, End, Item, Picture, Shape};
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
    writeln!(out, "digraph \"{}\" {{", escape(&picture.title))?;
    writeln!(out, "  compound=true;")?;
    writeln!(out, "  node [shape=box];")?;
    picture.items.iter().try_for_each(|item| write_item(out, item, 1))?;
    picture.arrows.iter().try_for_each(|arrow| write_arrow(out, arrow))?;
    writeln!(out, "}}")
}

fn write_item(out: &mut String, item: &Item, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    match item {
        Item::Box { id, shape, lines, state } => {
            let shape = match shape {
                Shape::Step => "",
                Shape::Person => ", shape=hexagon",
                Shape::Value => ", shape=oval",
            };
            let fill = state.map_or_else(String::new, |state| {
                format!(", style=filled, fillcolor=\"{}\"", state.drawn().1)
            });
            writeln!(out, "{indent}n{} [label=\"{}\"{shape}{fill}];", id.0, label(lines))
        }
        Item::Group { id, lines, items } => {
            writeln!(out, "{indent}subgraph cluster_{} {{", id.0)?;
            writeln!(out, "{indent}  label=\"{}\";", label(lines))?;
            items.iter().try_for_each(|item| write_item(out, item, depth + 1))?;
            writeln!(out, "{indent}}}")
        }
    }
}

fn write_arrow(out: &mut String, arrow: &Arrow) -> fmt::Result {
    let mut options = Vec::new();
    if !arrow.label.is_empty() {
        options.push(format!("label=\"{}\"", escape(&arrow.label)));
    }
    if arrow.dashed {
        options.push("style=dashed".to_owned());
    }
    let to = match arrow.to {
        End::Box(id) => id,
        End::Group(group, id) => {
            options.push(format!("lhead=cluster_{}", group.0));
            id
        }
    };
    write!(out, "  n{} -> n{}", arrow.from.0, to.0)?;
    if !options.is_empty() {
        write!(out, " [{}]", options.join(", "))?;
    }
    writeln!(out, ";")
}

fn label(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\\n")
}

/// Text as it stands inside a quoted string.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() || matches!(c, '[' | ']' | '#' | ';' | '\u{2028}' | '\u{2029}') => {
                // Writing to a string cannot fail.
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
