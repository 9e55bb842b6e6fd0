//! The maximum number of characters of a type's values as text.

use squall_types::{IntWidth, SqlType, StringKind};

/// The longest text of a value of the type, in characters (bytes for byte strings).
pub fn display_length(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Null => 0,
        SqlType::Int { width, unsigned, display_width, .. } => {
            let digits = match (width, unsigned) {
                (IntWidth::Tiny, false) => 4,
                (IntWidth::Tiny, true) => 3,
                (IntWidth::Small, false) => 6,
                (IntWidth::Small, true) => 5,
                (IntWidth::Medium, false) => 8,
                (IntWidth::Medium, true) => 8,
                (IntWidth::Int, false) => 11,
                (IntWidth::Int, true) => 10,
                (IntWidth::Big, _) => 20,
            };
            display_width.map_or(digits, u32::from)
        }
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            u32::from(*precision) + u32::from(*scale > 0) + u32::from(!unsigned)
        }
        SqlType::Float { digits, .. } => digits.map_or(12, |(precision, _)| u32::from(precision)),
        SqlType::Double { digits, .. } => digits.map_or(23, |(precision, _)| u32::from(precision)),
        SqlType::Bit { width } => u32::from(*width),
        SqlType::Year => 4,
        SqlType::Date => 10,
        SqlType::Time { fsp } => 10 + fraction_length(*fsp),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => 19 + fraction_length(*fsp),
        SqlType::String { kind: StringKind::Char | StringKind::Varchar, length, .. } => *length,
        SqlType::String { length, .. } => *length,
        SqlType::Enum { members, .. } => members.iter().map(|member| count_chars(member)).max().unwrap_or(0),
        SqlType::Set { members, .. } => {
            let commas = u32::try_from(members.len().saturating_sub(1)).unwrap_or(u32::MAX);
            members.iter().map(|member| count_chars(member)).fold(commas, u32::saturating_add)
        }
        SqlType::Json => u32::MAX,
        SqlType::Hex { digits } => u32::from(*digits),
        SqlType::Uuid => 36,
    }
}

fn fraction_length(fsp: u8) -> u32 {
    if fsp == 0 { 0 } else { u32::from(fsp) + 1 }
}

/// Characters of a text as a length of a type.
pub fn count_chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
