//! The keys that a transaction has written in one table, in order.
//!
//! Rows mostly come in the order of their keys, and each index has its own order. So each index has a vector for keys that follow the
//! last one, and a tree for the others.

use super::{Change, Written};
use crate::engine::Slice;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Bound;

/// A write and the step it belongs to.
#[derive(Debug)]
pub(crate) struct Version {
    pub step: u64,
    pub change: Change,
}

/// All writes of one key.
#[derive(Debug)]
pub(crate) struct Versions {
    pub newest: Version,
    /// Earlier steps' versions, oldest first; rarely any.
    pub older: Vec<Version>,
}

impl Versions {
    pub fn at(&self, step: u64) -> Option<&Version> {
        if self.newest.step <= step {
            return Some(&self.newest);
        }
        self.older.iter().rev().find(|version| version.step <= step)
    }

    /// All of them, the newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.newest).chain(self.older.iter().rev())
    }
}

/// The keys of one index, by their first byte. No key is in both parts.
#[derive(Debug, Default)]
struct Group {
    run: Vec<(Slice, Versions)>,
    tree: BTreeMap<Slice, Versions>,
}

/// Keys with their writes, in order.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// By first byte; a table has few indexes.
    groups: Vec<(u8, Group)>,
}

fn first_byte(key: &[u8]) -> u8 {
    key.first().copied().unwrap_or(0)
}

impl Group {
    fn position(&self, key: &[u8]) -> Result<usize, usize> {
        match self.run.last() {
            // What is appended lies behind everything.
            Some((last, _)) if last[..] < *key => Err(self.run.len()),
            _ => self.run.binary_search_by(|(other, _)| other[..].cmp(key)),
        }
    }

    fn get(&self, key: &[u8]) -> Option<&Versions> {
        match self.position(key) {
            Ok(at) => Some(&self.run[at].1),
            Err(_) if self.tree.is_empty() => None,
            Err(_) => self.tree.get(key),
        }
    }

    fn get_mut(&mut self, key: &[u8]) -> Option<&mut Versions> {
        match self.position(key) {
            Ok(at) => Some(&mut self.run[at].1),
            Err(_) if self.tree.is_empty() => None,
            Err(_) => self.tree.get_mut(key),
        }
    }

    fn insert(&mut self, key: Slice, versions: Versions) {
        match self.run.last() {
            Some((last, _)) if *last > key => {
                self.tree.insert(key, versions);
            }
            _ => self.run.push((key, versions)),
        }
    }

    fn remove(&mut self, key: &[u8]) {
        match self.position(key) {
            Ok(at) => {
                self.run.remove(at);
            }
            Err(_) => {
                self.tree.remove(key);
            }
        }
    }

    /// The part of the run within bounds.
    fn run_within(&self, (start, end): (Bound<&[u8]>, Bound<&[u8]>)) -> &[(Slice, Versions)] {
        let behind = |bound: &[u8], or_equal: bool| {
            self.run.partition_point(|(key, _)| if or_equal { key[..] <= *bound } else { key[..] < *bound })
        };
        let from = match start {
            Bound::Included(key) => behind(key, false),
            Bound::Excluded(key) => behind(key, true),
            Bound::Unbounded => 0,
        };
        let to = match end {
            Bound::Included(key) => behind(key, true),
            Bound::Excluded(key) => behind(key, false),
            Bound::Unbounded => self.run.len(),
        };
        self.run.get(from..to).unwrap_or_default()
    }
}

impl Entries {
    fn group(&self, key: &[u8]) -> Option<&Group> {
        let byte = first_byte(key);
        self.groups.iter().find(|(other, _)| *other == byte).map(|(_, group)| group)
    }

    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|(_, group)| group.run.is_empty() && group.tree.is_empty())
    }

    pub fn get(&self, key: &[u8]) -> Option<&Versions> {
        self.group(key)?.get(key)
    }

    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut Versions> {
        let byte = first_byte(key);
        self.groups.iter_mut().find(|(other, _)| *other == byte)?.1.get_mut(key)
    }

    /// Adds a key that is not there.
    pub fn insert(&mut self, key: Slice, versions: Versions) {
        let byte = first_byte(&key);
        let at = self.groups.partition_point(|(other, _)| *other < byte);
        if self.groups.get(at).is_none_or(|(other, _)| *other != byte) {
            self.groups.insert(at, (byte, Group::default()));
        }
        self.groups[at].1.insert(key, versions);
    }

    pub fn remove(&mut self, key: &[u8]) {
        let byte = first_byte(key);
        if let Some((_, group)) = self.groups.iter_mut().find(|(other, _)| *other == byte) {
            group.remove(key);
        }
    }

    /// All keys within bounds, in order.
    pub fn forward<'a>(
        &'a self,
        bounds: (Bound<&'a [u8]>, Bound<&'a [u8]>),
    ) -> impl Iterator<Item = (&'a Slice, &'a Versions)> {
        self.groups.iter().flat_map(move |(_, group)| {
            let run = group.run_within(bounds).iter().map(|(key, versions)| (key, versions));
            Merged::new(run, group.tree.range::<[u8], _>(bounds), |left, right| left.0 < right.0)
        })
    }

    /// All keys within bounds, from their end.
    fn backward<'a>(
        &'a self,
        bounds: (Bound<&'a [u8]>, Bound<&'a [u8]>),
    ) -> impl Iterator<Item = (&'a Slice, &'a Versions)> {
        self.groups.iter().rev().flat_map(move |(_, group)| {
            let run = group.run_within(bounds).iter().rev().map(|(key, versions)| (key, versions));
            Merged::new(run, group.tree.range::<[u8], _>(bounds).rev(), |left, right| left.0 > right.0)
        })
    }

    /// Up to `limit` writes within bounds as of a step, in order or against it.
    pub fn range(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>), reverse: bool, step: u64, limit: usize) -> Vec<Written> {
        let at_step = |(key, versions): (&Slice, &Versions)| {
            let version = versions.at(step)?;
            Some(Written { key: key.clone(), step: version.step, change: version.change.clone() })
        };
        match reverse {
            true => self.backward(bounds).filter_map(at_step).take(limit).collect(),
            false => self.forward(bounds).filter_map(at_step).take(limit).collect(),
        }
    }

    /// The newest write of every key, in order.
    pub fn into_changes(self) -> impl Iterator<Item = (Slice, Change)> {
        self.groups.into_iter().flat_map(|(_, group)| {
            let merged = Merged::new(group.run.into_iter(), group.tree.into_iter(), |left, right| left.0 < right.0);
            merged.map(|(key, versions)| (key, versions.newest.change))
        })
    }
}

/// Two ordered iterators as one.
struct Merged<L: Iterator, R: Iterator, F> {
    left: Peekable<L>,
    right: Peekable<R>,
    left_first: F,
}

impl<T, L: Iterator<Item = T>, R: Iterator<Item = T>, F: Fn(&T, &T) -> bool> Merged<L, R, F> {
    fn new(left: L, right: R, left_first: F) -> Self {
        Merged { left: left.peekable(), right: right.peekable(), left_first }
    }
}

impl<T, L: Iterator<Item = T>, R: Iterator<Item = T>, F: Fn(&T, &T) -> bool> Iterator for Merged<L, R, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) if !(self.left_first)(left, right) => self.right.next(),
            (Some(_), _) => self.left.next(),
            (None, _) => self.right.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Put(Vec<u8>),
        Remove(Vec<u8>),
        /// Keys one behind the other, as rows are loaded.
        Append(u8),
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        (0..3u8, 0..20u8).prop_map(|(index, key)| vec![index, key])
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![key().prop_map(Step::Put), key().prop_map(Step::Remove), (0..3u8).prop_map(Step::Append),]
    }

    fn put(entries: &mut Entries, map: &mut BTreeMap<Vec<u8>, u64>, key: &[u8], step: u64) {
        let newest = Version { step, change: Some(Slice::from(step.to_le_bytes())) };
        match entries.get_mut(key) {
            Some(versions) => versions.newest = newest,
            None => entries.insert(Slice::new(key), Versions { newest, older: Vec::new() }),
        }
        map.insert(key.to_vec(), step);
    }

    proptest! {
        #[test]
        fn entries_agree_with_a_map(steps in proptest::collection::vec(step(), 0..60), low in key(), high in key()) {
            let (mut entries, mut map) = (Entries::default(), BTreeMap::new());
            for (number, step) in (1..).zip(&steps) {
                match step {
                    Step::Put(key) => put(&mut entries, &mut map, key, number),
                    Step::Remove(key) => {
                        entries.remove(key);
                        map.remove(key);
                    }
                    Step::Append(index) => {
                        (20..25u8).for_each(|at| put(&mut entries, &mut map, &[*index, at], number));
                    }
                }
            }
            prop_assert_eq!(entries.is_empty(), map.is_empty());
            for (key, step) in &map {
                prop_assert_eq!(entries.get(key).map(|versions| versions.newest.step), Some(*step));
            }
            let (low, high) = (low.clone().min(high.clone()), low.max(high));
            let bounds = (Bound::Included(&low[..]), Bound::Included(&high[..]));
            let mut expected: Vec<&[u8]> = map.range(low.clone()..=high.clone()).map(|(key, _)| &key[..]).collect();
            for reverse in [false, true] {
                let found = entries.range(bounds, reverse, u64::MAX, 1000);
                let found: Vec<&[u8]> = found.iter().map(|written| &written.key[..]).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(entries.range(bounds, reverse, u64::MAX, 2).len(), expected.len().min(2));
                expected.reverse();
            }
            let all: Vec<Vec<u8>> = entries.into_changes().map(|(key, _)| key.to_vec()).collect();
            prop_assert_eq!(all, map.into_keys().collect::<Vec<_>>());
        }
    }
}
