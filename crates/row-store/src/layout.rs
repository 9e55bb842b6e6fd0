//! Layouts: the columns of a stored row, and their places.
//!
//! A row has the number of its layout in the table. A layout is written once and never changes, so rows of any age can be read. A
//! column that is missing in the row's layout was added later; a column that is missing in the table was dropped.

use crate::bytes::{Malformed, Reader, Writer};
use crate::physical::Physical;
use squall_catalog::{ColumnId, TableDef};

/// Version of the layout record.
const LAYOUT_VERSION: u8 = 1;

/// Bytes before the null bitmap: format, layout number, checksum.
pub(crate) const HEADER_BYTES: usize = 7;

/// The format's byte of a row whose ends of variable values have two bytes.
pub(crate) const FORMAT: u8 = 1;
/// The bit of the format's byte of a row whose ends of variable values have four bytes.
pub(crate) const WIDE: u8 = 0x80;
/// Values of the row lie out of it.
pub(crate) const LARGE: u8 = 0x40;

/// One column of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayoutColumn {
    pub id: ColumnId,
    pub physical: Physical,
}

/// Where a column's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this offset from the start of the row.
    Fixed(u32),
    /// The n-th value of the variable part.
    Variable(u32),
}

/// Which columns a stored row has and where they lie.
#[derive(Debug)]
pub(crate) struct RowLayout {
    pub number: u16,
    pub columns: Vec<LayoutColumn>,
    pub places: Vec<Place>,
    /// Where the table of variable parts' ends begins.
    pub ends_offset: usize,
    pub variable_count: usize,
}

impl RowLayout {
    pub fn new(number: u16, columns: Vec<LayoutColumn>) -> RowLayout {
        let mut offset = HEADER_BYTES + columns.len().div_ceil(8);
        let mut variable_count = 0;
        let places = columns
            .iter()
            .map(|column| match column.physical.fixed_bytes() {
                Some(bytes) => {
                    let place = Place::Fixed(offset as u32);
                    offset += bytes;
                    place
                }
                None => {
                    variable_count += 1;
                    Place::Variable(variable_count - 1)
                }
            })
            .collect();
        RowLayout { number, columns, places, ends_offset: offset, variable_count: variable_count as usize }
    }

    /// The columns that rows of this definition are written with.
    pub fn columns_of(def: &TableDef) -> Vec<LayoutColumn> {
        def.columns
            .iter()
            .map(|column| LayoutColumn { id: column.id, physical: Physical::of(&column.sql_type) })
            .collect()
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(LAYOUT_VERSION);
        writer.list(&self.columns, |writer, column| {
            writer.uint(u64::from(column.id.0));
            for byte in column.physical.code() {
                writer.u8(byte);
            }
        });
        writer.finish()
    }

    pub fn decode(number: u16, record: &[u8]) -> Result<RowLayout, Malformed> {
        let mut reader = Reader::new(record);
        if reader.u8()? != LAYOUT_VERSION {
            return Err(Malformed);
        }
        let columns = reader.list(|reader| {
            let id = ColumnId(reader.u32()?);
            let physical = Physical::from_code(reader.array()?).ok_or(Malformed)?;
            Ok(LayoutColumn { id, physical })
        })?;
        Ok(RowLayout::new(number, columns))
    }
}

/// For each column of a table definition, where a row of one layout has it.
#[derive(Debug)]
pub(crate) struct Projection {
    pub layout: std::sync::Arc<RowLayout>,
    pub slots: Vec<Slot>,
}

/// Where one column of the table is in rows of one layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The row has it.
    Stored { null_offset: u32, null_mask: u8, physical: Physical, place: Place },
    /// The row is older than the column.
    Missing,
}

impl Projection {
    pub fn new(def: &TableDef, layout: std::sync::Arc<RowLayout>) -> Projection {
        let slots = def
            .columns
            .iter()
            .map(|column| match layout.columns.iter().position(|stored| stored.id == column.id) {
                Some(at) => Slot::Stored {
                    null_offset: (HEADER_BYTES + at / 8) as u32,
                    null_mask: 1 << (at % 8),
                    physical: layout.columns[at].physical,
                    place: layout.places[at],
                },
                None => Slot::Missing,
            })
            .collect();
        Projection { layout, slots }
    }
}
