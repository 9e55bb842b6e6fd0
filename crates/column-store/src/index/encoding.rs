//! Encodes ordinals as bitmaps.

use roaring::RoaringBitmap;
use std::ops::Range;

/// How rows' ordinals are encoded as bitmaps. The codes are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bitmap *i* has the rows of ordinal *i*.
    Equality,
    /// Bitmap *k* has the rows whose ordinal has binary digit *k* set.
    Range,
}

/// The ordinals of all rows that are not NULL.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EncodedOrdinals {
    pub(super) encoding: Encoding,
    /// Number of ordinals.
    pub(super) count: usize,
    /// Rows that have one.
    pub(super) present: RoaringBitmap,
    pub(super) bitmaps: Vec<RoaringBitmap>,
}

impl Encoding {
    /// Bitmaps that encode `count` ordinals.
    pub(super) fn bitmaps(self, count: usize) -> usize {
        match self {
            Encoding::Equality => count,
            Encoding::Range => usize::BITS as usize - count.saturating_sub(1).leading_zeros() as usize,
        }
    }
}

impl EncodedOrdinals {
    /// Encodes each row's ordinal, below `count`; `None` for a NULL.
    pub(super) fn build(encoding: Encoding, count: usize, ordinals: impl Iterator<Item = Option<u32>>) -> Self {
        let mut rows_of = vec![Vec::new(); encoding.bitmaps(count)];
        let mut present = Vec::new();
        for (row, ordinal) in ordinals.enumerate() {
            let row = row as u32;
            let Some(ordinal) = ordinal else { continue };
            present.push(row);
            match encoding {
                Encoding::Equality => rows_of[ordinal as usize].push(row),
                Encoding::Range => {
                    for (digit, rows) in rows_of.iter_mut().enumerate() {
                        if ordinal >> digit & 1 == 1 {
                            rows.push(row);
                        }
                    }
                }
            }
        }
        let compress = |rows: Vec<u32>| {
            let mut bitmap = RoaringBitmap::from_sorted_iter(rows).expect("rows are numbered in order");
            bitmap.optimize();
            bitmap
        };
        EncodedOrdinals {
            encoding,
            count,
            present: compress(present),
            bitmaps: rows_of.into_iter().map(compress).collect(),
        }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Rows whose ordinal lies in a range.
    pub(super) fn range(&self, ordinals: Range<usize>) -> RoaringBitmap {
        let Range { start, end } = ordinals;
        if start >= end {
            return RoaringBitmap::new();
        }
        if start == 0 && end >= self.count {
            return self.present.clone();
        }
        match self.encoding {
            // Whichever is fewer bitmaps: those of the range, or all others taken away.
            Encoding::Equality if end - start <= self.count / 2 => union(&self.bitmaps[start..end]),
            Encoding::Equality => &self.present - (union(&self.bitmaps[..start]) | union(&self.bitmaps[end..])),
            Encoding::Range if end - start == 1 => self.equal(start),
            Encoding::Range => {
                let mut rows = self.at_most(end - 1);
                if start > 0 {
                    rows -= self.at_most(start - 1);
                }
                rows
            }
        }
    }

    /// Rows of one ordinal, by its digits.
    fn equal(&self, ordinal: usize) -> RoaringBitmap {
        let mut rows = self.present.clone();
        for (digit, bitmap) in self.bitmaps.iter().enumerate() {
            if ordinal >> digit & 1 == 1 {
                rows &= bitmap;
            } else {
                rows -= bitmap;
            }
        }
        rows
    }

    /// Rows of an ordinal or any below it: Chan and Ioannidis's RangeEval-Opt in base 2, from the lowest digit up. A digit of
    /// 1 lets rows in that have 0 there, a digit of 0 shuts rows out that have 1.
    fn at_most(&self, ordinal: usize) -> RoaringBitmap {
        let mut rows = self.present.clone();
        for (digit, bitmap) in self.bitmaps.iter().enumerate() {
            if ordinal >> digit & 1 == 1 {
                rows = &self.present - (bitmap - rows);
            } else {
                rows -= bitmap;
            }
        }
        rows
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bitmaps.iter().map(RoaringBitmap::serialized_size).sum::<usize>() + self.present.serialized_size()
    }
}

fn union(bitmaps: &[RoaringBitmap]) -> RoaringBitmap {
    bitmaps.iter().fold(RoaringBitmap::new(), |all, bitmap| all | bitmap)
}
