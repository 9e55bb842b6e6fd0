//! Searches that lock their range piece by piece, because LIMIT may end them early.

use super::{LockingScan, Transaction};
use crate::error::StoreResult;
use crate::index_key::{Direction, KeyRange, split_index_id};
use crate::options::LockRequest;
use crate::read_view::ReadView;
use crate::table::Table;
use crate::table::row::Row;
use squall_catalog::IndexId;
use squall_types::SqlResult;
use std::ops::Bound;
use std::sync::Arc;

/// How often a piece is read again because a row was moved before it was locked. Each row can be once; others that are put there
/// meanwhile are few.
const ATTEMPTS_MAX: usize = 10;

/// A search of a range that goes piece by piece.
#[derive(Clone, Debug)]
pub struct PiecewiseSearch {
    range: KeyRange,
    /// The rest of the ranges; `None` at the end.
    rest: Option<KeyRange>,
    direction: Direction,
    /// Entries that the pieces have had.
    looked_at: usize,
    /// Up to which step of the transaction its own writes are seen: the statement may move rows ahead of the search.
    step: Option<u64>,
}

impl PiecewiseSearch {
    /// A search from one end of a range, of the table itself or of an index.
    pub fn new(range: KeyRange, direction: Direction) -> PiecewiseSearch {
        PiecewiseSearch { rest: Some(range.clone()), range, direction, looked_at: 0, step: None }
    }

    /// How many entries the next piece should have if it is not known how many rows have to be looked at. Surplus locks make others
    /// wait; but each piece has a cost, so pieces grow with the number of entries read.
    pub fn next_count(&self) -> usize {
        (self.looked_at / 16).clamp(1, 256)
    }

    /// The part of a range up to a key, which it holds, and what is left of it.
    fn split(&self, range: &KeyRange, last: &[u8]) -> (KeyRange, KeyRange) {
        let (included, excluded) = (Bound::Included(last.to_vec()), Bound::Excluded(last.to_vec()));
        match self.direction {
            Direction::Forward => (
                KeyRange { start: range.start.clone(), end: included },
                KeyRange { start: excluded, end: range.end.clone() },
            ),
            Direction::Backward => (
                KeyRange { start: included, end: range.end.clone() },
                KeyRange { start: range.start.clone(), end: excluded },
            ),
        }
    }
}

impl Transaction {
    /// The next piece of a search, of `count` entries unless others come or go meanwhile; `None` behind the last. The range up to
    /// here is locked first, as by [`Transaction::lock_ranges`].
    ///
    /// # Errors
    /// Errors of waiting; the search keeps its position.
    pub fn lock_piece(
        &mut self,
        table: &Arc<Table>,
        search: &mut PiecewiseSearch,
        count: usize,
        request: LockRequest,
    ) -> StoreResult<Option<KeyRange>> {
        let Some(rest) = search.rest.clone() else { return Ok(None) };
        let count = count.max(1);
        let mut entries = self.search_view(search).scan(table, &rest, search.direction);
        let mut last = None;
        for number in 1..=count {
            match entries.next_entry()? {
                Some(entry) if number == count => last = Some(entry.key().to_vec()),
                Some(_) => {}
                None => break,
            }
        }
        let (piece, come_to, left) = match last {
            None => (rest, search.range.clone(), None),
            Some(last) => {
                let (piece, left) = search.split(&rest, &last);
                (piece, search.split(&search.range, &last).0, Some(left).filter(|left| !left.is_empty()))
            }
        };
        self.lock_ranges(table, &[come_to], request)?;
        search.rest = left;
        search.looked_at += count;
        Ok(Some(piece))
    }

    /// The view in which a search reads a piece.
    fn search_view(&mut self, search: &mut PiecewiseSearch) -> ReadView {
        let view = self.change_view();
        let step = *search.step.get_or_insert(view.step);
        ReadView { step, ..view }
    }

    /// [`Transaction::scan_locked`] of a piece.
    pub fn scan_piece(
        &mut self,
        table: &Arc<Table>,
        search: &mut PiecewiseSearch,
        piece: &KeyRange,
        request: LockRequest,
    ) -> LockingScan {
        let view = self.search_view(search);
        let cursor = view.scan(table, piece, search.direction);
        let since = self.retries.then_some(view.snapshot);
        LockingScan { cursor, request, pending: None, of_newest: false, since }
    }

    /// The rows of the next [piece](Transaction::lock_piece), locked, in their newest versions and in the order of the search.
    ///
    /// # Errors
    /// Those of waiting; the search stands where it was.
    pub fn lock_next_rows(
        &mut self,
        table: &Arc<Table>,
        search: &mut PiecewiseSearch,
        count: usize,
        request: LockRequest,
    ) -> StoreResult<Option<Vec<Row>>> {
        let mut ahead = search.clone();
        let Some(piece) = self.lock_piece(table, &mut ahead, count, request)? else { return Ok(None) };
        let index = match &piece.start {
            Bound::Included(key) | Bound::Excluded(key) => split_index_id(key).map(|(index, _)| index),
            Bound::Unbounded => None,
        };
        let mut rows = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            rows.clear();
            let mut is_moved = false;
            let mut found = self.search_view(&mut ahead).scan(table, &piece, search.direction);
            while let Some(row) = found.next_row()? {
                let Some(now) = self.get_locked(table, row.key_bytes(), request)? else { continue };
                is_moved |= !row.is_same_version(&now) && is_elsewhere(table, index, &row, &now)?;
                rows.push(now);
            }
            if !is_moved {
                break;
            }
        }
        *search = ahead;
        Ok(Some(rows))
    }
}

/// Whether two versions of a row stand at different places of an index.
fn is_elsewhere(table: &Table, index: Option<IndexId>, one: &Row, other: &Row) -> SqlResult<bool> {
    let Some(index) = index.filter(|index| *index != IndexId(0)) else { return Ok(false) };
    let codec = table.index_codec(index)?;
    let entry = |row: &Row| codec.entry(&row.values(table)?, row.key_bytes());
    Ok(entry(one)?.key != entry(other)?.key)
}
