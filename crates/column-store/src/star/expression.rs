//! Arithmetic on the fact table's columns.

use super::float_order::ordered_bits;
use super::selection::Selection;
use crate::coded::{Code, CodedColumn, CodedValues, IntegerCodes, with_codes};
use crate::error::{Error, Result};
use crate::predicate::ColumnSource;
use std::ops::Range;
use std::sync::Arc;

/// A whole number computed from a row of the fact table; NULL if one of its columns is.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A column of whole numbers; a DECIMAL without its point.
    Column(usize),
    /// A constant.
    Literal(i64),
    /// The sum.
    Add(Box<Expression>, Box<Expression>),
    /// The difference.
    Subtract(Box<Expression>, Box<Expression>),
    /// The product.
    Multiply(Box<Expression>, Box<Expression>),
    /// One of these of DECIMALs, whose values may take 128 bits.
    Decimal(Operator, Box<Expression>, Box<Expression>),
}

/// An expression with the columns of one source.
pub(super) enum BoundExpression {
    Column(Arc<CodedColumn>),
    /// A floating point column, by bits that order as its values do.
    Floats(Arc<CodedColumn>),
    /// A column of texts, by the rank of each code, or of each row where there are no codes.
    Ranks {
        column: Arc<CodedColumn>,
        ranks: Vec<u32>,
    },
    Literal(i64),
    Binary {
        operator: Operator,
        left: Box<BoundExpression>,
        right: Box<BoundExpression>,
        /// Whether SQL has an error for results beyond 64 bits.
        is_integer: bool,
    },
}

/// An operator of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
}

/// Least and greatest value that an expression can have in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) min: i128,
    pub(super) max: i128,
}

/// An integer that expressions are evaluated in; which one, the intervals decide, so that nothing overflows.
pub(super) trait Wide: Copy + Ord + Into<i128> {
    fn of_literal(value: i64) -> Self;
    /// The value of a code. It fits, as the interval of its column does.
    fn of_code(base: i128, shift: u32, code: u64) -> Self;
    fn apply(operator: Operator, left: Self, right: Self) -> Self;
}

impl Wide for i64 {
    #[inline]
    fn of_literal(value: i64) -> i64 {
        value
    }
    #[inline]
    fn of_code(base: i128, shift: u32, code: u64) -> i64 {
        (base as i64).wrapping_add((code << shift) as i64)
    }
    #[inline]
    fn apply(operator: Operator, left: i64, right: i64) -> i64 {
        match operator {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
        }
    }
}

impl Wide for i128 {
    #[inline]
    fn of_literal(value: i64) -> i128 {
        i128::from(value)
    }
    #[inline]
    fn of_code(base: i128, shift: u32, code: u64) -> i128 {
        base + (i128::from(code) << shift)
    }
    #[inline]
    fn apply(operator: Operator, left: i128, right: i128) -> i128 {
        match operator {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
        }
    }
}

impl Expression {
    /// Adds the columns that it is computed from.
    pub(super) fn columns(&self, columns: &mut Vec<usize>) {
        match self {
            Expression::Column(column) => columns.push(*column),
            Expression::Literal(_) => {}
            Expression::Add(left, right)
            | Expression::Subtract(left, right)
            | Expression::Multiply(left, right)
            | Expression::Decimal(_, left, right) => {
                left.columns(columns);
                right.columns(columns);
            }
        }
    }

    pub(super) fn bind(&self, source: &dyn ColumnSource) -> Result<BoundExpression> {
        let binary = |operator, left: &Expression, right: &Expression, is_integer| {
            let (left, right) = (Box::new(left.bind(source)?), Box::new(right.bind(source)?));
            Ok(BoundExpression::Binary { operator, left, right, is_integer })
        };
        match self {
            Expression::Column(ordinal) => Ok(BoundExpression::Column(source.column(*ordinal)?)),
            Expression::Literal(value) => Ok(BoundExpression::Literal(*value)),
            Expression::Add(left, right) => binary(Operator::Add, left, right, true),
            Expression::Subtract(left, right) => binary(Operator::Subtract, left, right, true),
            Expression::Multiply(left, right) => binary(Operator::Multiply, left, right, true),
            Expression::Decimal(operator, left, right) => binary(*operator, left, right, false),
        }
    }
}

/// The integer codes of a column.
///
/// # Errors
/// [`Error::Invalid`] if the column has other values.
pub(super) fn integer_codes(column: &CodedColumn) -> Result<&IntegerCodes> {
    match column.values() {
        CodedValues::Integers(integers) => Ok(integers),
        _ => Err(Error::invalid("a star query joins by and computes with whole numbers only")),
    }
}

impl BoundExpression {
    /// A column whose least or greatest value is asked for.
    pub(super) fn of_extreme(column: Arc<CodedColumn>) -> BoundExpression {
        match column.values() {
            CodedValues::Floats(_) => BoundExpression::Floats(column),
            _ => BoundExpression::Column(column),
        }
    }

    /// The interval of the expression's values.
    ///
    /// # Errors
    /// [`Error::Invalid`] if 128 bits do not hold it, or a column is not of whole numbers.
    pub(super) fn interval(&self) -> Result<Interval> {
        match self {
            BoundExpression::Column(column) => {
                let integers = integer_codes(column)?;
                Ok(Interval { min: integers.base, max: integers.value(integers.greatest) })
            }
            BoundExpression::Floats(_) => Ok(Interval { min: i64::MIN.into(), max: i64::MAX.into() }),
            BoundExpression::Ranks { .. } => Ok(Interval { min: 0, max: u32::MAX.into() }),
            BoundExpression::Literal(value) => Ok(Interval { min: i128::from(*value), max: i128::from(*value) }),
            BoundExpression::Binary { operator, left, right, .. } => {
                let (left, right) = (left.interval()?, right.interval()?);
                Interval::of(*operator, left, right).ok_or_else(|| Error::invalid("a product exceeds 128 bits"))
            }
        }
    }

    /// The codes, if the expression is a column without NULLs.
    pub(super) fn plain_codes(&self) -> Option<&IntegerCodes> {
        match self {
            BoundExpression::Column(column) if column.validity().is_none() => integer_codes(column).ok(),
            _ => None,
        }
    }

    /// Whether 64 bits hold every value on the way.
    pub(super) fn fits_64_bits(&self) -> bool {
        self.is_within_64_bits()
            && match self {
                BoundExpression::Binary { left, right, .. } => left.fits_64_bits() && right.fits_64_bits(),
                _ => true,
            }
    }

    /// Whether they hold every value that SQL keeps in 64 bits.
    pub(super) fn integers_fit_64_bits(&self) -> bool {
        match self {
            BoundExpression::Binary { left, right, is_integer, .. } => {
                (!is_integer || self.is_within_64_bits()) && left.integers_fit_64_bits() && right.integers_fit_64_bits()
            }
            leaf => leaf.is_within_64_bits(),
        }
    }

    fn is_within_64_bits(&self) -> bool {
        self.interval().is_ok_and(|interval| i64::try_from(interval.min).is_ok() && i64::try_from(interval.max).is_ok())
    }

    /// Columns with NULLs.
    pub(super) fn nullable_columns(&self, found: &mut Vec<Arc<CodedColumn>>) {
        match self {
            BoundExpression::Column(column)
            | BoundExpression::Floats(column)
            | BoundExpression::Ranks { column, .. } => {
                if column.validity().is_some() {
                    found.push(column.clone());
                }
            }
            BoundExpression::Literal(_) => {}
            BoundExpression::Binary { left, right, .. } => {
                left.nullable_columns(found);
                right.nullable_columns(found);
            }
        }
    }

    /// The values of selected rows of a block, into `out`.
    pub(super) fn evaluate<W: Wide>(&self, block: Range<usize>, selection: &Selection, out: &mut Vec<W>) {
        out.clear();
        match self {
            BoundExpression::Column(column) => {
                let CodedValues::Integers(integers) = column.values() else { return };
                with_codes!(&integers.codes, codes => decode(integers, &codes[block], selection, out));
            }
            BoundExpression::Floats(column) => {
                let CodedValues::Floats(values) = column.values() else { return };
                let values = &values[block];
                let selected = selection.rows().iter().map(|row| values[usize::from(*row)]);
                out.extend(selected.map(|value| W::of_literal(ordered_bits(value))));
            }
            BoundExpression::Ranks { column, ranks } => match column.values() {
                CodedValues::Dictionary { codes, .. } => with_codes!(codes, codes => {
                    let codes = &codes[block];
                    let selected = selection.rows().iter().map(|row| codes[usize::from(*row)].to_u64());
                    out.extend(selected.map(|code| W::of_literal(ranks[code as usize].into())));
                }),
                _ => {
                    let ranks = &ranks[block];
                    out.extend(selection.rows().iter().map(|row| W::of_literal(ranks[usize::from(*row)].into())));
                }
            },
            BoundExpression::Literal(value) => out.resize(selection.len(), W::of_literal(*value)),
            BoundExpression::Binary { operator, left, right, .. } => {
                left.evaluate(block.clone(), selection, out);
                let mut right_values = Vec::with_capacity(out.len());
                right.evaluate::<W>(block, selection, &mut right_values);
                for (left, right) in out.iter_mut().zip(&right_values) {
                    *left = W::apply(*operator, *left, *right);
                }
            }
        }
    }
}

fn decode<C: Code, W: Wide>(integers: &IntegerCodes, codes: &[C], selection: &Selection, out: &mut Vec<W>) {
    let (base, shift) = (integers.base, integers.shift);
    let selected = selection.rows().iter().map(|row| codes[usize::from(*row)].to_u64());
    // A shift by a number that the compiler knows is none.
    match (selection.is_whole(), shift) {
        (true, 0) => out.extend(codes.iter().map(|code| W::of_code(base, 0, code.to_u64()))),
        (true, _) => out.extend(codes.iter().map(|code| W::of_code(base, shift, code.to_u64()))),
        (false, 0) => out.extend(selected.map(|code| W::of_code(base, 0, code))),
        (false, _) => out.extend(selected.map(|code| W::of_code(base, shift, code))),
    }
}

impl Interval {
    fn of(operator: Operator, left: Interval, right: Interval) -> Option<Interval> {
        Some(match operator {
            Operator::Add => Interval { min: left.min.checked_add(right.min)?, max: left.max.checked_add(right.max)? },
            Operator::Subtract => {
                Interval { min: left.min.checked_sub(right.max)?, max: left.max.checked_sub(right.min)? }
            }
            Operator::Multiply => {
                let corners = [
                    left.min.checked_mul(right.min)?,
                    left.min.checked_mul(right.max)?,
                    left.max.checked_mul(right.min)?,
                    left.max.checked_mul(right.max)?,
                ];
                let [a, b, c, d] = corners;
                Interval { min: a.min(b).min(c).min(d), max: a.max(b).max(c).max(d) }
            }
        })
    }

    /// The greatest distance of a value from zero.
    pub(super) fn magnitude(self) -> u128 {
        self.min.unsigned_abs().max(self.max.unsigned_abs())
    }
}
