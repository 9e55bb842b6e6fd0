//! Replaces values by their sort keys.

use super::{BoundExpr, Call};
use crate::operators::sort_key::{JsonSortKeyKernel, SortKeyKernel};
use squall_registry::{Coercibility, ExprType, ScalarKernel, Volatility};
use squall_types::{CollationId, SqlType};
use std::sync::Arc;

/// What stands for the value of an expression where values are grouped, sorted or joined: a sort key for character
/// strings and documents, the expression itself for everything else.
pub fn sort_key(expr: BoundExpr) -> BoundExpr {
    match expr.sql_type() {
        SqlType::String { collation, .. } if collation != CollationId::BINARY => sort_key_in(expr, collation),
        SqlType::Json => key_of(expr, "convert to sort key of JSON", Arc::new(JsonSortKeyKernel)),
        _ => expr,
    }
}

/// The sort key in a collation of a string expression.
pub fn sort_key_in(expr: BoundExpr, collation: CollationId) -> BoundExpr {
    key_of(expr, "convert to sort key", Arc::new(SortKeyKernel { collation }))
}

fn key_of(expr: BoundExpr, name: &'static str, kernel: Arc<dyn ScalarKernel>) -> BoundExpr {
    let ty = ExprType {
        sql_type: SqlType::longtext(CollationId::BINARY),
        nullable: expr.nullable(),
        coercibility: Coercibility::Implicit,
    };
    BoundExpr::call(Call::new(name, kernel, vec![expr], ty, Volatility::Immutable))
}
