//! Reads one column of many rows: finds its position once, and copies a few bytes for each value.

use crate::error::corrupted;
use crate::layout::{Place, Slot};
use crate::physical::Physical;
use crate::table::Table;
use crate::table::row::Row;
use squall_types::SqlResult;

/// A column of fixed width in rows of a table's current layout.
pub struct FixedColumn<'t> {
    table: &'t Table,
    physical: Physical,
    null_offset: usize,
    null_mask: u8,
    offset: usize,
}

impl Table {
    /// Where rows of the current layout have a column; `None` for one whose values are of any length.
    pub fn fixed_column(&self, ordinal: usize) -> Option<FixedColumn<'_>> {
        match *self.current_projection().slots.get(ordinal)? {
            Slot::Stored { null_offset, null_mask, physical, place: Place::Fixed(offset) } => Some(FixedColumn {
                table: self,
                physical,
                null_offset: null_offset as usize,
                null_mask,
                offset: offset as usize,
            }),
            _ => None,
        }
    }
}

impl FixedColumn<'_> {
    /// The stored form.
    pub fn physical(&self) -> Physical {
        self.physical
    }

    /// Hands each row's bytes on, `None` for NULL. `N` is the width of the stored form, and the rows are of the current
    /// layout ([`Row::is_current`]); a row that has no such bytes is damaged.
    pub fn read<const N: usize>(&self, rows: &[Row], mut each: impl FnMut(Option<[u8; N]>)) -> SqlResult<()> {
        debug_assert_eq!(self.physical.fixed_bytes(), Some(N), "the width of the stored form");
        for row in rows {
            let stored = || {
                let null = row.value.get(self.null_offset)? & self.null_mask != 0;
                let bytes = row.value.get(self.offset..)?.first_chunk::<N>()?;
                Some((!null).then_some(*bytes))
            };
            each(stored().ok_or_else(|| corrupted(&self.table.def().name))?);
        }
        Ok(())
    }
}
