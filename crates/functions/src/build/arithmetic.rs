//! Arithmetic and bit operators.

use super::compare::physical_class;
use super::vector::refuse_no_numbers;
use super::{BuildResult, ExprBuilder};
use crate::expr::BoundExpr;
use crate::operators::arithmetic_op::ArithmeticOp;
use crate::operators::bits::{BitBytesKernel, BitKernel, BitOp};
use crate::operators::{decimal, double, integer};
use crate::typing::numeric::{
    NumericKind, decimal_digits, decimal_of_digits, double_of_places, numeric_kind, shown_places,
};
use squall_registry::{Coercibility, ExprType, ScalarKernel};
use squall_types::{Decimal, SqlMode, SqlType, Value};
use std::sync::Arc;

impl ExprBuilder<'_> {
    /// `left op right` of numbers; dates with INTERVAL are [`ExprBuilder::add_interval`]'s.
    pub fn arithmetic(&self, op: ArithmeticOp, left: BoundExpr, right: BoundExpr) -> BuildResult {
        refuse_no_numbers(op.symbol(), [&left, &right])?;
        let (left, right) = (self.bytes_as_number(left), self.bytes_as_number(right));
        let (left_type, right_type) = (left.sql_type(), right.sql_type());
        let nullable = op.divides() || left.nullable() || right.nullable();
        let (left_kind, right_kind) = (numeric_kind(&left_type), numeric_kind(&right_type));
        let typed = |sql_type| ExprType::numeric(sql_type, nullable);

        if left_kind == NumericKind::Double || right_kind == NumericKind::Double {
            let args = vec![self.to_number_as(left, &SqlType::DOUBLE)?, self.to_number_as(right, &SqlType::DOUBLE)?];
            if op == ArithmeticOp::IntegerDivide {
                let unsigned = left_kind == (NumericKind::Int { unsigned: true })
                    || right_kind == (NumericKind::Int { unsigned: true });
                let ty = typed(NumericKind::Int { unsigned }.sql_type());
                return Ok(self.immutable("DIV", Arc::new(double::IntegerDivide { unsigned }), args, ty));
            }
            // Where both operands say how many places they have: `PI() * 1` has six.
            let places = shown_places(&left_type).zip(shown_places(&right_type)).map(|(left, right)| left.max(right));
            let increment = if op == ArithmeticOp::Divide { self.context.settings.div_precision_increment } else { 0 };
            let sql_type = double_of_places(places.and_then(|places| places.checked_add(increment)));
            return Ok(self.immutable(op.symbol(), Arc::new(double::Arithmetic { op }), args, typed(sql_type)));
        }
        if let (NumericKind::Int { unsigned: a }, NumericKind::Int { unsigned: b }) = (left_kind, right_kind)
            && op != ArithmeticOp::Divide
        {
            let left = self.to_number_as(left, &left_kind.sql_type())?;
            let right = self.to_number_as(right, &right_kind.sql_type())?;
            let signed_result = op == ArithmeticOp::Subtract
                && self.context.settings.sql_mode.contains(SqlMode::NO_UNSIGNED_SUBTRACTION);
            let unsigned = match op {
                ArithmeticOp::Modulo => a,
                _ => (a || b) && !signed_result,
            };
            let kernel = integer::Arithmetic { op, left_unsigned: a, right_unsigned: b, unsigned };
            let ty = typed(NumericKind::Int { unsigned }.sql_type());
            return Ok(self.immutable(op.symbol(), Arc::new(kernel), vec![left, right], ty));
        }
        self.decimal_arithmetic(op, left, right, nullable)
    }

    fn decimal_arithmetic(&self, op: ArithmeticOp, left: BoundExpr, right: BoundExpr, nullable: bool) -> BuildResult {
        let ((left_integer, left_scale), (right_integer, right_scale)) =
            (self.operand_digits(&left), self.operand_digits(&right));
        let increment = u32::from(self.context.settings.div_precision_increment);
        let (precision, scale) = match op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => {
                decimal_of_digits(left_integer.max(right_integer) + 1, left_scale.max(right_scale))
            }
            ArithmeticOp::Multiply => decimal_of_digits(left_integer + right_integer, left_scale + right_scale),
            ArithmeticOp::Divide => decimal_of_digits(left_integer + right_scale, left_scale + increment),
            ArithmeticOp::Modulo | ArithmeticOp::IntegerDivide => {
                decimal_of_digits(left_integer.max(right_integer), left_scale.max(right_scale))
            }
        };
        let args = vec![self.to_decimal(self.unrounded(left))?, self.to_decimal(self.unrounded(right))?];
        if op == ArithmeticOp::IntegerDivide {
            let unsigned = args.iter().any(|arg| arg.sql_type().is_unsigned());
            let ty = ExprType::numeric(NumericKind::Int { unsigned }.sql_type(), nullable);
            return Ok(self.immutable("DIV", Arc::new(decimal::IntegerDivide { unsigned }), args, ty));
        }
        let kernel = decimal::Arithmetic { op, precision, scale, unrounded: false };
        let ty = ExprType::numeric(SqlType::decimal(precision, scale), nullable);
        Ok(self.immutable(op.symbol(), Arc::new(kernel), args, ty))
    }

    /// Digits before and after the point; those of a literal are those it has.
    fn operand_digits(&self, expr: &BoundExpr) -> (u32, u32) {
        match expr.as_literal() {
            Some(Value::Int(value)) => (count_digits(value.unsigned_abs()), 0),
            Some(Value::UInt(value)) => (count_digits(*value), 0),
            _ => decimal_digits(&expr.sql_type()),
        }
    }

    /// The expression as a decimal of its own digits.
    pub(crate) fn to_decimal(&self, expr: BoundExpr) -> BuildResult {
        let sql_type = expr.sql_type();
        if matches!(sql_type, SqlType::Decimal { .. }) {
            return Ok(expr);
        }
        let (integer, scale) = self.operand_digits(&expr);
        let (precision, scale) = decimal_of_digits(integer, scale);
        let target = SqlType::Decimal { precision, scale, unsigned: sql_type.is_unsigned(), zerofill: false };
        self.to_number_as(expr, &target)
    }

    /// A hexadecimal or bit literal as the number that it is where numbers are asked for.
    pub fn bytes_as_number(&self, expr: BoundExpr) -> BoundExpr {
        match &expr {
            BoundExpr::Literal(Value::Bytes(bytes), ty)
                if ty.coercibility == Coercibility::Literal && bytes.len() <= 8 =>
            {
                let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                self.literal(Value::UInt(number))
            }
            _ => expr,
        }
    }

    /// `-operand`.
    pub fn negate(&self, operand: BoundExpr) -> BuildResult {
        refuse_no_numbers("-", [&operand])?;
        let operand = self.bytes_as_number(operand);
        // The literal 9223372036854775808 is one above the largest BIGINT; its negative is a BIGINT.
        if let BoundExpr::Literal(Value::UInt(value), _) = &operand
            && *value <= i64::MIN.unsigned_abs()
        {
            return Ok(self.literal(Value::Int(0_i64.wrapping_sub_unsigned(*value))));
        }
        // Larger ones are no BIGINT any more.
        if let BoundExpr::Literal(Value::UInt(value), _) = &operand {
            return Ok(self.literal(Value::Decimal(Decimal::from_i128(-i128::from(*value), 0))));
        }
        let sql_type = operand.sql_type();
        let (kernel, target): (Arc<dyn ScalarKernel>, SqlType) = match numeric_kind(&sql_type) {
            NumericKind::Int { unsigned } => {
                let operand_type = NumericKind::Int { unsigned }.sql_type();
                let operand = self.to_number_as(operand, &operand_type)?;
                let ty = ExprType::numeric(SqlType::BIGINT, operand.nullable());
                return Ok(self.immutable("-", Arc::new(integer::Negate), vec![operand], ty));
            }
            NumericKind::Decimal { precision, scale } => {
                (Arc::new(decimal::Negate), SqlType::decimal(precision, scale))
            }
            NumericKind::Double => (Arc::new(double::Negate), double_of_places(shown_places(&sql_type))),
        };
        let operand = self.to_number_as(operand, &target)?;
        let ty = ExprType::numeric(target, operand.nullable());
        Ok(self.immutable("-", kernel, vec![operand], ty))
    }

    /// `left op right` of bits.
    pub fn bit_operation(&self, op: BitOp, left: BoundExpr, right: BoundExpr) -> BuildResult {
        refuse_no_numbers(op.symbol(), [&left, &right])?;
        let nullable = left.nullable() || right.nullable();
        let (left_type, right_type) = (left.sql_type(), right.sql_type());
        // Byte strings are operated on as such when both are, or, in a shift, when the left one is. Hexadecimal and bit
        // literals are numbers unless both sides are byte strings and one is no literal.
        let literal = |expr: &BoundExpr| matches!(expr, BoundExpr::Literal(Value::Bytes(_), _));
        let as_bytes = if op.shifts() {
            left_type.is_binary_string() && !literal(&left)
        } else {
            left_type.is_binary_string() && right_type.is_binary_string() && !(literal(&left) && literal(&right))
        };
        if as_bytes {
            let right = if op.shifts() { self.to_bits(right)? } else { right };
            let ty = ExprType { nullable, ..left.ty() };
            return Ok(self.immutable(op.symbol(), Arc::new(BitBytesKernel { op }), vec![left, right], ty));
        }
        let args = vec![self.to_bits(left)?, self.to_bits(right)?];
        let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable);
        Ok(self.immutable(op.symbol(), Arc::new(BitKernel { op }), args, ty))
    }

    /// `~operand`.
    pub fn bit_not(&self, operand: BoundExpr) -> BuildResult {
        refuse_no_numbers("~", [&operand])?;
        let ty = operand.ty();
        if ty.sql_type.is_binary_string() && operand.as_literal().is_none() {
            return Ok(self.immutable("~", Arc::new(BitBytesKernel { op: BitOp::Not }), vec![operand], ty));
        }
        let operand = self.to_bits(operand)?;
        let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, operand.nullable());
        Ok(self.immutable("~", Arc::new(BitKernel { op: BitOp::Not }), vec![operand], ty))
    }

    /// The 64 bits of a number: those of a negative number are its two's complement.
    pub(crate) fn to_bits(&self, operand: BoundExpr) -> BuildResult {
        let operand = self.unrounded(self.bytes_as_number(operand));
        let sql_type = operand.sql_type();
        match physical_class(&sql_type) {
            super::compare::PhysicalClass::Int | super::compare::PhysicalClass::UInt => Ok(operand),
            _ => {
                let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, operand.nullable());
                Ok(self.immutable(
                    "convert to bits",
                    Arc::new(crate::operators::bits::ToBitsKernel { from: sql_type }),
                    vec![operand],
                    ty,
                ))
            }
        }
    }
}

fn count_digits(value: u64) -> u32 {
    value.checked_ilog10().map_or(1, |digits| digits + 1)
}
