//! IN with a long list of constants.

use super::compare::{PhysicalClass, physical_class};
use super::{BuildResult, ExprBuilder};
use crate::expr::{BoundExpr, EmptyRow, boolean_type};
use crate::operators::in_set::{InSetKernel, ValueSet};
use squall_registry::Volatility;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// In how many ways, at most, an operand may be compared with the constants of one list.
const WAYS_MAX: usize = 64;

/// Constants that the operand is compared with in one way.
struct Way {
    /// The operand, converted.
    left: BoundExpr,
    collation: Option<CollationId>,
    set: ValueSet,
}

/// A constant of a list.
#[derive(Debug)]
pub enum InConstant {
    /// An integer, of which lists may have millions.
    Integer(i64),
    /// Any literal.
    Literal(BoundExpr),
}

impl ExprBuilder<'_> {
    /// `operand [NOT] IN (constants)` for lists that are too long for an expression for each of them.
    pub fn in_constants(
        &self,
        operand: BoundExpr,
        constants: impl Iterator<Item = SqlResult<InConstant>>,
        negated: bool,
    ) -> BuildResult {
        let mut ways: Vec<(SqlType, Way)> = Vec::new();
        let mut has_null = false;
        // The type of constants that need no conversion, with the way that they go.
        let mut plain: Option<(SqlType, usize)> = None;
        for constant in constants {
            self.context.kill.check()?;
            let constant = match (constant?, &plain) {
                (InConstant::Integer(number), Some((SqlType::Int { unsigned: false, .. }, way))) => {
                    ways[*way].1.set.add_number(number);
                    continue;
                }
                (InConstant::Integer(number), _) => self.literal(Value::Int(number)),
                (InConstant::Literal(literal), _) => literal,
            };
            let Some(value) = constant.as_literal() else { return Err(not_constant()) };
            if value.is_null() {
                has_null = true;
                continue;
            }
            let sql_type = constant.sql_type();
            if let Some((like, way)) = &plain
                && compare_alike(like, &sql_type)
            {
                ways[*way].1.set.add(value)?;
                continue;
            }
            let compared = self.in_item(&operand, constant.clone())?;
            let BoundExpr::Compare { left, right, collation, .. } = compared else { return Err(not_constant()) };
            let right = self.fold(*right);
            // One that warns is none that is folded: the list does so once.
            let converted = match right.as_literal() {
                Some(converted) => Cow::Borrowed(converted),
                None => Cow::Owned(right.eval(&EmptyRow, self.context)?),
            };
            let class = physical_class(&right.sql_type());
            let at = ways.iter().position(|(sql_type, way)| {
                physical_class(sql_type) == class && way.collation == collation && way.left == *left
            });
            let at = match at {
                Some(at) => at,
                None if ways.len() == WAYS_MAX => return Err(not_constant()),
                None => {
                    ways.push((right.sql_type(), Way { left: *left, collation, set: ValueSet::new(collation) }));
                    ways.len() - 1
                }
            };
            ways[at].1.set.add(&converted)?;
            if right == constant {
                plain = Some((sql_type, at));
            }
        }
        let nullable = has_null || operand.nullable();
        if ways.len() > 1 && operand.volatility() == Volatility::Volatile {
            return Err(not_constant());
        }
        let mut found = Vec::with_capacity(ways.len());
        for (_, mut way) in ways {
            if has_null {
                way.set.add(&Value::Null)?;
            }
            way.set.finish();
            let is_integer = matches!(physical_class(&way.left.sql_type()), PhysicalClass::Int | PhysicalClass::UInt);
            let kernel = Arc::new(InSetKernel { set: Arc::new(way.set), negated, is_integer });
            let name = if negated { "not in" } else { "in" };
            found.push(self.immutable(name, kernel, vec![way.left], boolean_type(nullable)));
        }
        match found.len() {
            0 => Ok(BoundExpr::null()),
            1 => Ok(found.remove(0)),
            _ => {
                let found = found.into_iter().map(|found| self.condition(found)).collect();
                Ok(if negated { self.and(found) } else { self.or(found) })
            }
        }
    }
}

/// Whether a constant of one type is taken as one of the other is, where that needs no conversion: integers of any
/// width, strings of any length.
fn compare_alike(like: &SqlType, other: &SqlType) -> bool {
    match (like, other) {
        (SqlType::Int { unsigned: a, .. }, SqlType::Int { unsigned: b, .. }) => a == b,
        (SqlType::String { collation: a, .. }, SqlType::String { collation: b, .. }) => a == b,
        _ => false,
    }
}

fn not_constant() -> SqlError {
    SqlError::unsupported("so long a list behind IN of values that are compared in this way")
}
