//! The pass over one zone.

use super::accumulate::Groups;
use super::bind::{BoundGroup, BoundSource, Filter, Lookup};
use super::code_table::CodeTable;
use super::key_map::{DenseCodes, GroupCode, KeyTable};
use super::selection::{BLOCK_ROWS, Selection};
use crate::coded::{Code, CodedColumn, CodedValues, IntegerCodes, with_codes};
use crate::predicate::Mask;
use crate::zone_map::zone_rows;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What one thread needs beside the data.
pub(super) struct Worker {
    mask: Mask,
    selection: Selection,
    /// The combined group index of each selected row, where those are hashed.
    indexes: Vec<u64>,
    /// The place of each selected row's group; nothing if there is only one.
    slots: Vec<u32>,
    pub(super) groups: Groups,
}

impl Worker {
    pub(super) fn new(groups: Groups) -> Worker {
        let (mask, selection) = (Mask::empty(), Selection::default());
        Worker { mask, selection, indexes: Vec::new(), slots: Vec::new(), groups }
    }

    /// Takes the rows of one zone into the groups.
    pub(super) fn zone(&mut self, source: &BoundSource<'_>, zone: usize) {
        let rows = zone_rows(zone, source.rows);
        let masked = match self.filter(source, zone, &rows) {
            Filtered::Nothing => return,
            Filtered::Everything => false,
            Filtered::Mask => true,
        };
        let late = match &source.filter {
            Filter::Scan { values: Some(values), verdicts, .. } if !verdicts[zone].1 => Some(values),
            _ => None,
        };
        for start in rows.clone().step_by(BLOCK_ROWS) {
            let block = start..(start + BLOCK_ROWS).min(rows.end);
            let mut lookups = source.lookups.iter();
            if masked {
                let first = (start - rows.start) / 64;
                self.selection.select_words(&self.mask.words()[first..first + block.len().div_ceil(64)]);
            } else if let Some(lookup) = lookups.next() {
                lookup.select(&block, &mut self.selection);
            } else {
                self.selection.select_all(block.len());
            }
            for lookup in lookups {
                if self.selection.len() == 0 {
                    break;
                }
                lookup.retain(&block, &mut self.selection);
            }
            if let Some(values) = late {
                self.selection.retain(|row| values.holds(start + row));
            }
            if self.selection.len() > 0 {
                if self.groups.are_hashed() {
                    index_groups(source, &block, &self.selection, &mut self.indexes);
                    self.groups.find(&self.indexes, &mut self.slots);
                } else {
                    index_groups(source, &block, &self.selection, &mut self.slots);
                }
                self.groups.add(source, &block, &self.selection, &self.slots);
            }
        }
    }

    /// Fills the mask with the rows that the condition and deletes leave.
    fn filter(&mut self, source: &BoundSource<'_>, zone: usize, rows: &Range<usize>) -> Filtered {
        let mut filtered = Filtered::Everything;
        match &source.filter {
            Filter::All => {}
            Filter::Scan { codes, verdicts, .. } => match (verdicts[zone], codes) {
                ((false, _), _) => return Filtered::Nothing,
                ((true, false), Some(codes)) => {
                    self.mask.set_first(rows.len());
                    codes.retain(rows.clone(), &mut self.mask);
                    filtered = Filtered::Mask;
                }
                _ => {}
            },
            Filter::Rows { found, check } => {
                self.mask = Mask::of_bitmap(&found.candidates, zone);
                if let Some(check) = check {
                    check.retain(rows.clone(), &mut self.mask);
                }
                self.mask.or(&Mask::of_bitmap(&found.sure, zone));
                filtered = Filtered::Mask;
            }
        }
        let (first, end) = (rows.start as u32, rows.end as u32);
        if let Some(deleted) = source.deleted.filter(|deleted| deleted.range_cardinality(first..end) > 0) {
            if matches!(filtered, Filtered::Everything) {
                self.mask.set_first(rows.len());
            }
            self.mask.and_not(&Mask::of_bitmap(deleted, zone));
            filtered = Filtered::Mask;
        }
        if matches!(filtered, Filtered::Mask) && self.mask.is_empty() { Filtered::Nothing } else { filtered }
    }
}

enum Filtered {
    Nothing,
    Everything,
    /// What the worker's mask says.
    Mask,
}

/// An integer that holds combined group indexes.
trait GroupIndex: Copy + Default {
    /// Adds a part of the index; the whole fits.
    fn advance(&mut self, part: u64);
}

impl GroupIndex for u32 {
    #[inline(always)]
    fn advance(&mut self, part: u64) {
        *self = self.wrapping_add(part as u32);
    }
}

impl GroupIndex for u64 {
    #[inline(always)]
    fn advance(&mut self, part: u64) {
        *self = self.wrapping_add(part);
    }
}

/// The combined group index of each selected row; none if there is one group.
fn index_groups<I: GroupIndex>(
    source: &BoundSource<'_>,
    block: &Range<usize>,
    selection: &Selection,
    indexes: &mut Vec<I>,
) {
    indexes.clear();
    if source.groups.is_empty() {
        return;
    }
    indexes.resize(selection.len(), I::default());
    for (group, stride) in &source.groups {
        match group {
            BoundGroup::Join(lookup) => lookup.add_codes(block, selection, *stride, indexes),
            BoundGroup::Integers { column, offset, null } => {
                let CodedValues::Integers(integers) = column.values() else { continue };
                let shift = integers.shift;
                with_codes!(&integers.codes, codes => {
                    let codes = &codes[block.clone()];
                    let code = |row: usize| (codes[row].to_u64() << shift).wrapping_add(*offset);
                    add_or_null(column, block, selection, (*stride, *null), indexes, code);
                });
            }
            BoundGroup::Strings { column, codes: translated, null } => {
                let CodedValues::Dictionary { codes, .. } = column.values() else { continue };
                with_codes!(codes, codes => {
                    let codes = &codes[block.clone()];
                    let code = |row: usize| u64::from(translated[codes[row].to_u64() as usize]);
                    add_or_null(column, block, selection, (*stride, *null), indexes, code);
                });
            }
        }
    }
}

/// Adds the codes of a column, or that of NULL.
#[inline(always)]
fn add_or_null<I: GroupIndex>(
    column: &CodedColumn,
    block: &Range<usize>,
    selection: &Selection,
    (stride, null): (u64, u64),
    indexes: &mut [I],
    code: impl Fn(usize) -> u64,
) {
    match column.validity() {
        None => add(selection, stride, indexes, code),
        Some(validity) => {
            add(selection, stride, indexes, |row| if validity.is_valid(block.start + row) { code(row) } else { null })
        }
    }
}

#[inline(always)]
fn add<I: GroupIndex>(selection: &Selection, stride: u64, indexes: &mut [I], code: impl Fn(usize) -> u64) {
    if selection.is_whole() {
        for (row, index) in indexes.iter_mut().enumerate() {
            index.advance(code(row) * stride);
        }
    } else {
        for (index, row) in indexes.iter_mut().zip(selection.rows()) {
            index.advance(code(usize::from(*row)) * stride);
        }
    }
}

/// Runs `$body` with `$codes`, the block's codes, and `$table`, a [`Probe`] of whichever table.
macro_rules! with_probe {
    ($lookup:expr, $block:expr, $codes:ident, $probe:ident => $body:expr) => {{
        let lookup: &Lookup<'_> = $lookup;
        let CodedValues::Integers(integers) = lookup.column.values() else { return };
        with_codes!(&integers.codes, codes => {
            let $codes = &codes[$block.clone()];
            match (lookup.table.as_deref(), &lookup.keys.table) {
                (Some(CodeTable::U8(table)), _) => {
                    let $probe = CodeProbe { table };
                    $body
                }
                (Some(CodeTable::U16(table)), _) => {
                    let $probe = CodeProbe { table };
                    $body
                }
                (Some(CodeTable::U32(table)), _) => {
                    let $probe = CodeProbe { table };
                    $body
                }
                (None, KeyTable::Dense { base, codes: DenseCodes::U8(table) }) => {
                    let $probe = DenseProbe::new(table, *base, integers);
                    $body
                }
                (None, KeyTable::Dense { base, codes: DenseCodes::U16(table) }) => {
                    let $probe = DenseProbe::new(table, *base, integers);
                    $body
                }
                (None, KeyTable::Dense { base, codes: DenseCodes::U32(table) }) => {
                    let $probe = DenseProbe::new(table, *base, integers);
                    $body
                }
                (None, KeyTable::Hash(table)) => {
                    let $probe = HashProbe { table, integers };
                    $body
                }
            }
        })
    }};
}

impl Lookup<'_> {
    /// Selects the rows of a block whose key qualifies.
    fn select(&self, block: &Range<usize>, selection: &mut Selection) {
        with_probe!(self, block, codes, probe => selection.select(codes, |code| probe.qualifies(code.to_u64())));
        self.retain_valid(block, selection);
    }

    /// Keeps the selected rows whose key qualifies.
    fn retain(&self, block: &Range<usize>, selection: &mut Selection) {
        with_probe!(self, block, codes, probe => selection.retain(|row| probe.qualifies(codes[row].to_u64())));
        self.retain_valid(block, selection);
    }

    fn retain_valid(&self, block: &Range<usize>, selection: &mut Selection) {
        if let Some(validity) = self.column.validity() {
            selection.retain(|row| validity.is_valid(block.start + row));
        }
    }

    /// Adds the group codes of selected rows, whose keys all qualify.
    fn add_codes<I: GroupIndex>(&self, block: &Range<usize>, selection: &Selection, stride: u64, indexes: &mut [I]) {
        with_probe!(self, block, codes, probe => {
            add(selection, stride, indexes, |row| probe.group(codes[row].to_u64()));
        });
    }
}

trait Probe {
    /// Whether a code's key is in the map.
    fn qualifies(&self, code: u64) -> bool;
    /// The group code of a key that is.
    fn group(&self, code: u64) -> u64;
}

/// `table[code]`, for a table with a power of two of entries.
struct CodeProbe<'a, T> {
    table: &'a [T],
}

impl<T: GroupCode> CodeProbe<'_, T> {
    #[inline(always)]
    fn code(&self, code: u64) -> T {
        self.table[code as usize & (self.table.len() - 1)]
    }
}

impl<T: GroupCode> Probe for CodeProbe<'_, T> {
    #[inline(always)]
    fn qualifies(&self, code: u64) -> bool {
        self.code(code) != T::REJECTED
    }

    #[inline(always)]
    fn group(&self, code: u64) -> u64 {
        u64::from(self.code(code).group())
    }
}

/// `table[(code << shift) + offset]`, modulo 2^64: column and keys are of 64 bits, so that a place inside the table is that of
/// the key itself.
struct DenseProbe<'a, T> {
    table: &'a [T],
    offset: u64,
    shift: u32,
}

impl<'a, T: GroupCode> DenseProbe<'a, T> {
    fn new(table: &'a [T], base: i64, integers: &IntegerCodes) -> DenseProbe<'a, T> {
        DenseProbe { table, offset: (integers.base as i64).wrapping_sub(base) as u64, shift: integers.shift }
    }

    #[inline(always)]
    fn code(&self, code: u64) -> T {
        let place = (code << self.shift).wrapping_add(self.offset);
        self.table.get(place as usize).copied().unwrap_or(T::REJECTED)
    }
}

impl<T: GroupCode> Probe for DenseProbe<'_, T> {
    #[inline(always)]
    fn qualifies(&self, code: u64) -> bool {
        self.code(code) != T::REJECTED
    }

    #[inline(always)]
    fn group(&self, code: u64) -> u64 {
        u64::from(self.code(code).group())
    }
}

struct HashProbe<'a> {
    table: &'a FxHashMap<i64, u32>,
    integers: &'a IntegerCodes,
}

impl HashProbe<'_> {
    #[inline]
    fn get(&self, code: u64) -> Option<u32> {
        self.table.get(&(self.integers.value(code) as i64)).copied()
    }
}

impl Probe for HashProbe<'_> {
    #[inline]
    fn qualifies(&self, code: u64) -> bool {
        self.get(code).is_some()
    }

    #[inline]
    fn group(&self, code: u64) -> u64 {
        self.get(code).map_or(0, u64::from)
    }
}
