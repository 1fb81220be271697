//! A question in the terminal: what is shown, what can be typed, and the answer it makes.

use crate::show;
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};

/// A question as the terminal needs it.
pub(crate) struct Question<'a> {
    pub(crate) path: &'a str,
    pub(crate) title: &'a str,
    /// What the person is shown, by name.
    pub(crate) shown: &'a [(String, Value)],
    /// What can be chosen from, where the answer is a choice.
    pub(crate) choices: Option<&'a [Value]>,
}

/// Asks; `None` means that the person stops here.
///
/// # Errors
/// When the terminal is gone.
pub(crate) fn ask(
    question: &Question,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> io::Result<Option<Value>> {
    writeln!(out, "\n{} ({})", question.title, question.path)?;
    match question.choices {
        Some(choices) => choose(choices, input, out),
        None => review(question, input, out),
    }
}

fn choose(choices: &[Value], input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Option<Value>> {
    for (index, choice) in choices.iter().enumerate() {
        writeln!(out, "  {}. {}", index + 1, show::lines(choice).join(" "))?;
    }
    loop {
        let Some(typed) = read(&format!("1 to {}, or q to stop: ", choices.len()), input, out)? else {
            return Ok(None);
        };
        let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match number.and_then(|index| choices.get(index)) {
            Some(choice) => return Ok(Some(choice.clone())),
            None => writeln!(out, "There is no choice `{typed}`.")?,
        }
    }
}

fn review(question: &Question, input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Option<Value>> {
    for (_, value) in question.shown {
        for line in show::lines(value) {
            writeln!(out, "  {line}")?;
        }
    }
    loop {
        let prompt = "a to approve, c to request changes, e to edit, q to stop: ";
        let Some(typed) = read(prompt, input, out)? else { return Ok(None) };
        match typed.to_lowercase().as_str() {
            "a" | "approve" => return Ok(Some(json!({"decision": "approve"}))),
            "c" | "changes" => {
                if let Some(feedback) = read("What should be different? ", input, out)? {
                    return Ok(Some(json!({"decision": "request_changes", "feedback": feedback})));
                }
                return Ok(None);
            }
            "e" | "edit" => {
                let Some(text) = read("The whole value, as JSON on one line: ", input, out)? else {
                    return Ok(None);
                };
                match serde_json::from_str::<Value>(&text) {
                    Ok(value) => return Ok(Some(json!({"decision": "edit", "value": value}))),
                    Err(error) => writeln!(out, "That is not JSON: {error}.")?,
                }
            }
            _ => writeln!(out, "`{typed}` is none of these.")?,
        }
    }
}

/// A line that is not blank; `None` for `q` and for the end of the input.
fn read(prompt: &str, input: &mut impl BufRead, out: &mut impl Write) -> io::Result<Option<String>> {
    loop {
        write!(out, "{prompt}")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(None);
        }
        match line.trim() {
            "" => {}
            "q" => return Ok(None),
            typed => return Ok(Some(typed.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(choices: Option<&[Value]>, typed: &str) -> (Option<Value>, String) {
        let shown = [("value".to_owned(), json!(["x"]))];
        let question = Question { path: "review[1]", title: "Look", shown: &shown, choices };
        let mut out = Vec::new();
        let answer = ask(&question, &mut typed.as_bytes(), &mut out).unwrap();
        (answer, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_review_is_approved_changed_or_edited() {
        assert_eq!(asked(None, "a\n").0, Some(json!({"decision": "approve"})));
        assert_eq!(
            asked(None, "x\n\nc\n\nmore\n").0,
            Some(json!({"decision": "request_changes", "feedback": "more"}))
        );
        assert_eq!(asked(None, "e\n[\ne\n[1]\n").0, Some(json!({"decision": "edit", "value": [1]})));
        assert_eq!((asked(None, "q\n").0, asked(None, "").0, asked(None, "c\n").0), (None, None, None));
        assert!(asked(None, "").1.contains("Look (review[1])\n  - x\n"));
    }

    #[test]
    fn a_choice_is_a_number() {
        let choices = [json!("one"), json!("two")];
        let (answer, out) = asked(Some(&choices), "0\n3\n2\n");
        assert_eq!(answer, Some(json!("two")));
        assert!(out.contains("  1. one\n  2. two\n1 to 2, or q to stop: There is no choice `0`."), "{out}");
    }
}
