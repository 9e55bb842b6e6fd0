//! A filter of rows is refused, or becomes one condition with a value for each of its `?`, whatever the names of columns are.

use super::is_limit;
use squall_row_json::filter::{FilterColumn, condition};
use squall_types::{CollationId, SqlType};

pub fn run(input: &[u8]) {
    let text = &*String::from_utf8_lossy(input);
    let string = SqlType::longtext(CollationId::UTF8MB4_BIN);
    let bytes = SqlType::longtext(CollationId::BINARY);
    let columns = [
        ("id", &SqlType::BIGINT),
        ("name", &string),
        ("a`b?", &bytes),
        ("$x", &SqlType::DOUBLE),
        ("doc", &SqlType::Json),
        ("\u{2603} '; --", &SqlType::Date),
    ];
    let columns = columns.map(|(name, sql_type)| FilterColumn { name, sql_type });
    let Ok(condition) = condition(text, &columns) else { return };
    let sql = format!("SELECT 1 FROM t WHERE {}", condition.sql);
    match squall_parser::parse(&sql, &Default::default()) {
        Ok(parsed) => {
            assert!(parsed.rest.is_none(), "one statement: {sql}");
            assert_eq!(parsed.placeholders as usize, condition.values.len(), "a value for each ?: {sql}");
        }
        Err(error) => assert!(is_limit(&error), "a condition that can be read: {error}: {sql}"),
    }
}
