//! Row tables and column tables give equal answers: random rows, changes, conditions and aggregates on both.
//!
//! `SQUALL_RANDOM_QUERIES=5000` asks for as many queries per round, `SQUALL_SEED=7` repeats a run.

mod answers;
mod copies;
mod damaged;
mod killed;
mod unique;

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;

fn one_in(random: &mut Random, count: u64) -> bool {
    random.below(count) == 0
}

fn pick<'a, T: ?Sized>(random: &mut Random, of: &[&'a T]) -> &'a T {
    of[random.below(of.len() as u64) as usize]
}

/// A row, or what it is in, is not what was written.
const CORRUPTED: u16 = 1034;

/// An error that no client should get.
const INTERNAL_ERROR: u16 = 1105;

/// A key that is there, a lock that takes long, a deadlock, a row that was changed since the snapshot.
const IN_THE_WAY: [u16; 4] = [1062, 1205, 1213, 1020];

/// A table that was defined again since the snapshot.
const DEFINITION_CHANGED: u16 = 1412;

/// [`IN_THE_WAY`] or [`DEFINITION_CHANGED`], an index that is there or is not (1235 for a second copy by column), a server
/// that ends.
const ALIVE: [u16; 9] = [1062, 1205, 1213, 1020, DEFINITION_CHANGED, 1061, 1091, 1235, 1053];

/// How queries begin whose one value is a list without an order.
const LIST: &str = "SELECT GROUP_CONCAT(";

fn run(client: &mut Conn, sql: &str) {
    client.query_drop(sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
}

/// The rows of a query, or its error's number.
fn answer(client: &mut Conn, server: &TestServer, sql: &str) -> Result<Vec<Vec<Value>>, u16> {
    match client.query::<mysql::Row, _>(sql) {
        Ok(rows) => {
            let mut rows: Vec<Vec<Value>> = rows.into_iter().map(mysql::Row::unwrap).collect();
            if sql.starts_with(LIST) {
                rows.iter_mut().flatten().for_each(sort_list);
            }
            Ok(rows)
        }
        Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => Err(error.code),
        Err(error) => panic!("{sql}\n{error}\n{}", server.log()),
    }
}

fn sort_list(value: &mut Value) {
    if let Value::Bytes(list) = value {
        let mut parts: Vec<&[u8]> = list.split(|byte| *byte == b'|').collect();
        parts.sort_unstable();
        *list = parts.join(&b'|');
    }
}

fn difference(rows: &Result<Vec<Vec<Value>>, u16>, columns: &Result<Vec<Vec<Value>>, u16>) -> String {
    let (Ok(of_rows), Ok(of_columns)) = (rows, columns) else { return format!("{rows:?}\n{columns:?}") };
    let at = of_rows.iter().zip(of_columns).position(|(a, b)| a != b).unwrap_or(of_rows.len().min(of_columns.len()));
    let (count, counted) = (of_rows.len(), of_columns.len());
    format!("{count} rows, {counted} by column; row {at}: {:?}\n{:?}", of_rows.get(at), of_columns.get(at))
}
