//! The common type of several values: of CASE branches, of COALESCE, of the columns of a UNION.

use super::collation::{StringOperand, aggregate_collations};
use super::length::display_length;
use super::numeric::{decimal_digits, decimal_of_digits, shown_places};
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, GeometryKind, GeometryType, IntWidth, SqlResult, SqlType, StringKind, TextSize};

/// The type that values of all these types are converted to. `operation` names it in a 1267 error; `connection` is the
/// collation of numbers and dates that become strings.
pub fn unify_types(types: &[&ExprType], operation: &str, connection: CollationId) -> SqlResult<ExprType> {
    let nullable = types.iter().any(|ty| ty.nullable || ty.sql_type == SqlType::Null);
    let known: Vec<&ExprType> = types.iter().copied().filter(|ty| ty.sql_type != SqlType::Null).collect();
    let Some((first, rest)) = known.split_first() else {
        return Ok(ExprType { sql_type: SqlType::Null, nullable: true, coercibility: Coercibility::Ignorable });
    };
    let mut merged = Some(first.sql_type.clone());
    for ty in rest {
        merged = merged.and_then(|merged| merge(&merged, &ty.sql_type));
    }
    if let Some(sql_type) = merged
        && !sql_type.is_string()
    {
        let coercibility = match sql_type.collation() {
            Some(_) => known.iter().map(|ty| ty.coercibility).min().unwrap_or(Coercibility::Implicit),
            None => Coercibility::Numeric,
        };
        return Ok(ExprType { sql_type, nullable, coercibility });
    }
    if let Some(geometry) = merged_geometry(&known) {
        return Ok(ExprType {
            sql_type: SqlType::of_geometry(geometry),
            nullable,
            coercibility: Coercibility::Implicit,
        });
    }
    if let Some(dimensions) = merged_dimensions(&known) {
        let sql_type = SqlType::vector(dimensions);
        return Ok(ExprType { sql_type, nullable, coercibility: Coercibility::Implicit });
    }
    let operands: Vec<StringOperand> = known.iter().map(|ty| StringOperand::of(ty, connection)).collect();
    let (collation, coercibility) = aggregate_collations(&operands, operation)?;
    Ok(ExprType { sql_type: merged_string(&known, collation), nullable, coercibility })
}

/// The spatial type of geometries alone: of one kind or any, of one SRID or any.
fn merged_geometry(types: &[&ExprType]) -> Option<GeometryType> {
    let geometries: Option<Vec<GeometryType>> = types.iter().map(|ty| ty.sql_type.geometry_type()).collect();
    geometries?.into_iter().reduce(|merged, other| GeometryType {
        kind: if merged.kind == other.kind { merged.kind } else { GeometryKind::Geometry },
        srid: merged.srid.filter(|srid| other.srid == Some(*srid)),
    })
}

/// The dimensions of vectors alone: those of the longest.
fn merged_dimensions(types: &[&ExprType]) -> Option<u32> {
    let dimensions: Option<Vec<u32>> = types.iter().map(|ty| ty.sql_type.vector_dimensions()).collect();
    dimensions?.into_iter().max()
}

/// The common type of two types other than strings; `None` where only a string holds both.
fn merge(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    use SqlType::*;
    if left == right {
        return if left.is_string() { None } else { Some(left.clone()) };
    }
    Some(match (left, right) {
        (Int { .. }, Int { .. }) => merge_integers(left, right),
        (Bit { width: a }, Bit { width: b }) => Bit { width: *a.max(b) },
        (Bit { .. } | Year, Int { .. }) | (Int { .. }, Bit { .. } | Year) | (Bit { .. }, Year) | (Year, Bit { .. }) => {
            merge_integers(&as_integer(left), &as_integer(right))
        }
        (Float { .. }, other) | (other, Float { .. }) if keeps_float(other) => {
            Float { unsigned: false, zerofill: false, digits: merge_shown(left, right) }
        }
        (Float { .. } | Double { .. }, other) | (other, Float { .. } | Double { .. }) if other.is_numeric() => {
            Double { unsigned: false, zerofill: false, digits: merge_shown(left, right) }
        }
        (a, b) if a.is_numeric() && b.is_numeric() => {
            let ((a_integer, a_scale), (b_integer, b_scale)) = (decimal_digits(a), decimal_digits(b));
            let (precision, scale) = decimal_of_digits(a_integer.max(b_integer), a_scale.max(b_scale));
            let unsigned = a.is_unsigned() && b.is_unsigned();
            Decimal { precision, scale, unsigned, zerofill: false }
        }
        (Time { fsp: a }, Time { fsp: b }) => Time { fsp: *a.max(b) },
        (Timestamp { fsp: a }, Timestamp { fsp: b }) => Timestamp { fsp: *a.max(b) },
        (a, b) if a.is_temporal() && b.is_temporal() => DateTime { fsp: fsp_of(a).max(fsp_of(b)) },
        _ => return None,
    })
}

/// Whether FLOAT beside a type stays FLOAT, by MySQL's table of merged types: INT alone of the integers makes a DOUBLE of it.
fn keeps_float(other: &SqlType) -> bool {
    match other {
        SqlType::Float { .. } => true,
        SqlType::Int { width, .. } => *width != IntWidth::Int,
        _ => false,
    }
}

/// The (M,D) of a FLOAT or DOUBLE that shows values of two types.
fn merge_shown(left: &SqlType, right: &SqlType) -> Option<(u8, u8)> {
    let places = shown_places(left)?.max(shown_places(right)?);
    let whole = |sql_type: &SqlType| match sql_type {
        SqlType::Float { digits, .. } | SqlType::Double { digits, .. } => {
            digits.map_or(0, |(digits, places)| u32::from(digits.saturating_sub(places)))
        }
        other => decimal_digits(other).0,
    };
    let digits = whole(left).max(whole(right)) + u32::from(places);
    u8::try_from(digits).ok().map(|digits| (digits, places))
}

fn fsp_of(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
        _ => 0,
    }
}

fn as_integer(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Year => SqlType::Int { width: IntWidth::Small, unsigned: true, zerofill: false, display_width: None },
        SqlType::Bit { .. } => SqlType::BIGINT_UNSIGNED,
        other => other.clone(),
    }
}

/// Integers of one sign give the wider; of two signs the next wider signed one, and DECIMAL where that does not exist.
fn merge_integers(left: &SqlType, right: &SqlType) -> SqlType {
    let (
        SqlType::Int { width: a, unsigned: a_unsigned, display_width: a_display, .. },
        SqlType::Int { width: b, unsigned: b_unsigned, display_width: b_display, .. },
    ) = (left, right)
    else {
        return SqlType::BIGINT;
    };
    let plain = |width, unsigned| SqlType::Int { width, unsigned, zerofill: false, display_width: None };
    if a_unsigned == b_unsigned {
        let display_width = if a == b && a_display == b_display { *a_display } else { None };
        return SqlType::Int { width: *a.max(b), unsigned: *a_unsigned, zerofill: false, display_width };
    }
    let (unsigned_width, signed_width) = if *a_unsigned { (a, b) } else { (b, a) };
    if signed_width > unsigned_width {
        return plain(*signed_width, false);
    }
    match unsigned_width {
        IntWidth::Tiny => plain(IntWidth::Small, false),
        IntWidth::Small => plain(IntWidth::Medium, false),
        IntWidth::Medium => plain(IntWidth::Int, false),
        IntWidth::Int => plain(IntWidth::Big, false),
        IntWidth::Big => SqlType::decimal(20, 0),
    }
}

/// The string type that holds the text of all of the types.
fn merged_string(types: &[&ExprType], collation: CollationId) -> SqlType {
    let length = types.iter().map(|ty| display_length(&ty.sql_type)).max().unwrap_or(0);
    let text_size = types
        .iter()
        .filter_map(|ty| match &ty.sql_type {
            SqlType::String { kind: StringKind::Text(size), .. } => Some(*size),
            SqlType::Json | SqlType::String { kind: StringKind::Geometry(_), .. } => Some(TextSize::Long),
            _ => None,
        })
        .max();
    match text_size {
        Some(size) => SqlType::String { kind: StringKind::Text(size), length, collation },
        None => string_of_length(length, collation),
    }
}

/// VARCHAR of a length, or the TEXT that has room for more than a VARCHAR has.
pub fn string_of_length(length: u32, collation: CollationId) -> SqlType {
    /// A row's limit, which bounds a VARCHAR in bytes.
    const VARCHAR_BYTES_MAX: u32 = 65_535;
    let bytes_per_char = if collation == CollationId::BINARY { 1 } else { 4 };
    let bytes = length.saturating_mul(bytes_per_char);
    if bytes <= VARCHAR_BYTES_MAX {
        SqlType::varchar(length, collation)
    } else if bytes <= 0xFF_FFFF {
        SqlType::String { kind: StringKind::Text(TextSize::Medium), length: 0xFF_FFFF, collation }
    } else {
        SqlType::longtext(collation)
    }
}
