//! The line of a template on which a variable is read: for people, so the first that looks like it will do.

/// The first line, from 1, that has `variable` as a word between braces.
pub(super) fn line_of(source: &str, variable: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(open) = next(source, from, &["{{", "{%", "{#"]) {
        let is_comment = source[open..].starts_with("{#");
        let start = open + 2;
        let end =
            next(source, start, if is_comment { &["#}"] } else { &["}}", "%}"] }).unwrap_or(source.len());
        if !is_comment && let Some(at) = word_in(&source[start..end], variable) {
            return Some(source[..start + at].matches('\n').count() + 1);
        }
        from = end;
    }
    None
}

fn next(source: &str, from: usize, marks: &[&str]) -> Option<usize> {
    let rest = source.get(from..)?;
    marks.iter().filter_map(|mark| rest.find(mark)).min().map(|at| from + at)
}

/// Where `word` stands by itself, not as a part of a longer name or path.
fn word_in(text: &str, word: &str) -> Option<usize> {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(|c| in_name(c) || c == '.') && !after.is_some_and(in_name)
    })
}
