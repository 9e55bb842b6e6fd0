//! Resolves types, character sets and collations.

use squall_functions::build::CastTarget;
use squall_parser::ast;
use squall_types::hex::InvalidDigits;
use squall_types::temporal::IntervalUnit;
use squall_types::{Charset, CollationId, ErrorCode, GeometryKind, SqlError, SqlResult, SqlType, StringKind};

/// The target of a CAST.
pub(crate) fn cast_target(target: &ast::CastType, connection: CollationId) -> SqlResult<CastTarget> {
    let fsp = |fraction: &Option<u32>, name: &str| match fraction {
        None => Ok(0),
        Some(digits @ 0..=6) => Ok(*digits as u8),
        Some(digits) => Err(SqlError::new(ErrorCode::TooBigPrecision, &[digits, &name, &6])),
    };
    let length = |length: &Option<u64>| length.map(|length| u32::try_from(length).unwrap_or(u32::MAX));
    Ok(match target {
        ast::CastType::Signed => CastTarget::Integer { unsigned: false },
        ast::CastType::Unsigned => CastTarget::Integer { unsigned: true },
        ast::CastType::Char { length: chars, characters } => {
            let collation = character_collation(characters, connection)?;
            if collation == CollationId::BINARY {
                CastTarget::Binary { length: length(chars) }
            } else {
                CastTarget::Char { length: length(chars), collation }
            }
        }
        ast::CastType::Binary { length: bytes } => CastTarget::Binary { length: length(bytes) },
        ast::CastType::Decimal { precision, scale } => {
            let scale = scale.unwrap_or(0);
            let precision = match precision {
                Some(0) | None => 10,
                Some(precision) => *precision,
            };
            if scale > 30 {
                return Err(SqlError::new(ErrorCode::TooBigScale, &[&scale, &"CAST", &30]));
            }
            if precision > 65 {
                return Err(SqlError::new(ErrorCode::TooBigPrecision, &[&precision, &"CAST", &65]));
            }
            if scale > precision {
                return Err(SqlError::new(ErrorCode::MBiggerThanD, &[&""]));
            }
            CastTarget::Decimal { precision: precision as u8, scale: scale as u8 }
        }
        ast::CastType::Float { precision } => match precision {
            Some(54..) => {
                return Err(SqlError::new(ErrorCode::TooBigPrecision, &[&precision.unwrap_or(0), &"CAST", &53]));
            }
            Some(25..) => CastTarget::Double,
            _ => CastTarget::Float,
        },
        ast::CastType::Double | ast::CastType::Real => CastTarget::Double,
        ast::CastType::Date => CastTarget::Date,
        ast::CastType::Time { fraction } => CastTarget::Time { fsp: fsp(fraction, "CAST")? },
        ast::CastType::DateTime { fraction } => CastTarget::DateTime { fsp: fsp(fraction, "CAST")? },
        ast::CastType::Year => CastTarget::Year,
        ast::CastType::Json => CastTarget::Json,
        ast::CastType::Geometry(_) => {
            return Err(SqlError::unsupported("an array or a document's value as a geometry; use ST_GeomFromGeoJSON"));
        }
        ast::CastType::Named { name, parameters } => match SqlType::of_digits(name.as_str(), parameters) {
            Some(Ok(SqlType::Hex { digits })) => CastTarget::Hex { digits },
            Some(Ok(_)) => CastTarget::Uuid,
            Some(Err(InvalidDigits)) => return Err(SqlError::new(ErrorCode::WrongFieldSpec, &[&name.as_str()])),
            None => return Err(SqlError::unsupported(format_args!("CAST to {}", name.as_str()))),
        },
    })
}

/// The kind that a spatial type's word names.
pub fn geometry_kind(kind: ast::GeometryKind) -> GeometryKind {
    match kind {
        ast::GeometryKind::Geometry => GeometryKind::Geometry,
        ast::GeometryKind::Point => GeometryKind::Point,
        ast::GeometryKind::LineString => GeometryKind::LineString,
        ast::GeometryKind::Polygon => GeometryKind::Polygon,
        ast::GeometryKind::MultiPoint => GeometryKind::MultiPoint,
        ast::GeometryKind::MultiLineString => GeometryKind::MultiLineString,
        ast::GeometryKind::MultiPolygon => GeometryKind::MultiPolygon,
        ast::GeometryKind::GeometryCollection => GeometryKind::GeometryCollection,
    }
}

/// What is not supported where an array is cast to outside of a key.
pub const ARRAY_CAST: &str = "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions";

/// The type of the elements of `CAST(… AS type ARRAY)`.
pub fn element_type(target: &ast::CastType) -> SqlResult<SqlType> {
    if let ast::CastType::Char { characters, .. } = target
        && *characters != ast::CharacterAttributes::default()
    {
        return Err(SqlError::unsupported("specifying charset for multi-valued index"));
    }
    // Texts in documents compare without equivalences of any kind but those of characters.
    let collation = CollationId::from_name("utf8mb4_0900_as_cs").unwrap_or(CollationId::UTF8MB4_0900_BIN);
    let of_bytes = |length: u32, collation| SqlType::String { kind: StringKind::Varchar, length, collation };
    Ok(match cast_target(target, collation)? {
        CastTarget::Integer { unsigned: true } => SqlType::BIGINT_UNSIGNED,
        CastTarget::Integer { unsigned: false } => SqlType::BIGINT,
        CastTarget::Decimal { precision, scale } => SqlType::decimal(precision, scale),
        CastTarget::Char { length: Some(length), collation } => of_bytes(length, collation),
        CastTarget::Binary { length: Some(length) } => of_bytes(length, CollationId::BINARY),
        CastTarget::Char { length: None, .. } | CastTarget::Binary { length: None } => {
            return Err(SqlError::unsupported("CAST-ing data to array of char/binary BLOBs"));
        }
        CastTarget::Date => SqlType::Date,
        CastTarget::DateTime { fsp } => SqlType::DateTime { fsp },
        CastTarget::Time { fsp } => SqlType::Time { fsp },
        CastTarget::Float => return Err(not_of("FLOAT")),
        CastTarget::Double => return Err(not_of("DOUBLE")),
        CastTarget::Year => return Err(not_of("YEAR")),
        CastTarget::Json => return Err(not_of("JSON")),
        CastTarget::Hex { .. } => return Err(not_of("HEX")),
        CastTarget::Uuid => return Err(not_of("UUID")),
    })
}

fn not_of(name: &str) -> SqlError {
    SqlError::unsupported(format_args!("CAST-ing data to array of {name}"))
}

/// The collation that CHARACTER SET, COLLATE and BINARY name together.
fn character_collation(characters: &ast::CharacterAttributes, default: CollationId) -> SqlResult<CollationId> {
    if let Some(collation) = &characters.collation {
        return CollationId::named(collation);
    }
    let charset = match &characters.charset {
        Some(name) => Some(Charset::named(name)?),
        None => None,
    };
    Ok(match (charset, characters.binary) {
        (None, false) => default,
        (None, true) => CollationId::UTF8MB4_BIN,
        (Some(charset), false) => charset.default_collation(),
        (Some(charset), true) => charset.binary_collation(),
    })
}

/// A unit of the syntax tree as dates know it.
pub fn interval_unit(unit: ast::IntervalUnit) -> IntervalUnit {
    use ast::IntervalUnit as U;
    match unit {
        U::Microsecond => IntervalUnit::Microsecond,
        U::Second => IntervalUnit::Second,
        U::Minute => IntervalUnit::Minute,
        U::Hour => IntervalUnit::Hour,
        U::Day => IntervalUnit::Day,
        U::Week => IntervalUnit::Week,
        U::Month => IntervalUnit::Month,
        U::Quarter => IntervalUnit::Quarter,
        U::Year => IntervalUnit::Year,
        U::SecondMicrosecond => IntervalUnit::SecondMicrosecond,
        U::MinuteMicrosecond => IntervalUnit::MinuteMicrosecond,
        U::MinuteSecond => IntervalUnit::MinuteSecond,
        U::HourMicrosecond => IntervalUnit::HourMicrosecond,
        U::HourSecond => IntervalUnit::HourSecond,
        U::HourMinute => IntervalUnit::HourMinute,
        U::DayMicrosecond => IntervalUnit::DayMicrosecond,
        U::DaySecond => IntervalUnit::DaySecond,
        U::DayMinute => IntervalUnit::DayMinute,
        U::DayHour => IntervalUnit::DayHour,
        U::YearMonth => IntervalUnit::YearMonth,
    }
}
