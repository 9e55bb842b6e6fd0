//! Local variables of a stored program that runs.

use crate::session::Session;
use parking_lot::Mutex;
use squall_catalog::NameKey;
use squall_definitions::data_type::{TypeRules, resolve_type};
use squall_parser::ast::{DataType, Set, SetItem, Statement};
use squall_registry::StatementContext;
use squall_registry::{Coercibility, ExprType};
use squall_server_state::charset::collation;
use squall_server_state::variables::{Values, ids};
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{Date, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// The variables of the blocks that a program is in, those of the innermost last. Each hides those of its name before it, and
/// columns of that name.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    blocks: Vec<Vec<Local>>,
    /// What handlers are at work on, that of the innermost last.
    handled: Vec<SqlError>,
}

/// A variable.
#[derive(Debug)]
pub(super) struct Local {
    name: NameKey,
    sql_type: SqlType,
    value: Value,
}

impl Locals {
    pub fn begin_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// How many blocks the program is in.
    pub fn depth(&self) -> usize {
        self.blocks.len()
    }

    pub fn begin_handling(&mut self, error: SqlError) {
        self.handled.push(error);
    }

    pub fn end_handling(&mut self) {
        self.handled.pop();
    }

    /// What the innermost handler is at work on.
    pub fn handled(&self) -> Option<&SqlError> {
        self.handled.last()
    }

    /// Leaves as many blocks as that; gives what was in the others.
    pub(super) fn split_off(&mut self, blocks: usize) -> Vec<Vec<Local>> {
        self.blocks.split_off(blocks.min(self.blocks.len()))
    }

    pub(super) fn append(&mut self, mut blocks: Vec<Vec<Local>>) {
        self.blocks.append(&mut blocks);
    }

    /// A variable of the innermost block.
    pub fn declare(&mut self, name: &str, sql_type: SqlType, value: Value) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(Local { name: NameKey::new(name), sql_type, value });
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut Local> {
        let name = NameKey::new(name);
        self.blocks.iter_mut().rev().flatten().find(|local| local.name == name)
    }

    /// The value of a variable, and its type, as an expression has them.
    pub fn value(&mut self, name: &str) -> Option<(Value, ExprType)> {
        let Local { sql_type, value, .. } = self.find(name)?;
        // As a column's: <https://dev.mysql.com/doc/refman/8.4/en/charset-collation-coercibility.html>
        let coercibility = match sql_type {
            SqlType::String { .. } | SqlType::Enum { .. } | SqlType::Set { .. } => Coercibility::Implicit,
            _ => Coercibility::Numeric,
        };
        Some((value.clone(), ExprType { sql_type: sql_type.clone(), nullable: true, coercibility }))
    }

    pub fn type_of(&mut self, name: &str) -> Option<SqlType> {
        self.find(name).map(|local| local.sql_type.clone())
    }

    fn set(&mut self, name: &str, value: Value) {
        if let Some(local) = self.find(name) {
            local.value = value;
        }
    }
}

impl Session {
    /// Whether a stored program runs that has a variable of that name.
    pub(crate) fn has_local(&self, name: &str) -> bool {
        self.locals.as_ref().is_some_and(|locals| locals.lock().type_of(name).is_some())
    }

    /// Whether a statement gives variables of the program that runs their values, which is as strict as a change of rows.
    pub(crate) fn assigns_locals(&self, statement: &Statement) -> bool {
        let Statement::Set(Set::Items(items)) = statement else { return false };
        self.locals.is_some() && items.iter().all(|item| matches!(item, SetItem::System { .. }))
    }

    /// The type of a variable as it is declared: texts are in the character set of the default database.
    ///
    /// # Errors
    /// When there is no such type.
    pub(super) fn local_type(&self, data_type: &DataType, name: &str) -> SqlResult<SqlType> {
        let database = Values(&self.variables.session).text(ids::COLLATION_DATABASE);
        let collation = collation(database)?;
        resolve_type(data_type, name, TypeRules { collation, sql_mode: self.settings.bind.sql_mode })
    }

    /// Gives a local variable a value of some type; `false` if there is none of that name.
    ///
    /// # Errors
    /// When the value does not fit, in strict mode.
    pub(crate) fn set_local(
        &self,
        name: &str,
        (value, from): (Value, &SqlType),
        context: &StatementContext,
    ) -> SqlResult<bool> {
        let Some(locals) = &self.locals else { return Ok(false) };
        let Some(sql_type) = locals.lock().type_of(name) else { return Ok(false) };
        let value = converted(value, from, &sql_type, name, context)?;
        locals.lock().set(name, value);
        Ok(true)
    }
}

/// A value as a column of some type and name would hold it.
///
/// # Errors
/// When it does not fit, in strict mode.
pub(crate) fn converted(
    value: Value,
    from: &SqlType,
    sql_type: &SqlType,
    name: &str,
    context: &StatementContext,
) -> SqlResult<Value> {
    let today = context.settings.time_zone.from_unix_micros(context.now_micros).map_or(Date::ZERO, |now| now.date());
    let conversion = ConversionContext {
        mode: context.settings.sql_mode,
        time_zone: &context.settings.time_zone,
        current_date: today,
        table: "",
        column: name,
        row: 1,
    };
    let mut warnings = Vec::new();
    let stored = store_value(value, from, sql_type, &conversion);
    let stored = stored.resolve(context.settings.sql_mode.is_strict(), &mut warnings)?;
    for warning in warnings {
        context.diagnostics.push(warning.level, warning.error);
    }
    Ok(stored)
}

/// What sessions share with those who bind their statements.
pub(crate) type SharedLocals = Arc<Mutex<Locals>>;
