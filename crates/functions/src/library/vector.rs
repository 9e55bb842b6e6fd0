//! Vectors as text and back.

use super::support::{Args, Binding, Def};
use crate::vector::{holds_vectors, no_vector};
use squall_registry::{Coercibility, ExprType};
use squall_types::vector::{DIMENSIONS_MAX, TextError, dimensions, numbers, parse, print, shown};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, StringKind, TextSize, Value};
use std::borrow::Cow;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("TO_VECTOR", (1, 1), vector_type, to_vector).also(&["STRING_TO_VECTOR"]),
    Def::new("FROM_VECTOR", (1, 1), text_type, |args| {
        let bytes = vector(args)?;
        if dimensions(&bytes) > Some(DIMENSIONS_MAX as usize) {
            let error = SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&shown(&bytes), &"from_vector"]);
            return Err(error);
        }
        Ok(Value::String(print(numbers(&bytes))))
    })
    .also(&["VECTOR_TO_STRING"]),
    Def::new(
        "VECTOR_DIM",
        (1, 1),
        |binding| {
            check_vector(binding)?;
            Ok(ExprType::numeric(SqlType::BIGINT, false))
        },
        |args| Ok(Value::Int(vector(args).map(|bytes| dimensions(&bytes).unwrap_or_default())? as i64)),
    ),
];

fn wrong_arguments(binding: &Binding<'_>) -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&binding.name.to_lowercase()])
}

fn vector_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let argument = binding.arg(0);
    if argument.is_numeric() {
        return Err(wrong_arguments(binding));
    }
    let sql_type = SqlType::vector(DIMENSIONS_MAX);
    Ok(ExprType { sql_type, nullable: false, coercibility: Coercibility::Implicit })
}

fn to_vector(args: &Args<'_>) -> SqlResult<Value> {
    /// Characters that a message shows of a text with too many numbers.
    const SHOWN: usize = 32;
    let text = args.text(0);
    parse(&text).map(Value::Bytes).map_err(|error| match error {
        TextError::Malformed => no_vector(text.as_bytes()),
        TextError::TooManyDimensions => {
            let shown: String = text.chars().take(SHOWN).collect();
            SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&format_args!("{shown}... "), &"to_vector"])
        }
    })
}

fn check_vector(binding: &Binding<'_>) -> SqlResult<()> {
    if holds_vectors(binding.arg(0)) { Ok(()) } else { Err(wrong_arguments(binding)) }
}

fn text_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    check_vector(binding)?;
    let (kind, collation) = (StringKind::Text(TextSize::Medium), CollationId::UTF8MB4_0900_BIN);
    let sql_type = SqlType::String { kind, length: 16_777_215, collation };
    Ok(ExprType { sql_type, nullable: false, coercibility: Coercibility::Literal })
}

/// The argument's bytes, which are a vector (6138).
fn vector<'a>(args: &Args<'a>) -> SqlResult<Cow<'a, [u8]>> {
    let bytes = args.encoded(0);
    match dimensions(&bytes) {
        Some(_) => Ok(bytes),
        None => Err(no_vector(&bytes)),
    }
}
