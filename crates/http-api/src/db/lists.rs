//! `/1.0/db` and `/1.0/db/{schema}`: what the account sees.

use super::path::{DATABASES, TableName, encoded};
use crate::answer::{JSON, whole};
use crate::exchange::Exchange;
use crate::problem::Problem;
use hyper::StatusCode;
use squall_file_formats::text::push_json_string;
use squall_types::Value;
use std::io::Write as _;

/// Answers `/1.0/db`.
pub(super) async fn answer_databases(mut exchange: Exchange) {
    let listed = async {
        exchange.check_query(&[])?;
        let mut session = exchange.session().await?;
        let sql = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME";
        let rows = session.rows(&whole_list(sql)).await?;
        let entries = rows.iter().map(|row| {
            let name = text(row.first());
            (name.to_owned(), None, format!("{DATABASES}/{}", encoded(name)))
        });
        Ok::<_, Problem>(list(DATABASES, entries))
    };
    let listed = listed.await;
    end(&mut exchange, listed).await;
}

/// Answers `/1.0/db/{schema}`.
pub(super) async fn answer_tables(mut exchange: Exchange, database: &str) {
    let listed = async {
        exchange.check_query(&[])?;
        let mut session = exchange.session().await?;
        // Checks that there is one of that name for the account.
        session.connection.use_database(database)?;
        let sql = "SELECT TABLE_NAME, TABLE_TYPE, TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? \
                   ORDER BY TABLE_NAME";
        let rows = session.rows_with(&whole_list(sql), vec![Value::from(database)]).await?;
        let entries = rows.iter().filter(|row| text(row.get(2)) == database).map(|row| {
            let name = text(row.first());
            let kind = match text(row.get(1)) {
                "BASE TABLE" => "table",
                // It can be read, and not be written.
                _ => "view",
            };
            let path = TableName { database: database.to_owned(), table: name.to_owned() }.path();
            (name.to_owned(), Some(kind), path)
        });
        Ok::<_, Problem>(list(&format!("{DATABASES}/{}", encoded(database)), entries))
    };
    let listed = listed.await;
    end(&mut exchange, listed).await;
}

/// A query of all rows, also where `sql_select_limit` is less.
fn whole_list(sql: &str) -> String {
    format!("{sql} LIMIT {}", u64::MAX)
}

fn text(value: Option<&Value>) -> &str {
    match value {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

/// Entries with their names, kinds and paths.
fn list(path: &str, entries: impl Iterator<Item = (String, Option<&'static str>, String)>) -> Vec<u8> {
    let (mut out, mut count) = (b"{\"items\":[".to_vec(), 0);
    for (name, kind, path) in entries {
        out.extend_from_slice(if count == 0 { b"{\"name\":" } else { b",{\"name\":" });
        push_json_string(&name, &mut out);
        if let Some(kind) = kind {
            // Writing to memory cannot fail.
            let _ = write!(out, ",\"type\":\"{kind}\"");
        }
        out.extend_from_slice(b",\"links\":[{\"rel\":\"self\",\"href\":");
        push_json_string(&path, &mut out);
        out.extend_from_slice(b"}]}");
        count += 1;
    }
    let _ = write!(out, "],\"count\":{count},\"links\":[{{\"rel\":\"self\",\"href\":");
    push_json_string(path, &mut out);
    out.extend_from_slice(b"}]}");
    out
}

async fn end(exchange: &mut Exchange, listed: Result<Vec<u8>, Problem>) {
    match listed {
        // A client that has gone needs no answer.
        Ok(body) => drop(exchange.sink.send_answer(whole(StatusCode::OK, JSON, body)).await),
        Err(problem) => exchange.refuse(&problem),
    }
}
