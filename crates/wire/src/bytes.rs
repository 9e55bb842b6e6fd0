//! Integers and strings of the protocol.
//!
//! Fixed integers are little-endian. A *length-encoded* integer is one byte below 251, else a marker (`fc`, `fd`, `fe`)
//! and two, three or eight bytes; `fb` stands for NULL in text rows. Strings are fixed, NUL-terminated, length-encoded,
//! or run to the end of the packet.

use std::fmt;

/// Why a packet could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// The packet ends before the value does.
    Truncated,
    /// The bytes are there but mean nothing; says what was expected.
    Malformed(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("packet is shorter than its contents"),
            Self::Malformed(what) => write!(f, "malformed packet: {what}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads protocol values from a packet, front to back.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when every byte was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, without reading it.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Everything up to the end of the packet.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// A two-byte integer.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A three-byte integer.
    pub fn u24(&mut self) -> Result<u32, DecodeError> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// A four-byte integer.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// An eight-byte integer.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer. The NULL marker is not an integer and is an error here.
    pub fn lenenc_int(&mut self) -> Result<u64, DecodeError> {
        match self.u8()? {
            value @ 0..=0xfa => Ok(u64::from(value)),
            0xfc => Ok(u64::from(self.u16()?)),
            0xfd => Ok(u64::from(self.u24()?)),
            0xfe => self.u64(),
            0xfb | 0xff => Err(DecodeError::Malformed("length-encoded integer")),
        }
    }

    /// A length-encoded string.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.lenenc_int()?;
        self.take(usize::try_from(length).map_err(|_| DecodeError::Truncated)?)
    }

    /// A length-encoded string, or `None` for the NULL marker of text rows.
    pub fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        if self.peek() == Some(NULL_MARKER) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// A string up to a NUL byte, which is read too.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = memchr::memchr(0, self.rest).ok_or(DecodeError::Truncated)?;
        let taken = &self.rest[..length];
        self.rest = &self.rest[length + 1..];
        Ok(taken)
    }

    /// A string up to a NUL byte, or to the end of the packet when there is none: several clients leave the last NUL out.
    pub fn nul_bytes_or_rest(&mut self) -> &'a [u8] {
        match self.nul_bytes() {
            Ok(taken) => taken,
            Err(_) => self.take_rest(),
        }
    }
}

/// Stands for NULL where a text row has a length.
pub const NULL_MARKER: u8 = 0xfb;

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc_int(buf: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => buf.push(value as u8),
        0xfb..=0xffff => {
            let [a, b, ..] = value.to_le_bytes();
            buf.extend_from_slice(&[0xfc, a, b]);
        }
        0x1_0000..=0xff_ffff => {
            let [a, b, c, ..] = value.to_le_bytes();
            buf.extend_from_slice(&[0xfd, a, b, c]);
        }
        _ => {
            buf.push(0xfe);
            buf.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn put_lenenc_bytes(buf: &mut Vec<u8>, value: &[u8]) {
    put_lenenc_int(buf, value.len() as u64);
    buf.extend_from_slice(value);
}

/// Appends a NUL-terminated string. A NUL inside `value` would end it early on the other side, so it ends it here.
pub fn put_nul_bytes(buf: &mut Vec<u8>, value: &[u8]) {
    let length = memchr::memchr(0, value).unwrap_or(value.len());
    buf.extend_from_slice(&value[..length]);
    buf.push(0);
}

/// Appends a two-byte integer.
#[inline]
pub fn put_u16(buf: &mut Vec<u8>, value: u16) {
    buf.extend_from_slice(&value.to_le_bytes());
}

/// Appends a four-byte integer.
#[inline]
pub fn put_u32(buf: &mut Vec<u8>, value: u32) {
    buf.extend_from_slice(&value.to_le_bytes());
}

/// Appends an eight-byte integer.
#[inline]
pub fn put_u64(buf: &mut Vec<u8>, value: u64) {
    buf.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_take_the_shortest_form() {
        for (value, expected_bytes) in
            [(0, 1), (250, 1), (251, 3), (0xffff, 3), (0x1_0000, 4), (0xff_ffff, 4), (0x100_0000, 9), (u64::MAX, 9)]
        {
            let mut buf = Vec::new();
            put_lenenc_int(&mut buf, value);
            assert_eq!(buf.len(), expected_bytes, "{value}");
            let mut reader = Reader::new(&buf);
            assert_eq!(reader.lenenc_int(), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_length_beyond_the_packet_is_an_error() {
        let mut buf = Vec::new();
        put_lenenc_int(&mut buf, u64::MAX);
        buf.extend_from_slice(b"short");
        assert_eq!(Reader::new(&buf).lenenc_bytes(), Err(DecodeError::Truncated));
        assert_eq!(Reader::new(b"no end").nul_bytes(), Err(DecodeError::Truncated));
        assert_eq!(Reader::new(b"no end").nul_bytes_or_rest(), b"no end");
    }

    #[test]
    fn null_is_told_from_an_empty_string() {
        let mut reader = Reader::new(&[NULL_MARKER, 0]);
        assert_eq!(reader.lenenc_bytes_or_null(), Ok(None));
        assert_eq!(reader.lenenc_bytes_or_null(), Ok(Some(&b""[..])));
    }
}
