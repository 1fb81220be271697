//! A drawing tree, one line a node. The only place that knows how lines are indented; plans and runs are drawn with it.

use std::fmt;

#[cfg(test)]
mod tests;

/// A line and the lines below it. Its `Display` is the tree, without a line feed at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The line itself. Control characters in it are drawn escaped: a node is always one line.
    pub line: String,
    /// What hangs below it, in order.
    pub children: Vec<Drawing>,
}

impl Drawing {
    /// A line with nothing below it.
    pub fn leaf(line: impl Into<String>) -> Self {
        Self { line: line.into(), children: Vec::new() }
    }

    /// A line with these below it.
    pub fn with(line: impl Into<String>, children: Vec<Drawing>) -> Self {
        Self { line: line.into(), children }
    }

    fn write_below(&self, f: &mut fmt::Formatter<'_>, indent: &mut String) -> fmt::Result {
        let last = self.children.len().saturating_sub(1);
        for (i, child) in self.children.iter().enumerate() {
            let (branch, below) = if i == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            write!(f, "\n{indent}{branch}")?;
            write_line(f, &child.line)?;
            let depth = indent.len();
            indent.push_str(below);
            child.write_below(f, indent)?;
            indent.truncate(depth);
        }
        Ok(())
    }
}

impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.line)?;
        self.write_below(f, &mut String::new())
    }
}

fn write_line(f: &mut fmt::Formatter<'_>, line: &str) -> fmt::Result {
    let mut plain = 0;
    for (at, c) in line.char_indices().filter(|&(_, c)| breaks_lines(c)) {
        write!(f, "{}{}", &line[plain..at], c.escape_default())?;
        plain = at + c.len_utf8();
    }
    f.write_str(&line[plain..])
}

/// Whether a character would end the line or turn its direction.
fn breaks_lines(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
