//! Little-endian numbers and counted byte strings, written to and read from index blocks.
//!
//! [`Decoder`] never reads past its input and never reserves more memory than the input could fill: a count is checked
//! against the bytes that are left before anything is allocated for it.

/// Why a block could not be decoded; the caller adds which block of which file it was.
pub(crate) type DecodeResult<T> = Result<T, String>;

/// Appends values to a block.
#[derive(Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// 7 bits a byte, the lowest first; the highest bit says that more follow.
    pub(crate) fn number(&mut self, value: u32) {
        push_number(value, &mut self.bytes);
    }

    pub(crate) fn i128(&mut self, value: i128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Its length, u32, then the bytes.
    pub(crate) fn counted(&mut self, value: &[u8]) {
        self.u32(u32::try_from(value.len()).expect("blocks hold strings below 4 GiB"));
        self.bytes.extend_from_slice(value);
    }
}

/// See [`Encoder::number`].
pub(crate) fn push_number(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads values from a block that may hold anything.
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: bytes }
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> DecodeResult<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> DecodeResult<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or("ends too early")?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> DecodeResult<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> DecodeResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> DecodeResult<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i128(&mut self) -> DecodeResult<i128> {
        Ok(i128::from_le_bytes(self.array()?))
    }

    pub(crate) fn counted(&mut self) -> DecodeResult<&'a [u8]> {
        let count = self.u32()?;
        self.take(count as usize)
    }

    pub(crate) fn text(&mut self) -> DecodeResult<String> {
        let bytes = self.counted()?;
        std::str::from_utf8(bytes).map(str::to_string).map_err(|_| "a name is not UTF-8".to_string())
    }

    /// A count of things of at least `bytes_each` bytes that follow.
    pub(crate) fn count(&mut self, bytes_each: usize) -> DecodeResult<usize> {
        let count = self.u32()? as usize;
        if count > self.rest.len() / bytes_each.max(1) {
            return Err(format!("says that {count} entries follow, which do not fit"));
        }
        Ok(count)
    }

    /// What [`Encoder::number`] wrote.
    pub(crate) fn number(&mut self) -> DecodeResult<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| "has a number that is too great".to_string());
            }
        }
        Err("has a number without an end".to_string())
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn finish(self) -> DecodeResult<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("has {} bytes too many", self.rest.len())) }
    }
}
