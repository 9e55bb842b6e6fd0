//! `GET /1.0/db/{schema}/{table}?follow=1`: changes of rows as they happen, as server-sent events.
//!
//! The first event, `begin`, comes when nothing can be missed any more: who reads the table then and takes the events that follow has all of
//! it. `insert` and `update` have the key and the row as it is when the event is sent, `delete` has the key. The id of an event is the
//! position of its commit; a client that comes back with the last one it has (`Last-Event-ID`, which browsers send by themselves, or `since`)
//! goes on behind it. `reset` says that changes are not known any more: the table has to be read again.

use super::path::TableName;
use super::resource::{Resource, unknown_column};
use super::rows::StoredRow;
use super::wants_exact;
use crate::caller::Caller;
use crate::credentials::Credentials;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::running::{Ends, RequestSession, check_privilege, check_still_valid};
use crate::sink::Sink;
use bytes::Bytes;
use hyper::StatusCode;
use squall_session::api::{FollowedTable, GrowingCharge, RowChangeKind, TableChange};
use std::collections::VecDeque;
use std::io;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

const EVENT_STREAM: &str = "text/event-stream";

/// Parameters of the URL.
const PARAMETERS: [&str; 4] = ["follow", "fields", "since", "numbers"];

/// Changes that are taken at a time.
const CHANGES_MAX: usize = 256;

/// Bytes of events that are sent together; a row may be larger.
const EVENTS_BYTES: usize = 256 << 10;

/// How often a line is sent if nothing happens: what lies between finds out whether the client is there.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange, name: TableName) {
    match Following::begin(&exchange, name).await {
        Err(problem) => exchange.refuse(&problem),
        Ok(following) => {
            let Exchange { mut sink, ends, caller, .. } = exchange;
            sink.set_write_timeout(following.session.write_timeout());
            // A client that has gone, or does not read, is told nothing more.
            if following.run(&mut sink, &ends, &caller).await.is_err() {
                sink.abort();
            }
        }
    }
}

/// A client that follows a table. It has no place among the requests that run: it waits most of the time.
struct Following {
    session: RequestSession,
    resource: Resource,
    /// Ordinals of the columns that rows have.
    fields: Vec<usize>,
    exact: bool,
    table: Option<FollowedTable>,
    changed: Arc<Notify>,
    credentials: Credentials,
    /// Changes that have been taken, each with whether it is the last of its commit.
    taken: VecDeque<(TableChange, bool)>,
    /// The memory of events until the client has taken them.
    charge: GrowingCharge,
}

impl Following {
    async fn begin(exchange: &Exchange, name: TableName) -> Result<Following, Problem> {
        exchange.check_query(&PARAMETERS)?;
        if exchange.query("follow").as_deref() != Some("1") {
            return Err(Problem::bad_request("the parameter follow has the value 1"));
        }
        let exact = wants_exact(exchange)?;
        let from = position_of(exchange)?;
        let credentials = exchange.credentials()?;
        let mut session = exchange.logged_in().await?;
        let resource = Resource::find(&mut session, name)?;
        if !resource.has_readable_key() {
            let detail = "only tables with a primary key that the account may read can be followed";
            return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
        }
        let fields = fields_of(exchange, &resource)?;
        // The statement of its rows is checked before the first of them.
        let none = format!("{} LIMIT 0", resource.sql_select(&fields));
        session.rows(&none).await?;
        let changed = Arc::new(Notify::new());
        let on_changes = {
            let changed = changed.clone();
            Arc::new(move || changed.notify_one())
        };
        let TableName { database, table } = &resource.name;
        let table = session.connection.follow_table(database, table, from, on_changes)?;
        let charge = GrowingCharge::new(&session.connection.memory());
        let taken = VecDeque::new();
        Ok(Following { session, resource, fields, exact, table, changed, credentials, taken, charge })
    }

    async fn run(mut self, sink: &mut Sink, ends: &Ends, caller: &Caller) -> io::Result<()> {
        let Some(mut table) = self.table.take() else {
            sink.send(EVENT_STREAM, reset()).await?;
            return sink.end().await;
        };
        let mut has_begun = false;
        loop {
            let mut out = Vec::new();
            if !has_begun && table.has_begun() {
                has_begun = true;
                push_event(&mut out, "begin", Some(table.position()), b"{}");
            }
            if has_begun {
                match self.events(&mut table, &mut out, caller).await {
                    Ok(true) => {}
                    Ok(false) => {
                        out.extend_from_slice(&reset());
                        sink.send(EVENT_STREAM, Bytes::from(out)).await?;
                        return sink.end().await;
                    }
                    Err(problem) => {
                        let mut json = Vec::new();
                        problem.push_json(&mut json);
                        push_event(&mut out, "error", None, &json);
                        sink.send(EVENT_STREAM, Bytes::from(out)).await?;
                        return sink.end().await;
                    }
                }
            }
            let is_silent = out.is_empty();
            if !is_silent {
                sink.send_in_pieces(EVENT_STREAM, &out).await?;
                drop(out);
                self.charge = GrowingCharge::new(&self.session.connection.memory());
                continue;
            }
            tokio::select! {
                () = ends.gone.notified() => return Err(io::ErrorKind::BrokenPipe.into()),
                () = ends.killed.notified() => return Err(io::ErrorKind::ConnectionAborted.into()),
                waited = timeout(SILENCE_MAX, self.changed.notified()) => {
                    if waited.is_err() {
                        if check_still_valid(caller, &self.credentials, self.session.account.as_ref()).is_err() {
                            return sink.end().await;
                        }
                        // The position goes on, also with changes of other tables.
                        let line = match has_begun {
                            true => format!("id: {}\n:\n\n", table.position()),
                            false => ":\n\n".to_owned(),
                        };
                        sink.send(EVENT_STREAM, Bytes::from(line)).await?;
                    }
                }
            }
        }
    }

    /// The events of the next changes; `false` if there were some that are not known.
    async fn events(&mut self, table: &mut FollowedTable, out: &mut Vec<u8>, caller: &Caller) -> Result<bool, Problem> {
        if self.taken.is_empty() {
            let Some(changes) = table.take(CHANGES_MAX)? else { return Ok(false) };
            // Who comes back within a commit gets all of it again.
            let positions: Vec<u64> = changes.iter().skip(1).map(|change| change.position).collect();
            let last = |(at, change): (usize, TableChange)| {
                let is_last = positions.get(at).is_none_or(|next| *next != change.position);
                (change, is_last)
            };
            self.taken = changes.into_iter().enumerate().map(last).collect();
        }
        if self.taken.is_empty() {
            return Ok(true);
        }
        // Other privileges, columns or credentials end it.
        self.resource.check_is_same(&mut self.session)?;
        check_privilege(&*self.session.connection)?;
        check_still_valid(caller, &self.credentials, self.session.account.as_ref())?;
        while out.len() < EVENTS_BYTES
            && let Some((change, is_last)) = self.taken.pop_front()
        {
            let before = out.len();
            self.push_change(change, is_last, out).await?;
            self.charge.grow(out.len() - before)?;
        }
        Ok(true)
    }

    async fn push_change(&mut self, change: TableChange, is_last: bool, out: &mut Vec<u8>) -> Result<(), Problem> {
        let name = match change.kind {
            RowChangeKind::Inserted => "insert",
            RowChangeKind::Updated => "update",
            RowChangeKind::Deleted => "delete",
        };
        let key = StoredRow::new(&self.resource, self.resource.key(), &change.key, self.exact).json;
        let mut row = None;
        if change.kind != RowChangeKind::Deleted {
            let sql = self.resource.sql_row(&self.fields, "");
            let rows = self.session.rows_with(&sql, change.key).await?;
            row = rows.first().map(|row| StoredRow::new(&self.resource, &self.fields, row, self.exact).json);
            drop(rows);
            self.session.release_result();
            // A row that has gone meanwhile is told so by its own event.
            if row.is_none() {
                if is_last {
                    // Writing to memory cannot fail.
                    let _ = write!(out, "id: {}\n\n", change.position);
                }
                return Ok(());
            }
        }
        begin_event(out, name, is_last.then_some(change.position));
        let _ = write!(out, "{{\"position\":{},\"key\":", change.position);
        out.extend_from_slice(&key);
        if let Some(row) = row {
            out.extend_from_slice(b",\"row\":");
            out.extend_from_slice(&row);
        }
        out.extend_from_slice(b"}\n\n");
        Ok(())
    }
}

/// The position that a client goes on from.
fn position_of(exchange: &Exchange) -> Result<Option<u64>, Problem> {
    let header = exchange.head.headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?").to_owned());
    let Some(text) = exchange.query("since").or(header) else { return Ok(None) };
    let position = text.parse().map_err(|_| Problem::bad_request("a position is the id of an event"))?;
    Ok(Some(position))
}

/// The columns that are asked for, or all that the account may read.
fn fields_of(exchange: &Exchange, resource: &Resource) -> Result<Vec<usize>, Problem> {
    let Some(names) = exchange.query("fields") else { return Ok(resource.shown()) };
    let column = |name: &str| resource.column(name).ok_or_else(|| unknown_column(name));
    names.split(',').map(column).collect()
}

fn reset() -> Bytes {
    let mut out = Vec::new();
    push_event(&mut out, "reset", None, b"{\"detail\":\"changes are missing: read the table again\"}");
    Bytes::from(out)
}

/// An event of one line of data, which JSON is.
fn push_event(out: &mut Vec<u8>, name: &str, id: Option<u64>, data: &[u8]) {
    begin_event(out, name, id);
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

fn begin_event(out: &mut Vec<u8>, name: &str, id: Option<u64>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    if let Some(id) = id {
        // Writing to memory cannot fail.
        let _ = write!(out, "\nid: {id}");
    }
    out.extend_from_slice(b"\ndata: ");
}
