//! Literals of VALUES. Those of a long statement are bound when their row is inserted, and dropped after it.

use super::plan::{InsertPlan, NewValue, PackedInsert};
use crate::bind::literal::{bind_literal, bind_negative};
use squall_functions::build::ExprBuilder;
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{Expr, Literal, PackedReader, PackedValue};
use squall_types::{SqlError, SqlResult, SqlType, Value};

/// The literals that most rows of an INSERT are made of, without a scope being set up for each; `column` is where the
/// literal goes.
pub(super) fn plain_literal(builder: &ExprBuilder<'_>, expr: &Expr, column: &SqlType) -> Option<BoundExpr> {
    let literal = |value| Some(builder.literal(value));
    match expr {
        Expr::Literal(Literal::Integer(digits)) => literal(Value::Int(digits.parse().ok()?)),
        Expr::Literal(Literal::String(text)) if text.introducer.is_none() => {
            literal(Value::String(text.value.as_str()?.to_string()))
        }
        Expr::Literal(Literal::Null) => Some(BoundExpr::null()),
        // Hexadecimal digits are a number where a number is asked for.
        Expr::Literal(Literal::Hex { introducer: None, value })
        | Expr::Literal(Literal::Bit { introducer: None, value })
            if column.is_numeric() && value.as_bytes().len() <= 8 =>
        {
            literal(Value::UInt(value.as_bytes().iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
        }
        _ => None,
    }
}

/// Reads packed rows and binds what is in them.
pub(super) struct PackedRowReader<'p> {
    builder: ExprBuilder<'p>,
    parameters: &'p [Value],
    plan: &'p InsertPlan,
    exprs: &'p [NewValue],
    reader: PackedReader<'p>,
    packed: Vec<PackedValue>,
}

impl<'p> PackedRowReader<'p> {
    /// Before the first row.
    pub fn new(
        plan: &'p InsertPlan,
        insert: &'p PackedInsert,
        builder: ExprBuilder<'p>,
        parameters: &'p [Value],
    ) -> PackedRowReader<'p> {
        PackedRowReader {
            builder,
            parameters,
            plan,
            exprs: &insert.exprs,
            reader: insert.rows.reader(),
            packed: Vec::new(),
        }
    }

    /// Puts the next row in the place of what is in `row`; `false` at the end.
    pub fn next_row(&mut self, row: &mut Vec<NewValue>) -> SqlResult<bool> {
        row.clear();
        if !self.reader.next_row(&mut self.packed) {
            return Ok(false);
        }
        for (value, ordinal) in self.packed.iter().zip(&self.plan.columns) {
            row.push(self.bind(value, *ordinal)?);
        }
        Ok(true)
    }

    fn bind(&self, value: &PackedValue, column: usize) -> SqlResult<NewValue> {
        let expr = match value {
            PackedValue::Leaf(expr) => expr,
            PackedValue::Shared(number) => {
                let shared = self.exprs.get(*number as usize);
                return shared.cloned().ok_or_else(|| SqlError::internal("a row has an expression that is not there"));
            }
        };
        let column = &self.plan.target.def().columns[column].sql_type;
        if let Some(literal) = plain_literal(&self.builder, expr, column) {
            return Ok(NewValue::Expr(literal));
        }
        Ok(NewValue::Expr(match expr {
            Expr::Default => return Ok(NewValue::Default),
            Expr::Literal(literal) => bind_literal(&self.builder, literal)?,
            Expr::Unary { operand, .. } => match &**operand {
                Expr::Literal(literal) => bind_negative(&self.builder, literal)?,
                _ => return Err(SqlError::internal("a row has a literal that is none")),
            },
            Expr::Placeholder(number) => match self.parameters.get(*number as usize) {
                Some(Value::String(text)) if column.is_vector() => {
                    self.builder.literal(Value::Bytes(text.as_bytes().to_vec()))
                }
                Some(Value::String(text)) => {
                    self.builder.string_literal(text.as_str(), self.builder.context().settings.collation)
                }
                Some(value) => self.builder.literal(value.clone()),
                None => BoundExpr::null(),
            },
            _ => return Err(SqlError::internal("a row has a literal that is none")),
        }))
    }
}
