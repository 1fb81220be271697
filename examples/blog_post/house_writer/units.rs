//! The text of a section and its units: headings, claims, blocks. What is written here can be read back here.

/// A part of a section's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// A line with `#`s.
    Heading(String),
    /// Claims that stand in one paragraph, a line each.
    Paragraph(Vec<String>),
    /// Code, a table, a definition: word for word.
    Block(String),
}

/// What stands before an open question.
pub(super) const STILL_OPEN: &str = "Still open: ";

/// A claim or a block.
pub(super) fn part(unit: &str) -> Part {
    let is_block =
        unit.contains('\n') || super::markdown::is_row(unit) || super::markdown::is_definition(unit);
    if is_block { Part::Block(unit.to_owned()) } else { Part::Paragraph(vec![unit.to_owned()]) }
}

/// Writes parts as Markdown.
pub(super) fn write(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        match part {
            Part::Heading(line) | Part::Block(line) => text.push_str(line),
            Part::Paragraph(claims) => {
                for (index, claim) in claims.iter().enumerate() {
                    if index > 0 {
                        text.push('\n');
                    }
                    // A claim that begins like a heading is none.
                    if claim.starts_with('#') {
                        text.push('\\');
                    }
                    text.push_str(claim);
                }
            }
        }
    }
    text
}

/// Reads parts back from Markdown.
pub(super) fn read(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if let Some((mark, count)) = super::markdown::fence(line) {
            let mut block = line.to_owned();
            for line in lines.by_ref() {
                block.push('\n');
                block.push_str(line);
                if super::markdown::closes(line, mark, count) {
                    break;
                }
            }
            parts.push(Part::Block(block));
        } else if super::markdown::is_row(line) {
            let mut block = line.to_owned();
            while let Some(line) = lines.next_if(|line| super::markdown::is_row(line)) {
                block.push('\n');
                block.push_str(line);
            }
            parts.push(Part::Block(block));
        } else if super::markdown::is_definition(line) {
            parts.push(Part::Block(line.to_owned()));
        } else if super::markdown::heading(line).is_some() {
            parts.push(Part::Heading(line.to_owned()));
        } else {
            let mut claims = vec![unescaped(line)];
            while let Some(line) = lines.next_if(|line| goes_on(line)) {
                claims.push(unescaped(line));
            }
            parts.push(Part::Paragraph(claims));
        }
    }
    parts
}

fn goes_on(line: &str) -> bool {
    use super::markdown::{fence, heading, is_definition, is_row};
    !line.trim().is_empty()
        && fence(line).is_none()
        && !is_row(line)
        && !is_definition(line)
        && heading(line).is_none()
}

fn unescaped(line: &str) -> String {
    line.strip_prefix('\\').filter(|rest| rest.starts_with('#')).unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let parts = [
            Part::Heading("## A".to_owned()),
            Part::Paragraph(vec!["One.".to_owned(), "# two".to_owned(), "- three".to_owned()]),
            part("```\n# x\n\n- y\n```"),
            part("| a |\n|---|\n| b |"),
            part("[x]: https://x.org"),
            part("last"),
        ];
        assert_eq!(read(&write(&parts)), parts);
    }
}
