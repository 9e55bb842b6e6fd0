//! Values in the binary protocol: the parameters of `COM_STMT_EXECUTE` and the query attributes of `COM_QUERY`.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_u16};
use crate::constants::{Capabilities, ColumnType};

/// A value of the binary protocol, borrowed from its packet.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the parts of dates and times")]
pub enum BinaryValue<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// A string in the client's character set, a DECIMAL's text, or bytes.
    Bytes(&'a [u8]),
    /// DATE, DATETIME or TIMESTAMP; nothing says yet that the parts are in range.
    DateTime { year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8, micros: u32 },
    /// TIME; nothing says yet that the parts are in range.
    Time { negative: bool, hours: u32, minute: u8, second: u8, micros: u32 },
}

impl<'a> BinaryValue<'a> {
    /// Reads one value that is not NULL.
    pub fn decode(reader: &mut Reader<'a>, column_type: ColumnType, unsigned: bool) -> Result<Self, DecodeError> {
        Ok(match column_type {
            ColumnType::Null => Self::Null,
            ColumnType::Tiny | ColumnType::Bool => {
                let value = reader.u8()?;
                if unsigned { Self::UInt(u64::from(value)) } else { Self::Int(i64::from(value as i8)) }
            }
            ColumnType::Short | ColumnType::Year => {
                let value = reader.u16()?;
                if unsigned { Self::UInt(u64::from(value)) } else { Self::Int(i64::from(value as i16)) }
            }
            ColumnType::Long | ColumnType::Int24 => {
                let value = reader.u32()?;
                if unsigned { Self::UInt(u64::from(value)) } else { Self::Int(i64::from(value as i32)) }
            }
            ColumnType::LongLong => {
                let value = reader.u64()?;
                if unsigned { Self::UInt(value) } else { Self::Int(value as i64) }
            }
            ColumnType::Float => Self::Float(f32::from_bits(reader.u32()?)),
            ColumnType::Double => Self::Double(f64::from_bits(reader.u64()?)),
            ColumnType::Date
            | ColumnType::NewDate
            | ColumnType::DateTime
            | ColumnType::DateTime2
            | ColumnType::Timestamp
            | ColumnType::Timestamp2 => decode_datetime(reader)?,
            ColumnType::Time | ColumnType::Time2 => decode_time(reader)?,
            ColumnType::Decimal
            | ColumnType::NewDecimal
            | ColumnType::VarChar
            | ColumnType::VarString
            | ColumnType::String
            | ColumnType::Bit
            | ColumnType::Json
            | ColumnType::Enum
            | ColumnType::Set
            | ColumnType::TinyBlob
            | ColumnType::MediumBlob
            | ColumnType::LongBlob
            | ColumnType::Blob
            | ColumnType::Vector
            | ColumnType::Geometry => Self::Bytes(reader.lenenc_bytes()?),
            ColumnType::TypedArray => return Err(DecodeError::Malformed("type of a binary value")),
        })
    }

    /// Appends the value as the type that [`BinaryValue::natural_type`] gives.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        match *self {
            Self::Null => {}
            Self::Int(value) => buf.extend_from_slice(&value.to_le_bytes()),
            Self::UInt(value) => buf.extend_from_slice(&value.to_le_bytes()),
            Self::Float(value) => buf.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => buf.extend_from_slice(&value.to_le_bytes()),
            Self::Bytes(value) => put_lenenc_bytes(buf, value),
            Self::DateTime { year, month, day, hour, minute, second, micros } => {
                buf.push(11);
                put_u16(buf, year);
                buf.extend_from_slice(&[month, day, hour, minute, second]);
                buf.extend_from_slice(&micros.to_le_bytes());
            }
            Self::Time { negative, hours, minute, second, micros } => {
                buf.extend_from_slice(&[12, u8::from(negative)]);
                buf.extend_from_slice(&(hours / 24).to_le_bytes());
                buf.extend_from_slice(&[(hours % 24) as u8, minute, second]);
                buf.extend_from_slice(&micros.to_le_bytes());
            }
        }
    }

    /// The widest type that holds the value, and whether it is unsigned.
    pub fn natural_type(&self) -> (ColumnType, bool) {
        match self {
            Self::Null => (ColumnType::Null, false),
            Self::Int(_) => (ColumnType::LongLong, false),
            Self::UInt(_) => (ColumnType::LongLong, true),
            Self::Float(_) => (ColumnType::Float, false),
            Self::Double(_) => (ColumnType::Double, false),
            Self::Bytes(_) => (ColumnType::VarString, false),
            Self::DateTime { .. } => (ColumnType::DateTime, false),
            Self::Time { .. } => (ColumnType::Time, false),
        }
    }
}

fn decode_datetime<'a>(reader: &mut Reader<'a>) -> Result<BinaryValue<'a>, DecodeError> {
    let length = reader.u8()?;
    let mut parts = Reader::new(reader.take(usize::from(length))?);
    let (mut year, mut month, mut day) = (0, 0, 0);
    let (mut hour, mut minute, mut second, mut micros) = (0, 0, 0, 0);
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(DecodeError::Malformed("length of a date"));
    }
    if length >= 4 {
        (year, month, day) = (parts.u16()?, parts.u8()?, parts.u8()?);
    }
    if length >= 7 {
        (hour, minute, second) = (parts.u8()?, parts.u8()?, parts.u8()?);
    }
    if length == 11 {
        micros = parts.u32()?;
    }
    Ok(BinaryValue::DateTime { year, month, day, hour, minute, second, micros })
}

fn decode_time<'a>(reader: &mut Reader<'a>) -> Result<BinaryValue<'a>, DecodeError> {
    let length = reader.u8()?;
    let mut parts = Reader::new(reader.take(usize::from(length))?);
    if !matches!(length, 0 | 8 | 12) {
        return Err(DecodeError::Malformed("length of a time"));
    }
    if length == 0 {
        return Ok(BinaryValue::Time { negative: false, hours: 0, minute: 0, second: 0, micros: 0 });
    }
    let negative = parts.u8()? != 0;
    let days = parts.u32()?;
    let hours = days.saturating_mul(24).saturating_add(u32::from(parts.u8()?));
    let (minute, second) = (parts.u8()?, parts.u8()?);
    let micros = if length == 12 { parts.u32()? } else { 0 };
    Ok(BinaryValue::Time { negative, hours, minute, second, micros })
}

/// The type of a parameter, as the client declared it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType {
    /// Type.
    pub column_type: ColumnType,
    /// Whether an integer is unsigned.
    pub unsigned: bool,
}

const UNSIGNED_BIT: u16 = 0x8000;

impl ParameterType {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits = reader.u16()?;
        let column_type = ColumnType::from_code(bits as u8).ok_or(DecodeError::Malformed("type of a parameter"))?;
        Ok(Self { column_type, unsigned: bits & UNSIGNED_BIT != 0 })
    }

    fn encode(self, buf: &mut Vec<u8>) {
        let unsigned = if self.unsigned { UNSIGNED_BIT } else { 0 };
        put_u16(buf, u16::from(self.column_type.code()) | unsigned);
    }
}

/// A value with the name that the client gave it; a statement's own parameters have none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter<'a> {
    /// Empty for a statement's own parameter.
    pub name: &'a [u8],
    /// Type as sent.
    pub declared: ParameterType,
    /// Value.
    pub value: BinaryValue<'a>,
}

/// What a server knows of a statement when its parameters arrive.
pub trait StatementParameters {
    /// How many parameters the statement has.
    fn count(&self) -> usize;
    /// The type that an earlier execution declared; types may be left out when they stay the same.
    fn declared(&self, ordinal: usize) -> Option<ParameterType>;
    /// Whether the value came by `COM_STMT_SEND_LONG_DATA` and so is not in this packet.
    fn has_long_data(&self, ordinal: usize) -> bool;
}

/// The undecoded parameters of a `COM_STMT_EXECUTE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecuteParameters<'a> {
    rest: &'a [u8],
    named: bool,
    counted: bool,
}

/// `COM_STMT_EXECUTE` flag: the packet says how many parameters it has.
pub(crate) const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;

impl<'a> ExecuteParameters<'a> {
    pub(crate) fn new(rest: &'a [u8], flags: u8, in_force: Capabilities) -> Self {
        let named = in_force.contains(Capabilities::QUERY_ATTRIBUTES);
        Self { rest, named, counted: named && flags & PARAMETER_COUNT_AVAILABLE != 0 }
    }

    /// Reads the statement's parameters, then the query attributes that a client may send behind them.
    ///
    /// A parameter with long data is [`BinaryValue::Null`] here.
    pub fn decode(self, statement: &impl StatementParameters) -> Result<Vec<Parameter<'a>>, DecodeError> {
        let mut reader = Reader::new(self.rest);
        let statement_count = statement.count();
        let mut count = statement_count;
        // Clients that know query attributes send the count only when there is a parameter or the flag is set.
        if self.counted || (self.named && statement_count > 0) {
            count = usize::try_from(reader.lenenc_int()?).map_err(|_| DecodeError::Truncated)?;
        }
        if count < statement_count {
            return Err(DecodeError::Malformed("number of parameters"));
        }
        decode_values(&mut reader, count, self.named, statement)
    }
}

fn decode_values<'a>(
    reader: &mut Reader<'a>,
    count: usize,
    named: bool,
    statement: &impl StatementParameters,
) -> Result<Vec<Parameter<'a>>, DecodeError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // The bitmap bounds the count by the length of the packet before anything is allocated.
    let nulls = reader.take(count.div_ceil(8))?;
    let types_follow = reader.u8()? != 0;
    let mut parameters = Vec::with_capacity(count);
    for ordinal in 0..count {
        let (name, declared) = if types_follow {
            let declared = ParameterType::decode(reader)?;
            (if named { reader.lenenc_bytes()? } else { &b""[..] }, declared)
        } else {
            (&b""[..], statement.declared(ordinal).ok_or(DecodeError::Malformed("parameter without a type"))?)
        };
        parameters.push(Parameter { name, declared, value: BinaryValue::Null });
    }
    for (ordinal, parameter) in parameters.iter_mut().enumerate() {
        let null = nulls[ordinal / 8] & 1 << (ordinal % 8) != 0;
        if !null && !statement.has_long_data(ordinal) {
            let ParameterType { column_type, unsigned } = parameter.declared;
            parameter.value = BinaryValue::decode(reader, column_type, unsigned)?;
        }
    }
    Ok(parameters)
}

struct NoStatement;

impl StatementParameters for NoStatement {
    fn count(&self) -> usize {
        0
    }

    fn declared(&self, _ordinal: usize) -> Option<ParameterType> {
        None
    }

    fn has_long_data(&self, _ordinal: usize) -> bool {
        false
    }
}

/// Reads the query attributes that stand before the text of a `COM_QUERY`.
pub(crate) fn decode_query_attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<Parameter<'a>>, DecodeError> {
    let count = usize::try_from(reader.lenenc_int()?).map_err(|_| DecodeError::Truncated)?;
    if reader.lenenc_int()? != 1 {
        return Err(DecodeError::Malformed("number of parameter sets"));
    }
    decode_values(reader, count, true, &NoStatement)
}

/// Appends parameters as a client sends them in `COM_STMT_EXECUTE`, each in its natural type.
pub fn encode_parameters(buf: &mut Vec<u8>, values: &[BinaryValue<'_>]) {
    if values.is_empty() {
        return;
    }
    let bitmap = buf.len();
    buf.resize(bitmap + values.len().div_ceil(8), 0);
    buf.push(1);
    for (ordinal, value) in values.iter().enumerate() {
        let (column_type, unsigned) = value.natural_type();
        ParameterType { column_type, unsigned }.encode(buf);
        if *value == BinaryValue::Null {
            buf[bitmap + ordinal / 8] |= 1 << (ordinal % 8);
        }
    }
    for value in values {
        value.encode(buf);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Fixed(usize, Option<usize>);

    impl StatementParameters for Fixed {
        fn count(&self) -> usize {
            self.0
        }

        fn declared(&self, _ordinal: usize) -> Option<ParameterType> {
            None
        }

        fn has_long_data(&self, ordinal: usize) -> bool {
            self.1 == Some(ordinal)
        }
    }

    #[test]
    fn parameters_round_trip() {
        let values = [
            BinaryValue::Int(-5),
            BinaryValue::Null,
            BinaryValue::UInt(u64::MAX),
            BinaryValue::Double(1.5),
            BinaryValue::Float(0.25),
            BinaryValue::Bytes(b"some text"),
            BinaryValue::DateTime { year: 2026, month: 2, day: 3, hour: 4, minute: 5, second: 6, micros: 7 },
            BinaryValue::Time { negative: true, hours: 100, minute: 5, second: 6, micros: 7 },
            BinaryValue::Null,
        ];
        let mut buf = Vec::new();
        encode_parameters(&mut buf, &values);
        let decoded = ExecuteParameters::new(&buf, 0, Capabilities::EMPTY)
            .decode(&Fixed(values.len(), None))
            .expect("parameters");
        assert_eq!(decoded.iter().map(|parameter| parameter.value).collect::<Vec<_>>(), values);
    }

    #[test]
    fn long_data_is_not_in_the_packet() {
        let mut buf = vec![0, 1];
        ParameterType { column_type: ColumnType::Blob, unsigned: false }.encode(&mut buf);
        ParameterType { column_type: ColumnType::Tiny, unsigned: true }.encode(&mut buf);
        buf.push(200);
        let decoded =
            ExecuteParameters::new(&buf, 0, Capabilities::EMPTY).decode(&Fixed(2, Some(0))).expect("parameters");
        assert_eq!(decoded[0].value, BinaryValue::Null);
        assert_eq!(decoded[1].value, BinaryValue::UInt(200));
    }

    #[test]
    fn types_left_out_need_an_earlier_execution() {
        let result = ExecuteParameters::new(&[0, 0, 1], 0, Capabilities::EMPTY).decode(&Fixed(1, None));
        assert_eq!(result, Err(DecodeError::Malformed("parameter without a type")));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            count in 0usize..50,
            flags in any::<u8>(),
            capabilities in any::<u32>(),
        ) {
            let parameters = ExecuteParameters::new(&bytes, flags, Capabilities(capabilities));
            let _ = parameters.decode(&Fixed(count, None));
            let _ = decode_query_attributes(&mut Reader::new(&bytes));
        }
    }
}
