//! A MySQL type as compact text that round-trips, for field metadata.
//!
//! `tag[:field]*`; members of ENUM and SET come last, each as `length:bytes`.

use squall_types::{CollationId, GeometryKind, GeometryType, IntWidth, SqlType, StringKind, TextSize};
use std::fmt::Write as _;
use std::sync::Arc;

/// The text of a type.
pub fn encode_type(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Null => "null".to_string(),
        SqlType::Int { width, unsigned, zerofill, display_width } => format!(
            "int:{}:{}:{}",
            match width {
                IntWidth::Tiny => 1,
                IntWidth::Small => 2,
                IntWidth::Medium => 3,
                IntWidth::Int => 4,
                IntWidth::Big => 8,
            },
            sign_flags(*unsigned, *zerofill),
            display_width.map_or_else(String::new, |width| width.to_string()),
        ),
        SqlType::Decimal { precision, scale, unsigned, zerofill } => {
            format!("decimal:{precision}:{scale}:{}", sign_flags(*unsigned, *zerofill))
        }
        SqlType::Float { unsigned, zerofill, digits } => {
            format!("float:{}{}", sign_flags(*unsigned, *zerofill), digits_text(*digits))
        }
        SqlType::Double { unsigned, zerofill, digits } => {
            format!("double:{}{}", sign_flags(*unsigned, *zerofill), digits_text(*digits))
        }
        SqlType::Bit { width } => format!("bit:{width}"),
        SqlType::Year => "year".to_string(),
        SqlType::Date => "date".to_string(),
        SqlType::Time { fsp } => format!("time:{fsp}"),
        SqlType::DateTime { fsp } => format!("datetime:{fsp}"),
        SqlType::Timestamp { fsp } => format!("timestamp:{fsp}"),
        SqlType::String { kind, length, collation } => {
            let kind = match kind {
                StringKind::Char => "char",
                StringKind::Varchar => "varchar",
                StringKind::Text(TextSize::Tiny) => "tinytext",
                StringKind::Text(TextSize::Normal) => "text",
                StringKind::Text(TextSize::Medium) => "mediumtext",
                StringKind::Text(TextSize::Long) => "longtext",
                StringKind::Geometry(geometry) => return geometry_text(*geometry),
                StringKind::Vector => "vector",
            };
            format!("{kind}:{length}:{}", collation.0)
        }
        SqlType::Enum { members, collation } => members_text("enum", *collation, members),
        SqlType::Set { members, collation } => members_text("set", *collation, members),
        SqlType::Json => "json".to_string(),
        SqlType::Hex { digits } => format!("hex:{digits}"),
        SqlType::Uuid => "uuid".to_string(),
    }
}

/// The type of a text; `None` if it is not one that [`encode_type`] writes.
pub fn decode_type(text: &str) -> Option<SqlType> {
    let (tag, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut fields = rest.split(':');
    Some(match tag {
        "null" => SqlType::Null,
        "int" => {
            let width = match fields.next()? {
                "1" => IntWidth::Tiny,
                "2" => IntWidth::Small,
                "3" => IntWidth::Medium,
                "4" => IntWidth::Int,
                "8" => IntWidth::Big,
                _ => return None,
            };
            let (unsigned, zerofill) = parse_sign_flags(fields.next()?)?;
            let display_width = match fields.next()? {
                "" => None,
                digits => Some(digits.parse().ok()?),
            };
            SqlType::Int { width, unsigned, zerofill, display_width }
        }
        "decimal" => {
            let precision = fields.next()?.parse().ok()?;
            let scale = fields.next()?.parse().ok()?;
            let (unsigned, zerofill) = parse_sign_flags(fields.next()?)?;
            SqlType::Decimal { precision, scale, unsigned, zerofill }
        }
        "float" | "double" => {
            let (unsigned, zerofill) = parse_sign_flags(fields.next()?)?;
            let digits = match fields.next() {
                None => None,
                Some(precision) => Some((precision.parse().ok()?, fields.next()?.parse().ok()?)),
            };
            if tag == "float" {
                SqlType::Float { unsigned, zerofill, digits }
            } else {
                SqlType::Double { unsigned, zerofill, digits }
            }
        }
        "bit" => SqlType::Bit { width: fields.next()?.parse().ok()? },
        "year" => SqlType::Year,
        "date" => SqlType::Date,
        "time" => SqlType::Time { fsp: fields.next()?.parse().ok()? },
        "datetime" => SqlType::DateTime { fsp: fields.next()?.parse().ok()? },
        "timestamp" => SqlType::Timestamp { fsp: fields.next()?.parse().ok()? },
        "json" => SqlType::Json,
        "hex" => SqlType::Hex { digits: fields.next()?.parse().ok()? },
        "uuid" => SqlType::Uuid,
        "geometry" => {
            let kind = GeometryKind::of_type_name(fields.next()?)?;
            let srid = match fields.next() {
                None => None,
                Some(srid) => Some(srid.parse().ok()?),
            };
            SqlType::of_geometry(GeometryType { kind, srid })
        }
        "enum" | "set" => {
            let (collation, members) = parse_members(rest)?;
            if tag == "enum" { SqlType::Enum { members, collation } } else { SqlType::Set { members, collation } }
        }
        _ => {
            let kind = match tag {
                "char" => StringKind::Char,
                "varchar" => StringKind::Varchar,
                "tinytext" => StringKind::Text(TextSize::Tiny),
                "text" => StringKind::Text(TextSize::Normal),
                "mediumtext" => StringKind::Text(TextSize::Medium),
                "longtext" => StringKind::Text(TextSize::Long),
                "vector" => StringKind::Vector,
                _ => return None,
            };
            let length = fields.next()?.parse().ok()?;
            SqlType::String { kind, length, collation: CollationId(fields.next()?.parse().ok()?) }
        }
    })
}

fn geometry_text(geometry: GeometryType) -> String {
    let kind = geometry.kind.type_name();
    geometry.srid.map_or_else(|| format!("geometry:{kind}"), |srid| format!("geometry:{kind}:{srid}"))
}

fn sign_flags(unsigned: bool, zerofill: bool) -> &'static str {
    match (unsigned, zerofill) {
        (false, false) => "s",
        (true, false) => "u",
        (true, true) => "uz",
        (false, true) => "z",
    }
}

fn parse_sign_flags(text: &str) -> Option<(bool, bool)> {
    Some(match text {
        "s" => (false, false),
        "u" => (true, false),
        "uz" => (true, true),
        "z" => (false, true),
        _ => return None,
    })
}

fn digits_text(digits: Option<(u8, u8)>) -> String {
    digits.map_or_else(String::new, |(precision, scale)| format!(":{precision}:{scale}"))
}

fn members_text(tag: &str, collation: CollationId, members: &[String]) -> String {
    let mut text = format!("{tag}:{}:", collation.0);
    for member in members {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}:{member}", member.len());
    }
    text
}

fn parse_members(text: &str) -> Option<(CollationId, Arc<[String]>)> {
    let (collation, mut rest) = text.split_once(':')?;
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (length, tail) = rest.split_once(':')?;
        let length: usize = length.parse().ok()?;
        members.push(tail.get(..length)?.to_string());
        rest = tail.get(length..)?;
    }
    Some((CollationId(collation.parse().ok()?), members.into()))
}
