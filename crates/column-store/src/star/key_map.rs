//! Maps a dimension's key to the group code of its row.

use crate::error::{Error, Result};
use rustc_hash::FxHashMap;

/// Keys that span as many are an array, however few they are: a megabyte is cleared in the time of some thousand look-ups,
/// and a fact table makes millions.
const DENSE_SPAN_MIN: u128 = 1 << 20;

/// Keys that span more are hashed; 32 MB of the widest codes.
const DENSE_SPAN_MAX: u128 = 1 << 23;

/// In between, sparser keys than one in as many are hashed.
const DENSE_SPAN_PER_KEY: u128 = 64;

/// The rows of a dimension that qualify: each one's key, and the code of the group it belongs to.
#[derive(Clone, Debug)]
pub struct KeyMap {
    pub(super) table: KeyTable,
    groups: u32,
}

#[derive(Clone, Debug)]
pub(super) enum KeyTable {
    /// `codes[key - base]`, the greatest code of the width for keys that do not qualify.
    Dense { base: i64, codes: DenseCodes },
    /// Keys that are too far apart for an array.
    Hash(FxHashMap<i64, u32>),
}

#[derive(Clone, Debug)]
pub(super) enum DenseCodes {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// A group code in an array: its greatest value means that the key does not qualify.
pub(super) trait GroupCode: Copy + Eq + Send + Sync {
    const REJECTED: Self;
    fn group(self) -> u32;
}

macro_rules! impl_group_code {
    ($($width:ty),*) => {$(
        impl GroupCode for $width {
            const REJECTED: Self = <$width>::MAX;
            #[inline]
            fn group(self) -> u32 {
                u32::from(self)
            }
        }
    )*};
}
impl_group_code!(u8, u16, u32);

impl KeyMap {
    /// A map of (key, group code) pairs, in any order; group codes are below `groups`. Of a key that comes twice, the last
    /// pair holds: keys of a dimension are unique.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a code is not below `groups`.
    pub fn new(pairs: &[(i64, u32)], groups: u32) -> Result<KeyMap> {
        if let Some((key, code)) = pairs.iter().find(|(_, code)| *code >= groups) {
            return Err(Error::invalid(format!("key {key} has group {code} of {groups}")));
        }
        let base = pairs.iter().map(|(key, _)| *key).min().unwrap_or(0);
        let last = pairs.iter().map(|(key, _)| *key).max().unwrap_or(0);
        let span = (i128::from(last) - i128::from(base)) as u128 + 1;
        let dense_max = DENSE_SPAN_MAX.min(DENSE_SPAN_MIN.max(pairs.len() as u128 * DENSE_SPAN_PER_KEY));
        let table = if span <= dense_max {
            let codes = if groups <= u32::from(u8::MAX) {
                DenseCodes::U8(dense(pairs, base, span as usize, |code| code as u8))
            } else if groups <= u32::from(u16::MAX) {
                DenseCodes::U16(dense(pairs, base, span as usize, |code| code as u16))
            } else {
                DenseCodes::U32(dense(pairs, base, span as usize, |code| code))
            };
            KeyTable::Dense { base, codes }
        } else {
            KeyTable::Hash(pairs.iter().copied().collect())
        };
        Ok(KeyMap { table, groups })
    }

    /// A map that only says which keys qualify: a semi-join.
    pub fn of_keys(keys: impl Iterator<Item = i64>) -> KeyMap {
        let pairs: Vec<(i64, u32)> = keys.map(|key| (key, 0)).collect();
        KeyMap::new(&pairs, 1).expect("group 0 is below 1")
    }

    /// One more than the greatest group code.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// The group code of a key; `None` if it does not qualify.
    pub fn get(&self, key: i64) -> Option<u32> {
        fn entry<T: GroupCode>(codes: &[T], base: i64, key: i64) -> Option<u32> {
            let code = codes.get(usize::try_from(i128::from(key) - i128::from(base)).ok()?)?;
            (*code != T::REJECTED).then(|| code.group())
        }
        match &self.table {
            KeyTable::Hash(codes) => codes.get(&key).copied(),
            KeyTable::Dense { base, codes: DenseCodes::U8(codes) } => entry(codes, *base, key),
            KeyTable::Dense { base, codes: DenseCodes::U16(codes) } => entry(codes, *base, key),
            KeyTable::Dense { base, codes: DenseCodes::U32(codes) } => entry(codes, *base, key),
        }
    }

    /// The cost of a look-up, relative to a table in the first cache level.
    pub(super) fn cost(&self) -> f64 {
        let bytes = match &self.table {
            KeyTable::Hash(_) => return 12.0,
            KeyTable::Dense { codes: DenseCodes::U8(codes), .. } => codes.len(),
            KeyTable::Dense { codes: DenseCodes::U16(codes), .. } => codes.len() * 2,
            KeyTable::Dense { codes: DenseCodes::U32(codes), .. } => codes.len() * 4,
        };
        match bytes {
            0..=0x8000 => 1.0,
            0x8001..=0x10_0000 => 1.5,
            _ => 4.0,
        }
    }
}

fn dense<T: GroupCode>(pairs: &[(i64, u32)], base: i64, span: usize, narrow: impl Fn(u32) -> T) -> Vec<T> {
    let mut codes = vec![T::REJECTED; span];
    for (key, code) in pairs {
        codes[key.wrapping_sub(base) as usize] = narrow(*code);
    }
    codes
}
