//! Reading the protobuf wire format, as far as the messages that Envoy hands over need it.

/// The fields of a message; ends early, with bytes left over, where they are not one.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

/// A field's value, by how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// A varint.
    Number(u64),
    /// Eight bytes, little-endian.
    Eight([u8; 8]),
    /// Four bytes; nothing here is written so.
    Four,
    /// A text, bytes or a message.
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64_u32).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, len: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Eight(self.take(8)?.try_into().ok()?),
            2 => {
                let len = self.varint()?;
                Field::Bytes(self.take(len)?)
            }
            5 => self.take(4).map(|_| Field::Four)?,
            _ => return None,
        };
        Some((tag >> 3, field))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.0;
        let field = self.field();
        if field.is_none() {
            // What is no field is left over, so that whoever asked can see it.
            self.0 = before;
        }
        field
    }
}
