//! Runs the body of a trigger statement by statement, as a part of the statement that changes a row.

use crate::collector::Collector;
use crate::plans::trigger_cache::ParsedTriggers;
use crate::routine::BodyOf;
use crate::session::Session;
use crate::state::locals::Locals;
use squall_catalog::{Invoker, Need, Privileges, TriggerDef};
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// The kind of program in the error about a result set.
const WORD: &str = "trigger";

impl Session {
    /// Runs a trigger of a table, the one at a place in its definition, for OLD and NEW. Gives NEW as the body leaves it.
    ///
    /// # Errors
    /// 1449 for a definer that is gone; what its statements fail with.
    pub(crate) async fn run_trigger(
        &mut self,
        database: &Arc<str>,
        (triggers, at): (&ParsedTriggers, usize),
        (old, new): (Vec<Value>, Vec<Value>),
    ) -> SqlResult<Vec<Value>> {
        let (Some(def), Some(parsed)) = (triggers.table.triggers.get(at), triggers.bodies.get(at)) else {
            return Err(SqlError::internal("a trigger that its table lacks"));
        };
        let body = BodyOf {
            database,
            sql_mode: def.sql_mode,
            client_charset: &def.client_charset,
            connection_collation: &def.connection_collation,
            database_collation: &def.database_collation,
            needed: Need::table(database, &triggers.table.name, Privileges::TRIGGER, "TRIGGER"),
        };
        let outer = self.enter_body(&body, &Invoker::Definer(def.definer.clone()))?;
        let before = self.nesting.inside.as_mut().map(|inside| {
            (std::mem::replace(&mut inside.word, WORD), std::mem::replace(&mut inside.is_in_trigger, true))
        });
        let old_count = old.len();
        let locals = locals_of(triggers, def, old, new);
        // It gives no rows: there is no client to send them to.
        let mut discarded = Collector::default();
        let ran = self.run_program(&parsed.body, parsed.span, def.body.as_bytes(), locals, None, &mut discarded).await;
        if let (Some(inside), Some(before)) = (&mut self.nesting.inside, before) {
            (inside.word, inside.is_in_trigger) = before;
        }
        self.leave_body(outer);
        let (result, left) = ran.map_err(SqlError::internal)?;
        result?;
        Ok(left.locals.into_parameters().split_off(old_count))
    }
}

/// OLD and NEW as variables that only a qualified name finds.
fn locals_of(triggers: &ParsedTriggers, def: &TriggerDef, old: Vec<Value>, new: Vec<Value>) -> Locals {
    let columns = &triggers.table.columns;
    let of = |row: &'static str, values: Vec<Value>| {
        let local = move |(column, value): (&squall_catalog::ColumnDef, Value)| -> (String, SqlType, Value) {
            (Locals::row_column(row, &column.name), column.sql_type.clone(), value)
        };
        columns.iter().zip(values).map(local)
    };
    debug_assert!(old.is_empty() != def.event.has_old() && new.is_empty() != def.event.has_new());
    let locals: Vec<_> = of("OLD", old).chain(of("NEW", new)).collect();
    let columns = locals.iter().map(|(name, sql_type, value)| (&**name, sql_type.clone(), value.clone()));
    Locals::of_rows(columns, def.time)
}
