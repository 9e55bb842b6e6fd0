//! Triggers around the changes of single rows.

use super::fill::RowFiller;
use super::rules::DefaultRule;
use super::target::{RowMaker, Target, zero_value};
use crate::bind::RowTriggers;
use squall_catalog::{TableDef, TriggerEvent};
use squall_types::{SqlResult, Value};

impl Target {
    /// The triggers that run before such a change.
    pub(super) fn before(&self, event: TriggerEvent) -> Option<&dyn RowTriggers> {
        self.triggers.as_deref().filter(|triggers| triggers.runs_before(event))
    }

    /// The triggers that run behind such a change.
    pub(super) fn after(&self, event: TriggerEvent) -> Option<&dyn RowTriggers> {
        self.triggers.as_deref().filter(|triggers| triggers.runs_after(event))
    }
}

impl RowMaker<'_> {
    /// The new values of a row, as the triggers before its UPDATE leave them; then come the generated columns, and the NULLs that no column
    /// holds.
    pub(super) fn before_update(
        &self,
        old: &[Value],
        mut updated: Vec<Value>,
        row_number: u64,
    ) -> SqlResult<Vec<Value>> {
        let Some(triggers) = self.target.before(TriggerEvent::Update) else { return Ok(updated) };
        triggers.before(TriggerEvent::Update, old, &mut updated, &self.env.context)?;
        let maker = RowMaker { null_waits: false, ..*self };
        for (ordinal, column) in self.target.def().columns.iter().enumerate() {
            if updated[ordinal].is_null() && !column.nullable && column.generated.is_none() {
                updated[ordinal] = maker.null(column)?;
            }
        }
        maker.generate(&mut updated, row_number)?;
        Ok(updated)
    }
}

impl RowFiller<'_> {
    /// Runs the triggers before an INSERT of a row. `given` says which of its columns the statement has given; from now on those are among
    /// them that a trigger has set.
    pub(super) fn before_insert(
        &self,
        triggers: &dyn RowTriggers,
        row: &mut [Value],
        given: &mut [bool],
        row_number: u64,
    ) -> SqlResult<()> {
        let event = TriggerEvent::Insert;
        let maker = self.maker();
        let target = &self.plan.target;
        let def: &TableDef = target.def();
        for (ordinal, column) in def.columns.iter().enumerate() {
            let is_lacking = !column.nullable && matches!(target.rules.defaults[ordinal], DefaultRule::None);
            if !given[ordinal] && column.generated.is_none() && !column.auto_increment {
                // What has no default is NULL, until a trigger sets it.
                row[ordinal] = if is_lacking { Value::Null } else { maker.default_value(ordinal, row)? };
            }
        }
        // The number comes behind the triggers: they see 0, and may give another one.
        let counter = target.rules.auto_increment.filter(|ordinal| !given[*ordinal] || row[*ordinal].is_null());
        let unnumbered = counter.map(|ordinal| zero_value(&def.columns[ordinal].sql_type));
        if let (Some(ordinal), Some(zero)) = (counter, &unnumbered) {
            row[ordinal] = zero.clone();
        }
        maker.generate(row, row_number)?;
        triggers.before(event, &[], row, &self.env.context)?;
        if let (Some(ordinal), Some(zero)) = (counter, unnumbered) {
            given[ordinal] = row[ordinal] != zero;
        }
        let last = RowMaker { null_waits: false, ..maker };
        for (ordinal, column) in def.columns.iter().enumerate() {
            if !row[ordinal].is_null() || column.nullable || column.generated.is_some() || column.auto_increment {
                continue;
            }
            row[ordinal] = match given[ordinal] || triggers.sets(event, ordinal) {
                true => last.null(column)?,
                false => last.default_value(ordinal, row)?,
            };
        }
        Ok(())
    }
}
