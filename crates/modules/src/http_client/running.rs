//! Runs requests on the module's own threads, while the session waits for them.

use super::requests::RequestEntry;
use super::settings::Settings;
use super::{BLOCKED, Shared, TRANSFER, options};
use squall_accounting::GrowingCharge;
use squall_http_client::{Client, HttpError, Limits, Request, Response, SystemResolver};
use squall_statement_context::{StatementContext, off_pool};
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;

/// Threads that move bytes.
const THREADS: usize = 2;

/// The client and its threads.
#[derive(Debug)]
pub(super) struct Engine {
    runtime: Runtime,
    client: Arc<Client>,
}

impl Engine {
    fn start() -> SqlResult<Engine> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(SystemResolver::LOOKUPS_MAX)
            .thread_name("http-client")
            .enable_all()
            .build();
        let client = Arc::new(Client::new(Arc::new(SystemResolver::default())));
        Ok(Engine { runtime: runtime.map_err(SqlError::internal)?, client })
    }

    /// Ends all requests. Look-ups of names end by themselves.
    pub fn stop(self) {
        self.runtime.shutdown_background();
    }
}

/// A request that a session waits for, until this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    answer: Receiver<SqlResult<Answered>>,
    task: AbortHandle,
}

/// An answer, and the memory that it has been charged with.
#[derive(Debug)]
pub(super) struct Answered {
    /// The answer.
    pub response: Response,
    _charge: GrowingCharge,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Running {
    /// Waits for the answer.
    ///
    /// # Errors
    /// 50410, 50411, 1210; 1317 and 3024 if the statement has to stop; 1041 if there is no memory for the answer; 1135 if there is no thread to wait on.
    pub fn wait(&self) -> SqlResult<Answered> {
        off_pool(|| self.answer.recv())?.unwrap_or_else(|_| Err(SqlError::new(ErrorCode::ServerShutdown, &[])))
    }
}

/// An error of a request as the statement's.
pub(super) fn sql_error(function: &'static str, error: &HttpError) -> SqlError {
    match error {
        HttpError::Invalid(what) => options::wrong(function, what),
        HttpError::Blocked(_) => SqlError::of_module(&BLOCKED, &[&function, error]),
        HttpError::Transfer(_) | HttpError::Refused => SqlError::of_module(&TRANSFER, &[&function, error]),
    }
}

/// Rows whose requests run this many at a time. No request is begun behind a row whose request has failed.
#[derive(Debug)]
pub(super) struct Turns {
    places: Semaphore,
    /// The first row that has failed.
    failed: AtomicUsize,
}

impl Turns {
    /// For requests of which this many may run at a time.
    pub fn new(at_once: usize) -> Arc<Turns> {
        Arc::new(Turns { places: Semaphore::new(at_once), failed: AtomicUsize::new(usize::MAX) })
    }

    /// Waits for the turn of a row; `None` if a row before it has failed.
    async fn begin(&self, row: usize) -> Option<SemaphorePermit<'_>> {
        let place = self.places.acquire().await.ok()?;
        (row < self.failed.load(Ordering::SeqCst)).then_some(place)
    }

    fn note_failed(&self, row: usize) {
        self.failed.fetch_min(row, Ordering::SeqCst);
    }
}

/// A row's turn among those of its call.
pub(super) type Turn = (Arc<Turns>, usize);

impl Shared {
    /// The client, and the threads that it is used on.
    ///
    /// # Errors
    /// If there are none.
    pub fn engine(&self) -> SqlResult<(Handle, Arc<Client>)> {
        let mut engine = self.engine.lock();
        let engine = match &mut *engine {
            Some(engine) => engine,
            none => none.insert(Engine::start()?),
        };
        Ok((engine.runtime.handle().clone(), engine.client.clone()))
    }

    /// Begins a request for a statement, when it is its turn.
    ///
    /// # Errors
    /// If there are no threads for it.
    pub fn begin(
        self: &Arc<Self>,
        function: &'static str,
        request: Request,
        (limits, fail_on_status): (Limits, bool),
        turn: Option<Turn>,
        (settings, context): (&Settings, &StatementContext),
    ) -> SqlResult<Running> {
        let (threads, client) = self.engine()?;
        let (send, answer) = sync_channel(1);
        let (kill, mut charge) = (context.kill.clone(), GrowingCharge::new(&context.memory));
        let entry = settings.log.then(|| new_entry(function, &request, context));
        let shared = self.clone();
        let work = async move {
            let place = match &turn {
                Some((turns, row)) => tokio::select! {
                    biased;
                    error = kill.stopped() => {
                        let _ = send.send(Err(error));
                        return;
                    }
                    place = turns.begin(*row) => match place {
                        Some(place) => Some(place),
                        // The statement has the error of the row before.
                        None => return,
                    },
                },
                None => None,
            };
            let begun = Instant::now();
            let mut no_memory = None;
            let mut take = |bytes: usize| match charge.grow(bytes) {
                Ok(()) => true,
                Err(error) => {
                    no_memory = Some(error);
                    false
                }
            };
            let fetched = tokio::select! {
                biased;
                error = kill.stopped() => Err(error),
                fetched = client.fetch(request, &limits, &mut take) => {
                    fetched.map_err(|error| no_memory.take().unwrap_or_else(|| sql_error(function, &error)))
                }
            };
            let has_failed = fetched.as_ref().map_or(true, |answer| fail_on_status && answer.status.as_u16() >= 400);
            if let (true, Some((turns, row))) = (has_failed, &turn) {
                turns.note_failed(*row);
            }
            drop(place);
            if let Some(entry) = entry {
                shared.log.push(ended(entry, &fetched, begun));
            }
            // The caller may be gone.
            let _ = send.send(fetched.map(|response| Answered { response, _charge: charge }));
        };
        Ok(Running { answer, task: threads.spawn(work).abort_handle() })
    }
}

/// A request as it begins.
pub(super) fn new_entry(function: &'static str, request: &Request, context: &StatementContext) -> RequestEntry {
    RequestEntry {
        id: 0,
        started_micros: now_micros(),
        connection_id: context.connection_id,
        user: context.current_user.clone(),
        function,
        method: request.method.to_string(),
        url: request.target.masked(),
        status: None,
        request_bytes: request.body.len(),
        response_bytes: None,
        redirects: None,
        elapsed_micros: 0,
        error: None,
    }
}

fn ended(entry: RequestEntry, fetched: &SqlResult<Response>, begun: Instant) -> RequestEntry {
    let entry =
        RequestEntry { elapsed_micros: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), ..entry };
    match fetched {
        Ok(response) => RequestEntry {
            status: Some(response.status.as_u16()),
            response_bytes: Some(response.body.len()),
            redirects: Some(response.redirects),
            ..entry
        },
        Err(error) => RequestEntry { error: Some((error.code, error.message.clone())), ..entry },
    }
}
