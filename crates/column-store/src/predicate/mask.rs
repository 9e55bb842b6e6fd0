//! A set of rows of one zone, one bit for each row.

use crate::zone_map::ZONE_ROWS;
use roaring::RoaringBitmap;

const WORDS: usize = ZONE_ROWS / 64;

/// A set of the first [`ZONE_ROWS`] numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mask {
    words: Box<[u64]>,
}

impl Mask {
    pub(crate) fn empty() -> Mask {
        Mask { words: vec![0; WORDS].into() }
    }

    /// Makes the first `rows` numbers the members.
    pub(crate) fn set_first(&mut self, rows: usize) {
        for (ordinal, word) in self.words.iter_mut().enumerate() {
            let bits = rows.saturating_sub(ordinal * 64).min(64);
            *word = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(crate) fn and(&mut self, other: &Mask) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    pub(crate) fn or(&mut self, other: &Mask) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    pub(crate) fn and_not(&mut self, other: &Mask) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// Keeps the members for whose value `holds`; `values` has one for each of the first numbers, and later members go.
    #[inline(always)]
    pub(crate) fn retain_dense<T: Copy>(&mut self, values: &[T], holds: impl Fn(T) -> bool) {
        let whole = values.len() / 64;
        let (words, values_of_words) = (&mut self.words[..whole], values.chunks_exact(64));
        for (word, values) in words.iter_mut().zip(values_of_words) {
            // A byte of 0 or 1 per value is what compilers vectorise; a multiplication then gathers eight of them.
            let mut flags = [0u8; 64];
            for (flag, value) in flags.iter_mut().zip(values) {
                *flag = u8::from(holds(*value));
            }
            *word &= gather(&flags);
        }
        let mut rest = 0;
        for (bit, value) in values[whole * 64..].iter().enumerate() {
            rest |= u64::from(holds(*value)) << bit;
        }
        if let Some(word) = self.words.get_mut(whole) {
            *word &= rest;
        }
        if let Some(words) = self.words.get_mut(whole + 1..) {
            words.fill(0);
        }
    }

    /// Keeps the members for which `holds`, asked one by one.
    pub(crate) fn retain_sparse(&mut self, holds: impl Fn(usize) -> bool) {
        for (ordinal, word) in self.words.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !holds(ordinal * 64 + bit as usize) {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// The members, in order.
    pub(crate) fn members(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(ordinal, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(ordinal * 64 + bit)
            })
        })
    }

    /// The members as bits, lowest first.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The rows of a bitmap that lie in a zone.
    pub(crate) fn of_bitmap(bitmap: &RoaringBitmap, zone: usize) -> Mask {
        let mut mask = Mask::empty();
        let start = (zone * ZONE_ROWS) as u32;
        let mut ranges = bitmap.range(start..=start + (ZONE_ROWS - 1) as u32);
        while let Some(range) = ranges.next_range() {
            let (from, to) = ((range.start() - start) as usize, (range.end() - start) as usize);
            for word in from / 64..=to / 64 {
                let low = from.max(word * 64) % 64;
                let high = to.min(word * 64 + 63) % 64;
                mask.words[word] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
            }
        }
        mask
    }

    /// The members as rows of the segment.
    pub(crate) fn to_bitmap(&self, zone: usize) -> RoaringBitmap {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        RoaringBitmap::from_lsb0_bytes((zone * ZONE_ROWS) as u32, &bytes)
    }
}

/// 64 bytes of 0 or 1 as 64 bits.
#[inline(always)]
pub(crate) fn gather(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (ordinal, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Moves bit 0 of byte i to bit 56 + i; no two products meet in one bit.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (8 * ordinal);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(rows: usize) -> Mask {
        let mut mask = Mask::empty();
        mask.set_first(rows);
        mask
    }

    #[test]
    fn dense_and_sparse_agree() {
        for length in [0, 1, 63, 64, 65, 1000, ZONE_ROWS] {
            let values: Vec<u16> = (0..length).map(|value| (value * 7919 % 1000) as u16).collect();
            let mut dense = first(length);
            dense.retain_dense(&values, |value| value < 300);
            let mut sparse = first(length);
            sparse.retain_sparse(|row| values[row] < 300);
            assert_eq!(dense, sparse, "{length} rows");
            assert_eq!(Mask::of_bitmap(&dense.to_bitmap(3), 3), dense);
            assert_eq!(dense.count(), values.iter().filter(|value| **value < 300).count());
        }
    }

    #[test]
    fn members_past_the_values_go() {
        let mut mask = first(ZONE_ROWS);
        mask.retain_dense(&[1u8; 70], |_| true);
        assert_eq!(mask, first(70));
    }
}
