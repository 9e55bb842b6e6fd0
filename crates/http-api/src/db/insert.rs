//! `POST /1.0/db/{schema}/{table}`: stores rows, all of them or none.

use super::body::{self, Row, Rows};
use super::path::TableName;
use super::resource::Resource;
use super::rows::{StoredRow, path_of, stored_key};
use super::transaction;
use crate::answer::{Answer, JSON, empty, whole};
use crate::body::{check_type, read_on_pool};
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::RequestSession;
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderMap, HeaderValue, LOCATION};
use squall_session::time_slice::TimeSlice;
use squall_types::Value;
use std::sync::Arc;

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange, name: TableName) {
    match store(&mut exchange, name).await {
        // A client that has gone needs no answer.
        Ok(answer) => drop(exchange.sink.send_answer(answer).await),
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn store(exchange: &mut Exchange, name: TableName) -> Result<Answer, Problem> {
    check_type(&exchange.head.headers, &["application/json"])?;
    exchange.check_query(&["numbers"])?;
    let exact = super::wants_exact(exchange)?;
    let mut session = exchange.logged_in().await?;
    let resource = Arc::new(Resource::find(&mut session, name)?);
    resource.check_is_table()?;
    let body = exchange.read_body(&mut session).await?;
    let rows = {
        let resource = resource.clone();
        read_on_pool(body, move |body| body::read(body, &*resource)).await??
    };
    transaction::begin(&mut session).await?;
    let wants_rows = !prefers_nothing(&exchange.head.headers);
    let mut insertion = Insertion { session, resource, exact, wants_rows, bytes: 0 };
    let answer = match rows {
        Rows::One(row) => insertion.one(row).await?,
        Rows::List(rows) => insertion.list(rows, exchange.settings.body_bytes_max).await?,
    };
    transaction::commit(&mut insertion.session).await?;
    Ok(answer)
}

/// Whether the client says that it needs no rows back (RFC 7240).
fn prefers_nothing(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|preference| preference.trim() == "return=minimal")
}

/// Rows on their way into a table.
struct Insertion {
    session: RequestSession,
    resource: Arc<Resource>,
    exact: bool,
    /// Whether the client wants to see what was stored.
    wants_rows: bool,
    /// Of the rows that are kept for the answer.
    bytes: usize,
}

impl Insertion {
    async fn one(&mut self, row: Row) -> Result<Answer, Problem> {
        let key = self.insert(row).await?;
        let stored = self.stored(&key).await?;
        let mut answer = match &stored {
            Some(stored) => whole(StatusCode::CREATED, JSON, stored.json.clone()),
            None => empty(StatusCode::CREATED),
        };
        if let Some(stored) = &stored {
            set_tag(&mut answer, &stored.tag);
        }
        if let Some(key) = &key {
            set_location(&mut answer, &path_of(&self.resource, key));
        }
        Ok(answer)
    }

    async fn list(&mut self, rows: Vec<Row>, bytes_max: usize) -> Result<Answer, Problem> {
        let (mut out, count, slice) = (b"{\"items\":[".to_vec(), rows.len(), TimeSlice::default());
        for (at, row) in rows.into_iter().enumerate() {
            let numbered = |problem: Problem| Problem { detail: format!("[{at}]: {}", problem.detail), ..problem };
            let key = self.insert(row).await.map_err(numbered)?;
            if self.wants_rows {
                let stored = self.stored(&key).await.map_err(numbered)?;
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(stored.as_ref().map_or(b"null", |stored| &stored.json));
                self.bytes = out.len();
            }
            if self.bytes > bytes_max {
                let detail = format!(
                    "the rows have more than {bytes_max} bytes (json_server_max_body); without rows: Prefer: return=minimal"
                );
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
            }
            // Others wait on this event loop.
            if slice.is_over() {
                slice.give_way().await;
            }
        }
        if !self.wants_rows {
            return Ok(empty(StatusCode::CREATED));
        }
        out.extend_from_slice(format!("],\"count\":{count}}}").as_bytes());
        Ok(whole(StatusCode::CREATED, JSON, out))
    }

    /// Stores a row; its key, as far as it is known.
    async fn insert(&mut self, row: Row) -> Result<Option<Vec<Value>>, Problem> {
        let resource = self.resource.clone();
        let columns: Vec<String> = row.iter().map(|member| resource.sql_column(member.column)).collect();
        let places = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", resource.sql_name(), columns.join(", "));
        let mut key: Vec<Option<Value>> = vec![None; resource.key().len()];
        let mut values = Vec::with_capacity(row.len());
        for member in row {
            if let Some(part) = resource.key().iter().position(|at| *at == member.column) {
                let sql_type = &resource.columns()[member.column].sql_type;
                key[part] = Some(stored_key(sql_type, &member.value));
            }
            values.push(member.value);
        }
        let made = self.session.result_of(&sql, values).await?.last_insert_id;
        for (part, at) in key.iter_mut().zip(resource.key()) {
            let is_made = made > 0 && !matches!(part, Some(Value::Int(1..) | Value::UInt(1..) | Value::String(_)));
            if resource.columns()[*at].is_auto_increment && is_made {
                *part = Some(Value::UInt(made));
            }
        }
        Ok(key.into_iter().collect::<Option<Vec<_>>>().filter(|key| !key.is_empty()))
    }

    /// The row with a key, if the account may read it and it is there: a trigger may have given it another key.
    async fn stored(&mut self, key: &Option<Vec<Value>>) -> Result<Option<StoredRow>, Problem> {
        let shown = self.resource.shown();
        let Some(key) =
            key.as_ref().filter(|_| self.wants_rows && self.resource.has_readable_key() && !shown.is_empty())
        else {
            return Ok(None);
        };
        let (resource, exact) = (&self.resource, self.exact);
        let sql = resource.sql_row(&shown, "");
        let rows = self.session.rows_with(&sql, key.clone()).await?;
        Ok(rows.first().map(|row| StoredRow::new(resource, &shown, row, exact)))
    }
}

/// Says which row an answer has.
pub(super) fn set_tag(answer: &mut Answer, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        answer.headers_mut().insert(ETAG, value);
    }
}

/// Says where a new row is.
pub(super) fn set_location(answer: &mut Answer, path: &str) {
    if let Ok(value) = HeaderValue::from_str(path) {
        answer.headers_mut().insert(LOCATION, value);
    }
}
