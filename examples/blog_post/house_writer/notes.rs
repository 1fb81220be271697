//! Notes, read: headings, and what stands under each. In one pass, whatever their size.

use super::markdown::{
    boxed, closes, fence, heading, is_definition, is_row, is_rule, item, underline, unquoted,
};

/// A heading and what stands under it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Part {
    /// 0 for what comes before the first heading.
    pub(super) level: u8,
    pub(super) heading: String,
    pub(super) units: Vec<Unit>,
}

/// A list item, a paragraph, or a block of code, a table, a definition: word for word, on one line unless it is a block.
#[derive(Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) text: String,
    /// An item with a box that is not ticked.
    pub(super) to_do: bool,
}

/// What is being read.
enum Open {
    Nothing,
    Text { text: String, to_do: bool, item: bool },
    Table(String),
    Code { text: String, mark: char, count: usize },
    Comment,
}

struct Reader {
    parts: Vec<Part>,
    open: Open,
}

/// Reads the notes. The first part is what comes before the first heading.
pub(super) fn read(notes: &str) -> Vec<Part> {
    let mut reader = Reader { parts: vec![Part::default()], open: Open::Nothing };
    for line in without_front_matter(notes).lines() {
        reader.line(line);
    }
    if let Open::Code { text, mark, count } = &mut reader.open {
        text.push('\n');
        text.extend(std::iter::repeat_n(*mark, *count));
    }
    reader.close();
    reader.parts
}

/// The title that the front matter gives, where there is some.
pub(super) fn front_title(notes: &str) -> Option<&str> {
    let matter = &notes[..notes.len() - without_front_matter(notes).len()];
    let title = matter.lines().find_map(|line| line.strip_prefix("title:"))?.trim().trim_matches(['"', '\'']);
    (!title.is_empty()).then_some(title)
}

/// Notes may begin with `---`, lines like `name: value`, and `---`.
fn without_front_matter(notes: &str) -> &str {
    const LINES: usize = 100;
    let Some(mut rest) = notes.strip_prefix("---\n") else { return notes };
    for _ in 0..LINES {
        let Some((line, after)) = rest.split_once('\n') else { break };
        match line {
            "---" | "..." => return after,
            _ if line.contains(':') || line.starts_with([' ', '-', '#']) => rest = after,
            _ => break,
        }
    }
    notes
}

impl Reader {
    fn line(&mut self, line: &str) {
        match &mut self.open {
            Open::Code { text, mark, count } => {
                text.push('\n');
                text.push_str(line);
                if closes(line, *mark, *count) {
                    self.close();
                }
                return;
            }
            Open::Comment => {
                if let Some((_, after)) = line.split_once("-->") {
                    self.open = Open::Nothing;
                    self.line(after);
                }
                return;
            }
            _ => {}
        }
        let line = unquoted(line);
        let text = line.trim();
        if text.is_empty() {
            self.close();
        } else if let Some((mark, count)) = fence(line) {
            self.close();
            self.open = Open::Code { text: text.to_owned(), mark, count };
        } else if let Some(comment) = text.strip_prefix("<!--") {
            self.close();
            self.open = Open::Comment;
            self.line(comment);
        } else if let Some((level, text)) = heading(line) {
            self.close();
            self.begin(level, text.to_owned());
        } else if let (Open::Text { text, item: false, .. }, Some(level)) = (&mut self.open, underline(line))
        {
            let text = std::mem::take(text);
            self.open = Open::Nothing;
            self.begin(level, text);
        } else if is_rule(line) {
            self.close();
        } else if is_row(line) {
            self.row(text);
        } else if is_definition(line) {
            self.close();
            self.unit(text.to_owned(), false);
        } else if let Some(text) = item(line) {
            self.item(text);
        } else {
            self.text(text);
        }
    }

    fn begin(&mut self, level: u8, heading: String) {
        // Without a text it divides nothing.
        if !heading.is_empty() {
            self.parts.push(Part { level, heading, units: Vec::new() });
        }
    }

    fn row(&mut self, row: &str) {
        if let Open::Table(table) = &mut self.open {
            table.push('\n');
            table.push_str(row);
        } else {
            self.close();
            self.open = Open::Table(row.to_owned());
        }
    }

    fn item(&mut self, mut text: &str) {
        self.close();
        // `- - x` is an item in an item.
        while let Some(inner) = item(text) {
            text = inner;
        }
        let (to_do, text) = boxed(text).map_or((false, text), |(done, text)| (!done, text));
        self.open = Open::Text { text: text.trim().to_owned(), to_do, item: true };
    }

    fn text(&mut self, line: &str) {
        if let Open::Text { text, .. } = &mut self.open {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
        } else {
            self.close();
            self.open = Open::Text { text: line.to_owned(), to_do: false, item: false };
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Text { text, to_do, .. } => self.unit(text, to_do),
            Open::Table(text) | Open::Code { text, .. } => self.unit(text, false),
            Open::Nothing | Open::Comment => {}
        }
    }

    fn unit(&mut self, text: String, to_do: bool) {
        if let Some(part) = self.parts.last_mut()
            && !text.is_empty()
        {
            part.units.push(Unit { text, to_do });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(notes: &str) -> Vec<(u8, String, Vec<String>)> {
        read(notes)
            .into_iter()
            .map(|part| (part.level, part.heading, part.units.into_iter().map(|unit| unit.text).collect()))
            .collect()
    }

    fn part(level: u8, heading: &str, units: &[&str]) -> (u8, String, Vec<String>) {
        (level, heading.to_owned(), units.iter().map(|unit| (*unit).to_owned()).collect())
    }

    #[test]
    fn headings_of_both_kinds_items_and_paragraphs() {
        let notes = "before\n# A\n- one\n  goes on\n- two\n    1. three\n\nA paragraph\non two lines.\n\nB\n---\n> quoted\n* * *\n## \nend";
        let expected = [
            part(0, "", &["before"]),
            part(1, "A", &["one goes on", "two", "three", "A paragraph on two lines."]),
            part(2, "B", &["quoted", "end"]),
        ];
        assert_eq!(shown(notes), expected);
    }

    #[test]
    fn blocks_are_kept_and_hide_what_is_in_them() {
        let notes = "# A\n```sh\n# no heading\n\n- no item\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n[x]: https://x.org\n<!-- # hidden\n- too --> shown\n~~~\nopen";
        let expected = [
            part(0, "", &[]),
            part(
                1,
                "A",
                &[
                    "```sh\n# no heading\n\n- no item\n```",
                    "| a | b |\n|---|---|\n| 1 | 2 |",
                    "[x]: https://x.org",
                    "shown",
                    "~~~\nopen\n~~~",
                ],
            ),
        ];
        assert_eq!(shown(notes), expected);
    }

    #[test]
    fn boxes_say_what_is_to_do() {
        let parts = read("- [ ] ask Ada\n- [x] ask Bo");
        let units: Vec<_> = parts[0].units.iter().map(|unit| (unit.text.as_str(), unit.to_do)).collect();
        assert_eq!(units, [("ask Ada", true), ("ask Bo", false)]);
    }

    #[test]
    fn front_matter_gives_a_title_and_is_no_claim() {
        let notes = "---\ntitle: \"Tides\"\ntags:\n  - sea\n---\ntext";
        assert_eq!(front_title(notes), Some("Tides"));
        assert_eq!(shown(notes), [part(0, "", &["text"])]);
        assert_eq!(shown("---\ntext without an end")[0].2, ["text without an end"]);
    }
}
