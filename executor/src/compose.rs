//! How prompt and inputs become the text that is sent: a versioned form, part of the fingerprint.

use std::fmt::Write as _;

/// The version of the form below.
pub(crate) const COMPOSITION: u32 = 1;

/// With a text prompt each input follows as a named, fenced JSON block, in order. The fence is longer than any run of
/// backticks in the value, so that no value can end its own block.
pub(crate) fn with_inputs<'a>(prompt: &str, inputs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = prompt.trim_end().to_owned();
    for (name, json) in inputs {
        let fence = "`".repeat((longest_run(json) + 1).max(3));
        // Writing to a String cannot fail.
        let _ = write!(text, "\n\n{name}:\n{fence}json\n{json}\n{fence}");
    }
    text
}

/// What is sent when an answer was refused.
pub(crate) fn feedback(violations: &[String]) -> String {
    let mut text = "Your answer cannot be accepted:\n".to_owned();
    for violation in violations {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n- {violation}");
    }
    text.push_str("\n\nMend this, and give the whole answer again, in the form that was asked for.");
    text
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_names_everything_that_is_wrong() {
        assert_eq!(
            feedback(&["at /a: too long".to_owned(), "no title".to_owned()]),
            "Your answer cannot be accepted:\n\n- at /a: too long\n- no title\n\nMend this, and give the whole answer again, \
             in the form that was asked for."
        );
    }

    #[test]
    fn inputs_follow_the_prompt_in_order_and_cannot_break_out() {
        let text = with_inputs("Do it.\n", [("a", "1"), ("b", "\"```\\n````\"")].into_iter());
        assert_eq!(text, "Do it.\n\na:\n```json\n1\n```\n\nb:\n`````json\n\"```\\n````\"\n`````");
    }
}
