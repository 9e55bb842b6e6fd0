//! `/1.0/openapi.json`: all paths, and the tables that the account sees, as OpenAPI 3.1 has them.
//!
//! The paths that are the same on every server are in `paths.json`; [`tables`] adds those of tables, whose columns [`columns`] describes.

mod columns;
mod tables;

use crate::answer::{JSON, whole};
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use columns::Column;
use hyper::StatusCode;
use serde_json::Value as Json;
use squall_types::{SqlError, Value};

/// The paths that are the same on every server.
const PATHS: &str = include_str!("paths.json");
/// Most columns of all described tables: a description is made as a whole.
const COLUMNS_MAX: usize = 10_000;
/// Most bytes of what is known of them: the members of one ENUM may have many.
const BYTES_MAX: usize = 16 << 20;

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    match describe(&exchange).await {
        // Longer than what a channel should hold at once: it goes in pieces.
        Ok(text) => {
            let _gone = exchange.sink.send_answer(whole(StatusCode::OK, JSON, text)).await;
        }
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn describe(exchange: &Exchange) -> Result<Vec<u8>, Problem> {
    exchange.check_query(&["schema", "table"])?;
    let mut session = exchange.session().await?;
    let (schema, table) = (exchange.query("schema"), exchange.query("table"));
    if schema.is_none() && table.is_some() {
        return Err(Problem::bad_request("a table is described together with its schema: ?schema=…&table=…"));
    }
    let columns = columns_of(&mut session, schema, table).await?;
    // Others wait on this event loop.
    let text = tokio::task::spawn_blocking(move || document(&columns)).await.map_err(SqlError::internal)??;
    Ok(text)
}

/// The columns that the account sees, of all schemas or of one, in the order of their tables.
async fn columns_of(
    session: &mut RequestSession,
    schema: Option<String>,
    table: Option<String>,
) -> Result<Vec<Column>, Problem> {
    let mut values = Vec::new();
    let mut condition = match schema {
        // Tables that the server makes are described only when they are asked for.
        None => "t.TABLE_TYPE <> 'SYSTEM VIEW'".to_owned(),
        Some(schema) => {
            values.push(Value::String(schema));
            "c.TABLE_SCHEMA = ?".to_owned()
        }
    };
    if let Some(table) = table {
        values.push(Value::String(table));
        condition.push_str(" AND c.TABLE_NAME = ?");
    }
    let sql = format!(
        "SELECT c.TABLE_SCHEMA, c.TABLE_NAME, t.TABLE_TYPE, t.TABLE_COMMENT, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, c.IS_NULLABLE, \
         c.CHARACTER_MAXIMUM_LENGTH, c.COLUMN_DEFAULT, c.EXTRA, c.PRIVILEGES, c.COLUMN_COMMENT, k.ORDINAL_POSITION \
         FROM information_schema.COLUMNS c \
         JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME \
         LEFT JOIN information_schema.KEY_COLUMN_USAGE k ON k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME \
         AND k.COLUMN_NAME = c.COLUMN_NAME AND k.CONSTRAINT_NAME = 'PRIMARY' \
         WHERE {condition} ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION LIMIT {}",
        COLUMNS_MAX + 1
    );
    let too_large = |what: String| {
        let detail = format!("there are more than {what}; ask with ?schema=… or ?schema=…&table=…");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    let rows = session.rows_within(BYTES_MAX, &sql, values).await?;
    let rows = rows.ok_or_else(|| too_large(format!("{BYTES_MAX} bytes of columns")))?;
    if rows.len() > COLUMNS_MAX {
        return Err(too_large(format!("{COLUMNS_MAX} columns")));
    }
    rows.iter().map(|row| Column::of_row(row).ok_or_else(|| Problem::from(damaged()))).collect()
}

fn damaged() -> SqlError {
    SqlError::internal("the description of HTTP's paths cannot be made")
}

fn document(columns: &[Column]) -> Result<Vec<u8>, SqlError> {
    let mut document: Json = serde_json::from_str(PATHS).map_err(SqlError::internal)?;
    for of_table in columns.chunk_by(|one, other| one.schema == other.schema && one.table == other.table) {
        tables::add(&mut document, of_table).ok_or_else(damaged)?;
    }
    serde_json::to_vec(&document).map_err(SqlError::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Route;
    use crate::settings::HttpSettings;

    /// Each path is one that is answered, by exactly the methods that the description has.
    #[test]
    fn what_is_described_is_answered() {
        let document: Json = serde_json::from_str(PATHS).expect("JSON");
        let settings = HttpSettings::default();
        for (path, item) in document["paths"].as_object().expect("paths") {
            let asked = path.replace(['{', '}'], "");
            let (_, methods) = Route::of(&asked, &settings).unwrap_or_else(|| panic!("{path} is not answered"));
            let mut answered: Vec<String> = methods.split(", ").map(str::to_lowercase).collect();
            answered.retain(|method| method != "head");
            let mut described: Vec<String> = item.as_object().expect("an item").keys().cloned().collect();
            described.retain(|key| key != "parameters");
            answered.sort();
            described.sort();
            assert_eq!(described, answered, "{path}");
        }
    }

    #[test]
    fn every_reference_is_there() {
        let document: Json = serde_json::from_str(PATHS).expect("JSON");
        let mut pending = vec![&document];
        while let Some(value) = pending.pop() {
            if let Some(target) = value.get("$ref").and_then(Json::as_str) {
                assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target}");
            }
            match value {
                Json::Array(items) => pending.extend(items),
                Json::Object(members) => pending.extend(members.values()),
                _ => {}
            }
        }
    }
}
