//! Conditions without NOT.

use super::{Predicate, Test};

/// A condition whose NOTs stand at single tests. Only for which rows it is true matters: false and unknown are the same.
#[derive(Clone, Debug)]
pub enum Condition {
    /// True of every row, or of none.
    Constant(bool),
    /// A test of one column.
    Test {
        /// The column's ordinal.
        column: usize,
        /// The test.
        test: Test,
        /// Whether it has to fail; unknown stays unknown.
        negated: bool,
    },
    /// All are true.
    And(Vec<Condition>),
    /// One is true.
    Or(Vec<Condition>),
}

impl Condition {
    /// The columns whose values it tests; one that is tested twice comes twice.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Condition::Constant(_) | Condition::Test { test: Test::Elements(_), .. } => Vec::new(),
            Condition::Test { column, .. } => vec![*column],
            Condition::And(parts) | Condition::Or(parts) => parts.iter().flat_map(Condition::columns).collect(),
        }
    }
}

impl From<&Predicate> for Condition {
    fn from(predicate: &Predicate) -> Condition {
        push_down(predicate, false)
    }
}

fn push_down(predicate: &Predicate, negated: bool) -> Condition {
    let parts = |parts: &[Predicate]| parts.iter().map(|part| push_down(part, negated)).collect();
    match predicate {
        Predicate::Constant(value) => Condition::Constant(*value != negated),
        Predicate::Unknown => Condition::Constant(false),
        Predicate::Test { test: Test::Elements(_), .. } if negated => Condition::Constant(true),
        Predicate::Test { column, test } => Condition::Test { column: *column, test: test.clone(), negated },
        Predicate::And(all) if all.is_empty() => Condition::Constant(!negated),
        Predicate::And(all) if negated => Condition::Or(parts(all)),
        Predicate::And(all) => Condition::And(parts(all)),
        Predicate::Or(any) if negated => Condition::And(parts(any)),
        Predicate::Or(any) => Condition::Or(parts(any)),
        Predicate::Not(inner) => push_down(inner, !negated),
    }
}
