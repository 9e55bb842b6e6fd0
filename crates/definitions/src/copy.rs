//! Converts rows of one definition of a table into rows of another.

use crate::execute::DdlEnv;
use squall_catalog::{ColumnDefault, ForeignKey, IndexId, TableDef};
use squall_executor::StatementEnv;
use squall_functions::operators::convert::convert_value;
use squall_planner::dml::foreign_key::check_parents_in;
use squall_planner::dml::target::{RowMaker, Target, implicit_default};
use squall_row_store::{Direction, ReadView, Table, TableStore, ValueRange};
use squall_server_state::ServerState;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::temporal::TimeZone;
use squall_types::{Date, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Where a new column's values come from.
enum Source {
    /// A column before, by ordinal, with its type.
    Column(usize, SqlType),
    /// A column that was not there: the same value in every row, or the error of the first one.
    Value(SqlResult<Value>),
    /// AUTO_INCREMENT values.
    Counter,
    /// A generated column or an expression default: computed once the others are known.
    Computed,
}

/// Converts rows.
pub struct RowCopier<'a> {
    env: &'a DdlEnv,
    store: &'a dyn TableStore,
    target: Arc<Table>,
    sources: Vec<Source>,
    strict: bool,
    zone: Arc<TimeZone>,
    today: Date,
    /// The new table with its expressions bound.
    rules: Target,
    statement: Arc<StatementEnv>,
    /// Whether rows have to be computed on or checked beyond conversion.
    has_rules: bool,
    /// The table before, whose rows may be parents of others.
    old: Arc<TableDef>,
    /// Foreign keys that are new, whose parents every row has to have; those do not change meanwhile.
    new_keys: Vec<ForeignKey>,
    view: ReadView,
}

impl<'a> RowCopier<'a> {
    /// From one definition to the table of another.
    pub fn new(
        state: &'a ServerState,
        env: &'a DdlEnv,
        database: &str,
        old: &Arc<TableDef>,
        target: &Arc<Table>,
        strict: bool,
    ) -> SqlResult<RowCopier<'a>> {
        let new = target.def();
        let mut sources = Vec::with_capacity(new.columns.len());
        for column in &new.columns {
            sources.push(match old.ordinal(column.id) {
                _ if column.generated.is_some() => Source::Computed,
                Some(ordinal) => Source::Column(ordinal, old.columns[ordinal].sql_type.clone()),
                None if column.auto_increment => Source::Counter,
                None => match &column.default {
                    ColumnDefault::Expression(_) => Source::Computed,
                    _ => Source::Value(crate::constant::value_for_older_rows(column, &env.context)),
                },
            });
        }
        let zone = env.context.settings.time_zone.clone();
        let today = zone.from_unix_micros(env.context.now_micros).map_or(Date::ZERO, |now| now.date());
        let catalog = state.catalog.load();
        let rules = Target {
            database: database.into(),
            alias: new.name.as_str().into(),
            table: target.clone(),
            rules: state.rules.get(&state.registry, &catalog, database, new)?,
            view: None,
            triggers: None,
        };
        let is_new = |key: &&ForeignKey| env.foreign_key_checks && !old.foreign_keys.contains(key);
        let new_keys: Vec<ForeignKey> = new.foreign_keys.iter().filter(is_new).cloned().collect();
        let has_rules = !new_keys.is_empty()
            || sources.iter().any(|source| matches!(source, Source::Computed))
            || new.checks.iter().any(|check| check.enforced && !old.checks.contains(check));
        let store = state.store.clone();
        let view = store.read_view();
        let statement = Arc::new(StatementEnv::new(env.context.clone(), catalog, store, Some(view.clone())));
        Ok(RowCopier {
            env,
            store: &*state.store,
            target: target.clone(),
            sources,
            strict,
            zone,
            today,
            rules,
            statement,
            has_rules,
            old: old.clone(),
            new_keys,
            view,
        })
    }

    /// One row; `row_number` counts from 1.
    pub fn convert(&mut self, mut old: Vec<Value>, row_number: u64) -> SqlResult<Vec<Value>> {
        let mut new = Vec::with_capacity(self.sources.len());
        for (source, column) in self.sources.iter().zip(&self.target.def().columns) {
            new.push(match source {
                Source::Value(value) => value.clone()?,
                Source::Computed => Value::Null,
                Source::Counter => {
                    let next = self.store.next_auto_increment(&self.target, 1);
                    convert_value(&Value::UInt(next), &SqlType::BIGINT_UNSIGNED, &column.sql_type, &self.env.context)?
                }
                Source::Column(ordinal, from) => {
                    let value = old.get_mut(*ordinal).map(std::mem::take).unwrap_or_default();
                    if value.is_null() {
                        self.null(column, row_number)?
                    } else if *from == column.sql_type {
                        value
                    } else {
                        self.value(value, from, column, row_number)?
                    }
                }
            });
        }
        if self.has_rules { self.apply_rules(new, row_number) } else { Ok(new) }
    }

    /// Computes generated columns, and checks new constraints.
    fn apply_rules(&mut self, stored: Vec<Value>, row_number: u64) -> SqlResult<Vec<Value>> {
        let mut row = stored;
        for ordinal in &self.rules.rules.timestamps {
            if let Some(Value::DateTime(at)) = row.get_mut(*ordinal) {
                *at = self.zone.from_utc(*at).unwrap_or(*at);
            }
        }
        let maker = RowMaker {
            target: &self.rules,
            env: &self.statement,
            parameters: &[],
            strict: self.strict,
            null_becomes_zero: !self.strict,
            null_waits: false,
        };
        for (ordinal, source) in self.sources.iter().enumerate() {
            if matches!(source, Source::Computed) && self.target.def().columns[ordinal].generated.is_none() {
                row[ordinal] = maker.default_value(ordinal, &row)?;
            }
        }
        maker.generate(&mut row, row_number)?;
        maker.check(&row)?;
        check_parents_in(&self.statement, &self.view, &self.rules, &self.old, &self.new_keys, &row)?;
        Ok(self.rules.stored_row(&row, &self.zone).into_owned())
    }

    fn null(&self, column: &squall_catalog::ColumnDef, row_number: u64) -> SqlResult<Value> {
        if column.nullable {
            return Ok(Value::Null);
        }
        if self.strict {
            return Err(SqlError::new(ErrorCode::InvalidUseOfNull, &[]));
        }
        let error = SqlError::new(ErrorCode::WarnNullToNotNull, &[&column.name, &row_number]);
        self.env.context.diagnostics.warn(error);
        implicit_default(&column.sql_type)
    }

    fn value(
        &self,
        value: Value,
        from: &SqlType,
        column: &squall_catalog::ColumnDef,
        row_number: u64,
    ) -> SqlResult<Value> {
        // What is stored as UTC comes into conversions as local time, and leaves them as it is stored.
        let value = match (value, from) {
            (Value::DateTime(at), SqlType::Timestamp { .. }) => Value::DateTime(self.zone.from_utc(at).unwrap_or(at)),
            (value, _) => value,
        };
        let conversion = ConversionContext {
            mode: self.env.context.settings.sql_mode,
            time_zone: &self.zone,
            current_date: self.today,
            table: &self.target.def().name,
            column: &column.name,
            row: row_number,
        };
        let mut warnings = Vec::new();
        let stored = store_value(value, from, &column.sql_type, &conversion).resolve(self.strict, &mut warnings)?;
        for warning in warnings {
            self.env.context.diagnostics.push(warning.level, warning.error);
        }
        if stored.is_null() { self.null(column, row_number) } else { Ok(stored) }
    }
}

/// The greatest AUTO_INCREMENT value in use.
pub fn greatest_auto_increment(store: &dyn TableStore, table: &Arc<Table>) -> SqlResult<u64> {
    let Some(ordinal) = table.def().auto_increment_ordinal() else { return Ok(0) };
    let range = table.range(IndexId(0), ValueRange::ALL)?;
    let mut cursor = store.read_view().scan(table, &range, Direction::Forward);
    let mut greatest = 0;
    while let Some(row) = cursor.next_row()? {
        match row.view(table).get_value(ordinal)? {
            Value::UInt(number) => greatest = greatest.max(number),
            Value::Int(number) => greatest = greatest.max(u64::try_from(number).unwrap_or(0)),
            _ => {}
        }
    }
    Ok(greatest)
}
