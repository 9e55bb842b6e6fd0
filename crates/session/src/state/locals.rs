//! Local variables of a running stored program.

use parking_lot::Mutex;
use squall_catalog::{NameKey, TriggerTime};
use squall_registry::{Coercibility, ExprType};
use squall_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// The variables of the blocks that a program is in, those of the innermost last. Each hides those of its name before it, and
/// columns of that name.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    blocks: Vec<Vec<Local>>,
    /// The conditions that handlers work on, that of the innermost last.
    handled: Vec<SqlError>,
    /// Whether columns of NEW may be set: they are those of a BEFORE trigger.
    new_is_settable: bool,
}

/// A variable.
#[derive(Debug)]
pub(crate) struct Local {
    name: NameKey,
    sql_type: SqlType,
    value: Value,
}

impl Locals {
    /// Those of a routine that begins: its parameters, which are a block around its body.
    pub fn of_parameters<'p>(parameters: impl Iterator<Item = (&'p str, SqlType, Value)>) -> Locals {
        let local = |(name, sql_type, value)| Local { name: NameKey::new(name), sql_type, value };
        Locals { blocks: vec![parameters.map(local).collect()], ..Locals::default() }
    }

    /// Those of a trigger that begins, with its time.
    pub fn of_rows<'p>(columns: impl Iterator<Item = (&'p str, SqlType, Value)>, time: TriggerTime) -> Locals {
        Locals { new_is_settable: time == TriggerTime::Before, ..Locals::of_parameters(columns) }
    }

    /// Whether there is a column of NEW that may be set.
    pub fn is_settable_new(&mut self, column: &str) -> bool {
        self.new_is_settable && self.find(&Locals::row_column("NEW", column)).is_some()
    }

    /// The name of the variable for a column of OLD or NEW: no identifier can have it.
    pub fn row_column(row: &str, column: &str) -> String {
        format!("{row}\0{column}")
    }

    /// The values that a routine has left in its parameters.
    pub fn into_parameters(self) -> Vec<Value> {
        let parameters = self.blocks.into_iter().next().unwrap_or_default();
        parameters.into_iter().map(|local| local.value).collect()
    }

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

    /// The condition that the innermost handler works on.
    pub fn handled(&self) -> Option<&SqlError> {
        self.handled.last()
    }

    /// Leaves as many blocks as that; gives what was in the others.
    pub(crate) fn split_off(&mut self, blocks: usize) -> Vec<Vec<Local>> {
        self.blocks.split_off(blocks.min(self.blocks.len()))
    }

    pub(crate) fn append(&mut self, mut blocks: Vec<Vec<Local>>) {
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

    /// All variables by name and type, those of the innermost block last.
    pub fn each(&self, mut visit: impl FnMut(&str, &SqlType)) {
        self.blocks.iter().flatten().for_each(|local| visit(local.name.as_str(), &local.sql_type));
    }

    /// Their values, in that order.
    pub fn values(&self) -> Vec<Value> {
        self.blocks.iter().flatten().map(|local| local.value.clone()).collect()
    }

    /// Gives them other values; more of them than there are variables are left out.
    pub fn set_values(&mut self, values: Vec<Value>) {
        let locals = self.blocks.iter_mut().flatten();
        locals.zip(values).for_each(|(local, value)| local.value = value);
    }

    /// Gives a variable its value.
    pub fn set(&mut self, name: &str, value: Value) {
        if let Some(local) = self.find(name) {
            local.value = value;
        }
    }
}

/// What a session shares with the binder of its statements.
pub(crate) type SharedLocals = Arc<Mutex<Locals>>;
