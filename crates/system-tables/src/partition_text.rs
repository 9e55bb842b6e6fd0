//! PARTITION BY as MySQL prints it.

use crate::quoting::{quote, quote_text};
use squall_catalog::{PartitionBound, PartitionDef, PartitionScheme, PartitionValues, Partitioning, TableDef};
use squall_functions::operators::coerce::to_text;
use squall_parser::keywords;
use squall_types::{SqlType, Value};

/// What SHOW CREATE TABLE shows behind the table's options, in a comment as MySQL writes it.
pub fn partitioning_text(table: &TableDef, partitioning: &Partitioning) -> String {
    // Since when MySQL has had it: what is older takes the table without its partitions.
    let version = match partitioning.scheme {
        PartitionScheme::RangeColumns(_) | PartitionScheme::ListColumns(_) => "50500",
        _ => "50100",
    };
    let mut text = format!("\n/*!{version} PARTITION BY {}", scheme_text(table, &partitioning.scheme));
    if partitioning.is_counted && partitioning.partitions.len() > 1 {
        text.push_str(&format!("\nPARTITIONS {}", partitioning.partitions.len()));
    }
    if let Some(sub) = &partitioning.subpartition {
        text.push_str(&format!("\nSUBPARTITION BY {}", scheme_text(table, sub)));
        if partitioning.is_subpartition_counted && partitioning.storages_per_partition() > 1 {
            text.push_str(&format!("\nSUBPARTITIONS {}", partitioning.storages_per_partition()));
        }
    }
    if !partitioning.is_counted {
        let shows_subs = partitioning.subpartition.is_some() && !partitioning.is_subpartition_counted;
        let partition = |partition: &PartitionDef| partition_text(table, &partitioning.scheme, partition, shows_subs);
        let partitions: Vec<String> = partitioning.partitions.iter().map(partition).collect();
        text.push_str(&format!("\n({})", partitions.join(",\n ")));
    }
    text.push_str(" */");
    text
}

fn scheme_text(table: &TableDef, scheme: &PartitionScheme) -> String {
    let columns = || column_names(table, scheme, "");
    match scheme {
        PartitionScheme::Hash { linear, expression } => format!("{}HASH ({expression})", linear_text(*linear)),
        PartitionScheme::Key { linear, algorithm, is_given, .. } => {
            let algorithm = match algorithm {
                Some(1) => " /*!50611 ALGORITHM = 1 */",
                _ => "",
            };
            let columns = if *is_given { columns() } else { String::new() };
            format!("{}KEY{algorithm} ({columns})", linear_text(*linear))
        }
        PartitionScheme::Range(expression) => format!("RANGE ({expression})"),
        PartitionScheme::List(expression) => format!("LIST ({expression})"),
        PartitionScheme::RangeColumns(_) => format!("RANGE  COLUMNS({})", columns()),
        PartitionScheme::ListColumns(_) => format!("LIST  COLUMNS({})", columns()),
    }
}

fn linear_text(linear: bool) -> &'static str {
    if linear { "LINEAR " } else { "" }
}

/// The columns that rows are divided by, between quotes if they need them.
fn column_names(table: &TableDef, scheme: &PartitionScheme, mark: &str) -> String {
    let name = |id| {
        let name = &table.columns[table.ordinal(id)?].name;
        Some(if mark.is_empty() { quote_if_needed(name) } else { format!("{mark}{name}{mark}") })
    };
    scheme.columns().iter().filter_map(|id| name(*id)).collect::<Vec<_>>().join(",")
}

fn quote_if_needed(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    let is_word = keywords().any(|(word, is_reserved)| is_reserved && word.eq_ignore_ascii_case(name));
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
    if name.bytes().all(is_plain) && !is_word && !is_number { name.to_string() } else { quote(name) }
}

/// What `information_schema.PARTITIONS` shows of what rows are divided by.
pub fn expression_text(table: &TableDef, scheme: &PartitionScheme) -> String {
    scheme.expression().map_or_else(|| column_names(table, scheme, "`"), str::to_string)
}

fn partition_text(table: &TableDef, scheme: &PartitionScheme, partition: &PartitionDef, shows_subs: bool) -> String {
    let mut text = format!("PARTITION {}", quote_if_needed(&partition.name));
    match &partition.values {
        PartitionValues::ByNumber => {}
        PartitionValues::LessThan(bounds) => {
            let maximum = matches!(&bounds[..], [PartitionBound::MaxValue]) && scheme.columns().is_empty();
            let bounds = values_text(table, scheme, &partition.values).unwrap_or_default();
            let bounds = if maximum { bounds } else { format!("({bounds})") };
            text.push_str(&format!(" VALUES LESS THAN {bounds}"));
        }
        PartitionValues::In(_) => {
            let lists = values_text(table, scheme, &partition.values).unwrap_or_default();
            text.push_str(&format!(" VALUES IN ({lists})"));
        }
    }
    if shows_subs {
        let subs: Vec<String> = partition
            .storages
            .iter()
            .map(|storage| {
                let name = quote_if_needed(&storage.name);
                format!("SUBPARTITION {name}{}", options_text(table, &storage.comment))
            })
            .collect();
        text.push_str(&format!("\n ({})", subs.join(",\n  ")));
    } else {
        text.push_str(&options_text(table, &partition.comment));
    }
    text
}

fn options_text(table: &TableDef, comment: &str) -> String {
    let comment = if comment.is_empty() { String::new() } else { format!(" COMMENT = {}", quote_text(comment)) };
    format!("{comment} ENGINE = {}", table.engine.as_str())
}

/// The values of a partition as they are shown; `None` for HASH and KEY.
pub fn values_text(table: &TableDef, scheme: &PartitionScheme, values: &PartitionValues) -> Option<String> {
    let types: Vec<&SqlType> = scheme
        .columns()
        .iter()
        .filter_map(|id| table.ordinal(*id).map(|ordinal| &table.columns[ordinal].sql_type))
        .collect();
    let value = |at: usize, value: &Value| value_text(value, types.get(at).copied());
    match values {
        PartitionValues::ByNumber => None,
        PartitionValues::LessThan(bounds) => {
            let bound = |(at, bound): (usize, &PartitionBound)| match bound {
                PartitionBound::MaxValue => "MAXVALUE".to_string(),
                PartitionBound::Value(bound) => value(at, bound),
            };
            Some(bounds.iter().enumerate().map(bound).collect::<Vec<_>>().join(","))
        }
        PartitionValues::In(rows) => {
            let row = |row: &Vec<Value>| {
                let row: Vec<String> = row.iter().enumerate().map(|(at, listed)| value(at, listed)).collect();
                if row.len() > 1 { format!("({})", row.join(",")) } else { row.concat() }
            };
            Some(rows.iter().map(row).collect::<Vec<_>>().join(","))
        }
    }
}

fn value_text(value: &Value, sql_type: Option<&SqlType>) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => {
            let text = sql_type.and_then(|sql_type| to_text(other, sql_type).map(|text| text.into_owned()));
            quote_text(&text.unwrap_or_default())
        }
    }
}
