//! Casts, conversions, COLLATE and intervals.

use super::compare::physical_class;
use super::vector::{refuse_no_numbers, refuse_vectors};
use super::{BuildResult, ExprBuilder, type_in_document};
use crate::expr::{BoundExpr, Call};
use crate::operators::cast::CastKernel;
use crate::operators::characters::{CharactersKernel, PadBytesKernel};
use crate::operators::convert::{ComparedDateKernel, ConvertKernel, convert_value};
use crate::operators::interval::{AddIntervalKernel, result_type};
use crate::typing::numeric::{NumericKind, numeric_kind};
use crate::typing::{display_length, string_of_length};
use squall_registry::{Coercibility, ExprType, Volatility};
use squall_types::convert::cast as convert;
use squall_types::temporal::IntervalUnit;
use squall_types::{CollationId, ErrorCode, IntWidth, SqlError, SqlResult, SqlType, StringKind, Value};
use std::sync::Arc;

/// What a CAST asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum CastTarget {
    /// SIGNED, UNSIGNED.
    Integer {
        /// UNSIGNED.
        unsigned: bool,
    },
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// FLOAT.
    Float,
    /// DOUBLE, REAL.
    Double,
    /// CHAR(length) of a collation.
    Char {
        /// Characters.
        length: Option<u32>,
        /// The collation of the character set named, or the connection's.
        collation: CollationId,
    },
    /// BINARY(length).
    Binary {
        /// Bytes.
        length: Option<u32>,
    },
    /// DATE.
    Date,
    /// DATETIME(fsp).
    DateTime {
        /// Fractional digits.
        fsp: u8,
    },
    /// TIME(fsp).
    Time {
        /// Fractional digits.
        fsp: u8,
    },
    /// YEAR.
    Year,
    /// JSON.
    Json,
    /// HEX(digits).
    Hex {
        /// Digits.
        digits: u16,
    },
    /// UUID.
    Uuid,
}

impl CastTarget {
    /// The conversion that does it.
    fn conversion(&self) -> convert::CastTarget {
        match *self {
            CastTarget::Integer { unsigned: false } => convert::CastTarget::Signed,
            CastTarget::Integer { unsigned: true } => convert::CastTarget::Unsigned,
            CastTarget::Decimal { precision, scale } => convert::CastTarget::Decimal { precision, scale },
            CastTarget::Float => convert::CastTarget::Float,
            CastTarget::Double => convert::CastTarget::Double,
            CastTarget::Char { length, collation } => convert::CastTarget::Char { length, collation },
            CastTarget::Binary { length } => convert::CastTarget::Binary { length },
            CastTarget::Date => convert::CastTarget::Date,
            CastTarget::DateTime { fsp } => convert::CastTarget::DateTime { fsp },
            CastTarget::Time { fsp } => convert::CastTarget::Time { fsp },
            CastTarget::Year => convert::CastTarget::Year,
            CastTarget::Json => convert::CastTarget::Json,
            CastTarget::Hex { digits } => convert::CastTarget::Hex { digits },
            CastTarget::Uuid => convert::CastTarget::Uuid,
        }
    }
}

/// What errors about a document call where it comes from: a column by its name, anything else by its function.
fn name_of(operand: &BoundExpr) -> Box<str> {
    match operand {
        BoundExpr::Column(column) => {
            let last = column.display.rsplit("`.`").next().unwrap_or_default();
            last.trim_matches('`').replace("``", "`").into()
        }
        BoundExpr::Call(call) if call.name.starts_with("JSON_") => call.name.to_lowercase().into(),
        // A constant document was made by a cast.
        _ if operand.sql_type() == SqlType::Json => "cast_as_json".into(),
        _ => "".into(),
    }
}

impl CastTarget {
    /// The type's word, as MySQL's messages have it.
    fn word(&self) -> &'static str {
        match self {
            CastTarget::Integer { unsigned: false } => "signed",
            CastTarget::Integer { unsigned: true } => "unsigned",
            CastTarget::Decimal { .. } => "decimal",
            CastTarget::Float => "float",
            CastTarget::Double => "double",
            CastTarget::Char { .. } => "char",
            CastTarget::Binary { .. } => "binary",
            CastTarget::Date => "date",
            CastTarget::DateTime { .. } => "datetime",
            CastTarget::Time { .. } => "time",
            CastTarget::Year => "year",
            CastTarget::Json => "json",
            CastTarget::Hex { .. } => "hex",
            CastTarget::Uuid => "uuid",
        }
    }

    /// Whether it is a type of numbers.
    pub fn is_number(&self) -> bool {
        matches!(self, CastTarget::Integer { .. } | CastTarget::Decimal { .. } | CastTarget::Float | CastTarget::Double)
    }
}

impl ExprBuilder<'_> {
    /// A parameter in the place of a vector. Clients send bytes as text, too, and bytes that happen to be text came as such.
    pub fn vector_parameter(&self, parameter: BoundExpr) -> BuildResult {
        let sql_type = parameter.sql_type();
        match sql_type.is_string() && !sql_type.is_binary_string() {
            true => self.cast(parameter, &CastTarget::Binary { length: None }),
            false => Ok(parameter),
        }
    }

    /// `CAST(operand AS target)`, `CONVERT(operand, target)`; `CONVERT(operand USING charset)` is a CAST to CHAR.
    pub fn cast(&self, operand: BoundExpr, target: &CastTarget) -> BuildResult {
        if !matches!(target, CastTarget::Binary { .. }) {
            refuse_vectors(&format!("cast_as_{}", target.word()), [&operand])?;
        }
        let operand = if target.is_number() {
            refuse_no_numbers(&format!("cast_as_{}", target.word()), [&operand])?;
            self.unrounded(operand)
        } else {
            operand
        };
        let from = operand.ty();
        let mut nullable = from.nullable;
        let sql_type = match target {
            CastTarget::Integer { unsigned: false } => SqlType::BIGINT,
            CastTarget::Integer { unsigned: true } => SqlType::BIGINT_UNSIGNED,
            CastTarget::Decimal { precision, scale } => SqlType::decimal(*precision, *scale),
            CastTarget::Float => SqlType::Float { unsigned: false, zerofill: false, digits: None },
            CastTarget::Double => SqlType::DOUBLE,
            CastTarget::Char { length, collation } => {
                let characters = length.unwrap_or_else(|| display_length(&from.sql_type));
                nullable |= from.sql_type.is_binary_string();
                string_of_length(characters, *collation)
            }
            CastTarget::Binary { length } => {
                let bytes = length.unwrap_or_else(|| {
                    if let Some(bytes) = from.sql_type.digit_bytes() {
                        return u32::try_from(bytes).unwrap_or(u32::MAX);
                    }
                    let width = if from.sql_type.is_binary_string() { 1 } else { 4 };
                    display_length(&from.sql_type).saturating_mul(width)
                });
                match length {
                    Some(length) if *length <= 255 => {
                        SqlType::String { kind: StringKind::Char, length: *length, collation: CollationId::BINARY }
                    }
                    _ => string_of_length(bytes, CollationId::BINARY),
                }
            }
            CastTarget::Date => SqlType::Date,
            CastTarget::DateTime { fsp } => SqlType::DateTime { fsp: *fsp },
            CastTarget::Time { fsp } => SqlType::Time { fsp: *fsp },
            CastTarget::Year => SqlType::Year,
            CastTarget::Json => SqlType::Json,
            CastTarget::Hex { digits } => SqlType::Hex { digits: *digits },
            CastTarget::Uuid => SqlType::Uuid,
        };
        nullable |= sql_type.digit_bytes().is_some();
        nullable |= sql_type.is_temporal() && !from.sql_type.is_temporal();
        let name = format!("CAST AS {}", crate::arrow_map::encode_type(&sql_type));
        let from = match target {
            CastTarget::Json => type_in_document(&operand),
            _ => from.sql_type,
        };
        let kernel = CastKernel { from, column: name_of(&operand), target: target.conversion(), to: sql_type.clone() };
        Ok(self.immutable(&name, Arc::new(kernel), vec![operand], ExprType::of_column(sql_type, nullable)))
    }

    /// The expression as a value of another type, with nothing to do if the physical type is that already.
    pub fn convert(&self, expr: BoundExpr, target: &ExprType) -> BuildResult {
        let from = expr.ty();
        if from.sql_type == SqlType::Null {
            let ty = ExprType { nullable: true, ..target.clone() };
            return Ok(match expr {
                BoundExpr::Literal(Value::Null, _) => BoundExpr::Literal(Value::Null, ty),
                // A NULL column, as of a derived table.
                other => self.conversion(other, &from.sql_type, ty),
            });
        }
        let same = physical_class(&from.sql_type) == physical_class(&target.sql_type)
            && !prints_otherwise(&from.sql_type, &target.sql_type);
        if same {
            return Ok(expr);
        }
        let expr = if target.sql_type.is_numeric() { self.unrounded(expr) } else { expr };
        let from = expr.sql_type();
        Ok(self.conversion(expr, &from, target.clone()))
    }

    pub(super) fn conversion(&self, expr: BoundExpr, from: &SqlType, target: ExprType) -> BoundExpr {
        // NULL stays NULL for any common type, and text that is not a date becomes NULL.
        let nullable = expr.nullable() || (target.sql_type.is_temporal() && !from.is_temporal());
        let target = ExprType { nullable, ..target };
        let name = format!("convert to {}", crate::arrow_map::encode_type(&target.sql_type));
        let kernel = ConvertKernel { from: from.clone(), to: target.sql_type.clone() };
        self.fold(BoundExpr::call(Call::new(name, Arc::new(kernel), vec![expr], target, Volatility::Immutable)))
    }

    /// A document of the value, for comparisons with documents.
    pub(crate) fn to_json_value(&self, expr: BoundExpr) -> BuildResult {
        let nullable = expr.nullable();
        self.convert(expr, &ExprType { sql_type: SqlType::Json, nullable, coercibility: Coercibility::Implicit })
    }

    /// `operand COLLATE collation`.
    pub fn collate(&self, operand: BoundExpr, collation: CollationId) -> BuildResult {
        let ty = operand.ty();
        let own = ty.sql_type.collation().unwrap_or(self.context.settings.collation);
        // Bytes have no characters to order; other sets are checked by name since all text is UTF-8 inside.
        if own.charset() != collation.charset() {
            let charset = own.charset().name();
            return Err(SqlError::new(ErrorCode::CollationCharsetMismatch, &[&collation.name(), &charset]));
        }
        let sql_type = match &ty.sql_type {
            SqlType::String { kind, length, .. } => SqlType::String { kind: *kind, length: *length, collation },
            other => string_of_length(display_length(other), collation),
        };
        let target = ExprType { sql_type, nullable: ty.nullable, coercibility: Coercibility::Explicit };
        Ok(match operand {
            BoundExpr::Literal(value @ (Value::String(_) | Value::Null), _) => BoundExpr::Literal(value, target),
            other => self.conversion(other, &ty.sql_type, target),
        })
    }

    /// The bytes of one number as CHAR() has them, for a character set.
    pub fn bytes_of_character(&self, bytes: BoundExpr, collation: CollationId) -> BoundExpr {
        let unit = collation.charset().bytes_per_character_min();
        let ty = bytes.ty();
        self.immutable("pad bytes", Arc::new(PadBytesKernel { unit }), vec![bytes], ty)
    }

    /// Bytes as characters of a set, which are as easily converted as a literal.
    pub fn characters(&self, bytes: BoundExpr, collation: CollationId) -> BoundExpr {
        let sql_type = string_of_length(display_length(&bytes.sql_type()), collation);
        let ty = ExprType { sql_type, nullable: true, coercibility: Coercibility::Literal };
        let kernel = CharactersKernel { charset: collation.charset() };
        self.immutable("characters", Arc::new(kernel), vec![bytes], ty)
    }

    /// `base ± INTERVAL amount unit`.
    pub fn add_interval(&self, base: BoundExpr, amount: BoundExpr, unit: IntervalUnit, subtract: bool) -> BuildResult {
        let from = base.sql_type();
        let amount_type = amount.sql_type();
        let amount_scale = match (numeric_kind(&amount_type), amount.as_literal()) {
            (NumericKind::Decimal { scale, .. }, _) => scale,
            (NumericKind::Double, Some(Value::String(text))) if !text.contains('.') => 0,
            (NumericKind::Double, _) => 6,
            _ => 0,
        };
        let to = result_type(&from, unit, amount_scale)
            .unwrap_or_else(|| SqlType::varchar(29, self.context.settings.collation));
        let coercibility = if to.is_string() { Coercibility::Literal } else { Coercibility::Numeric };
        let ty = ExprType { sql_type: to.clone(), nullable: true, coercibility };
        let name = format!("{} INTERVAL {}", if subtract { "-" } else { "+" }, unit.name());
        let kernel = AddIntervalKernel { unit, subtract, from, amount: amount_type, to };
        Ok(self.immutable(&name, Arc::new(kernel), vec![base, amount], ty))
    }

    /// A literal as a value of the type that it is compared with, if that has it exactly.
    pub(crate) fn literal_as(&self, literal: BoundExpr, target: &SqlType) -> BoundExpr {
        let BoundExpr::Literal(value, ty) = &literal else { return literal };
        let target = match numeric_kind(target) {
            NumericKind::Int { unsigned } => {
                SqlType::Int { width: IntWidth::Big, unsigned, zerofill: false, display_width: None }
            }
            NumericKind::Decimal { precision, scale } => SqlType::decimal(precision, scale),
            NumericKind::Double => return literal,
        };
        if physical_class(&ty.sql_type) == physical_class(&target) {
            return literal;
        }
        match exactly(value, &ty.sql_type, &target) {
            Some(value) => BoundExpr::Literal(value, ExprType::numeric(target, false)),
            None => literal,
        }
    }

    /// An operand of a comparison as a date or time; `None` for a constant that is not a date; then another comparison is used.
    pub(crate) fn to_temporal_operand(&self, expr: &BoundExpr, target: &SqlType) -> SqlResult<Option<BoundExpr>> {
        let from = expr.sql_type();
        if physical_class(&from) == physical_class(target) {
            return Ok(Some(expr.clone()));
        }
        let ty = ExprType::numeric(target.clone(), true);
        if let Some(value) = expr.as_literal() {
            let warnings = self.context.diagnostics.count();
            let converted = convert_value(value, &from, target, self.context);
            self.context.diagnostics.truncate(warnings);
            return match converted {
                Ok(Value::Null) if !value.is_null() => {
                    let text = crate::operators::coerce::to_text(value, &from).unwrap_or_default();
                    if from.is_string() {
                        let kind = if matches!(target, SqlType::Time { .. }) {
                            "TIME"
                        } else if matches!(target, SqlType::Date) {
                            "DATE"
                        } else {
                            "DATETIME"
                        };
                        return Err(SqlError::new(ErrorCode::WrongValue, &[&kind, &text]));
                    }
                    Ok(None)
                }
                Ok(converted) => Ok(Some(BoundExpr::Literal(converted, ty))),
                Err(_) => Ok(None),
            };
        }
        if from.is_string() {
            return Ok(Some(self.text_to_temporal(expr, target)));
        }
        self.convert(expr.clone(), &ty).map(Some)
    }

    /// A text as a date or time, whose value is looked at when the expression is evaluated, also if it is a literal: a text that is none
    /// is the zero date, with a warning.
    pub(super) fn text_to_temporal(&self, expr: &BoundExpr, target: &SqlType) -> BoundExpr {
        let kernel = ComparedDateKernel { from: expr.sql_type(), to: target.clone() };
        let ty = ExprType::numeric(target.clone(), true);
        self.immutable("convert to date", Arc::new(kernel), vec![expr.clone()], ty)
    }
}

/// A literal's value in a numeric type, if nothing is lost.
fn exactly(value: &Value, from: &SqlType, target: &SqlType) -> Option<Value> {
    use squall_types::Decimal;
    let number = match value {
        Value::Int(value) => Decimal::from_i128(i128::from(*value), 0),
        Value::UInt(value) => Decimal::from_i128(i128::from(*value), 0),
        Value::Decimal(value) => *value,
        Value::String(text) if from.is_string() => {
            let parsed = Decimal::parse(text);
            if parsed.no_number || parsed.truncated || parsed.overflow || parsed.rounded {
                return None;
            }
            parsed.value
        }
        _ => return None,
    };
    let value = match target {
        SqlType::Int { unsigned, .. } => {
            let whole = number.to_i128()?;
            if Decimal::from_i128(whole, 0) != number {
                return None;
            }
            if *unsigned { Value::UInt(u64::try_from(whole).ok()?) } else { Value::Int(i64::try_from(whole).ok()?) }
        }
        SqlType::Decimal { precision, scale, .. } => {
            let fitted = number.fit(*precision, *scale);
            if fitted.clamped || fitted.rounded {
                return None;
            }
            Value::Decimal(fitted.value)
        }
        _ => return None,
    };
    Some(value)
}

/// Whether a type prints values of one physical kind differently, so that a conversion must cut or extend them.
fn prints_otherwise(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Date, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => false,
        (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, SqlType::Date) => true,
        (SqlType::Enum { .. } | SqlType::Set { .. }, to) => from != to,
        (_, SqlType::Enum { .. } | SqlType::Set { .. }) => from != to,
        _ => false,
    }
}
