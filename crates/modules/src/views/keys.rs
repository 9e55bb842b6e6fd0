//! Redundant keys, and the used part of the range of AUTO_INCREMENT columns.

use super::source::Tables;
use super::sums::{Groups, n, quotient};
use super::view::{Column, Names, View, count, long, name, number, ratio};
use squall_types::{SqlResult, Value};
use std::cmp::Ordering;

const INFORMATION: &str = "information_schema";
/// Schemas whose keys are not reported.
const OF_SERVER: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];
/// Digits of the share of an AUTO_INCREMENT column's values that is used.
const RATIO_DIGITS: u8 = 4;

const FLATTENED: &[Column] = &[
    name("table_schema"),
    name("table_name"),
    name("index_name"),
    number("non_unique"),
    number("subpart_exists"),
    long("index_columns"),
];

pub(super) const VIEWS: &[View] = &[
    View {
        name: "schema_flattened_keys",
        names: Names::Raw,
        columns: FLATTENED,
        rows: |tables| Ok(keys(tables)?.into_iter().map(Key::into_row).collect()),
        over_time: false,
    },
    View {
        name: "schema_redundant_indexes",
        names: Names::Plain,
        columns: &[
            name("table_schema"),
            name("table_name"),
            name("redundant_index_name"),
            long("redundant_index_columns"),
            number("redundant_index_non_unique"),
            name("dominant_index_name"),
            long("dominant_index_columns"),
            number("dominant_index_non_unique"),
            number("subpart_exists"),
            long("sql_drop_index"),
        ],
        rows: redundant,
        over_time: false,
    },
    View {
        name: "schema_auto_increment_columns",
        names: Names::Plain,
        columns: &[
            name("table_schema"),
            name("table_name"),
            name("column_name"),
            long("data_type"),
            long("column_type"),
            number("is_signed"),
            number("is_unsigned"),
            count("max_value"),
            count("auto_increment"),
            ratio("auto_increment_ratio", RATIO_DIGITS),
        ],
        rows: auto_increment,
        over_time: false,
    },
];

/// A B-tree key with its columns in one text.
struct Key {
    schema: String,
    table: String,
    name: String,
    non_unique: bool,
    /// Whether only the beginning of a column is in it.
    has_prefix: bool,
    /// Separated by commas.
    columns: String,
}

impl Key {
    fn into_row(self) -> Vec<Value> {
        vec![
            Value::String(self.schema),
            Value::String(self.table),
            Value::String(self.name),
            truth(self.non_unique),
            truth(self.has_prefix),
            Value::String(self.columns),
        ]
    }

    /// The primary key comes before all others.
    fn order_name(&self) -> &str {
        if self.name == "PRIMARY" { "" } else { &self.name }
    }

    /// Whether another key of the table does everything that this one does.
    fn is_covered_by(&self, other: &Key) -> bool {
        let begins = |columns: &str, with: &str| columns.strip_prefix(with).is_some_and(|rest| rest.starts_with(','));
        let same = self.columns == other.columns
            && match self.non_unique.cmp(&other.non_unique) {
                Ordering::Greater => true,
                Ordering::Equal => self.order_name() > other.order_name(),
                Ordering::Less => false,
            };
        same || self.non_unique && begins(&other.columns, &self.columns)
            || !other.non_unique && begins(&self.columns, &other.columns)
    }
}

fn truth(value: bool) -> Value {
    Value::Int(i64::from(value))
}

fn keys(tables: &mut Tables<'_>) -> SqlResult<Vec<Key>> {
    let parts = tables.get_of(
        INFORMATION,
        "STATISTICS",
        &["TABLE_SCHEMA", "TABLE_NAME", "INDEX_NAME", "NON_UNIQUE", "SUB_PART", "COLUMN_NAME", "INDEX_TYPE"],
    )?;
    // Parts of a key come one after the other, the first one first.
    let mut keys: Vec<Key> = Vec::new();
    for part in parts.iter().filter(|part| part.text("INDEX_TYPE") == "BTREE") {
        let (schema, table, name) = (part.text("TABLE_SCHEMA"), part.text("TABLE_NAME"), part.text("INDEX_NAME"));
        if OF_SERVER.contains(&schema) {
            continue;
        }
        if !keys.last().is_some_and(|key| key.schema == schema && key.table == table && key.name == name) {
            keys.push(Key {
                schema: schema.to_string(),
                table: table.to_string(),
                name: name.to_string(),
                non_unique: part.number("NON_UNIQUE") != 0,
                has_prefix: false,
                columns: String::new(),
            });
        }
        if let Some(key) = keys.last_mut() {
            key.has_prefix |= !part.is_null("SUB_PART");
            // A functional part has no column.
            if !part.is_null("COLUMN_NAME") {
                if !key.columns.is_empty() {
                    key.columns.push(',');
                }
                key.columns.push_str(part.text("COLUMN_NAME"));
            }
        }
    }
    Ok(keys)
}

fn redundant(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut by_table: Groups<(String, String), Vec<Key>> = Groups::new();
    for key in keys(tables)?.into_iter().filter(|key| !key.columns.is_empty()) {
        by_table.of((key.schema.clone(), key.table.clone())).push(key);
    }
    let mut rows = Vec::new();
    for ((schema, table), keys) in by_table.into_vec() {
        for key in &keys {
            for other in keys.iter().filter(|other| other.name != key.name && key.is_covered_by(other)) {
                rows.push(vec![
                    Value::String(schema.clone()),
                    Value::String(table.clone()),
                    Value::String(key.name.clone()),
                    Value::String(key.columns.clone()),
                    truth(key.non_unique),
                    Value::String(other.name.clone()),
                    Value::String(other.columns.clone()),
                    truth(other.non_unique),
                    truth(key.has_prefix || other.has_prefix),
                    Value::String(format!("ALTER TABLE `{schema}`.`{table}` DROP INDEX `{}`", key.name)),
                ]);
            }
        }
    }
    Ok(rows)
}

/// The greatest value of an integer type.
fn greatest(data_type: &str, unsigned: bool) -> Option<u64> {
    let bits = match data_type {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" => 32,
        "bigint" => 64,
        _ => return None,
    };
    Some(u64::MAX >> (64 - bits) >> u32::from(!unsigned))
}

fn auto_increment(tables: &mut Tables<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let columns = tables.get_of(
        INFORMATION,
        "COLUMNS",
        &["TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "COLUMN_TYPE", "EXTRA"],
    )?;
    let all = tables.get_of(INFORMATION, "TABLES", &["TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "AUTO_INCREMENT"])?;
    let mut next: Groups<(&str, &str), u64> = Groups::new();
    for table in all.iter().filter(|table| table.text("TABLE_TYPE") == "BASE TABLE") {
        *next.of((table.text("TABLE_SCHEMA"), table.text("TABLE_NAME"))) = table.number("AUTO_INCREMENT");
    }
    let mut found: Vec<(f64, Vec<Value>)> = Vec::new();
    for column in columns.iter().filter(|column| column.text("EXTRA").contains("auto_increment")) {
        let (schema, table) = (column.text("TABLE_SCHEMA"), column.text("TABLE_NAME"));
        let unsigned = column.text("COLUMN_TYPE").contains("unsigned");
        let Some(next) = next.find(&(schema, table)).filter(|_| !OF_SERVER.contains(&schema)) else { continue };
        let max = greatest(column.text("DATA_TYPE"), unsigned);
        let used = max.map_or(0.0, |max| *next as f64 / max as f64);
        let row = vec![
            column.get("TABLE_SCHEMA"),
            column.get("TABLE_NAME"),
            column.get("COLUMN_NAME"),
            column.get("DATA_TYPE"),
            column.get("COLUMN_TYPE"),
            truth(!unsigned),
            truth(unsigned),
            max.map_or(Value::Null, n),
            n(*next),
            max.map_or(Value::Null, |max| quotient(*next as f64, max as f64, RATIO_DIGITS)),
        ];
        found.push((used, row));
    }
    found.sort_by(|left, right| right.0.total_cmp(&left.0));
    Ok(found.into_iter().map(|(_, row)| row).collect())
}
