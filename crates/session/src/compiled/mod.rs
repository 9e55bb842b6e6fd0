//! Programs that read and change nothing but their own variables, compiled to operations on values.
//!
//! Such a program needs no session: it runs wherever an expression does, so functions of that kind are kernels, and loops of that kind take the
//! time of their expressions alone. `compile` makes operations of a syntax tree, `machine` runs them.

mod compile;
mod machine;

pub(crate) use compile::{CASE_OPERAND, Compiler, NotCompiled, may_be_compiled};
pub(crate) use machine::{Machine, stored};

use squall_functions::expr::BoundExpr;
use squall_types::{SqlType, Value};

/// A variable's place.
pub(crate) type Slot = usize;

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// Its name, as messages have it.
    pub name: Box<str>,
    /// What values are converted to.
    pub sql_type: SqlType,
}

/// What a program does next.
#[derive(Debug)]
enum Operation {
    /// Gives a variable the value of an expression.
    Set {
        slot: Slot,
        expr: BoundExpr,
        from: SqlType,
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
    /// Whether it has a loop, or calls what may wait: then it may take any time.
    pub may_wait: bool,
    /// Whether it calls functions that run statements.
    pub runs_statements: bool,
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

/// A program that is not at its end after the operations that it was given.
#[derive(Debug, PartialEq)]
pub(crate) struct Paused;

/// What a program leaves.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    /// It has come to its end.
    AtEnd,
    /// RETURN, with a value of the type that it was declared with.
    Returned(Value),
}
