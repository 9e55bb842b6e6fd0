//! The numeric type of a value.

use squall_types::{Decimal, IntWidth, SqlType};

/// The kind of number that arithmetic takes a value as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumericKind {
    /// A 64-bit integer.
    Int {
        /// Unsigned.
        unsigned: bool,
    },
    /// A decimal.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// A floating point number.
    Double,
}

/// The kind of number that a value of the type is in arithmetic.
pub fn numeric_kind(sql_type: &SqlType) -> NumericKind {
    match sql_type {
        SqlType::Null => NumericKind::Int { unsigned: false },
        SqlType::Int { unsigned, .. } => NumericKind::Int { unsigned: *unsigned },
        SqlType::Bit { .. } | SqlType::Year | SqlType::Enum { .. } | SqlType::Set { .. } => {
            NumericKind::Int { unsigned: true }
        }
        SqlType::Decimal { precision, scale, .. } => NumericKind::Decimal { precision: *precision, scale: *scale },
        SqlType::Date | SqlType::Time { fsp: 0 } | SqlType::DateTime { fsp: 0 } | SqlType::Timestamp { fsp: 0 } => {
            NumericKind::Int { unsigned: false }
        }
        SqlType::Time { fsp } => NumericKind::Decimal { precision: 7 + *fsp, scale: *fsp },
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
            NumericKind::Decimal { precision: 14 + *fsp, scale: *fsp }
        }
        SqlType::Float { .. }
        | SqlType::Double { .. }
        | SqlType::String { .. }
        | SqlType::Json
        | SqlType::Hex { .. }
        | SqlType::Uuid => NumericKind::Double,
    }
}

/// Digits of an integer type's largest value.
pub fn integer_digits(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Int { width, unsigned, .. } => match (width, unsigned) {
            (IntWidth::Tiny, _) => 3,
            (IntWidth::Small, _) => 5,
            (IntWidth::Medium, false) => 7,
            (IntWidth::Medium, true) => 8,
            (IntWidth::Int, _) => 10,
            (IntWidth::Big, false) => 19,
            (IntWidth::Big, true) => 20,
        },
        SqlType::Year => 4,
        SqlType::Date => 8,
        SqlType::Time { .. } => 7,
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => 14,
        SqlType::Enum { .. } => 5,
        _ => 20,
    }
}

impl NumericKind {
    /// The MySQL type of a result of this kind.
    pub fn sql_type(self) -> SqlType {
        match self {
            NumericKind::Int { unsigned: false } => SqlType::BIGINT,
            NumericKind::Int { unsigned: true } => SqlType::BIGINT_UNSIGNED,
            NumericKind::Decimal { precision, scale } => SqlType::decimal(precision, scale),
            NumericKind::Double => SqlType::DOUBLE,
        }
    }
}

/// DECIMAL with that many digits before and after the point, cut to what a DECIMAL has.
pub fn decimal_of_digits(integer_digits: u32, scale: u32) -> (u8, u8) {
    let scale = scale.min(u32::from(Decimal::SCALE_MAX));
    let precision = (integer_digits + scale).clamp(1, u32::from(Decimal::PRECISION_MAX));
    // Both are at most 65.
    (precision as u8, scale as u8)
}

/// (digits before the point, digits after it) of a type taken as a decimal.
pub fn decimal_digits(sql_type: &SqlType) -> (u32, u32) {
    match numeric_kind(sql_type) {
        NumericKind::Decimal { precision, scale } => (u32::from(precision.saturating_sub(scale)), u32::from(scale)),
        NumericKind::Int { .. } => (u32::from(integer_digits(sql_type)), 0),
        NumericKind::Double => (u32::from(Decimal::PRECISION_MAX - Decimal::SCALE_MAX), u32::from(Decimal::SCALE_MAX)),
    }
}

/// Digits that a DOUBLE with a fixed number of places has before them.
const DOUBLE_DIGITS: u8 = 17;

/// The places after the point that values of a type are shown with; `None` for texts, and for FLOAT and DOUBLE without (M,D).
pub fn shown_places(sql_type: &SqlType) -> Option<u8> {
    match sql_type {
        SqlType::Float { digits, .. } | SqlType::Double { digits, .. } => digits.map(|(_, places)| places),
        _ => match numeric_kind(sql_type) {
            NumericKind::Int { .. } => Some(0),
            NumericKind::Decimal { scale, .. } => Some(scale),
            NumericKind::Double => None,
        },
    }
}

/// DOUBLE that is shown with so many places, if they are known and not too many.
pub fn double_of_places(places: Option<u8>) -> SqlType {
    let places = places.filter(|places| *places <= Decimal::SCALE_MAX);
    let digits = places.map(|places| (DOUBLE_DIGITS + places, places));
    SqlType::Double { unsigned: false, zerofill: false, digits }
}
