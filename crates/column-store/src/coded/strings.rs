//! Byte strings one after another.

/// Byte strings in one buffer, in row order; 4 GiB at most in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteStrings {
    /// Where each string ends; it begins where the one before ends.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl ByteStrings {
    /// Room for that many strings.
    pub fn with_capacity(strings: usize, bytes: usize) -> ByteStrings {
        ByteStrings { ends: Vec::with_capacity(strings), bytes: Vec::with_capacity(bytes) }
    }

    /// Appends a string; false, and nothing is appended, if the buffer would exceed 4 GiB.
    #[must_use]
    pub fn push(&mut self, string: &[u8]) -> bool {
        let Ok(end) = u32::try_from(self.bytes.len() + string.len()) else { return false };
        self.bytes.extend_from_slice(string);
        self.ends.push(end);
        true
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A string.
    ///
    /// # Panics
    /// If there is no such string.
    #[inline]
    pub fn value(&self, ordinal: usize) -> &[u8] {
        let start = if ordinal == 0 { 0 } else { self.ends[ordinal - 1] as usize };
        &self.bytes[start..self.ends[ordinal] as usize]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|ordinal| self.value(ordinal))
    }

    /// Bytes of all strings together.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.ends.len() * size_of::<u32>() + self.bytes.len()
    }
}
