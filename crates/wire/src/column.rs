//! Column definitions: the descriptions of a result set's columns.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_u16, put_u32};
use crate::constants::{ColumnFlags, ColumnType};

/// One column of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// Database of the table.
    pub schema: &'a [u8],
    /// The table's alias in the statement.
    pub table: &'a [u8],
    /// The table's own name.
    pub org_table: &'a [u8],
    /// The column's alias in the statement.
    pub name: &'a [u8],
    /// The column's own name.
    pub org_name: &'a [u8],
    /// Collation id; 63 for bytes and numbers.
    pub collation: u16,
    /// Longest value, in bytes, for display.
    pub length: u32,
    /// Type.
    pub column_type: ColumnType,
    /// Flags.
    pub flags: ColumnFlags,
    /// Digits after the point; 31 where they vary.
    pub decimals: u8,
}

/// `decimals` of a floating-point column without a fixed number of them.
pub const DECIMALS_NOT_FIXED: u8 = 31;

/// Length of what follows the names.
const FIXED_FIELDS_BYTES: u8 = 0x0c;

impl<'a> ColumnDefinition<'a> {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        put_lenenc_bytes(buf, b"def");
        put_lenenc_bytes(buf, self.schema);
        put_lenenc_bytes(buf, self.table);
        put_lenenc_bytes(buf, self.org_table);
        put_lenenc_bytes(buf, self.name);
        put_lenenc_bytes(buf, self.org_name);
        buf.push(FIXED_FIELDS_BYTES);
        put_u16(buf, self.collation);
        put_u32(buf, self.length);
        buf.push(self.column_type.code());
        put_u16(buf, self.flags.bits());
        buf.push(self.decimals);
        put_u16(buf, 0);
    }

    /// Appends the payload as `COM_FIELD_LIST` wants it: with the column's default value, `None` for NULL.
    pub fn encode_with_default(&self, buf: &mut Vec<u8>, default: Option<&[u8]>) {
        self.encode(buf);
        match default {
            Some(default) => put_lenenc_bytes(buf, default),
            None => buf.push(crate::bytes::NULL_MARKER),
        }
    }

    /// Reads the payload; a default value behind it is left unread.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        reader.lenenc_bytes()?;
        let schema = reader.lenenc_bytes()?;
        let table = reader.lenenc_bytes()?;
        let org_table = reader.lenenc_bytes()?;
        let name = reader.lenenc_bytes()?;
        let org_name = reader.lenenc_bytes()?;
        if reader.u8()? != FIXED_FIELDS_BYTES {
            return Err(DecodeError::Malformed("column definition of the 4.1 protocol"));
        }
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            collation: reader.u16()?,
            length: reader.u32()?,
            column_type: ColumnType::from_code(reader.u8()?).ok_or(DecodeError::Malformed("column type"))?,
            flags: ColumnFlags(reader.u16()?),
            decimals: reader.u8()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn definition_round_trips() {
        let column = ColumnDefinition {
            schema: b"shop",
            table: b"o",
            org_table: b"orders",
            name: b"id",
            org_name: b"order_id",
            collation: 63,
            length: 20,
            column_type: ColumnType::LongLong,
            flags: ColumnFlags::NOT_NULL | ColumnFlags::PRI_KEY,
            decimals: 0,
        };
        let mut buf = Vec::new();
        column.encode(&mut buf);
        assert_eq!(ColumnDefinition::decode(&buf), Ok(column));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = ColumnDefinition::decode(&bytes);
        }
    }
}
