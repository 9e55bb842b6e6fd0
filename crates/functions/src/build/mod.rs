//! Building bound expressions: what the binder calls.
//!
//! [`ExprBuilder`] applies MySQL's typing rules: it picks the type an operation is done in, puts the conversions in, and
//! folds what is constant. Names and scopes are the binder's business.

mod arithmetic;
mod calls;
mod cast;
mod compare;
mod control;
mod digits;
pub(crate) mod fold;
mod in_set;
mod json;
mod literal;
mod logical;
mod unrounded;
mod vector;

pub use crate::operators::arithmetic_op::ArithmeticOp;
pub use calls::CONTROL_FUNCTIONS;
pub use cast::CastTarget;
pub use in_set::InConstant;
pub use literal::literal_type;
pub use vector::{refuse_no_numbers, refuse_vectors};

use crate::expr::{BoundExpr, Call};
use squall_registry::{Argument, ExprType, Registry, ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType};
use std::sync::Arc;

/// Builds bound expressions for one statement.
#[derive(Clone, Debug)]
pub struct ExprBuilder<'a> {
    registry: &'a Registry,
    context: &'a StatementContext,
}

impl<'a> ExprBuilder<'a> {
    /// A builder that looks functions up in `registry` and takes settings from `context`.
    pub fn new(registry: &'a Registry, context: &'a StatementContext) -> Self {
        Self { registry, context }
    }

    /// The statement's settings.
    pub fn context(&self) -> &'a StatementContext {
        self.context
    }

    /// The registry.
    pub fn registry(&self) -> &'a Registry {
        self.registry
    }

    /// A call of a kernel that is always the same for equal arguments, folded if they are constant.
    pub(crate) fn immutable(
        &self,
        name: &str,
        kernel: Arc<dyn ScalarKernel>,
        args: Vec<BoundExpr>,
        ty: ExprType,
    ) -> BoundExpr {
        self.fold(BoundExpr::call(Call::new(name, kernel, args, ty, Volatility::Immutable)))
    }
}

/// What binding may know of the arguments.
pub(crate) fn arguments_of<'b>(args: &'b [BoundExpr], types: &'b [ExprType]) -> Vec<Argument<'b>> {
    args.iter()
        .zip(types)
        .map(|(arg, expr_type)| Argument { expr_type, literal: arg.as_literal(), name: None })
        .collect()
}

/// The types of expressions.
pub(crate) fn types_of(args: &[BoundExpr]) -> Vec<ExprType> {
    args.iter().map(BoundExpr::ty).collect()
}

/// The types of a function's arguments. Where they become parts of a document, a condition is a boolean and a column a number,
/// even if it was declared as BOOL.
pub(crate) fn types_for(function: &str, args: &[BoundExpr]) -> Vec<ExprType> {
    let mut types = types_of(args);
    if function.starts_with("JSON_") || function == "MEMBER OF" {
        for (arg, ty) in args.iter().zip(&mut types) {
            ty.sql_type = type_in_document(arg);
        }
    }
    types
}

/// The type that an expression's value has in a document.
pub(crate) fn type_in_document(expr: &BoundExpr) -> SqlType {
    match expr.sql_type() {
        SqlType::BOOL if matches!(expr, BoundExpr::Column(_)) => SqlType::BIGINT,
        sql_type => sql_type,
    }
}

/// A result that binding a function gave.
pub type BuildResult = SqlResult<BoundExpr>;

#[cfg(test)]
mod operator_tests;
#[cfg(test)]
mod tests;
