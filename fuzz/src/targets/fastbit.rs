//! FastBit's languages accept or refuse any text, and a query becomes exactly one SELECT.

use super::is_limit;
use squall_fastbit::query::{Output, SqlOptions, parse};
use squall_fastbit::quote::Dialect;
use squall_fastbit::{columns, path, result_file, row_text};

pub fn run(input: &[u8]) {
    let text = &*String::from_utf8_lossy(input);
    let dialect = Dialect::default();
    if let Ok(columns) = columns::parse_columns(text) {
        let sql = format!("CREATE TABLE t ({})", columns::column_definitions(&columns, dialect));
        read(&sql);
    }
    if let Some(path) = path::TablePath::parse(text) {
        assert!(path.table_name().chars().count() <= 64);
    }
    let options = SqlOptions { table: "t", partition: "t", dialect };
    for output in [Output::Rows, Output::Columns, Output::List { text: true }] {
        let Ok(sql) = parse(text).and_then(|query| query.to_sql(&options, output)) else { continue };
        read(&sql);
    }
    let _ = row_text::fields(text, ",|", true);
    let _ = (result_file::insert_statement(text, "t", dialect), result_file::in_list(text, dialect));
}

/// Asserts that a statement that was made of an input is one statement, if it is not too large.
fn read(sql: &str) {
    match squall_parser::parse(sql, &Default::default()) {
        Ok(parsed) => assert!(parsed.rest.is_none(), "one statement: {sql}"),
        Err(error) => assert!(is_limit(&error), "a statement that can be read: {error}: {sql}"),
    }
}
