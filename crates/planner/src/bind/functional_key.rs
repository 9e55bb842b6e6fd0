//! Functional key parts. If a condition or an order has the same expression as a key part, it reads the hidden column with the value.
//! So these keys can do all that keys of columns can.
//!
//! As in MySQL, only sort keys and operands of comparisons (and of functions that search arrays) are replaced. An expression must be
//! the same tree with the same types (<https://dev.mysql.com/doc/refman/8.4/en/generated-column-index-optimizations.html>).

use super::column::ColumnId;
use super::context::Context;
use super::own_expr::OwnExprs;
use super::scope::{Clause, Relation};
use squall_catalog::{ColumnDef, FunctionalPart};
use squall_functions::expr::{BoundExpr, Call, ColumnRef, CompareOp};
use squall_functions::operators::cast::CastKernel;
use squall_functions::operators::convert::ConvertKernel;
use squall_registry::{Coercibility, ExprType, ScalarKernel};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlError, SqlResult, SqlType, Value};
use std::any::Any;
use std::sync::Arc;

impl Context<'_> {
    /// The hidden column that holds an operand's value, or the operand as it is.
    pub fn keyed_operand(&mut self, operand: BoundExpr) -> BoundExpr {
        if self.clause_has_keys() { self.keyed_order(operand) } else { operand }
    }

    /// The same for a sort key.
    pub fn keyed_order(&mut self, expr: BoundExpr) -> BoundExpr {
        if is_plain(&expr) { expr } else { self.keyed(expr, is_value) }
    }

    /// The hidden column that holds a document whose elements a multi-valued key files rows under, or the document as
    /// it is.
    pub fn keyed_array(&mut self, document: BoundExpr) -> BoundExpr {
        match document.sql_type() == SqlType::Json && self.clause_has_keys() {
            true => self.keyed(document, |part| matches!(part, FunctionalPart::Elements(_))),
            false => document,
        }
    }

    /// The condition to add to `text = 'constant'` if a key has `CAST(text AS CHAR(n))`.
    ///
    /// A key's value may have been cut to n characters, so the condition itself stays, and a longer constant finds
    /// nothing by the key.
    pub fn keyed_text(&mut self, text: &BoundExpr, constant: &BoundExpr) -> SqlResult<Option<BoundExpr>> {
        let BoundExpr::Literal(Value::String(value), _) = constant else { return Ok(None) };
        if is_plain(text) || !text.sql_type().is_string() || !self.clause_has_keys() {
            return Ok(None);
        }
        let compared = self.binder.builder().compare(CompareOp::Equal, text.clone(), constant.clone())?;
        let BoundExpr::Compare { collation: by, .. } = compared else { return Ok(None) };
        let characters = value.chars().count();
        let accepts = |key: &BoundExpr| {
            // Without a collation texts compare as bytes.
            let by = by.unwrap_or(CollationId::UTF8MB4_0900_BIN);
            let holds_it = match key.sql_type() {
                SqlType::String { length, collation, .. } => collation == by && characters <= length as usize,
                _ => false,
            };
            holds_it && uncast(key).is_some_and(|inner| same_value(inner, text))
        };
        let Some((id, _)) = self.matching(is_value, accepts) else { return Ok(None) };
        let by_key = self.binder.builder().compare(CompareOp::Equal, self.columns.expr(id), constant.clone())?;
        Ok(Some(self.binder.builder().and(vec![compared, by_key])))
    }

    /// Whether conditions on rows are being bound.
    fn clause_has_keys(&self) -> bool {
        matches!(self.clause(), Clause::Where | Clause::On)
    }

    fn keyed(&mut self, expr: BoundExpr, wanted: fn(&FunctionalPart) -> bool) -> BoundExpr {
        let Some((id, _)) = self.matching(wanted, |key| same_value(key, &expr)) else { return expr };
        let column = &self.columns.get(id).reference;
        // COLLATE and the like count for more than a column's collation.
        let ty = ExprType { coercibility: expr.ty().coercibility, ..column.ty.clone() };
        BoundExpr::Column(Arc::new(ColumnRef { ty, ..(**column).clone() }))
    }

    /// The first hidden column of the block's tables whose expression is accepted.
    pub(super) fn matching(
        &mut self,
        wanted: fn(&FunctionalPart) -> bool,
        accepts: impl Fn(&BoundExpr) -> bool,
    ) -> Option<(ColumnId, Arc<BoundExpr>)> {
        let relations = &self.frames.last()?.scope.relations;
        let has_keys = |relation: &&Relation| relation.columns.iter().any(|column| column.hidden);
        if !relations.iter().any(|relation| has_keys(&relation)) {
            return None;
        }
        let relations: Vec<Relation> = relations.iter().filter(has_keys).cloned().collect();
        for relation in &relations {
            let Some(definition) = &relation.definition else { continue };
            for (column, place) in definition.columns.iter().zip(&relation.columns) {
                // NULLs that an outer join puts in place of a row are no values of its expressions.
                if !column.functional_part().is_some_and(wanted) || self.columns.get(place.id).may_be_missing {
                    continue;
                }
                if let Some(key) = self.key_expr(relation, column, place.id)
                    && accepts(&key)
                {
                    return Some((place.id, key));
                }
            }
        }
        None
    }

    /// The expression of a hidden column over the columns of its relation.
    fn key_expr(&mut self, relation: &Relation, column: &ColumnDef, id: ColumnId) -> Option<Arc<BoundExpr>> {
        if let Some((_, known)) = self.key_exprs.iter().find(|(known, _)| *known == id) {
            return known.clone();
        }
        let bound = self.bind_key_expr(relation, column).map(Arc::new);
        self.key_exprs.push((id, bound.clone()));
        bound
    }

    fn bind_key_expr(&self, relation: &Relation, column: &ColumnDef) -> Option<BoundExpr> {
        let definition = relation.definition.as_ref()?;
        let database = relation.database.as_deref().unwrap_or_default();
        let own = OwnExprs::new(self.binder.registry, database, definition);
        let bound = own.bind_generated(column.generated.as_ref()?).ok()?;
        Some(bound.rewrite(&mut |node| match &node {
            BoundExpr::Column(column) => match relation.columns.get(column.ordinal) {
                Some(place) => self.columns.expr(place.id),
                None => node,
            },
            _ => node,
        }))
    }
}

fn is_value(part: &FunctionalPart) -> bool {
    matches!(part, FunctionalPart::Value(_))
}

/// Whether an expression is too plain for a functional key part.
fn is_plain(expr: &BoundExpr) -> bool {
    matches!(expr, BoundExpr::Column(_) | BoundExpr::Literal(..) | BoundExpr::Parameter { .. })
}

/// Whether two expressions are the same, from any connection.
fn same_value(key: &BoundExpr, expr: &BoundExpr) -> bool {
    key == expr || (key.sql_type() == expr.sql_type() && with_bare_paths(key) == with_bare_paths(expr))
}

/// The replacement of a kernel that was bound with the types of its paths; it is compared and never run.
#[derive(Debug)]
struct BarePaths;

impl ScalarKernel for BarePaths {
    fn eval(&self, _: &[Value], _: &StatementContext) -> SqlResult<Value> {
        Err(SqlError::internal("an expression that is only compared"))
    }
}

/// The expression with one collation for all paths into documents, where no collation matters.
fn with_bare_paths(expr: &BoundExpr) -> BoundExpr {
    let bare = |arg: &BoundExpr| match arg {
        BoundExpr::Literal(path @ Value::String(_), _) => {
            let sql_type = SqlType::varchar(0, CollationId::UTF8MB4_0900_BIN);
            let ty = ExprType { sql_type, nullable: false, coercibility: Coercibility::Literal };
            BoundExpr::Literal(path.clone(), ty)
        }
        other => other.clone(),
    };
    expr.clone().rewrite(&mut |node| match &node {
        BoundExpr::Call(call) if &*call.name == "JSON_EXTRACT" => {
            let args = call.args.iter().map(bare).collect();
            BoundExpr::call(Call::new(
                Arc::clone(&call.name),
                Arc::new(BarePaths),
                args,
                call.ty.clone(),
                call.volatility,
            ))
        }
        _ => node,
    })
}

/// The argument of a key part's `CAST(… AS CHAR(n))`, perhaps with COLLATE.
fn uncast(key: &BoundExpr) -> Option<&BoundExpr> {
    let BoundExpr::Call(call) = key else { return None };
    let [operand] = call.args.as_slice() else { return None };
    let kernel: &dyn Any = call.kernel.as_ref();
    if kernel.is::<ConvertKernel>() {
        return uncast(operand);
    }
    (kernel.is::<CastKernel>() && call.ty.sql_type.is_string() && operand.sql_type().is_string()).then_some(operand)
}
