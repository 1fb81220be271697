//! What is kept of an output: all of it up to a limit, or its head and tail.

use std::collections::VecDeque;

/// The first and the last bytes of an output; the middle is counted and let go.
#[derive(Debug)]
pub(super) struct HeadTail {
    each: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    lost: u64,
}

impl HeadTail {
    /// Keeps up to `each` bytes at either end.
    pub(super) fn new(each: usize) -> Self {
        Self { each, head: Vec::new(), tail: VecDeque::new(), lost: 0 }
    }

    /// The ends of an output that is there as a whole.
    pub(super) fn of(bytes: &[u8], each: usize) -> Self {
        let mut kept = Self::new(each);
        kept.push(bytes);
        kept
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.each.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of what comes at once, only the last bytes can stay.
        let skipped = rest.len().saturating_sub(self.each);
        let over = (self.tail.len() + rest.len() - skipped).saturating_sub(self.each);
        self.tail.drain(..over);
        self.tail.extend(&rest[skipped..]);
        self.lost += (skipped + over) as u64;
    }

    /// What was kept, with a line where something is missing. What is not UTF-8 is replaced.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.lost > 0 {
            bytes.extend_from_slice(format!("\n… {} bytes left out …\n", self.lost).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines, for a message.
    pub(super) fn last_lines(&self) -> String {
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
}
