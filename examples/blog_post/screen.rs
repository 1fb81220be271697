//! Lines on standard output: each is there at once, also in a pipe. A reader who has gone away stops nothing.

use std::io::{self, Write};

/// Writes a line.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    // The work goes on without a reader.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// What a person can paste into a shell and get `text` as one argument.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_quoted_text_is_one_argument() {
        let text = "polish[a]={\"feedback\":\"it's $HOME\"}";
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", super::quoted(text))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
    }
}
