//! COLUMNS.

use super::{ColumnSpec, Source, TableSpec, choice, int, long_text, s, s_or_null, text, u, uint, yes_no};
use crate::create_table::{current_timestamp, default_text};
use crate::type_text::{has_charset, type_text};
use squall_catalog::{ColumnDef, ColumnDefault, Privileges, TableDef, TableEntry, ViewDef};
use squall_functions::typing::display_length;
use squall_registry::{VirtualColumn, VirtualScan};
use squall_types::{CollationId, SqlResult, SqlType, Value};

pub(crate) const TABLES: &[TableSpec] =
    &[TableSpec { database: "information_schema", name: "COLUMNS", columns: COLUMNS, rows: columns }];

const COLUMNS: &[ColumnSpec] = &[
    text("TABLE_CATALOG", 64),
    text("TABLE_SCHEMA", 64),
    text("TABLE_NAME", 64),
    text("COLUMN_NAME", 64).or_null(),
    uint("ORDINAL_POSITION"),
    long_text("COLUMN_DEFAULT").or_null(),
    text("IS_NULLABLE", 3),
    long_text("DATA_TYPE").or_null(),
    int("CHARACTER_MAXIMUM_LENGTH").or_null(),
    int("CHARACTER_OCTET_LENGTH").or_null(),
    uint("NUMERIC_PRECISION").or_null(),
    uint("NUMERIC_SCALE").or_null(),
    uint("DATETIME_PRECISION").or_null(),
    text("CHARACTER_SET_NAME", 64).or_null(),
    text("COLLATION_NAME", 64).or_null(),
    long_text("COLUMN_TYPE"),
    choice("COLUMN_KEY", &["", "PRI", "UNI", "MUL"]),
    text("EXTRA", 256).or_null(),
    text("PRIVILEGES", 154).or_null(),
    long_text("COLUMN_COMMENT"),
    long_text("GENERATION_EXPRESSION"),
    uint("SRS_ID").or_null(),
];

fn columns(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let (database, table) = (scan.equal_text(1), scan.equal_text(2));
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(database, table) {
        let table = match entry {
            TableEntry::Table(table) => table,
            TableEntry::View(view) => {
                rows.extend(view_columns(source, &database.name, name, view));
                continue;
            }
        };
        for (ordinal, column) in table.named_columns().iter().enumerate() {
            if source.access.sees_column(&database.name, name, &column.name) {
                let own = source.access.on_column(&database.name, name, &column.name);
                rows.push(row(&database.name, table, ordinal, column, own));
            }
        }
    }
    let is_wanted = |table_of: &str, name: &str| {
        database.is_none_or(|wanted| wanted.eq_ignore_ascii_case(table_of))
            && table.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
    };
    for virtual_table in source.state.registry.virtual_tables() {
        if is_wanted(virtual_table.database(), virtual_table.name()) {
            for (ordinal, column) in virtual_table.columns().iter().enumerate() {
                rows.push(virtual_row(virtual_table.database(), virtual_table.name(), ordinal, column));
            }
        }
    }
    Ok(rows)
}

/// The columns of a view, typed by binding it; none if it refers to what is gone.
fn view_columns(source: &Source<'_>, database: &str, name: &str, view: &ViewDef) -> Vec<Vec<Value>> {
    let found = source.server.columns_of_view(&source.catalog, source.context, (database, name), view);
    let Some(columns) = found else { return Vec::new() };
    let mut table = TableDef::empty(name, squall_types::CollationId::UTF8MB4_0900_AI_CI, false, 0);
    table.columns = columns;
    let columns = table.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| source.access.sees_column(database, name, &column.name));
    let own = |column: &ColumnDef| source.access.on_column(database, name, &column.name);
    columns.map(|(at, column)| row(database, &table, at, column, own(column))).collect()
}

/// `PRI`, `UNI`, `MUL` or nothing.
pub fn column_key(table: &TableDef, column: &ColumnDef) -> &'static str {
    let first_in = |index: &&squall_catalog::IndexDef| {
        index.parts.first().and_then(|part| table.part_column(part)).is_some_and(|first| first.id == column.id)
    };
    if table.primary_key().is_some_and(|key| key.parts.iter().any(|part| part.column == column.id)) {
        return "PRI";
    }
    let mut keys = table.indexes.iter().filter(first_in);
    let Some(first) = keys.next() else { return "" };
    let (mut is_unique, mut has_order) = (false, false);
    for index in std::iter::once(first).chain(keys).filter(|index| index.unique && index.parts.len() == 1) {
        is_unique = true;
        has_order |= !index.is_hashed();
    }
    match is_unique {
        // Without a primary key, a unique key over NOT NULL columns is shown as one.
        true if has_order && table.primary_key().is_none() && !column.nullable => "PRI",
        true => "UNI",
        false => "MUL",
    }
}

/// What SHOW COLUMNS has in its last column.
pub fn extra(column: &ColumnDef) -> String {
    let mut words: Vec<String> = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".into());
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.into());
    } else if matches!(column.default, ColumnDefault::Now | ColumnDefault::Expression(_)) {
        words.push("DEFAULT_GENERATED".into());
    }
    if column.on_update_now {
        words.push(format!("on update {}", current_timestamp(&column.sql_type)));
    }
    if column.invisible {
        words.push("INVISIBLE".into());
    }
    words.join(" ")
}

/// The default as COLUMN_DEFAULT has it.
pub fn column_default(column: &ColumnDef) -> Option<String> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Literal(Value::Null) => None,
        ColumnDefault::Literal(Value::UInt(bits)) if matches!(column.sql_type, SqlType::Bit { .. }) => {
            Some(format!("b'{bits:b}'"))
        }
        ColumnDefault::Literal(value) => Some(default_text(column, value)),
        ColumnDefault::Now => Some(current_timestamp(&column.sql_type)),
        ColumnDefault::Expression(text) => Some(text.clone()),
    }
}

/// The names of column privileges in lower case.
pub fn column_privileges(own: Privileges) -> String {
    let names = Privileges(own.0 & Privileges::ALL_COLUMN.0).names();
    names.iter().map(|name| name.to_ascii_lowercase()).collect::<Vec<_>>().join(",")
}

fn row(database: &str, table: &TableDef, ordinal: usize, column: &ColumnDef, own: Privileges) -> Vec<Value> {
    let mut row = vec![s("def"), s(database), s(&table.name), s(&column.name), u(ordinal as u64 + 1)];
    row.push(s_or_null(column_default(column)));
    row.push(yes_no(column.nullable));
    row.extend(type_facts(&column.sql_type));
    row.push(s(type_text(&column.sql_type)));
    row.push(s(column_key(table, column)));
    row.push(s(extra(column)));
    row.push(s(column_privileges(own)));
    row.push(s(&column.comment));
    row.push(s(column.generated.as_ref().map_or("", |generated| generated.expression.as_str())));
    let srid = column.sql_type.geometry_type().and_then(|geometry| geometry.srid);
    row.push(srid.map_or(Value::Null, |srid| u(u64::from(srid))));
    row
}

fn virtual_row(database: &str, table: &str, ordinal: usize, column: &VirtualColumn) -> Vec<Value> {
    let mut row = vec![s("def"), s(database), s(table), s(&*column.name), u(ordinal as u64 + 1)];
    row.push(Value::Null);
    row.push(yes_no(column.nullable));
    row.extend(type_facts(&column.sql_type));
    row.push(s(type_text(&column.sql_type)));
    row.extend([s(""), s(""), s("select"), s(""), s(""), Value::Null]);
    row
}

/// DATA_TYPE up to COLLATION_NAME.
pub fn type_facts(sql_type: &SqlType) -> [Value; 8] {
    let (mut characters, mut octets, mut precision, mut scale, mut fraction) =
        (Value::Null, Value::Null, Value::Null, Value::Null, Value::Null);
    let string = |length: u64, collation: CollationId| {
        (Value::Int(length as i64), length * u64::from(collation.charset().bytes_per_character_max()))
    };
    match sql_type {
        SqlType::Int { width, unsigned, .. } => {
            let digits = match width {
                squall_types::IntWidth::Tiny => 3,
                squall_types::IntWidth::Small => 5,
                squall_types::IntWidth::Medium => 7,
                squall_types::IntWidth::Int => 10,
                squall_types::IntWidth::Big => 19 + u64::from(*unsigned),
            };
            (precision, scale) = (u(digits), u(0));
        }
        SqlType::Decimal { precision: digits, scale: after, .. } => {
            (precision, scale) = (u(u64::from(*digits)), u(u64::from(*after)));
        }
        SqlType::Float { digits, .. } => {
            (precision, scale) = digits.map_or((u(12), Value::Null), |(m, d)| (u(u64::from(m)), u(u64::from(d))));
        }
        SqlType::Double { digits, .. } => {
            (precision, scale) = digits.map_or((u(22), Value::Null), |(m, d)| (u(u64::from(m)), u(u64::from(d))));
        }
        SqlType::Bit { width } => precision = u(u64::from(*width)),
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => fraction = u(u64::from(*fsp)),
        // TEXT and VECTOR are limited in bytes, and MySQL shows that limit for both.
        SqlType::String {
            kind: squall_types::StringKind::Text(_) | squall_types::StringKind::Vector, length, ..
        } => {
            (characters, octets) = (Value::Int(i64::from(*length)), Value::Int(i64::from(*length)));
        }
        SqlType::String { kind: squall_types::StringKind::Geometry(_), .. } => {}
        SqlType::String { length, collation, .. } => {
            let (shown, bytes) = string(u64::from(*length), *collation);
            (characters, octets) = (shown, Value::Int(bytes as i64));
        }
        SqlType::Enum { members, collation } => {
            let longest = members.iter().map(|member| member.chars().count()).max().unwrap_or(0) as u64;
            let (shown, bytes) = string(longest, *collation);
            (characters, octets) = (shown, Value::Int(bytes as i64));
        }
        SqlType::Hex { .. } | SqlType::Uuid => {
            let bytes = sql_type.digit_bytes().unwrap_or_default() as u64;
            (characters, octets) = (u(u64::from(display_length(sql_type))), u(bytes));
        }
        SqlType::Set { members, collation } => {
            let sum: usize = members.iter().map(|member| member.chars().count()).sum();
            let (shown, bytes) = string((sum + members.len().saturating_sub(1)) as u64, *collation);
            (characters, octets) = (shown, Value::Int(bytes as i64));
        }
        _ => {}
    }
    let collation = sql_type.collation().filter(|_| has_charset(sql_type));
    [
        s(sql_type.data_type_name()),
        characters,
        octets,
        precision,
        scale,
        fraction,
        s_or_null(collation.map(|id| id.charset().name())),
        s_or_null(collation.map(CollationId::name)),
    ]
}
