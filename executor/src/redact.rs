//! Redaction: secrets are replaced before anything is stored, logged or handed on.

/// What stands in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Texts that must not be seen.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first, so that of two that begin alike the longer one is replaced as a whole.
    texts: Vec<Vec<u8>>,
}

impl Secrets {
    /// These texts; empty ones are none.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<_> =
            texts.into_iter().map(String::into_bytes).filter(|text| !text.is_empty()).collect();
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        Self { texts }
    }

    /// The text with every secret replaced.
    pub fn redacted(&self, text: &str) -> String {
        let mut clean = Vec::with_capacity(text.len());
        self.stream().feed(text.as_bytes(), true, |bytes| clean.extend_from_slice(bytes));
        // Whole characters are replaced by whole characters.
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// Redacts what comes piece by piece.
    pub(crate) fn stream(&self) -> Redacting<'_> {
        Redacting { secrets: self, held: Vec::new() }
    }

    fn longest(&self) -> usize {
        self.texts.first().map_or(0, Vec::len)
    }

    /// The length of the secret that `bytes` begin with.
    fn at(&self, bytes: &[u8]) -> Option<usize> {
        self.texts.iter().find(|secret| bytes.starts_with(secret)).map(Vec::len)
    }
}

impl std::fmt::Debug for Secrets {
    /// Only how many.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.texts.len())
    }
}

/// Holds back what may be the beginning of a secret until it is known.
pub(crate) struct Redacting<'a> {
    secrets: &'a Secrets,
    held: Vec<u8>,
}

impl Redacting<'_> {
    /// Takes in some bytes, the last ones or not, and gives out those that are known to be clean.
    pub(crate) fn feed(&mut self, bytes: &[u8], last: bool, mut out: impl FnMut(&[u8])) {
        let longest = self.secrets.longest();
        if longest == 0 {
            return out(bytes);
        }
        self.held.extend_from_slice(bytes);
        let all = &self.held;
        let (mut clean, mut at) = (0, 0);
        while at < all.len() && (last || all.len() - at >= longest) {
            match self.secrets.at(&all[at..]) {
                Some(length) => {
                    out(&all[clean..at]);
                    out(REDACTED.as_bytes());
                    at += length;
                    clean = at;
                }
                None => at += 1,
            }
        }
        out(&all[clean..at]);
        self.held.drain(..at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        Secrets::new(texts.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn every_secret_is_replaced_and_the_longer_one_first() {
        let secrets = secrets(&["key", "", "key-long", "ü"]);
        assert_eq!(
            secrets.redacted("a key-long, akeykey, für"),
            "a [redacted], a[redacted][redacted], f[redacted]r"
        );
        assert_eq!(Secrets::default().redacted("as it is"), "as it is");
        assert!(!format!("{secrets:?}").contains("key"));
    }

    #[test]
    fn a_secret_that_comes_in_pieces_is_replaced_all_the_same() {
        let secrets = secrets(&["hunter2", "hunter"]);
        let text = b"xhunthunter2 and hunter1 hunter";
        for size in 1..=text.len() {
            let (mut stream, mut clean) = (secrets.stream(), Vec::new());
            for piece in text.chunks(size) {
                stream.feed(piece, false, |bytes| clean.extend_from_slice(bytes));
            }
            stream.feed(b"", true, |bytes| clean.extend_from_slice(bytes));
            let clean = String::from_utf8(clean).unwrap();
            assert_eq!(clean, "xhunt[redacted] and [redacted]1 [redacted]", "pieces of {size}");
        }
    }
}
