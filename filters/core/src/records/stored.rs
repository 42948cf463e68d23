//! A stored answer: the origin's status, header lines and body, byte for byte.
//!
//! ```text
//! format: u8 = 1 | owner 16 | status u16 | lines u32 | (name's length u32 | value's length u32 | name | value)* | body
//! ```

use super::record::Owner;

/// The format of a stored answer.
const FORMAT: u8 = 1;

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Which execution it came from.
    pub owner: Owner,
    /// The status.
    pub status: u16,
    /// The header lines, in order.
    pub headers: Vec<(&'a [u8], &'a [u8])>,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Stored<'a> {
    /// As bytes; `None` if it has more or longer lines than a length can say.
    pub fn write(&self) -> Option<Vec<u8>> {
        let lines = self
            .headers
            .iter()
            .map(|(name, value)| name.len().saturating_add(value.len()).saturating_add(8));
        let length = lines.fold(self.body.len().saturating_add(32), usize::saturating_add);
        let mut bytes = Vec::with_capacity(length);
        let number = |number: usize| u32::try_from(number).ok().map(u32::to_le_bytes);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.owner.0);
        bytes.extend_from_slice(&self.status.to_le_bytes());
        bytes.extend_from_slice(&number(self.headers.len())?);
        for (name, value) in &self.headers {
            bytes.extend_from_slice(&number(name.len())?);
            bytes.extend_from_slice(&number(value.len())?);
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(value);
        }
        bytes.extend_from_slice(self.body);
        Some(bytes)
    }

    /// The answer that these bytes are; `None` if they are none.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let ([format], rest) = bytes.split_first_chunk::<1>()?;
        let (owner, rest) = rest.split_first_chunk::<{ Owner::LEN }>()?;
        let (status, rest) = rest.split_first_chunk::<2>()?;
        let (count, mut rest) = number(rest)?;
        if *format != FORMAT {
            return None;
        }
        let mut headers = Vec::new();
        // Each turn takes eight bytes at least, so a count that is too large ends it.
        for _ in 0..count {
            let (name, after) = number(rest)?;
            let (value, after) = number(after)?;
            let (name, after) = after.split_at_checked(name)?;
            let (value, after) = after.split_at_checked(value)?;
            headers.push((name, value));
            rest = after;
        }
        Some(Self {
            owner: Owner(*owner),
            status: u16::from_le_bytes(*status),
            headers,
            body: rest,
        })
    }
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}
