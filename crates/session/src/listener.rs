//! Listeners: the server tells modules of connections, statements and definitions.
//!
//! They are called on the thread of the event, mostly an event loop that serves other connections too. So a listener must not block:
//! the module does longer work on its own thread.

use std::fmt::Debug;
use std::sync::Arc;

/// Is told of what happens. Each method does nothing unless a listener has one of its own.
pub trait Listener: Debug + Send + Sync {
    /// A client has logged in.
    fn connected(&self, _session: &ListenedSession<'_>) {}
    /// A session has ended, whether its client said goodbye or not.
    fn disconnected(&self, _session: &ListenedSession<'_>) {}
    /// A statement has ended, and its client has been answered. Statements of events, procedures and queued ones are told of, too.
    fn statement_ended(&self, _session: &ListenedSession<'_>, _statement: &EndedStatement<'_>) {}
    /// A definition has been committed: the catalog has this version now.
    fn catalog_changed(&self, _version: u64) {}
}

/// Whose session it is.
#[derive(Clone, Copy, Debug)]
pub struct ListenedSession<'a> {
    /// `CONNECTION_ID()`.
    pub connection_id: u64,
    /// That of the session whose EXECUTE it works for.
    pub parent_id: Option<u64>,
    /// `USER()`: the name that the client gave, and its host.
    pub user: &'a str,
    /// `CURRENT_USER()`: the account.
    pub current_user: &'a str,
    /// `DATABASE()`.
    pub database: Option<&'a str>,
}

/// How a statement has ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedStatement<'a> {
    /// Its text, with passwords masked and no longer than 64 KB; of a prepared statement with `?`.
    pub sql: &'a [u8],
    /// How long it took, microseconds.
    pub micros: u64,
    /// MySQL's number of its error.
    pub error: Option<u16>,
}

/// All listeners.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Vec<Arc<dyn Listener>>);

impl Listeners {
    pub fn new(listeners: Vec<Arc<dyn Listener>>) -> Listeners {
        Listeners(listeners)
    }

    /// Whether there are none: then their input need not be made.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells each of them.
    pub fn tell(&self, tell: impl Fn(&dyn Listener)) {
        self.0.iter().for_each(|listener| tell(listener.as_ref()));
    }
}
