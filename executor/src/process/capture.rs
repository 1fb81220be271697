//! What is kept of an output: all of it up to a limit, or its head and tail.

use std::collections::VecDeque;

/// The first and the last bytes of an output; the middle is counted and let go.
#[derive(Clone, Debug)]
pub struct HeadTail {
    head_room: usize,
    tail_room: usize,
    /// Whether all of it is wanted: then the first byte too many ends the program.
    whole: bool,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    lost: u64,
}

impl HeadTail {
    /// Keeps up to `each` bytes at either end.
    pub fn new(each: usize) -> Self {
        Self::with_room(each, each, false)
    }

    /// Keeps up to `most` bytes in all: the first half and the last half of what is more.
    pub fn ends(most: usize) -> Self {
        Self::with_room(most - most / 2, most / 2, false)
    }

    /// Keeps all of up to `most` bytes: a program that writes more is ended.
    pub fn whole(most: usize) -> Self {
        Self::with_room(most, 0, true)
    }

    fn with_room(head_room: usize, tail_room: usize, whole: bool) -> Self {
        Self { head_room, tail_room, whole, head: Vec::new(), tail: VecDeque::new(), lost: 0 }
    }

    /// The ends of an output that is there as a whole.
    pub fn of(bytes: &[u8], each: usize) -> Self {
        let mut kept = Self::new(each);
        kept.push(bytes);
        kept
    }

    /// Takes in what came.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.head_room.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of what comes at once, only the last bytes can stay.
        let skipped = rest.len().saturating_sub(self.tail_room);
        let over = (self.tail.len() + rest.len() - skipped).saturating_sub(self.tail_room);
        self.tail.drain(..over);
        self.tail.extend(&rest[skipped..]);
        self.lost += (skipped + over) as u64;
    }

    /// Whether more came than is taken.
    pub(super) fn overflowed(&self) -> bool {
        self.whole && self.lost > 0
    }

    /// How many bytes were let go.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What was kept; the two ends side by side where something is missing.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        bytes.extend(self.tail);
        bytes
    }

    /// What was kept, as text, with a line where something is missing, and how many bytes are. A character that was cut
    /// in two is left out.
    ///
    /// # Errors
    /// When it is not UTF-8: the position of the first byte that is not, if that is in the part before what is missing.
    pub fn into_text(self) -> Result<(String, u64), NotText> {
        if self.lost == 0 {
            let text = String::from_utf8(self.into_bytes());
            return text
                .map(|text| (text, 0))
                .map_err(|error| NotText(Some(error.utf8_error().valid_up_to())));
        }
        let tail = Vec::from(self.tail);
        let head = match std::str::from_utf8(&self.head) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&self.head[..error.valid_up_to()]).map_err(|_| NotText(None))?
            }
            Err(error) => return Err(NotText(Some(error.valid_up_to()))),
        };
        // At most three bytes of a character can stand before the next one.
        let start = tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let tail = std::str::from_utf8(&tail[start..]).map_err(|_| NotText(None))?;
        let cut = self.head.len() - head.len() + start;
        let lost = self.lost + cut as u64;
        Ok((format!("{head}{}{tail}", gap(lost)), lost))
    }

    /// What was kept, with a line where something is missing. What is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.lost > 0 {
            bytes.extend_from_slice(gap(self.lost).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines, for a message.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 12;
        const CHARS: usize = 1_500;
        let text = self.text();
        let text = text.trim_end();
        let start = text.rmatch_indices('\n').nth(LINES - 1).map_or(0, |(at, _)| at + 1);
        let lines = &text[start..];
        let skip = lines.chars().count().saturating_sub(CHARS);
        lines.chars().skip(skip).collect()
    }
}

/// What stands where bytes are missing.
fn gap(lost: u64) -> String {
    format!("\n… {lost} bytes left out …\n")
}

/// An output that is not UTF-8, from this byte on where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText(pub Option<usize>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_output_is_kept_whole() {
        let mut kept = HeadTail::new(4);
        for byte in b"abcdefgh" {
            kept.push(&[*byte]);
        }
        assert_eq!(kept.text(), "abcdefgh");
    }

    #[test]
    fn of_a_long_one_both_ends_are_kept_and_the_rest_is_counted() {
        for chunk in [1, 3, 5, 1_000] {
            let mut kept = HeadTail::new(4);
            let all: Vec<u8> = (0..100).map(|n| b'a' + n % 26).collect();
            for part in all.chunks(chunk) {
                kept.push(part);
            }
            assert_eq!(kept.text(), "abcd\n… 92 bytes left out …\nstuv", "chunks of {chunk}");
        }
    }

    #[test]
    fn a_message_shows_the_last_lines_only() {
        let text: Vec<_> = (0..100).map(|n| format!("line {n}")).collect();
        let text = text.join("\n");
        let kept = HeadTail::of(text.as_bytes(), 64 << 10);
        assert!(kept.last_lines().starts_with("line 88\n") && kept.last_lines().ends_with("line 99"));
        let wide = HeadTail::of("ü".repeat(9_000).as_bytes(), 64 << 10);
        assert_eq!(wide.last_lines().chars().count(), 1_500);
        assert_eq!(HeadTail::new(4).last_lines(), "");
    }

    #[test]
    fn what_is_not_utf_8_is_replaced() {
        assert_eq!(HeadTail::of(b"a\xffb", 4).text(), "a\u{fffd}b");
    }

    fn text(bytes: &[u8], most: usize) -> Result<(String, u64), NotText> {
        let mut kept = HeadTail::ends(most);
        kept.push(bytes);
        kept.into_text()
    }

    #[test]
    fn as_exact_text_it_is_whole_characters_or_nothing() {
        assert_eq!(text("für".as_bytes(), 9), Ok(("für".to_owned(), 0)));
        assert_eq!(text(b"ab\xffcd", 9), Err(NotText(Some(2))));
        // Of `ü`, one byte was kept at either end.
        let cut = ["aü", &"x".repeat(20), "üb"].concat();
        assert_eq!(text(cut.as_bytes(), 4), Ok(("a\n… 24 bytes left out …\nb".to_owned(), 24)));
        assert_eq!(text(b"a\xffbcdefghij", 4), Err(NotText(Some(1))));
        assert_eq!(text(b"abcdefghij\xffb", 4), Err(NotText(None)));
    }

    #[test]
    fn one_byte_too_many_is_too_many_only_where_all_is_wanted() {
        let full = |mut kept: HeadTail| {
            kept.push(b"abcd");
            assert!(!kept.overflowed() && kept.lost() == 0);
            kept.push(b"e");
            (kept.overflowed(), kept.lost(), kept.into_bytes())
        };
        assert_eq!(full(HeadTail::whole(4)), (true, 1, b"abcd".to_vec()));
        assert_eq!(full(HeadTail::ends(4)), (false, 1, b"abde".to_vec()));
    }
}
