//! LOAD DATA FROM URL: answers are read part by part, as fast as rows are stored.

use super::endpoints::Destination;
use super::requests::RequestEntry;
use super::running::{new_entry, sql_error};
use super::settings::Settings;
use super::{Admitted, PRIVILEGE, STATUS, Shared, TRANSFER};
use squall_http_client::client::Opened;
use squall_http_client::decode::Unpacker;
use squall_http_client::{Client, HttpError, Limits, Method, Request};
use squall_session::UrlSource;
use squall_statement_context::{StatementContext, off_pool};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::AbortHandle;

/// What messages and the table of requests call it.
const NAME: &str = "load data";
/// Parts that are read ahead.
const PARTS_AHEAD: usize = 4;
/// Files that are packed themselves begin with these.
const PACKINGS: [(&[u8], &str); 2] = [(&[0x1f, 0x8b], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd")];
/// This many bytes tell whether a file is packed.
const MARK_BYTES: usize = 4;

/// Reads URLs.
#[derive(Debug)]
pub(super) struct Loads(pub Arc<Shared>);

/// Parts of a body; an empty one is the end.
type Parts = SqlResult<Vec<u8>>;

impl UrlSource for Loads {
    fn open(&self, url: &str, context: &StatementContext) -> SqlResult<Box<dyn Read + Send>> {
        context.demand_privilege(PRIVILEGE)?;
        let (settings, place) = (self.0.settings(NAME, context)?, self.0.admit(NAME)?);
        let Destination { target, headers, scope } = self.0.destination(NAME, url, context)?;
        let request = Request { method: Method::GET, target, headers, body: Default::default(), scope };
        let entry = settings.log.then(|| new_entry(NAME, &request, context));
        let (threads, client) = self.0.engine()?;
        let (opened, is_open) = sync_channel(1);
        let (parts, received) = channel(PARTS_AHEAD);
        let (shared, kill) = (self.0.clone(), context.kill.clone());
        let work = async move {
            let begun = Instant::now();
            let mut transfer = Transfer { status: None, redirects: None, bytes: 0 };
            let open = || {
                // The reader may be gone.
                let _ = opened.try_send(());
            };
            let ended = tokio::select! {
                biased;
                error = kill.stopped() => Err(error),
                ended = transfer.run(&client, request, &settings, open, &parts) => ended,
            };
            if let Some(entry) = entry {
                shared.log.push(transfer.noted(entry, &ended, begun));
            }
            // The reader may be gone.
            let _ = parts.send(ended.map(|()| Vec::new())).await;
        };
        let mut source = Source {
            parts: received,
            part: Vec::new(),
            at: 0,
            task: threads.spawn(work).abort_handle(),
            _place: place,
        };
        // Without an answer the first part is the error.
        if off_pool(|| is_open.recv())?.is_err() {
            source.next()?;
        }
        Ok(Box::new(source))
    }
}

/// What a transfer has brought so far.
struct Transfer {
    status: Option<u16>,
    redirects: Option<u32>,
    bytes: usize,
}

impl Transfer {
    async fn run(
        &mut self,
        client: &Client,
        request: Request,
        settings: &Settings,
        opened: impl FnOnce(),
        parts: &Sender<Parts>,
    ) -> SqlResult<()> {
        let limits = Limits { max_bytes: settings.load_max_bytes, ..settings.limits.clone() };
        let failed = |error: HttpError| sql_error(NAME, &error);
        let late = || {
            let what = format!("no answer within {} ms", limits.timeout.as_millis());
            SqlError::of_module(&TRANSFER, &[&NAME, &what])
        };
        let (_place, mut answer) = tokio::time::timeout(limits.timeout, async {
            let place = client.enter(limits.max_concurrent).await;
            client.open(request, &limits).await.map(|answer| (place, answer))
        })
        .await
        .map_err(|_| late())?
        .map_err(failed)?;
        self.status = Some(answer.status.as_u16());
        self.redirects = Some(answer.redirects);
        if answer.status.as_u16() >= 400 {
            return Err(SqlError::of_module(&STATUS, &[&NAME, &answer.status.as_u16()]));
        }
        opened();
        let mut begin = Vec::new();
        let mut is_over = false;
        while begin.len() < MARK_BYTES && !is_over {
            let part = next(&mut answer, &limits, late).await?;
            is_over = part.is_none();
            begin.extend(part.unwrap_or_default());
        }
        let packing = PACKINGS.iter().find(|(mark, _)| begin.starts_with(mark)).map(|(_, packing)| *packing);
        let mut unpacker =
            packing.map(|packing| Unpacker::new(packing, limits.max_bytes)).transpose().map_err(failed)?;
        let mut part = Some(begin);
        while let Some(bytes) = part {
            match &mut unpacker {
                Some(unpacker) => {
                    let mut rest = bytes.as_slice();
                    while unpacker.has_more(rest) {
                        self.send(unpacker.unpack(&mut rest).map_err(failed)?, parts).await?;
                    }
                }
                None => self.send(bytes, parts).await?,
            }
            part = next(&mut answer, &limits, late).await?;
        }
        match unpacker {
            Some(unpacker) => self.send(unpacker.finish().map_err(failed)?, parts).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, bytes: Vec<u8>, parts: &Sender<Parts>) -> SqlResult<()> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if !bytes.is_empty() && parts.send(Ok(bytes)).await.is_err() {
            return Err(SqlError::new(ErrorCode::QueryInterrupted, &[]));
        }
        Ok(())
    }

    fn noted(&self, entry: RequestEntry, ended: &SqlResult<()>, begun: Instant) -> RequestEntry {
        RequestEntry {
            status: self.status,
            redirects: self.redirects,
            response_bytes: Some(self.bytes),
            elapsed_micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
            error: ended.as_ref().err().map(|error| (error.code, error.message.clone())),
            ..entry
        }
    }
}

/// The next part of an answer, within the time of a request.
async fn next(answer: &mut Opened<'_>, limits: &Limits, late: impl Fn() -> SqlError) -> SqlResult<Option<Vec<u8>>> {
    let part = tokio::time::timeout(limits.timeout, answer.next()).await.map_err(|_| late())?;
    part.map_err(|error| sql_error(NAME, &error))
}

/// A body that is read where waiting is allowed.
struct Source {
    parts: Receiver<Parts>,
    part: Vec<u8>,
    at: usize,
    task: AbortHandle,
    _place: Admitted,
}

impl Source {
    /// Waits for the next part; an empty one is the end.
    fn next(&mut self) -> SqlResult<()> {
        let part = off_pool(|| self.parts.blocking_recv())?;
        self.part = part.unwrap_or_else(|| Err(SqlError::new(ErrorCode::ServerShutdown, &[])))?;
        self.at = 0;
        Ok(())
    }
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() {
            self.next().map_err(io::Error::other)?;
        }
        let mut rest = self.part.get(self.at..).unwrap_or_default();
        let length = rest.read(room)?;
        self.at += length;
        Ok(length)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.task.abort();
    }
}
