//! Whole numbers of which a condition asks for any: the keys of a join.

use std::sync::Arc;

/// A set that spans more is a list in order: a bit for each number would take more than 8 MiB.
const SPAN_MAX: u128 = 1 << 26;
/// A list of so few is smaller than the bits of any span that is wider than this many numbers for each of them.
const NUMBERS_PER_KEY: u128 = 256;

/// A set of whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    least: i128,
    greatest: i128,
    count: usize,
    members: Members,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Members {
    /// A bit for each number from the least on.
    Bits(Arc<[u64]>),
    /// In order.
    List(Box<[i64]>),
}

impl KeySet {
    /// Of numbers in any order; `None` if there are none.
    pub fn new(mut keys: Vec<i64>) -> Option<KeySet> {
        let (least, greatest) =
            keys.iter().fold((i64::MAX, i64::MIN), |(least, greatest), key| (least.min(*key), greatest.max(*key)));
        if keys.is_empty() {
            return None;
        }
        let (least, greatest) = (i128::from(least), i128::from(greatest));
        let span = (greatest - least) as u128 + 1;
        if span > SPAN_MAX || span > NUMBERS_PER_KEY * keys.len() as u128 {
            keys.sort_unstable();
            keys.dedup();
            return Some(KeySet { least, greatest, count: keys.len(), members: Members::List(keys.into()) });
        }
        let mut bits = vec![0u64; (span as usize).div_ceil(64)];
        for key in keys {
            let at = (i128::from(key) - least) as usize;
            bits[at / 64] |= 1 << (at % 64);
        }
        let count = bits.iter().map(|word| word.count_ones() as usize).sum();
        Some(KeySet { least, greatest, count, members: Members::Bits(bits.into()) })
    }

    /// Distinct numbers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The least and the greatest.
    pub fn bounds(&self) -> (i128, i128) {
        (self.least, self.greatest)
    }

    /// Whether a number is in the set.
    #[inline]
    pub fn contains(&self, value: i128) -> bool {
        if value < self.least || value > self.greatest {
            return false;
        }
        match &self.members {
            Members::Bits(bits) => {
                let at = (value - self.least) as usize;
                bits[at / 64] >> (at % 64) & 1 == 1
            }
            Members::List(list) => list.binary_search(&(value as i64)).is_ok(),
        }
    }

    /// Whether a number of a range is in the set, and whether all of them are.
    pub fn among(&self, min: i128, max: i128) -> (bool, bool) {
        let (low, high) = (min.max(self.least), max.min(self.greatest));
        if low > high {
            return (false, false);
        }
        let within = match &self.members {
            Members::Bits(bits) => count_of_bits(bits, (low - self.least) as usize, (high - self.least) as usize),
            Members::List(list) => {
                list.partition_point(|key| i128::from(*key) <= high)
                    - list.partition_point(|key| i128::from(*key) < low)
            }
        };
        (within > 0, within as u128 == max.abs_diff(min).saturating_add(1))
    }

    /// The bits, where there is one for each number from the least on.
    pub(super) fn bits(&self) -> Option<&Arc<[u64]>> {
        match &self.members {
            Members::Bits(bits) => Some(bits),
            Members::List(_) => None,
        }
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = i128> {
        let (bits, list) = match &self.members {
            Members::Bits(bits) => (&bits[..], &[][..]),
            Members::List(list) => (&[][..], &list[..]),
        };
        let of_bits = bits.iter().enumerate().flat_map(move |(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| self.least + (at * 64 + bit) as i128)
        });
        of_bits.chain(list.iter().map(|key| i128::from(*key)))
    }
}

/// How many bits are set from `first` to `last`, both included.
fn count_of_bits(bits: &[u64], first: usize, last: usize) -> usize {
    let (low, high) = (first / 64, last / 64);
    let words = bits[low..=high].iter().enumerate();
    let count = |(at, word): (usize, &u64)| {
        let mut word = *word;
        if at == 0 {
            word &= u64::MAX << (first % 64);
        }
        if low + at == high {
            word &= u64::MAX >> (63 - last % 64);
        }
        word.count_ones() as usize
    };
    words.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_lists_have_the_same_members() {
        let dense: Vec<i64> = (0..1000).filter(|key| key % 3 == 0 || *key == 500).collect();
        let sparse: Vec<i64> = dense.iter().map(|key| key * 1_000_003 - 5).collect();
        for keys in [dense, sparse, vec![i64::MIN, i64::MAX, 0], vec![7, 7, 7], vec![-1, 0, 1]] {
            let set = KeySet::new(keys.clone()).expect("there are keys");
            let mut ordered: Vec<i128> = keys.iter().map(|key| i128::from(*key)).collect();
            ordered.sort_unstable();
            ordered.dedup();
            assert_eq!(set.iter().collect::<Vec<_>>(), ordered);
            assert_eq!(set.count(), ordered.len());
            for key in &ordered {
                for beside in [key - 1, *key, key + 1] {
                    assert_eq!(set.contains(beside), ordered.binary_search(&beside).is_ok(), "{beside}");
                }
            }
            for (min, max) in ordered.iter().zip(ordered.iter().skip(2)) {
                let within = ordered.iter().filter(|key| (min..=max).contains(key)).count();
                assert_eq!(set.among(*min, *max), (true, within as i128 == max - min + 1));
                assert_eq!(set.among(min + 1, min + 1).0, set.contains(min + 1));
            }
        }
        assert_eq!(KeySet::new(Vec::new()), None);
    }
}
