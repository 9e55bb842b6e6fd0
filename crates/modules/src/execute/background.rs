//! Lists of statements as durable jobs: queued by EXECUTE in the background, run by workers in child sessions.
//!
//! A job that was running when the process ended has failed. Its uncommitted changes are lost, and nothing tells which of its
//! statements had committed.

use crate::captured;
use squall_jobs::{Handler, Kind, NewJob, RunningJob};
use squall_row_store::{Malformed, Reader, Writer, read_value, write_value};
use squall_session::database::BackgroundStatements;
use squall_session::execute::list::ListEnd;
use squall_session::procedure::SessionImage;
use squall_session::{Database, WeakDatabase};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::{OnceLock, Weak};

/// Version of the layout of payloads and outputs.
const FORMAT: u8 = 1;

/// The jobs; there are none until the module is started.
#[derive(Debug, Default)]
pub(super) struct Jobs(OnceLock<(WeakDatabase, Kind)>);

impl Jobs {
    /// The module begins.
    pub fn start(&self, database: &Database, kind: Kind) {
        // No other task starts it.
        let _first = self.0.set((database.downgrade(), kind));
    }

    /// The kind of jobs.
    pub fn kind(&self) -> SqlResult<&Kind> {
        self.0.get().map(|(_, kind)| kind).ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// The database.
    pub fn database(&self) -> SqlResult<Database> {
        let database = self.0.get().and_then(|(database, _)| database.upgrade());
        database.ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }
}

impl BackgroundStatements for Jobs {
    fn queue(&self, image: &SessionImage, list: &str, parameters: &[Value]) -> SqlResult<()> {
        let payload = encode(image, list, parameters, &self.database()?);
        let owner = format!("{}@{}", image.account.user, image.account.host);
        self.kind()?.submit(NewJob { owner, payload, ..NewJob::default() })?.wait().map(|_| ())
    }
}

/// Runs a list on a worker's thread.
#[derive(Debug)]
pub(super) struct ListHandler(Weak<Jobs>);

impl ListHandler {
    pub fn new(jobs: Weak<Jobs>) -> Self {
        Self(jobs)
    }
}

impl Handler for ListHandler {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        let jobs = self.0.upgrade().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))?;
        let database = jobs.database()?;
        let (image, list, parameters) = decode(&job.payload, &database)?;
        let weak = database.downgrade();
        let opened = |id| {
            job.on_cancel(Box::new(move || {
                if let Some(database) = weak.upgrade() {
                    squall_session::api::FrontEndContext::client_gone(&database, id);
                }
            }));
        };
        let end = image.run_list(&database, (&list, &parameters), opened)?;
        // How the list has ended is what the job gives, not how it has ended itself: an error has no place for more than itself.
        job.add_output(outcome(&end, &list))
    }
}

fn encode(image: &SessionImage, list: &str, parameters: &[Value], database: &Database) -> Vec<u8> {
    let mut out = Writer::new(FORMAT);
    out.option(image.info.parent, Writer::uint);
    out.list(parameters, write_value);
    out.array(&captured::encode(list, image, database.registry()));
    out.finish()
}

fn damaged() -> SqlError {
    SqlError::internal("a queued list of statements is damaged")
}

/// The caller's number, the values and what was captured.
type Queued<'p> = (Option<u64>, Vec<Value>, &'p [u8]);

fn split(payload: &[u8]) -> Result<Queued<'_>, Malformed> {
    let mut reader = Reader::new(payload);
    if reader.u8()? != FORMAT {
        return Err(Malformed);
    }
    let parent = reader.option(Reader::uint)?;
    let parameters = reader.list(read_value)?;
    Ok((parent, parameters, reader.rest()))
}

fn decode(payload: &[u8], database: &Database) -> SqlResult<(SessionImage, String, Vec<Value>)> {
    let (parent, parameters, rest) = split(payload).map_err(|_| damaged())?;
    let (list, session) = captured::split(rest)?;
    let mut image = captured::decode(session, database.registry())?;
    image.info.parent = Some(parent.unwrap_or_default());
    Ok((image, list.to_string(), parameters))
}

/// The session that has queued a list; `None` for an invalid payload.
pub(super) fn read_parent(payload: &[u8]) -> Option<u64> {
    let mut reader = Reader::new(payload);
    match reader.u8() {
        Ok(FORMAT) => reader.option(Reader::uint).ok()?,
        _ => None,
    }
}

/// The stored result of an ended list, without its secrets.
fn outcome(end: &ListEnd, list: &str) -> Vec<u8> {
    let mut out = Writer::new(FORMAT);
    out.uint(end.statements);
    out.option(end.failed.as_ref(), |out, failed| {
        out.uint(failed.ordinal);
        out.uint(u64::from(failed.error.code));
        out.str(&squall_parser::message_without_secrets(&failed.error.message, list.as_bytes()));
    });
    out.finish()
}

/// How a list has ended, as it was kept.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    /// Statements that have succeeded.
    pub statements: u64,
    /// What has failed: its place in the list, the number and the text of its error.
    pub failed: Option<(u64, u16, String)>,
}

/// The outcome; `None` for what is none.
pub(super) fn read_outcome(bytes: &[u8]) -> Option<Outcome> {
    let mut reader = Reader::new(bytes);
    if reader.u8().ok()? != FORMAT {
        return None;
    }
    let statements = reader.uint().ok()?;
    let failed = reader.option(|reader| Ok((reader.uint()?, reader.uint()? as u16, reader.string()?))).ok()?;
    Some(Outcome { statements, failed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_session::execute::list::FailedStatement;

    #[test]
    fn outcomes_are_read_as_they_were_written() {
        let error = SqlError::new(ErrorCode::NoSuchTable, &[&"d", &"t"]);
        let failed = FailedStatement { ordinal: 3, text: "SELECT".to_string(), error: error.clone() };
        let bytes = outcome(&ListEnd { statements: 2, affected_rows: 7, failed: Some(failed) }, "");
        let read = Outcome { statements: 2, failed: Some((3, error.code, error.message)) };
        assert_eq!(read_outcome(&bytes), Some(read));
        for end in 0..bytes.len() {
            assert_eq!(read_outcome(&bytes[..end]), None, "{end}");
        }
    }
}
