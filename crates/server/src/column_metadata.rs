//! Column definitions in MySQL's form: type codes, display lengths, character sets and flags.

use squall_session::api::ColumnMeta;
use squall_types::{Charset, CollationId, IntWidth, SqlType, StringKind, TextSize};
use squall_wire::column::{ColumnDefinition, DECIMALS_NOT_FIXED};
use squall_wire::constants::{ColumnFlags, ColumnType};

use crate::charset::charset_of;

/// Collation id of everything that is not character text.
const BINARY: u16 = 63;
/// Collation id of digits.
const ASCII: u16 = 11;

/// Whether a column is of no table, but calculated.
fn is_calculated(column: &ColumnMeta) -> bool {
    column.org_table.is_empty()
}

/// The type code of a column.
pub(crate) fn wire_type(column: &ColumnMeta) -> ColumnType {
    match &column.sql_type {
        SqlType::Null => ColumnType::Null,
        // What a comparison gives is a number. Drivers take TINYINT(1) for a column of truth values.
        SqlType::Int { width: IntWidth::Tiny, display_width: Some(1), .. } if is_calculated(column) => {
            ColumnType::LongLong
        }
        SqlType::Int { width, .. } => match width {
            IntWidth::Tiny => ColumnType::Tiny,
            IntWidth::Small => ColumnType::Short,
            IntWidth::Medium => ColumnType::Int24,
            IntWidth::Int => ColumnType::Long,
            IntWidth::Big => ColumnType::LongLong,
        },
        SqlType::Decimal { .. } => ColumnType::NewDecimal,
        SqlType::Float { .. } => ColumnType::Float,
        SqlType::Double { .. } => ColumnType::Double,
        SqlType::Bit { .. } => ColumnType::Bit,
        SqlType::Year => ColumnType::Year,
        SqlType::Date => ColumnType::Date,
        SqlType::Time { .. } => ColumnType::Time,
        SqlType::DateTime { .. } => ColumnType::DateTime,
        SqlType::Timestamp { .. } => ColumnType::Timestamp,
        SqlType::String { kind, .. } => match kind {
            StringKind::Char => ColumnType::String,
            StringKind::Varchar => ColumnType::VarString,
            StringKind::Text(_) => ColumnType::Blob,
            StringKind::Geometry(_) => ColumnType::Geometry,
            StringKind::Vector => ColumnType::Vector,
        },
        // Both are sent as CHAR; a flag tells them apart.
        SqlType::Enum { .. } | SqlType::Set { .. } => ColumnType::String,
        SqlType::Json => ColumnType::Json,
        SqlType::Hex { .. } | SqlType::Uuid => ColumnType::String,
    }
}

/// The definition of a column for a client whose results come in `results_collation` (`None`: as stored).
pub(crate) fn definition(column: &ColumnMeta, results_collation: Option<u16>) -> ColumnDefinition<'_> {
    let sql_type = &column.sql_type;
    let own_collation = match sql_type {
        SqlType::Json => BINARY,
        SqlType::Hex { .. } | SqlType::Uuid => ASCII,
        _ => sql_type.collation().map_or(BINARY, |collation| collation.0),
    };
    let collation = match results_collation {
        Some(results) if own_collation != BINARY && results != BINARY => results,
        _ => own_collation,
    };
    ColumnDefinition {
        schema: column.database.as_bytes(),
        table: column.table.as_bytes(),
        org_table: column.org_table.as_bytes(),
        name: column.name.as_bytes(),
        org_name: column.org_name.as_bytes(),
        collation,
        length: match sql_type {
            // Calculated numbers are announced with room for a sign.
            SqlType::Int { width: IntWidth::Big, unsigned: false, display_width: None, .. }
                if is_calculated(column) =>
            {
                21
            }
            SqlType::Double { digits: None, .. } if is_calculated(column) => 23,
            _ => length(sql_type, charset_of(collation)),
        },
        column_type: wire_type(column),
        flags: flags(column, own_collation),
        decimals: decimals(column),
    }
}

/// The definition of a statement's parameter: nothing is known of it.
pub(crate) fn parameter_definition() -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"?",
        org_name: b"",
        collation: BINARY,
        length: 0,
        column_type: ColumnType::VarString,
        flags: ColumnFlags::BINARY,
        decimals: 0,
    }
}

/// Width of the longest value: characters for numbers and times, bytes in the client's character set for text.
pub(crate) fn length(sql_type: &SqlType, charset: Charset) -> u32 {
    let in_bytes = |characters: u32| characters.saturating_mul(charset.bytes_per_character_max());
    let with_fraction = |length: u32, fsp: u8| if fsp == 0 { length } else { length + 1 + u32::from(fsp) };
    match sql_type {
        SqlType::Null => 0,
        SqlType::Int { display_width: Some(width), .. } => u32::from(*width),
        SqlType::Int { width, unsigned, .. } => match (width, unsigned) {
            (IntWidth::Tiny, false) => 4,
            (IntWidth::Tiny, true) => 3,
            (IntWidth::Small, false) => 6,
            (IntWidth::Small, true) => 5,
            (IntWidth::Medium, false) => 9,
            (IntWidth::Medium, true) => 8,
            (IntWidth::Int, false) => 11,
            (IntWidth::Int, true) => 10,
            (IntWidth::Big, _) => 20,
        },
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            u32::from(*precision) + u32::from(*scale > 0) + u32::from(!unsigned)
        }
        SqlType::Float { digits: Some((digits, _)), .. } | SqlType::Double { digits: Some((digits, _)), .. } => {
            u32::from(*digits)
        }
        SqlType::Float { .. } => 12,
        SqlType::Double { .. } => 22,
        SqlType::Bit { width } => u32::from(*width),
        SqlType::Year => 4,
        SqlType::Date => 10,
        SqlType::Time { fsp } => with_fraction(10, *fsp),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => with_fraction(19, *fsp),
        SqlType::String { kind: StringKind::Text(size), .. } => match size {
            TextSize::Tiny => in_bytes(u32::from(u8::MAX)),
            TextSize::Normal => in_bytes(u32::from(u16::MAX)),
            TextSize::Medium => in_bytes((1 << 24) - 1),
            TextSize::Long => u32::MAX,
        },
        SqlType::String { length, .. } => in_bytes(*length),
        SqlType::Enum { members, .. } => {
            in_bytes(members.iter().map(|member| character_count(member)).max().unwrap_or(0))
        }
        SqlType::Set { members, .. } => {
            let commas = u32::try_from(members.len().saturating_sub(1)).unwrap_or(u32::MAX);
            in_bytes(members.iter().map(|member| character_count(member)).fold(commas, u32::saturating_add))
        }
        SqlType::Json => u32::MAX,
        SqlType::Hex { digits } => in_bytes(u32::from(*digits)),
        SqlType::Uuid => in_bytes(36),
    }
}

fn character_count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

fn flags(column: &ColumnMeta, own_collation: u16) -> ColumnFlags {
    let mut flags = ColumnFlags::EMPTY;
    let facts = &column.flags;
    flags.set(ColumnFlags::NOT_NULL, facts.not_null);
    flags.set(ColumnFlags::PRI_KEY, facts.primary_key);
    flags.set(ColumnFlags::UNIQUE_KEY, facts.unique_key);
    flags.set(ColumnFlags::MULTIPLE_KEY, facts.multiple_key);
    flags.set(ColumnFlags::PART_KEY, facts.part_key);
    flags.set(ColumnFlags::AUTO_INCREMENT, facts.auto_increment);
    flags.set(ColumnFlags::NO_DEFAULT_VALUE, facts.no_default_value);
    flags.set(ColumnFlags::ON_UPDATE_NOW, facts.on_update_now);

    let sql_type = &column.sql_type;
    flags.set(ColumnFlags::UNSIGNED, sql_type.is_unsigned() && !is_enumeration(sql_type));
    flags.set(ColumnFlags::ZEROFILL, is_zerofill(sql_type));
    flags.set(ColumnFlags::ENUM, matches!(sql_type, SqlType::Enum { .. }));
    flags.set(ColumnFlags::SET, matches!(sql_type, SqlType::Set { .. }));
    flags.set(ColumnFlags::TIMESTAMP, matches!(sql_type, SqlType::Timestamp { .. }) && facts.on_update_now);
    let text = matches!(
        sql_type,
        SqlType::String { kind: StringKind::Text(_) | StringKind::Geometry(_) | StringKind::Vector, .. }
            | SqlType::Json
    );
    flags.set(ColumnFlags::BLOB, text);
    // A number of a table is not "binary", one that was calculated is: MySQL's habit, which drivers have learnt.
    let binary = if sql_type.is_numeric() { is_calculated(column) } else { CollationId(own_collation).is_binary() };
    flags.set(ColumnFlags::BINARY, binary);
    flags
}

fn is_enumeration(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
}

fn is_zerofill(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Int { zerofill, .. }
        | SqlType::Decimal { zerofill, .. }
        | SqlType::Float { zerofill, .. }
        | SqlType::Double { zerofill, .. } => *zerofill,
        SqlType::Year => true,
        _ => false,
    }
}

fn decimals(column: &ColumnMeta) -> u8 {
    match &column.sql_type {
        SqlType::Decimal { scale, .. } => *scale,
        SqlType::Float { digits: Some((_, decimals)), .. } | SqlType::Double { digits: Some((_, decimals)), .. } => {
            *decimals
        }
        SqlType::Float { .. } | SqlType::Double { .. } => DECIMALS_NOT_FIXED,
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => *fsp,
        SqlType::String { .. } if is_calculated(column) => DECIMALS_NOT_FIXED,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(sql_type: SqlType, org_table: &str) -> ColumnMeta {
        ColumnMeta {
            database: "db".into(),
            table: org_table.into(),
            org_table: org_table.into(),
            name: "c".into(),
            org_name: "c".into(),
            sql_type,
            flags: Default::default(),
        }
    }

    /// Type, collation, length, flags and decimals as a MySQL 8.4 server sends them to a utf8mb4 client.
    fn check(sql_type: SqlType, org_table: &str, expected: (ColumnType, u16, u32, ColumnFlags, u8)) {
        let column = column(sql_type, org_table);
        let definition = definition(&column, Some(255));
        let ColumnDefinition { column_type, collation, length, flags, decimals, .. } = definition;
        assert_eq!((column_type, collation, length, flags, decimals), expected, "{:?}", column.sql_type);
    }

    #[test]
    fn definitions_are_mysqls() {
        let utf8 = CollationId::UTF8MB4_0900_AI_CI;
        let none = ColumnFlags::EMPTY;
        check(SqlType::INT, "t", (ColumnType::Long, 63, 11, none, 0));
        check(SqlType::BIGINT, "t", (ColumnType::LongLong, 63, 20, none, 0));
        check(SqlType::BIGINT, "", (ColumnType::LongLong, 63, 21, ColumnFlags::BINARY, 0));
        check(SqlType::BOOL, "t", (ColumnType::Tiny, 63, 1, none, 0));
        check(SqlType::BOOL, "", (ColumnType::LongLong, 63, 1, ColumnFlags::BINARY, 0));
        check(SqlType::DOUBLE, "", (ColumnType::Double, 63, 23, ColumnFlags::BINARY, 31));
        check(SqlType::BIGINT_UNSIGNED, "t", (ColumnType::LongLong, 63, 20, ColumnFlags::UNSIGNED, 0));
        check(SqlType::decimal(10, 2), "t", (ColumnType::NewDecimal, 63, 12, none, 2));
        check(SqlType::DOUBLE, "t", (ColumnType::Double, 63, 22, none, 31));
        check(SqlType::varchar(10, utf8), "t", (ColumnType::VarString, 255, 40, none, 0));
        check(SqlType::varchar(10, utf8), "", (ColumnType::VarString, 255, 40, none, 31));
        check(SqlType::varchar(10, CollationId::BINARY), "t", (ColumnType::VarString, 63, 10, ColumnFlags::BINARY, 0));
        check(SqlType::longtext(utf8), "t", (ColumnType::Blob, 255, u32::MAX, ColumnFlags::BLOB, 0));
        check(
            SqlType::String { kind: StringKind::Text(TextSize::Normal), length: 65_535, collation: utf8 },
            "t",
            (ColumnType::Blob, 255, 262_140, ColumnFlags::BLOB, 0),
        );
        check(SqlType::Json, "t", (ColumnType::Json, 63, u32::MAX, ColumnFlags::BLOB | ColumnFlags::BINARY, 0));
        check(SqlType::DateTime { fsp: 6 }, "t", (ColumnType::DateTime, 63, 26, ColumnFlags::BINARY, 6));
        check(SqlType::Year, "t", (ColumnType::Year, 63, 4, ColumnFlags::UNSIGNED | ColumnFlags::ZEROFILL, 0));
        check(SqlType::Bit { width: 9 }, "t", (ColumnType::Bit, 63, 9, ColumnFlags::UNSIGNED, 0));
        let members = ["a".to_owned(), "bcd".to_owned()];
        let enumeration = SqlType::Enum { members: members.clone().into(), collation: utf8 };
        check(enumeration, "t", (ColumnType::String, 255, 12, ColumnFlags::ENUM, 0));
        let set = SqlType::Set { members: members.into(), collation: utf8 };
        check(set, "t", (ColumnType::String, 255, 20, ColumnFlags::SET, 0));
    }
}
