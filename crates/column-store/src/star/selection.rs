//! Selection vectors: the rows of a block that the conditions and joins have left.

use crate::predicate::gather;

/// Rows that are taken through all steps at once: their selection vector, group indexes and values stay in the first two cache
/// levels. A divisor of a zone's rows.
pub(super) const BLOCK_ROWS: usize = 1 << 13;

/// Selected rows of a block, in order.
pub(super) struct Selection {
    rows: Box<[u16; BLOCK_ROWS]>,
    len: usize,
    /// Whether the rows are 0, 1, 2 … up to `len`: then columns are read from end to end, which compilers vectorise.
    is_whole: bool,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection { rows: Box::new([0; BLOCK_ROWS]), len: 0, is_whole: false }
    }
}

impl Selection {
    /// Selected rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The selected rows, counted from the block's first.
    pub(super) fn rows(&self) -> &[u16] {
        &self.rows[..self.len]
    }

    /// Whether every row of the block is selected.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Selects the rows for whose value `holds`; at most [`BLOCK_ROWS`] values. Most rows are not selected usually, so they are
    /// made bits first, and only set bits cost more.
    #[inline(always)]
    pub(super) fn select<T: Copy>(&mut self, values: &[T], holds: impl Fn(T) -> bool) {
        (self.len, self.is_whole) = (0, false);
        let chunks = values.chunks_exact(64);
        let rest = chunks.remainder();
        let mut flags = [0u8; 64];
        let mut start = 0;
        for chunk in chunks {
            for (flag, value) in flags.iter_mut().zip(chunk) {
                *flag = u8::from(holds(*value));
            }
            self.push_bits(start, gather(&flags));
            start += 64;
        }
        flags.fill(0);
        for (flag, value) in flags.iter_mut().zip(rest) {
            *flag = u8::from(holds(*value));
        }
        self.push_bits(start, gather(&flags));
    }

    /// Appends the rows that are set bits, of a word whose lowest bit is row `start`.
    #[inline(always)]
    fn push_bits(&mut self, start: u16, mut word: u64) {
        while word != 0 {
            // At most one entry per row, so the place is inside; the mask tells the compiler.
            self.rows[self.len & (BLOCK_ROWS - 1)] = start + word.trailing_zeros() as u16;
            self.len += 1;
            word &= word - 1;
        }
    }

    /// Keeps the selected rows for which `holds`.
    #[inline(always)]
    pub(super) fn retain(&mut self, holds: impl Fn(usize) -> bool) {
        // Every row is written, and the place moves on if it stays: no branch to predict.
        let mut len = 0;
        for at in 0..self.len {
            let row = self.rows[at & (BLOCK_ROWS - 1)];
            self.rows[len & (BLOCK_ROWS - 1)] = row;
            len += usize::from(holds(usize::from(row)));
        }
        self.is_whole &= len == self.len;
        self.len = len;
    }

    /// Selects the first rows of the block.
    pub(super) fn select_all(&mut self, rows: usize) {
        self.rows.iter_mut().zip(0..).for_each(|(place, row)| *place = row);
        (self.len, self.is_whole) = (rows, true);
    }

    /// Selects the members of a mask's words.
    pub(super) fn select_words(&mut self, words: &[u64]) {
        (self.len, self.is_whole) = (0, false);
        for (ordinal, word) in words.iter().enumerate() {
            self.push_bits((ordinal * 64) as u16, *word);
        }
    }
}
