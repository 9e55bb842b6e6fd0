//! The columns of a table, as conditions and scans need them to read segments.

use crate::listed_segment::ListedSegment;
use crate::sql_error;
use arrow::array::ArrayRef;
use squall_catalog::ColumnDef;
use squall_column_store::index::{BitmapIndex, ElementIndex};
use squall_column_store::predicate::ColumnSource;
use squall_column_store::{CodedColumn, ColumnCache, ColumnType, Dictionary, Error, Result, ZoneMap};
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_row_store::Table;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// A segment of a table; ordinals are the table's. Columns that the segment is older than have one value in all rows.
pub struct TableColumns<'a> {
    table: &'a Table,
    segment: &'a ListedSegment,
    cache: &'a ColumnCache,
}

impl<'a> TableColumns<'a> {
    /// The columns of a segment, read through a cache.
    pub fn new(table: &'a Table, segment: &'a ListedSegment, cache: &'a ColumnCache) -> TableColumns<'a> {
        TableColumns { table, segment, cache }
    }

    /// The values of some rows of a column, in execution's form; TIMESTAMPs in UTC.
    pub fn array(&self, ordinal: usize, rows: impl Iterator<Item = u32> + Clone) -> SqlResult<ArrayRef> {
        let column_type = self.column_type(ordinal)?;
        let column = self.column(ordinal);
        let array = column.and_then(|column| column.to_array(column_type, rows));
        array.map_err(|error| sql_error(&self.table.def().name, error))
    }

    fn column_type(&self, ordinal: usize) -> SqlResult<ColumnType> {
        match self.segment_ordinal(ordinal) {
            Some(ordinal) => Ok(self.segment.segment.column_type(ordinal)),
            None => stored_type(&self.def(ordinal).map_err(SqlError::internal)?.sql_type),
        }
    }

    fn def(&self, ordinal: usize) -> Result<&'a ColumnDef> {
        let missing = || Error::Invalid(format!("there is no column {ordinal}"));
        self.table.def().columns.get(ordinal).ok_or_else(missing)
    }

    fn segment_ordinal(&self, ordinal: usize) -> Option<usize> {
        self.segment.segment.column_ordinal(self.table.def().columns.get(ordinal)?.id.0)
    }
}

impl ColumnSource for TableColumns<'_> {
    fn rows(&self) -> usize {
        self.segment.segment.rows()
    }

    fn column(&self, ordinal: usize) -> Result<Arc<CodedColumn>> {
        if let Some(ordinal) = self.segment_ordinal(ordinal) {
            return self.cache.column(&self.segment.segment, ordinal);
        }
        let def = self.def(ordinal)?;
        let column = coded_column(&def.sql_type, (0..self.rows()).map(|_| &def.value_for_older_rows));
        Ok(Arc::new(column.map_err(|error| Error::Invalid(error.message))?))
    }

    fn zone_map(&self, ordinal: usize) -> Option<&ZoneMap> {
        Some(self.segment.segment.zone_map(self.segment_ordinal(ordinal)?))
    }

    fn index(&self, ordinal: usize) -> Result<Option<Arc<BitmapIndex>>> {
        match self.segment_ordinal(ordinal) {
            Some(ordinal) => self.cache.index(&self.segment.segment, ordinal),
            None => Ok(None),
        }
    }

    fn elements(&self, ordinal: usize) -> Result<Option<Arc<ElementIndex>>> {
        match self.segment_ordinal(ordinal) {
            Some(ordinal) => self.cache.elements(&self.segment.segment, ordinal),
            None => Ok(None),
        }
    }

    fn dictionary(&self, ordinal: usize) -> Result<Option<Arc<Dictionary>>> {
        match self.segment_ordinal(ordinal) {
            Some(ordinal) => self.cache.dictionary(self.segment.segment(), ordinal),
            None => Ok(self.column(ordinal)?.dictionary().cloned()),
        }
    }
}

/// Values of a column's type, as the row store has them, as they are coded in segments.
pub fn coded_column<'a>(
    sql_type: &SqlType,
    values: impl ExactSizeIterator<Item = &'a Value>,
) -> SqlResult<CodedColumn> {
    let mut builder = ValueArrayBuilder::new(sql_type, values.len());
    for value in values {
        builder.append(value)?;
    }
    coded_array(sql_type, builder.finish())
}

/// Values in execution's form, TIMESTAMPs in UTC, as they are coded in segments.
pub(crate) fn coded_array(sql_type: &SqlType, array: ArrayRef) -> SqlResult<CodedColumn> {
    CodedColumn::from_arrays(stored_type(sql_type)?, &[array]).map_err(SqlError::internal)
}

fn stored_type(sql_type: &SqlType) -> SqlResult<ColumnType> {
    ColumnType::of(sql_type).ok_or_else(|| SqlError::internal("a column without a type"))
}
