//! What a line of Markdown is. One line at a time, no state, no copies.

/// A heading written with `#`: its level and text.
pub(super) fn heading(line: &str) -> Option<(u8, &str)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let rest = text.trim_start_matches('#');
    let level = u8::try_from(text.len() - rest.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim();
    // `## Heading ##`: the closing marks are none of the text, unless they stick to a word.
    let open = rest.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { rest };
    Some((level, text))
}

/// The line under a heading written with `===` or `---`: its level.
pub(super) fn underline(line: &str) -> Option<u8> {
    let line = line.trim();
    match line.as_bytes() {
        [b'=', ..] if line.bytes().all(|byte| byte == b'=') => Some(1),
        [b'-', b'-', ..] if line.bytes().all(|byte| byte == b'-') => Some(2),
        _ => None,
    }
}

/// A line across the page.
pub(super) fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(first) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    let mut count = 1;
    for mark in marks {
        if mark != first {
            return false;
        }
        count += 1;
    }
    count >= 3
}

/// The beginning or end of a block of code: its mark and their number.
pub(super) fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.len() - line.trim_start_matches(mark).len();
    let one_line = mark == '`' && line[count..].contains('`');
    (count >= 3 && !one_line).then_some((mark, count))
}

/// Whether the line ends a block of code that began with `count` marks.
pub(super) fn closes(line: &str, mark: char, count: usize) -> bool {
    let line = line.trim();
    line.len() >= count && line.chars().all(|c| c == mark)
}

/// What follows the mark of a list item.
pub(super) fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let after_mark = match line.as_bytes() {
        [b'-' | b'*' | b'+', ..] => &line[1..],
        [b'0'..=b'9', ..] => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            if line.len() - rest.len() > 9 {
                return None;
            }
            rest.strip_prefix(['.', ')'])?
        }
        _ => return None,
    };
    let text = after_mark.trim_start();
    (text.len() < after_mark.len() || text.is_empty()).then_some(text)
}

/// The text of an item with a box, and whether the box is ticked.
pub(super) fn boxed(item: &str) -> Option<(bool, &str)> {
    let open = item.strip_prefix("[ ] ").map(|text| (false, text));
    let done = || item.strip_prefix("[x] ").or_else(|| item.strip_prefix("[X] ")).map(|text| (true, text));
    open.or_else(done).map(|(done, text)| (done, text.trim()))
}

/// The line without the marks of a quotation.
pub(super) fn unquoted(mut line: &str) -> &str {
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Whether it is a line of a table.
pub(super) fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|') && line.ends_with('|')
}

/// Whether it defines a link or a footnote: `[name]: target`.
pub(super) fn is_definition(line: &str) -> bool {
    let name = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    name.is_some_and(|(name, target)| !name.is_empty() && !name.contains(']') && !target.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings() {
        assert_eq!(heading("## Two words ##"), Some((2, "Two words")));
        assert_eq!(heading("# C#"), Some((1, "C#")));
        assert_eq!(heading("#"), Some((1, "")));
        for none in ["#hashtag", "####### seven", "    # code", "text # x"] {
            assert_eq!(heading(none), None, "{none}");
        }
        assert_eq!(
            (underline("==="), underline(" --- "), underline("-"), underline("-=-")),
            (Some(1), Some(2), None, None)
        );
    }

    #[test]
    fn items_and_rules() {
        for (line, text) in [("- a", "a"), ("  * b", "b"), ("12) c", "c"), ("3. d", "d"), ("-", "")] {
            assert_eq!(item(line), Some(text), "{line}");
        }
        for none in ["-a", "2015 was", "1.5 m", "*stressed* word", "1234567890. x"] {
            assert_eq!(item(none), None, "{none}");
        }
        assert_eq!(
            (boxed("[ ] later"), boxed("[x] done"), boxed("[y] no")),
            (Some((false, "later")), Some((true, "done")), None)
        );
        assert!(is_rule("* * *") && is_rule("---") && !is_rule("--") && !is_rule("-- -x"));
    }

    #[test]
    fn blocks() {
        assert_eq!(fence("  ```rust"), Some(('`', 3)));
        assert_eq!(fence("```inline``` code"), None);
        assert!(closes("~~~~", '~', 3) && !closes("~~", '~', 3) && !closes("~~~ x", '~', 3));
        assert_eq!(unquoted("> > deep"), "deep");
        assert!(is_row("| a | b |") && !is_row("|x"));
        assert!(
            is_definition("[1]: https://x.org") && is_definition("[^n]: text") && !is_definition("[a] b")
        );
    }
}
