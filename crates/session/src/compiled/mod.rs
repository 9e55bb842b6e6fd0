//! Compiles programs that use only their own variables to operations on values.
//!
//! Such a program needs no session, so it runs wherever an expression runs. A function becomes a kernel, and a loop takes only the time
//! of its expressions. `compile` turns a syntax tree into operations, `machine` runs them.

mod compile;
mod machine;

pub(crate) use compile::{CASE_OPERAND, Compiler, NEW_ALIAS, NotCompiled, OLD_ALIAS, may_be_compiled};
pub(crate) use machine::{Machine, stored};

use crate::signalled::SignalItem;
use squall_catalog::NameKey;
use squall_functions::expr::BoundExpr;
use squall_types::{SqlType, Value};
use std::collections::BTreeSet;

/// A variable's place.
pub(crate) type Slot = usize;

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// Its name, as messages have it.
    pub name: Box<str>,
    /// The type that values are converted to.
    pub sql_type: SqlType,
}

/// The next step of a program.
#[derive(Debug)]
enum Operation {
    /// Gives a variable the value of an expression.
    Set {
        slot: Slot,
        expr: BoundExpr,
        from: SqlType,
    },
    /// Evaluates for what that does: an assignment to a `@variable`.
    Evaluate(BoundExpr),
    /// Ends the program with an error, or warns.
    Signal {
        sqlstate: [u8; 5],
        items: Vec<(SignalItem, BoundExpr, SqlType)>,
    },
    /// Forgets a variable's value.
    Clear(Slot),
    Jump(usize),
    /// Goes elsewhere unless a condition is true.
    JumpUnless {
        condition: BoundExpr,
        to: usize,
    },
    /// Ends a function with a value.
    Return {
        expr: BoundExpr,
        from: SqlType,
    },
    /// CASE had no branch (1339).
    CaseNotFound,
}

/// A compiled program: its variables are read by expressions as the columns of a row.
#[derive(Debug)]
pub(crate) struct CompiledProgram {
    operations: Vec<Operation>,
    variables: Vec<Variable>,
    /// Which of them are columns of the rows of a trigger.
    pub rows: RowSlots,
    /// `@variables` that it reads, which it was compiled for the types of.
    pub user_variables: Vec<NameKey>,
    /// Whether it has a loop, or calls what may wait: then it may take any time.
    pub may_wait: bool,
    /// Whether it calls functions that run statements.
    pub runs_statements: bool,
    /// Whether it gives `@variables` values.
    pub assigns_variables: bool,
    /// Whether equal variables give equal values, at any time.
    pub is_immutable: bool,
    /// Whether that is so within one statement.
    pub is_stable: bool,
}

impl CompiledProgram {
    /// How many variables it has.
    pub fn variable_count(&self) -> usize {
        self.variables.len()
    }

    /// A variable.
    pub fn variable(&self, slot: Slot) -> Option<&Variable> {
        self.variables.get(slot)
    }
}

/// The places of the columns of OLD and NEW among the variables of a trigger: they come first.
#[derive(Debug, Default)]
pub(crate) struct RowSlots {
    /// How many there are.
    pub count: usize,
    /// Where those of NEW begin, if there is that row.
    pub new_at: Option<Slot>,
    /// Those that are read.
    pub reads: BTreeSet<Slot>,
    /// Those that are set.
    pub sets: BTreeSet<Slot>,
}

/// A program that is not at its end after the operations that it was given.
#[derive(Debug, PartialEq)]
pub(crate) struct Paused;

/// The result of a program.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    /// It has come to its end.
    AtEnd,
    /// RETURN, with a value of the type that it was declared with.
    Returned(Value),
}
