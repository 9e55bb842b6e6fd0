//! `key_len`: the used bytes of a key, as MySQL counts them.

use squall_catalog::{IndexDef, TableDef};
use squall_types::{SqlType, StringKind};

/// The length of the first `parts` parts of an index.
pub fn key_length(def: &TableDef, index: &IndexDef, parts: usize) -> u64 {
    index
        .parts
        .iter()
        .take(parts)
        .filter_map(|part| {
            let column = &def.columns[def.ordinal(part.column)?];
            Some(
                part_length(column.element_type().unwrap_or(&column.sql_type), part.prefix)
                    + u64::from(column.nullable),
            )
        })
        .sum()
}

fn part_length(sql_type: &SqlType, prefix: Option<u32>) -> u64 {
    let fraction = |fsp: u8| u64::from(fsp.div_ceil(2));
    match sql_type {
        SqlType::Null => 0,
        SqlType::Int { width, .. } => u64::from(width.bits() / 8),
        SqlType::Decimal { precision, scale, .. } => {
            decimal_bytes(u64::from(precision - scale)) + decimal_bytes(u64::from(*scale))
        }
        SqlType::Float { .. } => 4,
        SqlType::Double { .. } => 8,
        SqlType::Bit { width } => u64::from(width.div_ceil(8)),
        SqlType::Year => 1,
        SqlType::Date => 3,
        SqlType::Time { fsp } => 3 + fraction(*fsp),
        SqlType::DateTime { fsp } => 5 + fraction(*fsp),
        SqlType::Timestamp { fsp } => 4 + fraction(*fsp),
        SqlType::String { kind, length, collation } => {
            let characters = u64::from(prefix.unwrap_or(*length).min(*length));
            let bytes = characters * u64::from(collation.charset().bytes_per_character_max());
            match kind {
                StringKind::Char => bytes,
                StringKind::Varchar | StringKind::Text(_) | StringKind::Geometry(_) | StringKind::Vector => bytes + 2,
            }
        }
        SqlType::Enum { members, .. } => 1 + u64::from(members.len() > 255),
        SqlType::Set { members, .. } => match members.len().div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1) as u64,
            _ => 8,
        },
        SqlType::Json => 0,
        SqlType::Hex { .. } | SqlType::Uuid => sql_type.digit_bytes().unwrap_or_default() as u64,
    }
}

/// Nine digits take four bytes, what is left over as many as it needs.
fn decimal_bytes(digits: u64) -> u64 {
    digits / 9 * 4 + [0, 1, 1, 2, 2, 3, 3, 4, 4][(digits % 9) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_that_mysql_shows() {
        assert_eq!(part_length(&SqlType::INT, None), 4);
        assert_eq!(part_length(&SqlType::decimal(10, 2), None), 5);
        assert_eq!(part_length(&SqlType::DateTime { fsp: 6 }, None), 8);
        let text = SqlType::varchar(20, squall_types::CollationId::UTF8MB4_0900_AI_CI);
        assert_eq!(part_length(&text, None), 82);
        assert_eq!(part_length(&text, Some(5)), 22);
    }
}
