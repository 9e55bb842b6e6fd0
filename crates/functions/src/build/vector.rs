//! Operations that refuse vectors, because vectors are neither numbers nor texts.

use super::ExprBuilder;
use crate::expr::{BoundExpr, CompareOp};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};

/// Functions that take vectors, by the first of their names.
const TAKING_VECTORS: &[&str] = &[
    "AES_ENCRYPT",
    "BIT_LENGTH",
    "CHARSET",
    "CHAR_LENGTH",
    "COERCIBILITY",
    "COLLATION",
    "COMPRESS",
    "DISTANCE",
    "FROM_VECTOR",
    "HEX",
    "LENGTH",
    "MD5",
    "NAME_CONST",
    "RESULT_TYPE",
    "SHA",
    "SHA1",
    "SHA2",
    "TO_BASE64",
    "TYPEOF",
    "VECTOR_DIM",
];

/// Functions of numbers, which refuse geometries.
const OF_NUMBERS: &[&str] = &[
    "ABS", "ACOS", "ASIN", "ATAN", "ATAN2", "CEIL", "CEILING", "COS", "COT", "EXP", "FLOOR", "FORMAT", "LN", "LOG",
    "LOG10", "LOG2", "MOD", "POW", "POWER", "RAND", "ROUND", "SIN", "SQRT", "TAN", "TRUNCATE",
];

impl ExprBuilder<'_> {
    /// Whether a function takes vectors in the place of an argument.
    pub fn takes_vector(function: &str, argument: usize) -> bool {
        match function {
            "DISTANCE" | "VECTOR_DISTANCE" => argument < 2,
            "FROM_VECTOR" | "VECTOR_TO_STRING" | "VECTOR_DIM" => true,
            _ => false,
        }
    }

    /// A call's arguments may be vectors only where the function takes them (1210).
    pub(super) fn check_takes_vectors(&self, function: &str, args: &[BoundExpr]) -> SqlResult<()> {
        if OF_NUMBERS.contains(&function) {
            return refuse_no_numbers(function, args);
        }
        if TAKING_VECTORS.contains(&function) { Ok(()) } else { refuse_vectors(function, args) }
    }
}

/// Error 1210 if one of the operands is a vector.
pub fn refuse_vectors<'e>(operation: &str, operands: impl IntoIterator<Item = &'e BoundExpr>) -> SqlResult<()> {
    match operands.into_iter().any(|operand| operand.sql_type().is_vector()) {
        true => Err(SqlError::new(ErrorCode::WrongArguments, &[&operation.to_lowercase()])),
        false => Ok(()),
    }
}

/// Error 1210 if one of the operands can be no number: a vector or a geometry.
pub fn refuse_no_numbers<'e>(
    operation: &str,
    operands: impl IntoIterator<Item = &'e BoundExpr> + Clone,
) -> SqlResult<()> {
    refuse_vectors(operation, operands.clone())?;
    match operands.into_iter().any(|operand| operand.sql_type().is_geometry()) {
        true => Err(SqlError::new(ErrorCode::WrongArguments, &[&operation.to_lowercase()])),
        false => Ok(()),
    }
}

/// Vectors are equal to vectors or are not, and that is all (1210).
pub(super) fn check_compared(op: CompareOp, operation: &str, left: &SqlType, right: &SqlType) -> SqlResult<()> {
    let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual | CompareOp::NullSafeEqual);
    let comparable = |sql_type: &SqlType| sql_type.is_vector() || *sql_type == SqlType::Null;
    if !left.is_vector() && !right.is_vector() || equality && comparable(left) && comparable(right) {
        return Ok(());
    }
    Err(SqlError::new(ErrorCode::WrongArguments, &[&operation.to_lowercase()]))
}
