//! Answers, and their comparison.

use crate::data::folded;
use crate::query::{Compare, Query};
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// Sums of DOUBLE may differ by so much of the greater one.
const TOLERANCE: f64 = 1e-9;

/// What a server says to a query: rows, or an error with its number and text.
pub type Answer = Result<Vec<Vec<Value>>, (u16, String)>;

/// Squall's number of an error that no client should get.
const INTERNAL_ERROR: u16 = 1105;

/// Numbers of MariaDB and of Squall for what is wrong in the same way, and why they are not one.
const SAME_ERRORS: &[(u16, u16, &str)] = &[];

/// Asks a query.
///
/// # Panics
/// If the connection breaks.
pub fn ask(client: &mut Conn, sql: &str) -> Answer {
    match client.query::<mysql::Row, _>(sql) {
        Ok(rows) => Ok(rows.into_iter().map(mysql::Row::unwrap).collect()),
        Err(mysql::Error::MySqlError(error)) => Err((error.code, error.message)),
        Err(error) => panic!("the connection broke: {sql}\n{error}"),
    }
}

/// A value as it is compared.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Text(String),
    Number(f64),
}

impl Cell {
    fn new(value: &Value, compare: Compare) -> Cell {
        let Value::Bytes(bytes) = value else { return Cell::Null };
        let text = String::from_utf8_lossy(bytes).into_owned();
        match compare {
            Compare::Exact => Cell::Text(text),
            Compare::Folded => Cell::Text(folded(&text)),
            Compare::Number => text.parse().map_or(Cell::Text(text), Cell::Number),
        }
    }

    fn equals(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Null, Cell::Null) => true,
            (Cell::Text(a), Cell::Text(b)) => a == b,
            (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
            _ => false,
        }
    }

    /// What rows without an order are sorted by.
    fn key(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Text(text) => format!("'{text}"),
            // Two that differ by rounding have one key almost always; 0 and -0 have one, too.
            Cell::Number(number) => format!("{:.6e}", number + 0.0),
        }
    }
}

/// Whether MariaDB's and Squall's answers to a query are equal. An internal error is equal to nothing.
pub fn are_equal(query: &Query, expected: &Answer, found: &Answer) -> bool {
    let (expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (cells(query, expected), cells(query, found)),
        (Err((expected, _)), Err((found, _))) => return are_one_error(*expected, *found),
        _ => return false,
    };
    expected.len() == found.len()
        && expected.iter().zip(&found).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)))
}

/// Whether a number of MariaDB and one of Squall say the same.
pub fn are_one_error(expected: u16, found: u16) -> bool {
    let known = SAME_ERRORS.iter().any(|(mariadb, squall, _)| (*mariadb, *squall) == (expected, found));
    found != INTERNAL_ERROR && (expected == found || known)
}

fn cells(query: &Query, rows: &[Vec<Value>]) -> Vec<Vec<Cell>> {
    let row =
        |row: &Vec<Value>| row.iter().zip(&query.items).map(|(value, item)| Cell::new(value, item.compare)).collect();
    let mut rows: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    if query.order.is_empty() {
        rows.sort_by_cached_key(|row| row.iter().map(Cell::key).collect::<Vec<_>>());
    }
    rows
}

/// The first rows of an answer, for people.
pub fn shown(answer: &Answer) -> String {
    match answer {
        Err((code, text)) => format!("error {code}: {text}"),
        Ok(rows) => {
            let value = |value: &Value| match value {
                Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                _ => "NULL".to_owned(),
            };
            let line = |row: &Vec<Value>| row.iter().map(value).collect::<Vec<_>>().join(" | ");
            let some: Vec<String> = rows.iter().take(12).map(line).collect();
            format!("{} rows\n    {}", rows.len(), some.join("\n    "))
        }
    }
}
