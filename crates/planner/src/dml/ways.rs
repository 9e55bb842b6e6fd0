//! The ways of changing rows that a table's rules allow: one decider for all statements.
//!
//! The slow way does for each row all that the rules ask for: it writes the row in the statement's transaction, on the query pool, and then
//! looks at rows of other tables and runs triggers. A faster way leaves some of that out. It may be taken only if the rules do not
//! ask for what it leaves out.

use super::DmlOptions;
use super::rules::TableRules;
use super::target::Target;
use squall_catalog::TriggerEvent;

/// What a statement does with rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEvent<'a> {
    /// INSERT and LOAD DATA: a row that meets another one with its key does not change that.
    Insert,
    /// REPLACE: rows in the way of new ones are deleted.
    Replace,
    /// INSERT … ON DUPLICATE KEY UPDATE: rows in the way of new ones get new values in some columns, by ordinal.
    InsertOrUpdate(&'a [usize]),
    /// UPDATE: rows get new values in some columns, by ordinal.
    Update(&'a [usize]),
    /// DELETE.
    Delete,
}

/// What is known of a statement beside its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayOptions {
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// The statement is a transaction of its own, or no other session sees the table yet.
    pub alone: bool,
    /// Its expressions, or triggers of its tables, run stored programs with statements.
    pub calls_programs: bool,
    /// The result of each row has to be known before the next one: RETURNING, IGNORE.
    pub one_by_one: bool,
    /// The table is changed through a view.
    pub by_view: bool,
    /// The table's engine can change many rows at once.
    pub engine_changes_at_once: bool,
}

/// The faster ways that a statement may take for rows of a table, if it has as few or as many as they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// On the connection's own thread, where nothing may wait for long: what follows from one row is bounded.
    pub inline: bool,
    /// UPDATE and DELETE of many rows by the engine, which evaluates only the row's own expressions.
    pub at_once: bool,
    /// New rows go around the transaction, into files that become the table's at the end. The row's own expressions are evaluated.
    pub bulk: bool,
    /// Rows of a bulk load are made of their fields without any expression.
    pub direct: bool,
}

impl RowEvent<'_> {
    /// The events of triggers that it may be.
    fn of_triggers(self) -> &'static [TriggerEvent] {
        match self {
            RowEvent::Insert => &[TriggerEvent::Insert],
            RowEvent::Replace => &[TriggerEvent::Insert, TriggerEvent::Delete],
            RowEvent::InsertOrUpdate(_) => &[TriggerEvent::Insert, TriggerEvent::Update],
            RowEvent::Update(_) => &[TriggerEvent::Update],
            RowEvent::Delete => &[TriggerEvent::Delete],
        }
    }

    fn inserts(self) -> bool {
        matches!(self, RowEvent::Insert | RowEvent::Replace | RowEvent::InsertOrUpdate(_))
    }
}

impl TableRules {
    /// The ways that a statement may take.
    pub fn ways(&self, event: RowEvent<'_>, options: &WayOptions) -> Ways {
        let runs_triggers = event.of_triggers().iter().any(|event| self.has_trigger(*event));
        let is_referenced = options.foreign_key_checks && !self.referenced_by.is_empty();
        let takes_long = runs_triggers
            || options.calls_programs
            || (event.inserts() && self.row_by_row)
            || (options.foreign_key_checks && self.cascades(event));
        let is_plain = !runs_triggers && !self.row_by_row && !options.calls_programs;
        let bulk = is_plain && event == RowEvent::Insert && options.alone && !options.one_by_one && !self.temporary;
        Ways {
            inline: !takes_long,
            at_once: is_plain
                && options.engine_changes_at_once
                && !is_referenced
                && match event {
                    RowEvent::Update(assigned) => self.keeps_primary_key(assigned),
                    RowEvent::Delete => !options.one_by_one,
                    RowEvent::Insert | RowEvent::Replace | RowEvent::InsertOrUpdate(_) => false,
                },
            bulk,
            direct: bulk && !options.by_view && self.generated.is_empty() && self.checks.is_empty(),
        }
    }

    /// Whether a trigger runs before such a change of a row, or behind it.
    pub fn has_trigger(&self, event: TriggerEvent) -> bool {
        self.triggers.iter().any(|(_, of)| *of == event)
    }

    /// Whether rows of other tables may change because one of this table does.
    fn cascades(&self, event: RowEvent<'_>) -> bool {
        self.referenced_by.iter().any(|child| match event {
            RowEvent::Insert => false,
            RowEvent::Replace | RowEvent::Delete => child.acts_on_delete(),
            RowEvent::InsertOrUpdate(assigned) | RowEvent::Update(assigned) => {
                child.acts_on_update() && child.parent_columns.iter().any(|column| self.may_change(*column, assigned))
            }
        })
    }

    /// Whether an UPDATE of some columns may give a column another value.
    fn may_change(&self, column: usize, assigned: &[usize]) -> bool {
        assigned.contains(&column)
            || self.on_update_now.contains(&column)
            || self.generated.iter().any(|(generated, _)| *generated == column)
    }

    /// The columns that an UPDATE of some columns may give other values, in order.
    pub fn changing_columns(&self, assigned: &[usize]) -> Vec<usize> {
        let generated = self.generated.iter().map(|(ordinal, _)| *ordinal);
        let follows = generated.chain(self.on_update_now.iter().copied());
        let mut columns: Vec<usize> = assigned.iter().copied().chain(follows).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Whether rows keep their storage keys when some columns get other values.
    pub fn keeps_primary_key(&self, assigned: &[usize]) -> bool {
        let key = self.unique.iter().find(|key| key.primary);
        key.is_none_or(|key| !key.columns.iter().any(|column| self.may_change(*column, assigned)))
    }

    /// Whether a statement has to look for the parents of rows that it writes.
    pub fn checks_parents(&self, foreign_key_checks: bool) -> bool {
        foreign_key_checks && !self.referencing.is_empty()
    }
}

impl Target {
    /// What its rules allow a statement; of the options the table's own are set here.
    pub fn ways(&self, event: RowEvent<'_>, options: WayOptions) -> Ways {
        self.rules.ways(event, &self.way_options(event, options))
    }

    /// Whether rows may get into other partitions by an UPDATE.
    fn may_move(&self, event: RowEvent<'_>) -> bool {
        let (RowEvent::Update(assigned), Some(function)) = (event, self.table.partition_function()) else {
            return false;
        };
        let changing = self.rules.changing_columns(assigned);
        function.columns().iter().any(|column| changing.contains(column))
    }

    /// The options with the table's own.
    pub(super) fn way_options(&self, event: RowEvent<'_>, options: WayOptions) -> WayOptions {
        let engine_changes_at_once = self.table.traits().changes_at_once && !self.may_move(event);
        WayOptions { by_view: self.view.is_some(), engine_changes_at_once, ..options }
    }
}

impl Default for WayOptions {
    fn default() -> Self {
        WayOptions {
            foreign_key_checks: true,
            alone: false,
            calls_programs: false,
            one_by_one: false,
            by_view: false,
            engine_changes_at_once: false,
        }
    }
}

impl From<&DmlOptions> for WayOptions {
    fn from(options: &DmlOptions) -> Self {
        WayOptions {
            foreign_key_checks: options.foreign_key_checks,
            alone: options.bulk_session.is_some(),
            ..WayOptions::default()
        }
    }
}
