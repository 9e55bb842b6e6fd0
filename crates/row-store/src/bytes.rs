//! Reading and writing the little-endian fields of our own records. Reading never panics on bad bytes.

/// Appends fields to a record.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A record that begins with its version.
    pub fn new(version: u8) -> Self {
        Writer(vec![version])
    }

    /// The record.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// A byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// A switch, as a byte.
    pub fn bool(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    /// LEB128, since most numbers in a definition are small.
    pub fn uint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A signed number of eight bytes.
    pub fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Bytes as they are.
    pub fn array(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
    }

    /// Bytes with their length.
    pub fn bytes(&mut self, value: &[u8]) {
        self.uint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A text with its length.
    pub fn str(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// Something that may be absent.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// A list with its length.
    pub fn list<T>(&mut self, values: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.uint(values.len() as u64);
        for value in values {
            write(self, value);
        }
    }
}

/// A record that ends early or holds an impossible field.
#[derive(Debug, PartialEq)]
pub struct Malformed;

/// Takes fields off a record, in the order in which [`Writer`] put them.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

/// A field, or that it is not there.
type Field<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    /// Of a whole record.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rest of the bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, len: usize) -> Field<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    /// This many bytes.
    pub fn array<const N: usize>(&mut self) -> Field<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    /// A byte.
    pub fn u8(&mut self) -> Field<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A switch.
    pub fn bool(&mut self) -> Field<bool> {
        Ok(self.u8()? != 0)
    }

    /// An unsigned number.
    pub fn uint(&mut self) -> Field<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// An unsigned number that fits.
    pub fn u32(&mut self) -> Field<u32> {
        u32::try_from(self.uint()?).map_err(|_| Malformed)
    }

    /// A signed number of eight bytes.
    pub fn i64(&mut self) -> Field<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Bytes with their length.
    pub fn bytes(&mut self) -> Field<&'a [u8]> {
        let len = usize::try_from(self.uint()?).map_err(|_| Malformed)?;
        self.take(len)
    }

    /// A text.
    pub fn string(&mut self) -> Field<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }

    /// Something that may be absent.
    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Field<T>) -> Field<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    /// A list.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Field<T>) -> Field<Vec<T>> {
        let len = self.uint()?;
        // Each element takes at least a byte, so a lying count cannot reserve more than the record is long.
        let mut values = Vec::with_capacity(usize::try_from(len).map_err(|_| Malformed)?.min(self.0.len()));
        for _ in 0..len {
            values.push(read(self)?);
        }
        Ok(values)
    }
}
