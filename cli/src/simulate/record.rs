//! One request of a log or of a generated load, as flat as it can be: its values in one buffer that is used again.

use std::ops::Range;

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

impl Record {
    /// Makes room for the values of this many fields, all absent.
    pub(crate) fn clear(&mut self, fields: usize) {
        self.time = 0;
        self.status = 0;
        self.bytes.clear();
        self.spans.clear();
        self.spans.resize(fields, (0, 0));
    }

    /// As [`Record::clear`], and keeps `bytes`: values that lie in them are set by [`Record::point`], and not copied one by one.
    pub(crate) fn hold(&mut self, fields: usize, bytes: &[u8]) {
        self.clear(fields);
        self.bytes.extend_from_slice(bytes);
    }

    /// Sets a field to what lies at this place of the bytes that are held. The `-` of text logs is absent.
    #[inline]
    pub(crate) fn point(&mut self, field: usize, place: Range<usize>) {
        let absent = self.bytes.get(place.clone()) == Some(b"-");
        if let Some(span) = self.spans.get_mut(field)
            && !absent
        {
            *span = (narrow(place.start), narrow(place.end));
        }
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

    /// The value of a field that the log may not have.
    #[inline]
    pub(crate) fn find(&self, field: Option<usize>) -> &[u8] {
        field.map_or(&[], |field| self.get(field))
    }
}

/// Lines are far shorter than that.
fn narrow(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
