//! `/json`: tables as collections of documents, whose top-level keys are columns.

use super::forms::{DocumentsForm, Failing};
use super::parsed::{Document, Key, Refusal, query_of_body, query_of_url};
use super::{Object, status};
use crate::answer::Answer;
use crate::body::{check_type, read_on_pool};
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::writer::AnswerWriter;
use bytes::Bytes;
use hyper::{Method, StatusCode};
use squall_row_json::filter::quoted;
use squall_types::{ErrorCode, Value};

/// The name of the key's column.
const KEY: &str = "_id";
const NO_KEY: &str = "_id must be specified in URI query string or set --json_server.allow_drop_table =true";
const NO_TABLE: &str = "table must be specified in URI query string.";

/// A statement with its values.
struct Statement {
    sql: String,
    values: Vec<Value>,
}

/// What a request is about.
struct Place {
    schema: String,
    table: String,
    failing: Failing,
}

impl Place {
    fn name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }

    fn of_key(&self, verb: &str, key: &Key) -> Statement {
        let (condition, values) = match key {
            Key::Number(number) => (format!("`{KEY}` = ?"), vec![Value::Int(*number)]),
            // Whatever the column's type is: a text that only begins with a number is not that number.
            Key::Text(text) => {
                (format!("`{KEY}` = ? AND CAST(`{KEY}` AS CHAR) = ?"), vec![Value::from(text.as_str()); 2])
            }
        };
        Statement { sql: format!("{verb} FROM {} WHERE {condition}", self.name()), values }
    }

    /// How an error of this statement is told.
    fn failing(&self, session: &RequestSession, sql: &str) -> Failing {
        let shown_sql = session.connection.has_privilege("SUPER").then(|| sql.to_owned());
        Failing { shown_sql, ..self.failing.clone() }
    }
}

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    let mut session = match prepare(&exchange).await {
        Ok(session) => session,
        Err(problem) => return exchange.refuse(&problem),
    };
    let body = match exchange.head.method {
        Method::POST => exchange.read_body(&mut session).await,
        _ => Ok(Bytes::new()),
    };
    let body = match body {
        Ok(body) => body,
        Err(problem) => return exchange.refuse(&problem),
    };
    let has_legacy_status = exchange.settings.legacy_status;
    let place = match place_of(&exchange) {
        Ok(place) => place,
        Err(refusal) => return exchange.sink.answer(refusal.answer(has_legacy_status)),
    };
    let refused = match exchange.head.method {
        Method::POST => match read_on_pool(body, query_of_body).await.map_err(Refusal::from).and_then(|query| query) {
            Ok(query) => return store(exchange, session, &place, query).await,
            Err(refusal) => refusal,
        },
        _ => match key_of_url(&exchange) {
            Ok(key) if exchange.head.method == Method::GET => return show(exchange, session, &place, key).await,
            Ok(Some(key)) => return delete(exchange, session, &place, &key).await,
            Ok(None) if exchange.settings.allow_drop_table => {
                let sql = format!("DROP TABLE {}", place.name());
                return change(exchange, session, &place, Statement { sql, values: Vec::new() }).await;
            }
            Ok(None) => Refusal::Http(NO_KEY.to_owned()),
            Err(refusal) => refusal,
        },
    };
    exchange.sink.answer(refused.answer(has_legacy_status));
}

async fn prepare(exchange: &Exchange) -> Result<RequestSession, Problem> {
    if exchange.head.method == Method::POST {
        check_type(&exchange.head.headers, &["application/json"])?;
        // Its place comes with the body.
        return exchange.logged_in().await;
    }
    exchange.session().await
}

fn place_of(exchange: &Exchange) -> Result<Place, Refusal> {
    let settings = &exchange.settings;
    let named = |name: &str, otherwise: &str| {
        exchange.query(name).filter(|value| !value.is_empty()).unwrap_or_else(|| otherwise.to_owned())
    };
    let (schema, table) = (named("schema", &settings.schema), named("table", &settings.table));
    if table.is_empty() {
        return Err(Refusal::Http(NO_TABLE.to_owned()));
    }
    let failing = Failing {
        schema: schema.clone(),
        table: table.clone(),
        shown_sql: None,
        has_legacy_status: settings.legacy_status,
    };
    Ok(Place { schema, table, failing })
}

fn key_of_url(exchange: &Exchange) -> Result<Option<Key>, Refusal> {
    if let Some(key) = exchange.query(KEY).as_deref().and_then(Key::of_text) {
        return Ok(Some(key));
    }
    let query = query_of_url(exchange.query("query").as_deref())?;
    query.get(KEY).map_or(Ok(None), Key::of_json)
}

async fn show(exchange: Exchange, mut session: RequestSession, place: &Place, key: Option<Key>) {
    let statement = match &key {
        Some(key) => place.of_key("SELECT *", key),
        None => Statement { sql: format!("SELECT * FROM {}", place.name()), values: Vec::new() },
    };
    let Exchange { mut sink, start, .. } = exchange;
    sink.set_write_timeout(session.write_timeout());
    let form = DocumentsForm::new(place.failing(&session, &statement.sql));
    let mut writer = AnswerWriter::new(form, sink, u64::MAX, start);
    let ran = session.run(&Bytes::from(statement.sql), statement.values, &mut writer).await;
    let problem = session.problem(ran, writer.has_failed());
    let _gone = writer.finish(problem).await;
}

async fn delete(exchange: Exchange, session: RequestSession, place: &Place, key: &Key) {
    let statement = place.of_key("DELETE", key);
    change(exchange, session, place, statement).await;
}

/// Runs a statement without rows, and answers.
async fn change(mut exchange: Exchange, mut session: RequestSession, place: &Place, statement: Statement) {
    let shown = statement.sql.clone();
    let done = session.run_command(&statement.sql, statement.values).await;
    let answer = done.map_or_else(|problem| place.failing(&session, &shown).answer(&problem), |()| success());
    // A client that has gone needs no answer.
    let _gone = exchange.sink.send_answer(answer).await;
}

fn success() -> Answer {
    Object::new().text("sqlstate", "00000").answer(StatusCode::OK)
}

/// Stores a document; makes its table, or columns of it, where that is asked for.
async fn store(mut exchange: Exchange, mut session: RequestSession, place: &Place, query: Document) {
    let has_legacy_status = exchange.settings.legacy_status;
    let statement = match replace(place, &query) {
        Ok(statement) => statement,
        Err(refusal) => return exchange.sink.answer(refusal.answer(has_legacy_status)),
    };
    let mut done = session.run_command(&statement.sql, statement.values.clone()).await;
    let code = |done: &Result<(), Problem>| done.as_ref().err().and_then(|problem| problem.sql).map(|(code, _)| code);
    let keys: Vec<&str> = query.members().map(|(name, _)| name).filter(|name| *name != KEY).collect();
    let mut shown = statement.sql.clone();
    if code(&done) == Some(ErrorCode::NoSuchTable.number()) {
        let columns: String = keys.iter().map(|name| format!(", {} JSON", quoted(name))).collect();
        shown = format!(
            "CREATE TABLE IF NOT EXISTS {} (`{KEY}` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY{columns})",
            place.name()
        );
        done = session.run_command(&shown, Vec::new()).await;
        if done.is_ok() {
            shown.clone_from(&statement.sql);
            done = session.run_command(&statement.sql, statement.values.clone()).await;
        }
    }
    if code(&done) == Some(ErrorCode::BadField.number()) && exchange.settings.add_columns {
        done = add_columns(&mut session, place, &keys).await;
        if done.is_ok() {
            done = session.run_command(&statement.sql, statement.values).await;
        }
    }
    let answer = done.map_or_else(|problem| place.failing(&session, &shown).answer(&problem), |()| success());
    let _gone = exchange.sink.send_answer(answer).await;
}

fn replace(place: &Place, query: &Document) -> Result<Statement, Refusal> {
    let key = query.get(KEY).map_or(Ok(None), Key::of_json)?;
    let (mut names, mut values) = (Vec::new(), Vec::new());
    if let Some(key) = key {
        names.push(quoted(KEY));
        values.push(match key {
            Key::Number(number) => Value::Int(number),
            Key::Text(text) => Value::String(text),
        });
    }
    for (name, json) in query.members().filter(|(name, _)| *name != KEY) {
        names.push(quoted(name));
        values.push(Value::from(json));
    }
    let places = vec!["?"; values.len()].join(", ");
    Ok(Statement { sql: format!("REPLACE INTO {} ({}) VALUES ({places})", place.name(), names.join(", ")), values })
}

/// Adds a column for each key that has none.
async fn add_columns(session: &mut RequestSession, place: &Place, keys: &[&str]) -> Result<(), Problem> {
    let sql = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
    let values = vec![Value::from(place.schema.as_str()), Value::from(place.table.as_str())];
    let rows = session.rows_with(sql, values).await?;
    let known: Vec<String> = rows
        .into_iter()
        .filter_map(|row| match row.into_iter().next() {
            Some(Value::String(name)) => Some(name.to_lowercase()),
            _ => None,
        })
        .collect();
    let missing = keys.iter().filter(|name| !known.contains(&name.to_lowercase()));
    let added: Vec<String> = missing.map(|name| format!("ADD COLUMN {} JSON", quoted(name))).collect();
    session.run_command(&format!("ALTER TABLE {} {}", place.name(), added.join(", ")), Vec::new()).await
}

/// `/json/ddl/schema/create` and `drop`.
pub(crate) async fn answer_ddl(mut exchange: Exchange, is_drop: bool) {
    let has_legacy_status = exchange.settings.legacy_status;
    let read = async {
        let mut session = prepare(&exchange).await?;
        let body = exchange.read_body(&mut session).await?;
        Ok::<_, Problem>((session, body))
    };
    let (mut session, body) = match read.await {
        Ok(read) => read,
        Err(problem) => return exchange.refuse(&problem),
    };
    let query = read_on_pool(body, query_of_body).await.map_err(Refusal::from).and_then(|query| query);
    let name = query.and_then(|query| {
        let name = query.text("name").filter(|name| !name.is_empty());
        name.ok_or_else(|| Refusal::Json("the object 'query' has to have a text 'name'".to_owned()))
    });
    let name = match name {
        Ok(name) => name,
        Err(refusal) => return exchange.sink.answer(refusal.answer(has_legacy_status)),
    };
    let verb = if is_drop { "DROP" } else { "CREATE" };
    let answer = match session.run_command(&format!("{verb} SCHEMA {}", quoted(&name)), Vec::new()).await {
        Ok(()) => Object::new().text("sql_state", "00000").answer(StatusCode::OK),
        Err(problem) => {
            let (code, sqlstate) = problem.sql.unwrap_or((0, *b"HY000"));
            let is_missing = code == ErrorCode::DbDropExists.number();
            let message = if is_missing {
                format!("Can't drop schema '{name}'; schema doesn't exist")
            } else if code == ErrorCode::DbCreateExists.number() {
                format!("Can't create schema '{name}'; schema exists")
            } else {
                problem.detail
            };
            let status = status(problem.status, has_legacy_status);
            Object::new()
                .text("error_message", &message)
                .number("error_no", code)
                .text("error_type", "SQL ERROR")
                .text("sql_state", &String::from_utf8_lossy(&sqlstate))
                .answer(status)
        }
    };
    exchange.sink.answer(answer);
}
