//! Reading the notes: any UTF-8 text, with either kind of line ends, with or without a byte order mark.

use std::{fs, io, path::Path};

/// Reads the notes, as lines that end in `\n`.
///
/// # Errors
/// Says what is wrong with the file, and what to do.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no notes file {shown}; give the path of a Markdown file")
        }
        io::ErrorKind::IsADirectory => {
            format!("the notes file {shown} is a directory; give the path of a file in it")
        }
        _ => format!("the notes file {shown} cannot be read: {error}"),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        format!("the notes file {shown} is not UTF-8, from byte {at} (line {line}) on; save it as UTF-8")
    })?;
    let text = tidy(text);
    if text.trim().is_empty() {
        return Err(format!("the notes file {shown} is empty; there is nothing to write about"));
    }
    Ok(text)
}

fn tidy(text: String) -> String {
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_bytes(bytes: &[u8]) -> Result<String, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        read(file.path())
    }

    #[test]
    fn marks_and_line_ends_are_made_one() {
        assert_eq!(read_bytes(b"\xef\xbb\xbf# A\r\n- b\r\nc\rd").unwrap(), "# A\n- b\nc\nd");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bytes, word) in
            [(&b""[..], "empty"), (b"\xef\xbb\xbf \r\n", "empty"), (b"a\nb\xff", "byte 3 (line 2)")]
        {
            let error = read_bytes(bytes).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let directory = tempfile::tempdir().unwrap();
        assert!(read(directory.path()).unwrap_err().contains("is a directory"));
        assert!(read(&directory.path().join("none.md")).unwrap_err().contains("there is no notes file"));
    }
}
