//! Digests: what a module is known by.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What the digest of a packed module begins with, so that it is never that of something else.
const DOMAIN: &[u8] = b"tidegate-module-1";

/// A SHA-256 digest; shown as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a file's bytes, as `sha256sum` prints it.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a packed module: its engine, whether it is held in shadow, and its document.
    pub fn of_module(engine: &Self, shadow: bool, document: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(engine.0);
        hash.update([u8::from(shadow)]);
        hash.update(document);
        Self(hash.finalize().into())
    }

    /// The first eight bytes as one number, the first byte first: what the module says of itself in metrics.
    pub fn id(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// The first 16 hex digits.
    pub fn short(&self) -> String {
        format!("{:016x}", self.id())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const WRONG: &str = "a digest is 64 hex digits in lower case";
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(WRONG);
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| WRONG)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| WRONG)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn a_digest_reads_as_it_was_written() {
        let digest = Digest::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.to_string(), text);
        assert_eq!(Digest::try_from(text.to_owned()), Ok(digest));
        assert_eq!(digest.short(), "ba7816bf8f01cfea");
        for wrong in ["", "ba78", &text.to_uppercase(), &text.replace('b', "g")] {
            assert!(Digest::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn engine_mode_and_document_each_change_the_digest_of_a_module() {
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        let digests = [
            Digest::of_module(&one, false, b"d"),
            Digest::of_module(&two, false, b"d"),
            Digest::of_module(&one, true, b"d"),
            Digest::of_module(&one, false, b"e"),
        ];
        for (index, digest) in digests.iter().enumerate() {
            assert!(!digests[..index].contains(digest), "{index}");
        }
    }
}
