//! Makes [`SqlType`]s of column types, with MySQL's limits.

use squall_parser::ast::{CharacterAttributes, DataType, IntegerKind, LobSize, NumericSign, SqlString};
use squall_planner::bind::geometry_kind;
use squall_types::collation::sort_key;
use squall_types::vector::{DIMENSIONS_DEFAULT, DIMENSIONS_MAX};
use squall_types::{
    Charset, CollationId, ErrorCode, IntWidth, SqlError, SqlMode, SqlResult, SqlType, StringKind, TextSize,
};
use std::collections::HashSet;
use std::sync::Arc;

/// What a type's meaning depends on besides its words.
#[derive(Clone, Copy, Debug)]
pub struct TypeRules {
    /// The table's default collation.
    pub collation: CollationId,
    /// `sql_mode`: whether too long columns are errors.
    pub sql_mode: SqlMode,
}

/// Makes the type of column `name`.
pub fn resolve_type(data_type: &DataType, name: &str, rules: TypeRules) -> SqlResult<SqlType> {
    Ok(match data_type {
        DataType::Integer { kind, width, sign } => integer(*kind, *width, *sign, name)?,
        DataType::Boolean => SqlType::BOOL,
        DataType::Serial => SqlType::BIGINT_UNSIGNED,
        DataType::Decimal { precision, scale, sign } => decimal(*precision, *scale, *sign, name)?,
        DataType::Float { precision: Some(bits), scale: None, sign } => match bits {
            0..=24 => float(None, None, *sign, name)?,
            25..=53 => double(None, None, *sign, name)?,
            _ => return Err(SqlError::new(ErrorCode::WrongFieldSpec, &[&name])),
        },
        DataType::Float { precision, scale, sign } => float(*precision, *scale, *sign, name)?,
        DataType::Double { precision, scale, sign } => double(*precision, *scale, *sign, name)?,
        DataType::Bit { width } => match width.unwrap_or(1) {
            0 => return Err(invalid_size(name)),
            bits @ 1..=64 => SqlType::Bit { width: bits as u8 },
            _ => return Err(SqlError::new(ErrorCode::TooBigDisplayWidth, &[&name, &64])),
        },
        DataType::Char { length, characters } => {
            let collation = string_collation(characters, rules.collation)?;
            char_type(length.unwrap_or(1), collation, name, rules)?
        }
        DataType::Varchar { length, characters } => {
            let collation = string_collation(characters, rules.collation)?;
            varchar_type(*length, collation, name, rules)?
        }
        DataType::Binary { length } => char_type(length.unwrap_or(1), CollationId::BINARY, name, rules)?,
        DataType::Varbinary { length } => varchar_type(*length, CollationId::BINARY, name, rules)?,
        DataType::Text { size, length, characters } => {
            let collation = string_collation(characters, rules.collation)?;
            text_type(*size, *length, collation)
        }
        DataType::Blob { size, length } => text_type(*size, *length, CollationId::BINARY),
        DataType::Enum { values, characters } => {
            let collation = string_collation(characters, rules.collation)?;
            SqlType::Enum { members: members(values, name, ("ENUM", 65_535), collation, rules)?, collation }
        }
        DataType::Set { values, characters } => {
            let collation = string_collation(characters, rules.collation)?;
            SqlType::Set { members: members(values, name, ("SET", 64), collation, rules)?, collation }
        }
        DataType::Date => SqlType::Date,
        DataType::Time { fraction } => SqlType::Time { fsp: fraction_digits(*fraction, name)? },
        DataType::DateTime { fraction } => SqlType::DateTime { fsp: fraction_digits(*fraction, name)? },
        DataType::Timestamp { fraction } => SqlType::Timestamp { fsp: fraction_digits(*fraction, name)? },
        DataType::Year { width: None | Some(4) } => SqlType::Year,
        DataType::Year { .. } => {
            return Err(SqlError::new(ErrorCode::InvalidYearColumnLength, &[]));
        }
        DataType::Json => SqlType::Json,
        DataType::Geometry(kind) => SqlType::geometry(geometry_kind(*kind)),
        DataType::Vector { dimensions } => match dimensions.unwrap_or(DIMENSIONS_DEFAULT) {
            0 => return Err(invalid_size(name)),
            dimensions @ 1..=DIMENSIONS_MAX => SqlType::vector(dimensions),
            _ => return Err(SqlError::new(ErrorCode::TooBigDisplayWidth, &[&name, &DIMENSIONS_MAX])),
        },
        DataType::Named { name: type_name, parameters } => match SqlType::of_digits(type_name.as_str(), parameters) {
            Some(made) => made.map_err(|_| invalid_size(name))?,
            None => return Err(SqlError::unsupported(format_args!("data type {}", type_name.as_str()))),
        },
    })
}

/// The collation that a column's, table's or database's words name.
pub fn named_collation(charset: Option<&str>, collation: Option<&str>, default: CollationId) -> SqlResult<CollationId> {
    match (charset, collation) {
        (None, None) => Ok(default),
        (Some(charset), None) => Charset::named(charset).map(Charset::default_collation),
        (None, Some(collation)) => CollationId::named(collation),
        (Some(charset), Some(collation)) => {
            let id = CollationId::named(collation)?;
            if Charset::named(charset)? == id.charset() {
                Ok(id)
            } else {
                Err(SqlError::new(ErrorCode::CollationCharsetMismatch, &[&collation, &charset]))
            }
        }
    }
}

fn string_collation(characters: &CharacterAttributes, default: CollationId) -> SqlResult<CollationId> {
    let id = named_collation(characters.charset.as_deref(), characters.collation.as_deref(), default)?;
    if characters.binary && characters.collation.is_none() { Ok(id.charset().binary_collation()) } else { Ok(id) }
}

fn invalid_size(name: &str) -> SqlError {
    SqlError::new(ErrorCode::InvalidFieldSize, &[&name])
}

fn integer(kind: IntegerKind, written: Option<u32>, sign: NumericSign, name: &str) -> SqlResult<SqlType> {
    if written.is_some_and(|width| width > 255) {
        return Err(SqlError::new(ErrorCode::TooBigDisplayWidth, &[&name, &255]));
    }
    let (width, default_digits) = match kind {
        IntegerKind::TinyInt => (IntWidth::Tiny, 3),
        IntegerKind::SmallInt => (IntWidth::Small, 5),
        IntegerKind::MediumInt => (IntWidth::Medium, 8),
        IntegerKind::Int => (IntWidth::Int, 10),
        IntegerKind::BigInt => (IntWidth::Big, 20),
    };
    let unsigned = sign.unsigned || sign.zerofill;
    let display_width = match written {
        _ if sign.zerofill => Some(written.map_or(default_digits, |digits| digits as u8)),
        Some(1) if width == IntWidth::Tiny && !unsigned => Some(1),
        _ => None,
    };
    Ok(SqlType::Int { width, unsigned, zerofill: sign.zerofill, display_width })
}

fn decimal(precision: Option<u32>, scale: Option<u32>, sign: NumericSign, name: &str) -> SqlResult<SqlType> {
    let scale = scale.unwrap_or(0);
    let precision = match precision.unwrap_or(0) {
        0 => 10.max(scale),
        precision => precision,
    };
    if scale > 30 {
        return Err(SqlError::new(ErrorCode::TooBigScale, &[&scale, &name, &30]));
    }
    if precision > 65 {
        return Err(SqlError::new(ErrorCode::TooBigPrecision, &[&precision, &name, &65]));
    }
    if scale > precision {
        return Err(SqlError::new(ErrorCode::MBiggerThanD, &[&name]));
    }
    Ok(SqlType::Decimal {
        precision: precision as u8,
        scale: scale as u8,
        unsigned: sign.unsigned || sign.zerofill,
        zerofill: sign.zerofill,
    })
}

fn digits(precision: Option<u32>, scale: Option<u32>, name: &str) -> SqlResult<Option<(u8, u8)>> {
    let (Some(precision), Some(scale)) = (precision, scale) else { return Ok(None) };
    if scale > 30 {
        return Err(SqlError::new(ErrorCode::TooBigScale, &[&scale, &name, &30]));
    }
    if precision > 255 {
        return Err(SqlError::new(ErrorCode::TooBigDisplayWidth, &[&name, &255]));
    }
    if scale > precision {
        return Err(SqlError::new(ErrorCode::MBiggerThanD, &[&name]));
    }
    Ok(Some((precision as u8, scale as u8)))
}

fn float(precision: Option<u32>, scale: Option<u32>, sign: NumericSign, name: &str) -> SqlResult<SqlType> {
    let digits = digits(precision, scale, name)?;
    Ok(SqlType::Float { unsigned: sign.unsigned || sign.zerofill, zerofill: sign.zerofill, digits })
}

fn double(precision: Option<u32>, scale: Option<u32>, sign: NumericSign, name: &str) -> SqlResult<SqlType> {
    let digits = digits(precision, scale, name)?;
    Ok(SqlType::Double { unsigned: sign.unsigned || sign.zerofill, zerofill: sign.zerofill, digits })
}

fn char_type(length: u64, collation: CollationId, name: &str, rules: TypeRules) -> SqlResult<SqlType> {
    if length > 255 {
        // Without strict mode MySQL makes a longer CHAR the TEXT that holds it.
        if rules.sql_mode.is_strict() {
            return Err(SqlError::new(ErrorCode::TooBigFieldLength, &[&name, &255]));
        }
        return Ok(text_type(LobSize::Plain, Some(length), collation));
    }
    Ok(SqlType::String { kind: StringKind::Char, length: length as u32, collation })
}

fn varchar_type(length: u64, collation: CollationId, name: &str, rules: TypeRules) -> SqlResult<SqlType> {
    let most = 65_535 / u64::from(collation.charset().bytes_per_character_max());
    if length > most {
        if rules.sql_mode.is_strict() {
            return Err(SqlError::new(ErrorCode::TooBigFieldLength, &[&name, &most]));
        }
        return Ok(text_type(LobSize::Plain, Some(length), collation));
    }
    Ok(SqlType::String { kind: StringKind::Varchar, length: length as u32, collation })
}

fn text_type(size: LobSize, length: Option<u64>, collation: CollationId) -> SqlType {
    let size = match (size, length) {
        (LobSize::Tiny, _) => TextSize::Tiny,
        (LobSize::Medium, _) => TextSize::Medium,
        (LobSize::Long, _) => TextSize::Long,
        (LobSize::Plain, None | Some(0)) => TextSize::Normal,
        (LobSize::Plain, Some(length)) => {
            match length.saturating_mul(u64::from(collation.charset().bytes_per_character_max())) {
                0..=255 => TextSize::Tiny,
                256..=65_535 => TextSize::Normal,
                65_536..=16_777_215 => TextSize::Medium,
                _ => TextSize::Long,
            }
        }
    };
    let length = match size {
        TextSize::Tiny => 255,
        TextSize::Normal => 65_535,
        TextSize::Medium => 16_777_215,
        TextSize::Long => u32::MAX,
    };
    SqlType::String { kind: StringKind::Text(size), length, collation }
}

fn fraction_digits(written: Option<u32>, name: &str) -> SqlResult<u8> {
    match written.unwrap_or(0) {
        digits @ 0..=6 => Ok(digits as u8),
        digits => Err(SqlError::new(ErrorCode::TooBigPrecision, &[&digits, &name, &6])),
    }
}

fn members(
    values: &[SqlString],
    name: &str,
    (kind, count_max): (&str, usize),
    collation: CollationId,
    rules: TypeRules,
) -> SqlResult<Arc<[String]>> {
    if values.len() > count_max {
        return Err(SqlError::new(ErrorCode::TooBigSet, &[&name]));
    }
    let mut members: Vec<String> = Vec::with_capacity(values.len());
    for value in values {
        let member = value.to_str_lossy();
        // Of bytes a space is one like others.
        let member = if collation == CollationId::BINARY { &*member } else { member.trim_end_matches(' ') };
        let member = member.to_owned();
        if kind == "SET" && member.contains(',') {
            return Err(SqlError::new(ErrorCode::IllegalValueForType, &[&"set", &member]));
        }
        members.push(member);
    }
    if rules.sql_mode.is_strict()
        && let Some(member) = duplicate(&members, collation)
    {
        return Err(SqlError::new(ErrorCode::DuplicatedValueInType, &[&name, &member, &kind]));
    }
    Ok(members.into())
}

/// The first member that is equal to one before it.
fn duplicate(members: &[String], collation: CollationId) -> Option<&str> {
    let mut keys = HashSet::with_capacity(members.len());
    let is_known = |member: &&String| {
        let mut key = Vec::new();
        sort_key(collation, member, &mut key);
        !keys.insert(key)
    };
    members.iter().find(is_known).map(String::as_str)
}

/// Whether every stored value of a type is the same value of another, bit for bit.
pub fn keeps_values(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (from, to) if from == to => true,
        (SqlType::Int { width, unsigned, .. }, SqlType::Int { width: to_width, unsigned: to_unsigned, .. }) => {
            width == to_width && unsigned == to_unsigned
        }
        (
            SqlType::String { kind: StringKind::Varchar, length, collation },
            SqlType::String { kind: StringKind::Varchar, length: to_length, collation: to_collation },
        ) => length <= to_length && collation == to_collation,
        (
            SqlType::String { kind: StringKind::Text(size), collation, .. },
            SqlType::String { kind: StringKind::Text(to_size), collation: to_collation, .. },
        ) => size <= to_size && collation == to_collation,
        (SqlType::Enum { members, collation }, SqlType::Enum { members: to_members, collation: to_collation }) => {
            collation == to_collation && to_members.starts_with(members)
        }
        // A SET's stored width follows its members, so it may grow within one byte only.
        (SqlType::Set { members, collation }, SqlType::Set { members: to_members, collation: to_collation }) => {
            collation == to_collation
                && to_members.starts_with(members)
                && members.len().div_ceil(8) == to_members.len().div_ceil(8)
        }
        _ => false,
    }
}
