//! MySQL's types on Arrow: which array holds which type, and how a field remembers its MySQL type.
//!
//! `docs/decisions/0002-arrow-types.md` says why each type is held as it is.

mod builder;
mod charged;
mod column_builder;
mod convert;
mod read;
mod type_text;

pub use builder::ValueArrayBuilder;
pub(crate) use charged::charged;
pub use column_builder::{ColumnBuilder, finish_views};
pub use convert::{array_of_value, scalar_to_value, value_to_scalar};
pub use read::value_at;
pub use type_text::{decode_type, encode_type};

use arrow::datatypes::{DataType, Field, FieldRef};
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, SqlType};
use std::collections::HashMap;
use std::sync::Arc;

/// Field metadata key of the MySQL type.
pub const TYPE_KEY: &str = "squall.type";
/// Field metadata key of the collation's strength.
pub const COERCIBILITY_KEY: &str = "squall.coercibility";

/// Most digits that a `Decimal128` holds.
const DECIMAL128_DIGITS: u8 = 38;

/// The Arrow type that holds values of a MySQL type.
pub fn arrow_type(sql_type: &SqlType) -> DataType {
    match sql_type {
        SqlType::Null => DataType::Null,
        SqlType::Int { unsigned: false, .. } => DataType::Int64,
        SqlType::Int { unsigned: true, .. }
        | SqlType::Bit { .. }
        | SqlType::Year
        | SqlType::Enum { .. }
        | SqlType::Set { .. } => DataType::UInt64,
        SqlType::Decimal { precision, scale, .. } => decimal_type(*precision, *scale),
        SqlType::Float { .. } | SqlType::Double { .. } => DataType::Float64,
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Time { .. } => DataType::Int64,
        SqlType::String { collation, .. } if *collation == CollationId::BINARY => DataType::BinaryView,
        SqlType::String { .. } | SqlType::Json => DataType::Utf8View,
        SqlType::Hex { .. } | SqlType::Uuid => DataType::BinaryView,
    }
}

/// The Arrow type of DECIMAL(precision, scale).
pub fn decimal_type(precision: u8, scale: u8) -> DataType {
    let precision = precision.max(scale).max(1);
    // Scales are at most 30.
    let scale = scale as i8;
    if precision <= DECIMAL128_DIGITS {
        DataType::Decimal128(precision, scale)
    } else {
        DataType::Decimal256(precision, scale)
    }
}

/// A field of an expression's type that remembers it.
pub fn field_for(name: &str, expr_type: &ExprType) -> Field {
    // A bare NULL is NULL whatever was said.
    let nullable = expr_type.nullable || expr_type.sql_type == SqlType::Null;
    Field::new(name, arrow_type(&expr_type.sql_type), nullable).with_metadata(metadata_for(expr_type))
}

/// The same behind an `Arc`.
pub fn field_ref(name: &str, expr_type: &ExprType) -> FieldRef {
    Arc::new(field_for(name, expr_type))
}

/// The metadata that `field_for` gives a field.
pub fn metadata_for(expr_type: &ExprType) -> HashMap<String, String> {
    HashMap::from([
        (TYPE_KEY.to_string(), encode_type(&expr_type.sql_type)),
        (COERCIBILITY_KEY.to_string(), (expr_type.coercibility as u8).to_string()),
    ])
}

/// The MySQL type of a field: what its metadata says, else the plain type that its Arrow type means.
pub fn sql_type_of(field: &Field) -> SqlType {
    field.metadata().get(TYPE_KEY).and_then(|text| decode_type(text)).unwrap_or_else(|| plain_type(field.data_type()))
}

/// The expression type of a field.
pub fn expr_type_of(field: &Field) -> ExprType {
    let sql_type = sql_type_of(field);
    let coercibility = match field.metadata().get(COERCIBILITY_KEY).map(String::as_str) {
        Some("0") => Coercibility::Explicit,
        Some("1") => Coercibility::None,
        Some("2") => Coercibility::Implicit,
        Some("3") => Coercibility::SystemConstant,
        Some("4") => Coercibility::Literal,
        Some("5") => Coercibility::Numeric,
        Some("6") => Coercibility::Ignorable,
        _ if sql_type.collation().is_some() => Coercibility::Implicit,
        _ => Coercibility::Numeric,
    };
    ExprType { sql_type, nullable: field.is_nullable(), coercibility }
}

/// The MySQL type of an Arrow type that says nothing more of itself, such as the Boolean of a DataFusion predicate.
pub fn plain_type(data_type: &DataType) -> SqlType {
    match data_type {
        DataType::Null => SqlType::Null,
        DataType::Boolean => SqlType::BOOL,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => SqlType::BIGINT_UNSIGNED,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => SqlType::DOUBLE,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => SqlType::decimal(*precision, u8::try_from(*scale).unwrap_or(0)),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            SqlType::longtext(CollationId::BINARY)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI),
        DataType::Dictionary(_, value) => plain_type(value),
        _ => SqlType::BIGINT,
    }
}

#[cfg(test)]
mod tests;
