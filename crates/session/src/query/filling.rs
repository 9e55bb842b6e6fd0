//! Binds the rows that a statement other than INSERT puts into a table: LOAD DATA, CREATE TABLE … SELECT, and rows that functions
//! append.

use crate::authorization::name_need;
use crate::session::Session;
use squall_catalog::Privileges;
use squall_parser::ast::{Ident, LoadDuplicates, ObjectName};
use squall_planner::Binder;
use squall_planner::dml::plan::{InsertRows, InsertValues, NewValue, OnDuplicate};
use squall_planner::dml::{DmlBinder, InsertPlan};
use squall_planner::partition::selected_partitions;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// A base table that is filled.
pub(crate) struct Filling<'f> {
    pub table: &'f ObjectName,
    /// The partitions that rows may go to; all if it is empty.
    pub partitions: &'f [Ident],
    /// The columns that get values.
    pub columns: &'f [Ident],
    pub duplicates: LoadDuplicates,
    /// Whether rows that do not fit are left out or changed until they do.
    pub ignore: bool,
}

/// One row, whose values are put in later.
pub(crate) fn later_values(filling: &Filling<'_>) -> InsertRows {
    InsertRows::Values(InsertValues { rows: vec![vec![NewValue::Default; filling.columns.len()]], packed: None })
}

impl Session {
    /// The plan to put rows into a table; the caller has it authorized.
    ///
    /// # Errors
    /// 1142 for a table that the session may not insert into; those of INSERT for its names.
    pub(crate) fn bind_filling(
        &self,
        filling: &Filling<'_>,
        rows: InsertRows,
        binder: &Binder<'_>,
    ) -> SqlResult<InsertPlan> {
        let (statement, needed, on_duplicate) = match filling.duplicates {
            LoadDuplicates::Replace => ("REPLACE", Privileges::INSERT.union(Privileges::DELETE), OnDuplicate::Replace),
            LoadDuplicates::Default | LoadDuplicates::Ignore => ("INSERT", Privileges::INSERT, OnDuplicate::Fail),
        };
        let security = self.security();
        security.check_needs(name_need(&security, filling.table, needed)?.as_slice())?;
        let dml = DmlBinder::new(binder, &*self.shared.store, &self.shared.rules);
        let mut target = dml.target(filling.table, None, statement)?;
        if let Some(partitions) = selected_partitions(target.def(), filling.partitions)? {
            target.table = target.table.restricted(&partitions);
        }
        let mut columns = Vec::with_capacity(filling.columns.len());
        for name in filling.columns {
            let ordinal = target
                .column(name)?
                .ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&name.as_str(), &"field list"]))?;
            if columns.contains(&ordinal) {
                let name = &target.def().columns[ordinal].name;
                return Err(SqlError::new(ErrorCode::FieldSpecifiedTwice, &[name]));
            }
            columns.push(ordinal);
        }
        let returning = Vec::new();
        Ok(InsertPlan { target, columns, source: rows, on_duplicate, ignore: filling.ignore, returning })
    }
}
