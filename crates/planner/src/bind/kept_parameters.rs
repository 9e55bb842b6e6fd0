//! Parameters of plans that hold for other values.

use squall_functions::expr::BoundExpr;
use squall_types::SqlType;
use std::collections::BTreeSet;

/// Most items of a list with parameters. They are compared one by one; of literals a set is made once.
const LIST_ITEMS_MAX: usize = 32;

/// Which parameters of a statement stay parameters in its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptParameters<'a> {
    /// None: the plan is for these values.
    #[default]
    None,
    /// All of them.
    All,
    /// Those of these numbers, from 0.
    Some(&'a BTreeSet<u32>),
}

impl KeptParameters<'_> {
    /// Whether the parameter of a number stays one.
    pub fn keeps(self, number: u32) -> bool {
        match self {
            KeptParameters::None => false,
            KeptParameters::All => true,
            KeptParameters::Some(numbers) => numbers.contains(&number),
        }
    }

    /// Whether none stays one.
    pub fn is_none(self) -> bool {
        self == KeptParameters::None
    }
}

/// How the conditions of a query use parameters.
#[derive(Debug, Default)]
pub(crate) struct ComparedParameters {
    plain: BTreeSet<u32>,
    other: BTreeSet<u32>,
}

impl ComparedParameters {
    /// Looks at a condition.
    pub fn note(&mut self, condition: &BoundExpr) {
        match condition {
            BoundExpr::And(parts) | BoundExpr::Or(parts) => parts.iter().for_each(|part| self.note(part)),
            BoundExpr::Not(condition) => self.note(condition),
            part if compares_plainly(part) && !is_long_list(part) => add_parameters(part, &mut self.plain),
            part => add_parameters(part, &mut self.other),
        }
    }

    /// Looks at an expression that is a value.
    pub fn note_value(&mut self, value: &BoundExpr) {
        add_parameters(value, &mut self.other);
    }

    /// Those that only stand opposite to plain columns.
    pub fn plain(self) -> Vec<u32> {
        self.plain.difference(&self.other).copied().collect()
    }
}

fn is_long_list(condition: &BoundExpr) -> bool {
    matches!(condition, BoundExpr::InList { list, .. } if list.len() > LIST_ITEMS_MAX)
}

fn add_parameters(expr: &BoundExpr, numbers: &mut BTreeSet<u32>) {
    expr.visit(&mut |node| {
        if let BoundExpr::Parameter { index, .. } = node {
            numbers.insert(*index);
        }
    });
}

/// Whether an expression has a parameter in it.
pub(crate) fn has_parameter(expr: &BoundExpr) -> bool {
    let mut found = false;
    expr.visit(&mut |node| found |= matches!(node, BoundExpr::Parameter { .. }));
    found
}

/// Whether parameters stand nowhere in a condition but opposite to a plain column. Elsewhere types may depend on values: types of the
/// result's columns, and the comparison of a number with a date.
pub(crate) fn compares_plainly(condition: &BoundExpr) -> bool {
    match condition {
        BoundExpr::And(parts) | BoundExpr::Or(parts) => parts.iter().all(compares_plainly),
        BoundExpr::Not(condition) => compares_plainly(condition),
        BoundExpr::Compare { left, right, .. } if is_plain_pair(left, right) || is_plain_pair(right, left) => true,
        BoundExpr::InList { operand, list, .. } if list.iter().all(|item| is_plain_pair(operand, item)) => true,
        other => !has_parameter(other),
    }
}

/// Whether a parameter is compared with a plain column.
fn is_plain_pair(column: &BoundExpr, parameter: &BoundExpr) -> bool {
    match (column, parameter) {
        (BoundExpr::Column(_), BoundExpr::Parameter { .. }) => true,
        // Texts compare as texts, whatever they say.
        (text @ BoundExpr::Call(_), BoundExpr::Parameter { ty, .. }) => {
            text.sql_type().is_string() && ty.sql_type.is_string() && !has_parameter(text)
        }
        // A text that is converted to the column's type, or a number that is made unsigned like the column.
        (BoundExpr::Column(_), BoundExpr::Call(call)) => match call.args.as_slice() {
            [BoundExpr::Parameter { ty, non_negative, .. }] => {
                ty.sql_type.is_string()
                    || *non_negative && matches!(call.ty.sql_type, SqlType::Int { unsigned: true, .. })
            }
            _ => false,
        },
        _ => false,
    }
}
