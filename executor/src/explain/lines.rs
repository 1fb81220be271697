//! Lines of text, cut where they are very long: with what was left out, and around what differs.

use hermes_core::compare::printable;
use std::iter::zip;

/// Characters shown of one line.
const CHARACTERS: usize = 1000;
/// Characters shown before the first one that differs.
const BEFORE: usize = 100;

/// One line of text, cut where it is very long.
pub(super) fn line(text: &str) -> String {
    window(text, 0)
}

/// The lines of a unified diff. Where a very long line has another one in its place, both are cut around what differs.
pub(super) fn diff_lines(unified: &str) -> Vec<String> {
    let lines: Vec<&str> = unified.lines().collect();
    let mut begins = vec![0; lines.len()];
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        match line.chars().next() {
            Some('-') if new.is_empty() => old.push(at),
            Some('-') => {
                pair(&lines, &mut begins, &mut old, &mut new);
                old.push(at);
            }
            Some('+') => new.push(at),
            // It says that the line before has no line break.
            Some('\\') => {}
            _ => pair(&lines, &mut begins, &mut old, &mut new),
        }
    }
    pair(&lines, &mut begins, &mut old, &mut new);
    let shown = zip(lines, begins).map(|(line, begin)| match line.char_indices().nth(1) {
        Some((mark, _)) => format!("{}{}", &line[..mark], window(&line[mark..], begin)),
        None => line.to_owned(),
    });
    shown.collect()
}

/// Notes from where on lines that stand in each other's places are shown.
fn pair(lines: &[&str], begins: &mut [usize], old: &mut Vec<usize>, new: &mut Vec<usize>) {
    for (old, new) in zip(old.drain(..), new.drain(..)) {
        let texts = zip(lines[old].chars().skip(1), lines[new].chars().skip(1));
        let same = texts.take_while(|(old, new)| old == new).count();
        begins[old] = same.saturating_sub(BEFORE);
        begins[new] = begins[old];
    }
}

/// A line from its character `begin` on, where it is too long to be shown whole.
fn window(text: &str, begin: usize) -> String {
    let count = text.chars().count();
    if count <= CHARACTERS {
        return printable(text).replace('\n', "\\n");
    }
    let shown: String = text.chars().skip(begin).take(CHARACTERS).collect();
    let shown = printable(&shown).replace('\n', "\\n");
    let before = if begin == 0 { String::new() } else { format!("({begin} characters) …") };
    match count.saturating_sub(begin + CHARACTERS) {
        0 => format!("{before}{shown}"),
        after => format!("{before}{shown}… and {after} more characters"),
    }
}
