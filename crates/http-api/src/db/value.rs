//! `/1.0/blob/{schema}/{table}/{column}`: one value, as its bytes.

use super::etag::Conditions;
use super::page_query::{filter_of, key_of};
use super::path::TableName;
use super::ranges::{self, Wanted};
use super::resource::{Resource, no_row, unknown_column};
use super::transaction;
use super::value_body::{self, ValueFacts, media_type};
use super::value_writer::ValueWriter;
use crate::answer::empty;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use crate::signing;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_RANGE, IF_RANGE, RANGE};
use hyper::{Method, StatusCode};
use sha2::{Digest as _, Sha256};
use squall_session::api::GrowingCharge;
use squall_types::{SqlError, SqlType, StoredBytes, Value};
use std::sync::Arc;

/// Bytes of a tag's digest.
const TAG_BYTES: usize = 16;
/// A value of so many bytes has its digest at once.
const QUICK_BYTES: u64 = 64 << 10;

/// Parameters of the URL of a value by its key.
pub(super) const VALUE_PARAMETERS: [&str; 2] = ["type_column", "disposition"];

/// Which value: the table, the column, and the key of the row unless a filter says which row it is.
pub(super) type Place = (TableName, String, Option<Vec<String>>);

/// Answers a request. `is_head`: without the bytes.
pub(super) async fn answer(mut exchange: Exchange, place: Place, is_head: bool) {
    let done = match exchange.head.method {
        Method::GET => show(&mut exchange, place, is_head).await,
        _ => change(&mut exchange, place).await,
    };
    if let Err(problem) = done {
        exchange.refuse(&problem);
    }
}

async fn show(exchange: &mut Exchange, (name, column, key): Place, is_head: bool) -> Result<(), Problem> {
    exchange.takes_signature = true;
    let is_signed = exchange.signed()?.is_some();
    let mut parameters = VALUE_PARAMETERS.to_vec();
    if key.is_none() {
        parameters.push("where");
    }
    if is_signed {
        parameters.extend(signing::PARAMETERS);
    }
    exchange.check_query(&parameters)?;
    let inline = match exchange.query("disposition").as_deref() {
        None | Some("attachment") => false,
        Some("inline") => true,
        Some(_) => return Err(Problem::bad_request("disposition is inline or attachment")),
    };
    let mut session = exchange.session().await?;
    exchange.sink.set_write_timeout(session.write_timeout());
    let resource = Resource::find(&mut session, name)?;
    let column = column_of(&resource, &column)?;
    let type_column = exchange.query("type_column").map(|name| column_of(&resource, &name)).transpose()?;
    let columns: Vec<usize> = std::iter::once(column).chain(type_column).collect();
    let mut table = Lookup { session: &mut session, resource: &resource };
    let shown = match key {
        Some(texts) => table.of_key(&columns, resource.key_values(&key_of(texts, &resource))?).await?,
        None => table.of_filter(&columns, &exchange.query("where").unwrap_or_default()).await?,
    };
    let Some(value) = shown.value else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "the value is NULL"));
    };
    let conditions = Conditions::of(&exchange.head.headers);
    conditions.check_match(Some(&value.tag))?;
    let facts = ValueFacts { tag: value.tag, media_type: shown.media_type, inline, is_signed };
    let length = value.source.length();
    // A client that has gone needs no answer.
    let _gone = if conditions.has(&facts.tag) {
        exchange.sink.send_head(facts.head(StatusCode::NOT_MODIFIED, None))
    } else if is_head {
        exchange.sink.send_head(facts.head(StatusCode::OK, Some(length)))
    } else {
        let wanted = wanted(exchange, &facts.tag, length);
        value_body::send(&mut exchange.sink, &facts, value.source, wanted).await
    };
    Ok(())
}

/// The bytes that are asked for. With `If-Range` only a client that has the others already gets a part.
fn wanted(exchange: &Exchange, tag: &str, length: u64) -> Wanted {
    let headers = &exchange.head.headers;
    let mut ranges = headers.get_all(RANGE).iter();
    let (Some(header), None) = (ranges.next().and_then(|value| value.to_str().ok()), ranges.next()) else {
        return Wanted::Whole;
    };
    match headers.get(IF_RANGE) {
        Some(known) if known.as_bytes() != tag.as_bytes() => Wanted::Whole,
        _ => ranges::wanted(header, length),
    }
}

/// The column of a name, which has to be one of strings.
pub(super) fn column_of(resource: &Resource, name: &str) -> Result<usize, Problem> {
    let column = resource.column(name).ok_or_else(|| unknown_column(name))?;
    match resource.columns()[column].sql_type {
        SqlType::String { .. } | SqlType::Json => Ok(column),
        _ => Err(Problem::bad_request(format!("the column {name} has no strings"))),
    }
}

/// A value and its tag.
struct TaggedValue {
    source: Arc<dyn StoredBytes>,
    tag: String,
}

impl TaggedValue {
    async fn new(source: Arc<dyn StoredBytes>) -> Result<TaggedValue, Problem> {
        // All of a value in its row is read for that.
        let digest = match source.length() {
            0..=QUICK_BYTES => source.digest()?,
            _ => {
                let source = source.clone();
                tokio::task::spawn_blocking(move || source.digest()).await.map_err(SqlError::internal)??
            }
        };
        // The digest is a quick one with a secret seed. Clients get one of it that tells nothing of that.
        let tag = Sha256::new().chain_update(source.length().to_le_bytes()).chain_update(digest.to_le_bytes());
        let tag = URL_SAFE_NO_PAD.encode(&tag.finalize()[..TAG_BYTES]);
        Ok(TaggedValue { source, tag: format!("\"{tag}\"") })
    }
}

/// What a row has.
struct Shown {
    /// `None` for NULL.
    value: Option<TaggedValue>,
    media_type: Option<String>,
    /// The memory of a value that does not lie in a table.
    _charge: GrowingCharge,
}

/// A table in which values are looked up.
struct Lookup<'a> {
    session: &'a mut RequestSession,
    resource: &'a Resource,
}

impl Lookup<'_> {
    /// The value, and the text of the second column if there is one, of the row with a key.
    async fn of_key(&mut self, columns: &[usize], key: Vec<Value>) -> Result<Shown, Problem> {
        let sql = self.resource.sql_row(columns, "");
        self.only(sql, key).await
    }

    /// The same of the only row that a filter lets through.
    async fn of_filter(&mut self, columns: &[usize], filter: &str) -> Result<Shown, Problem> {
        let resource = self.resource;
        let condition = filter_of(filter, resource)?;
        let has_key = resource.has_readable_key();
        let found = if has_key { resource.key() } else { columns };
        let sql = format!(
            "SELECT {} FROM {} WHERE {} LIMIT 2",
            resource.sql_columns(found),
            resource.sql_name(),
            condition.sql
        );
        if !has_key {
            return self.only(sql, condition.values).await;
        }
        // By its key a value is read piece by piece.
        transaction::begin_reading(self.session).await?;
        let mut keys = self.session.rows_with(&sql, condition.values).await?;
        match (keys.pop(), keys.is_empty()) {
            (None, _) => Err(no_match()),
            (Some(key), true) => self.of_key(columns, key).await,
            (Some(_), false) => Err(several()),
        }
    }

    /// The value of the only row of a query.
    async fn only(&mut self, sql: String, values: Vec<Value>) -> Result<Shown, Problem> {
        let mut writer = ValueWriter::new(&self.session.connection.memory());
        let ran = self.session.run(&Bytes::from(sql), values, &mut writer).await;
        if let Some(error) = writer.error.take() {
            return Err(Problem::of_error(&error));
        }
        if let Some(problem) = self.session.problem(ran, false) {
            return Err(problem);
        }
        if writer.rows() > 1 {
            return Err(several());
        }
        let found = writer.found.take().ok_or_else(no_row)?;
        let media_type = writer.text.take().as_deref().and_then(media_type);
        let value = match found.source() {
            Some(source) => Some(TaggedValue::new(source).await?),
            None => None,
        };
        Ok(Shown { value, media_type, _charge: writer.into_charge() })
    }
}

fn no_match() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no row has what the filter asks for")
}

fn several() -> Problem {
    Problem::new(StatusCode::CONFLICT, "several rows have what the filter asks for")
}

/// PUT and DELETE: the value is the body, or NULL.
async fn change(exchange: &mut Exchange, (name, column, key): Place) -> Result<(), Problem> {
    exchange.check_query(&[])?;
    if exchange.head.headers.contains_key(CONTENT_ENCODING) {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bodies are not compressed"));
    }
    if exchange.head.headers.contains_key(CONTENT_RANGE) {
        return Err(Problem::bad_request("a value is sent as a whole: Content-Range is not supported"));
    }
    let is_put = exchange.head.method == Method::PUT;
    let mut session = if is_put { exchange.logged_in().await? } else { exchange.session().await? };
    let resource = Resource::find(&mut session, name)?;
    resource.check_is_table()?;
    let column = column_of(&resource, &column)?;
    if resource.key().contains(&column) {
        let detail = "the key of a row is that of its path, and cannot be changed";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let key = resource.key_values(&key_of(key.unwrap_or_default(), &resource))?;
    let value = match is_put {
        true => stored_value(exchange.read_body(&mut session).await?, &resource, column)?,
        false => Value::Null,
    };
    let conditions = Conditions::of(&exchange.head.headers);
    // Whatever is read behind the lock is the newest.
    session.run_command("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", Vec::new()).await?;
    transaction::begin(&mut session).await?;
    let lock = resource.sql_row(resource.key(), " FOR UPDATE");
    if session.rows_with(&lock, key.clone()).await?.is_empty() {
        return Err(no_row());
    }
    if conditions.are_given() {
        let mut table = Lookup { session: &mut session, resource: &resource };
        let shown = table.of_key(&[column], key.clone()).await?;
        conditions.check(shown.value.as_ref().map(|value| &*value.tag))?;
    }
    let sql =
        format!("UPDATE {} SET {} = ? WHERE {}", resource.sql_name(), resource.sql_column(column), resource.sql_key());
    let values = std::iter::once(value).chain(key).collect();
    session.result_of(&sql, values).await?;
    transaction::commit_row(&mut session, &resource).await?;
    exchange.sink.answer(empty(StatusCode::NO_CONTENT));
    Ok(())
}

/// A body as the value of a column: bytes, or text in UTF-8.
fn stored_value(body: Bytes, resource: &Resource, column: usize) -> Result<Value, Problem> {
    let column = &resource.columns()[column];
    if column.sql_type.is_binary_string() {
        return Ok(Value::Bytes(body.into()));
    }
    let text = String::from_utf8(body.into());
    text.map(Value::String).map_err(|_| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the body is not UTF-8, as a value of a column of texts has to be",
        )
    })
}
