//! One request of a log or of a generated load, as flat as it can be: its values in one buffer that is used again.

use smallvec::SmallVec;

/// Where a value lies in the buffer; empty: there is none.
type Span = (u32, u32);

/// A request: when it came, how it was answered, and the values of its fields by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// The status that it was answered with; 0 if that is not known.
    pub(crate) status: u16,
    bytes: Vec<u8>,
    /// Beside the record itself: a log holds thousands back, and each place in memory is a wait.
    spans: SmallVec<[Span; 12]>,
}

/// Where the values of a record's fields lie.
pub(crate) struct Pointers<'a>(&'a mut [Span]);

impl Record {
    /// Makes room for the values of this many fields, all absent.
    pub(crate) fn clear(&mut self, fields: usize) {
        self.time = 0;
        self.status = 0;
        self.bytes.clear();
        if self.spans.len() == fields {
            self.spans.fill((0, 0));
        } else {
            self.spans.clear();
            self.spans.resize(fields, (0, 0));
        }
    }

    /// As [`Record::clear`], and keeps `bytes`: values that lie in them are pointed to, and not copied one by one.
    pub(crate) fn hold(&mut self, fields: usize, bytes: &[u8]) -> Pointers<'_> {
        self.clear(fields);
        self.bytes.extend_from_slice(bytes);
        Pointers(&mut self.spans)
    }

    /// Sets a field. What is empty, or the `-` of text logs, is absent.
    pub(crate) fn set(&mut self, field: usize, value: &[u8]) {
        let start = self.bytes.len();
        if value != b"-" {
            self.bytes.extend_from_slice(value);
        }
        if let Some(span) = self.spans.get_mut(field) {
            *span = (narrow(start), narrow(self.bytes.len()));
        }
    }

    /// The value of a field; empty if it is absent.
    #[inline]
    pub(crate) fn get(&self, field: usize) -> &[u8] {
        let (start, end) = self.spans.get(field).copied().unwrap_or_default();
        // Widening: both are at most 32 bits.
        self.bytes
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// Which fields have values, in their order.
    #[inline]
    pub(crate) fn present(&self) -> impl Iterator<Item = bool> {
        self.spans.iter().map(|(start, end)| start < end)
    }

    /// The value of a field that the log may not have.
    #[inline]
    pub(crate) fn find(&self, field: Option<usize>) -> &[u8] {
        field.map_or(&[], |field| self.get(field))
    }
}

impl Pointers<'_> {
    /// Sets a field to `value`, which lies here in the bytes that are held. The `-` of text logs is absent.
    #[inline]
    pub(crate) fn set(&mut self, field: usize, value: &[u8], start: usize) {
        if let Some(span) = self.0.get_mut(field)
            && value != b"-"
        {
            *span = (narrow(start), narrow(start.saturating_add(value.len())));
        }
    }
}

/// Lines are far shorter than that.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
