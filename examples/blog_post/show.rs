//! A value for a person's eyes: names and texts, indented, and not too much of it.

use serde_json::Value;

const LINES: usize = 80;
const COLUMNS: usize = 160;

/// The value in lines.
pub(crate) fn lines(value: &Value) -> Vec<String> {
    let mut all = Lines { lines: Vec::new(), left_out: 0 };
    all.value("", value, 0);
    if all.left_out > 0 {
        all.lines.push(format!("… and {} more lines", all.left_out));
    }
    all.lines
}

struct Lines {
    lines: Vec<String>,
    left_out: usize,
}

impl Lines {
    fn value(&mut self, label: &str, value: &Value, depth: usize) {
        let under = if label.is_empty() { depth } else { depth + 1 };
        match value {
            Value::Object(fields) => {
                self.label(label, depth);
                for (name, field) in fields {
                    self.value(name, field, under);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{label} {}", index + 1), item, depth);
                }
            }
            Value::Array(items) => {
                self.label(label, depth);
                for item in items {
                    self.text("- ", item, under);
                }
            }
            Value::String(text) if text.contains('\n') => {
                self.label(label, depth);
                self.text("", value, under);
            }
            _ if label.is_empty() => self.text("", value, depth),
            _ => self.text(&format!("{label}: "), value, depth),
        }
    }

    fn label(&mut self, label: &str, depth: usize) {
        if !label.is_empty() {
            self.line(&format!("{}:", label.trim()), depth);
        }
    }

    fn text(&mut self, before: &str, value: &Value, depth: usize) {
        match value {
            Value::String(text) if text.is_empty() => self.line(&format!("{before}(empty)"), depth),
            Value::String(text) => text.lines().for_each(|line| self.line(&format!("{before}{line}"), depth)),
            other => self.line(&format!("{before}{other}"), depth),
        }
    }

    fn line(&mut self, text: &str, depth: usize) {
        if self.lines.len() == LINES {
            self.left_out += 1;
            return;
        }
        let cut = text.char_indices().nth(COLUMNS).map_or(text.len(), |(at, _)| at);
        let more = if cut < text.len() { "…" } else { "" };
        // Control characters would act on the terminal.
        let safe: String = text[..cut].chars().filter(|c| !c.is_control()).collect();
        self.lines.push(format!("{}{safe}{more}", "  ".repeat(depth)).trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_texts_are_indented() {
        let value =
            json!({"body": "# A\n\ntext", "list": ["x", "y"], "n": 1, "parts": [{"a": "b"}, {"a": ""}]});
        let expected = [
            "body:",
            "  # A",
            "",
            "  text",
            "list:",
            "  - x",
            "  - y",
            "n: 1",
            "parts 1:",
            "  a: b",
            "parts 2:",
            "  a: (empty)",
        ];
        assert_eq!(lines(&value), expected);
        assert_eq!(lines(&json!("one")), ["one"]);
    }

    #[test]
    fn a_long_value_is_cut_and_nothing_acts_on_the_terminal() {
        let shown = lines(&json!(vec!["\u{1b}[2Jx".repeat(500); 200]));
        assert_eq!(shown.len(), LINES + 1);
        assert!(shown[0].chars().count() <= COLUMNS + 1 && !shown[0].contains('\u{1b}'));
        assert_eq!(shown[LINES], "… and 120 more lines");
    }
}
