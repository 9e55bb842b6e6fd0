//! Makes the rows of a bulk load, on several threads.

use super::fill::{IdSource, RowFiller, next_auto_increment};
use super::plan::InsertPlan;
use super::{DmlOptions, ignorable};
use squall_catalog::Authorized;
use squall_executor::env::StatementEnv;
use squall_row_store::{BulkEncoder, StoreError, ValueRef};
use squall_types::{SqlResult, SqlType, Value};

/// Makes rows of a bulk load on one thread. The plan's table has no foreign keys.
pub struct RowLoader<'a> {
    /// The statement, with warnings of its own if others make rows of the same statement.
    pub env: StatementEnv,
    /// The load's plan.
    pub plan: Authorized<&'a InsertPlan>,
    /// The session's settings.
    pub options: DmlOptions,
}

/// The result of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadedRow {
    /// It was encoded; with the AUTO_INCREMENT value, if that was generated.
    Stored(Option<u64>),
    /// IGNORE has left it out, with a warning.
    LeftOut,
}

impl RowLoader<'_> {
    /// Makes a row of values with their types, where `None` is DEFAULT. `row` counts from 1, `row_id` is the hidden
    /// number for the row, and `next_id` gives an AUTO_INCREMENT value.
    pub fn load<'t>(
        &self,
        values: impl Iterator<Item = Option<(Value, &'t SqlType)>>,
        row: u64,
        row_id: u64,
        encoder: &mut BulkEncoder,
        next_id: impl FnOnce(&BulkEncoder) -> SqlResult<u64>,
    ) -> SqlResult<LoadedRow> {
        match self.try_load(values, row, row_id, encoder, next_id) {
            Ok(id) => Ok(LoadedRow::Stored(id)),
            Err(error) => {
                let error = StoreError::Sql(error);
                if !self.plan.ignore || !ignorable(&error) {
                    return Err(error.into());
                }
                self.env.context.diagnostics.warn(error.into());
                Ok(LoadedRow::LeftOut)
            }
        }
    }

    fn try_load<'t>(
        &self,
        values: impl Iterator<Item = Option<(Value, &'t SqlType)>>,
        row: u64,
        row_id: u64,
        encoder: &mut BulkEncoder,
        next_id: impl FnOnce(&BulkEncoder) -> SqlResult<u64>,
    ) -> SqlResult<Option<u64>> {
        let filler = RowFiller { env: &self.env, plan: self.plan.get(), parameters: &[], single: false };
        let (mut stored, given) = filler.row_of_values(values, row)?;
        let source = filler.complete(&mut stored, &given, row, || next_id(encoder))?;
        filler.maker().check(&stored)?;
        let stored = self.plan.target.stored_row(&stored, &self.env.context.settings.time_zone);
        let values: Vec<ValueRef<'_>> = stored.iter().map(ValueRef::from).collect();
        encoder.push(&values, row - 1, row_id)?;
        Ok(match source {
            IdSource::Generated(id) => Some(id),
            IdSource::None | IdSource::Given(_) => None,
        })
    }

    /// The next AUTO_INCREMENT value by the session's settings.
    pub fn next_id(&self) -> SqlResult<u64> {
        let (increment, offset) = (self.options.auto_increment_increment, self.options.auto_increment_offset);
        next_auto_increment(&*self.env.store, &self.plan.target.table, increment, offset)
    }
}
