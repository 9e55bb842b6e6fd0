//! Tells a committing session that its commit is done.

use parking_lot::{Condvar, Mutex};
use squall_types::{SqlError, SqlResult};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The end of a ticket that tells the result. A commit that is lost on the way, which only a defect can do, is reported
/// as an error instead of never.
pub(crate) struct TicketSender(pub CommitTicket);

impl Drop for TicketSender {
    fn drop(&mut self) {
        if self.0.poll_done().is_none() {
            self.0.complete(Err(SqlError::internal("the commit was cut short; whether it happened is not known")));
        }
    }
}

/// A commit under way: a future that is ready when the commit is done.
#[derive(Clone)]
#[must_use = "a commit is done when its ticket is"]
pub struct CommitTicket(Arc<TicketState>);

#[derive(Default)]
struct TicketState {
    inner: Mutex<TicketInner>,
    done: Condvar,
}

/// The action when a commit is done.
type WhenDone = Box<dyn FnOnce(SqlResult<()>) + Send>;

#[derive(Default)]
struct TicketInner {
    result: Option<SqlResult<()>>,
    waker: Option<Waker>,
    when_done: Option<WhenDone>,
}

impl std::fmt::Debug for CommitTicket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CommitTicket").field(&self.poll_done()).finish()
    }
}

impl CommitTicket {
    pub(crate) fn new() -> CommitTicket {
        CommitTicket(Arc::default())
    }

    /// Of a commit that is done.
    pub fn ready(result: SqlResult<()>) -> CommitTicket {
        let ticket = Self::new();
        ticket.complete(result);
        ticket
    }

    pub(crate) fn complete(&self, result: SqlResult<()>) {
        let waker = loop {
            let mut inner = self.0.inner.lock();
            match inner.when_done.take() {
                Some(action) => {
                    drop(inner);
                    action(result.clone());
                }
                None => {
                    inner.result.get_or_insert(result);
                    break inner.waker.take();
                }
            }
        };
        self.0.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Has `action` called with the result before the waiters are told; at once if the commit is done already. There is one action of
    /// a commit. It is called on the commit thread, so it must not wait for anything that waits for a commit, nor for long.
    pub fn when_done(&self, action: impl FnOnce(SqlResult<()>) + Send + 'static) {
        let mut inner = self.0.inner.lock();
        match inner.result.clone() {
            None => inner.when_done = Some(Box::new(action)),
            Some(result) => {
                drop(inner);
                action(result);
            }
        }
    }

    /// The result, if the commit is done.
    pub fn poll_done(&self) -> Option<SqlResult<()>> {
        self.0.inner.lock().result.clone()
    }

    /// Blocks until the commit is done.
    pub fn wait(&self) -> SqlResult<()> {
        let mut inner = self.0.inner.lock();
        loop {
            if let Some(result) = &inner.result {
                return result.clone();
            }
            self.0.done.wait(&mut inner);
        }
    }
}

impl Future for CommitTicket {
    type Output = SqlResult<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SqlResult<()>> {
        let mut inner = self.0.inner.lock();
        match &inner.result {
            Some(result) => Poll::Ready(result.clone()),
            None => {
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
