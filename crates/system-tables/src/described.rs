//! Columns described in a short form, for tables with many columns of few kinds.
//!
//! A description is a list of words: `NAME:type` for a column, with `?` after the type if it can be NULL; `*` for the five columns of
//! timed events (`COUNT_STAR`, `SUM_TIMER_WAIT` …), `*READ` for the same columns of one kind of event (`COUNT_READ`, `SUM_TIMER_READ`
//! …); `$NAME` for one of [`FAMILIES`]. Types: `u` BIGINT UNSIGNED, `i` BIGINT, `w` INT UNSIGNED, `n` INT, `v64` VARCHAR(64), `text`
//! LONGTEXT, `blob`, `bool`, `double`, `json`, `moment` TIMESTAMP(6), `time` TIMESTAMP.

use crate::spec::ColumnKind;
use squall_registry::VirtualColumn;

/// Columns that several tables share.
const FAMILIES: &[(&str, &str)] = &[
    (
        "STATEMENT_SUMS",
        "SUM_LOCK_TIME:u SUM_ERRORS:u SUM_WARNINGS:u SUM_ROWS_AFFECTED:u SUM_ROWS_SENT:u SUM_ROWS_EXAMINED:u \
         SUM_CREATED_TMP_DISK_TABLES:u SUM_CREATED_TMP_TABLES:u SUM_SELECT_FULL_JOIN:u SUM_SELECT_FULL_RANGE_JOIN:u \
         SUM_SELECT_RANGE:u SUM_SELECT_RANGE_CHECK:u SUM_SELECT_SCAN:u SUM_SORT_MERGE_PASSES:u SUM_SORT_RANGE:u \
         SUM_SORT_ROWS:u SUM_SORT_SCAN:u SUM_NO_INDEX_USED:u SUM_NO_GOOD_INDEX_USED:u SUM_CPU_TIME:u \
         MAX_CONTROLLED_MEMORY:u MAX_TOTAL_MEMORY:u COUNT_SECONDARY:u",
    ),
    (
        "STATEMENT",
        "THREAD_ID:u EVENT_ID:u END_EVENT_ID:u? EVENT_NAME:v128 SOURCE:v64? TIMER_START:u? TIMER_END:u? TIMER_WAIT:u? \
         LOCK_TIME:u SQL_TEXT:text? DIGEST:v64? DIGEST_TEXT:text? CURRENT_SCHEMA:v64? OBJECT_TYPE:v64? OBJECT_SCHEMA:v64? \
         OBJECT_NAME:v64? OBJECT_INSTANCE_BEGIN:u? MYSQL_ERRNO:n? RETURNED_SQLSTATE:v5? MESSAGE_TEXT:v128? ERRORS:u \
         WARNINGS:u ROWS_AFFECTED:u ROWS_SENT:u ROWS_EXAMINED:u CREATED_TMP_DISK_TABLES:u CREATED_TMP_TABLES:u \
         SELECT_FULL_JOIN:u SELECT_FULL_RANGE_JOIN:u SELECT_RANGE:u SELECT_RANGE_CHECK:u SELECT_SCAN:u SORT_MERGE_PASSES:u \
         SORT_RANGE:u SORT_ROWS:u SORT_SCAN:u NO_INDEX_USED:u NO_GOOD_INDEX_USED:u NESTING_EVENT_ID:u? \
         NESTING_EVENT_TYPE:v11? NESTING_EVENT_LEVEL:n? STATEMENT_ID:u? CPU_TIME:u MAX_CONTROLLED_MEMORY:u \
         MAX_TOTAL_MEMORY:u EXECUTION_ENGINE:v9?",
    ),
    (
        "ERROR",
        "ERROR_NUMBER:n? ERROR_NAME:v64? SQL_STATE:v5? SUM_ERROR_RAISED:u SUM_ERROR_HANDLED:u FIRST_SEEN:time? \
         LAST_SEEN:time?",
    ),
    ("LAST_ERROR", "LAST_ERROR_NUMBER:n LAST_ERROR_MESSAGE:v1024 LAST_ERROR_TIMESTAMP:moment"),
    (
        "MEMORY",
        "COUNT_ALLOC:u COUNT_FREE:u SUM_NUMBER_OF_BYTES_ALLOC:u SUM_NUMBER_OF_BYTES_FREE:u LOW_COUNT_USED:i \
         CURRENT_COUNT_USED:i HIGH_COUNT_USED:i LOW_NUMBER_OF_BYTES_USED:i CURRENT_NUMBER_OF_BYTES_USED:i \
         HIGH_NUMBER_OF_BYTES_USED:i",
    ),
];

/// The columns of a description.
pub(crate) fn columns(description: &str) -> Vec<VirtualColumn> {
    let mut columns = Vec::new();
    for word in description.split_ascii_whitespace() {
        if let Some(family) = word.strip_prefix('$') {
            let known = FAMILIES.iter().find(|(name, _)| *name == family);
            columns.extend(known.into_iter().flat_map(|(_, description)| self::columns(description)));
        } else if let Some(kind) = word.strip_prefix('*') {
            let (counted, timed) = if kind.is_empty() { ("STAR", "WAIT") } else { (kind, kind) };
            columns.push(column(format!("COUNT_{counted}"), ColumnKind::UInt, false));
            for sum in ["SUM", "MIN", "AVG", "MAX"] {
                columns.push(column(format!("{sum}_TIMER_{timed}"), ColumnKind::UInt, false));
            }
        } else if let Some((name, kind)) = word.split_once(':') {
            let nullable = kind.ends_with('?');
            columns.push(column(name.to_string(), kind_of(kind.trim_end_matches('?')), nullable));
        }
    }
    columns
}

fn kind_of(word: &str) -> ColumnKind {
    match word {
        "u" => ColumnKind::UInt,
        "i" => ColumnKind::Int,
        "w" => ColumnKind::SmallUInt,
        "n" => ColumnKind::Int32,
        "text" => ColumnKind::LongText,
        "blob" => ColumnKind::Blob,
        "bool" => ColumnKind::Bool,
        "double" => ColumnKind::Double,
        "json" => ColumnKind::Json,
        "moment" => ColumnKind::Moment,
        "time" => ColumnKind::Time,
        other => ColumnKind::Text(other.trim_start_matches('v').parse().unwrap_or(64)),
    }
}

fn column(name: String, kind: ColumnKind, nullable: bool) -> VirtualColumn {
    VirtualColumn { name: name.into(), sql_type: kind.sql_type(), nullable, invisible: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::SqlType;

    #[test]
    fn descriptions_are_read() {
        let columns = columns("USER:v32? $ERROR * *READ");
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names.len(), 1 + 7 + 5 + 5);
        assert_eq!(
            (names[8], names[9], names[13], names[14]),
            ("COUNT_STAR", "SUM_TIMER_WAIT", "COUNT_READ", "SUM_TIMER_READ")
        );
        assert!(columns[0].nullable && !columns[8].nullable);
        assert_eq!(columns[4].sql_type, SqlType::BIGINT_UNSIGNED);
    }

    #[test]
    fn every_word_of_the_tables_is_understood() {
        let tables =
            super::super::performance_empty::TABLES.iter().chain(super::super::performance_replication::TABLES);
        let all = tables.map(|(_, description)| *description);
        for description in all.chain(FAMILIES.iter().map(|(_, description)| *description)) {
            for word in description.split_ascii_whitespace() {
                let known = match word.split_once(':') {
                    Some((_, kind)) => {
                        let kind = kind.trim_end_matches('?');
                        ["u", "i", "w", "n", "text", "blob", "bool", "double", "json", "moment", "time"].contains(&kind)
                            || kind.strip_prefix('v').is_some_and(|length| length.parse::<u32>().is_ok())
                    }
                    None => {
                        let family = word.strip_prefix('$');
                        word.starts_with('*')
                            || family.is_some_and(|name| FAMILIES.iter().any(|(known, _)| *known == name))
                    }
                };
                assert!(known, "{word}");
            }
        }
    }
}
