//! The connections of one event loop, and the data that they share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::busy_poll::Awake;
use crate::socket::Socket;

/// Whether a listener's connections have to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Closed(Arc<AtomicBool>);

impl Closed {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The state that the connections of one loop share: how to wake them all. Never leaves the loop's thread.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// The number of the loop.
    pub(crate) number: usize,
    awake: Awake,
    shutting_down: Cell<bool>,
    /// Seconds that the loop has run.
    seconds: Cell<u64>,
    members: RefCell<HashMap<u64, Member>>,
    last_key: Cell<u64>,
}

impl Neighbours {
    /// Those of the loop with this number: none yet.
    pub(crate) fn new(number: usize) -> Self {
        Self { number, ..Self::default() }
    }

    /// Whether the server is going down.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutting_down.get()
    }

    /// A connection comes; it is woken at once if it has to end already.
    pub(crate) fn join(self: &Rc<Self>, wake: &Arc<Notify>, closed: &Closed, socket: Socket) -> Neighbour {
        let key = self.last_key.get() + 1;
        self.last_key.set(key);
        let (idle, activity) = (Rc::new(IdleClock::default()), Rc::new(Activity::new(socket)));
        let member = Member {
            wake: Arc::clone(wake),
            closed: closed.clone(),
            idle: Rc::clone(&idle),
            activity: Rc::clone(&activity),
        };
        self.members.borrow_mut().insert(key, member);
        let neighbour = Neighbour { neighbours: Rc::clone(self), key, closed: closed.clone(), idle, activity };
        if neighbour.is_ending() {
            // The others have been told already.
            wake.notify_one();
        }
        neighbour
    }

    /// Called each second: wakes connections that have waited too long for their clients, and tells `gone` the connections whose
    /// client has hung up during an answer. How many had a command in that second.
    pub(crate) fn tick(&self, gone: impl Fn(u64)) -> usize {
        self.seconds.set(self.seconds.get() + 1);
        self.awake.tick();
        let mut busy = 0;
        for member in self.members.borrow().values() {
            busy += usize::from(member.activity.had_command.take());
            if member.idle.is_over(self.seconds.get()) {
                member.wake.notify_one();
            }
            if member.activity.has_lost_client() {
                let id = member.activity.connection_id.get();
                tracing::debug!("connection {id} hung up while its statement ran");
                gone(id);
            }
        }
        busy
    }

    /// Wakes all: the server is going down.
    pub(crate) fn shut_down(&self) {
        self.shutting_down.set(true);
        for member in self.members.borrow().values() {
            member.wake.notify_one();
        }
    }

    /// Wakes those whose listeners have been closed.
    pub(crate) fn end_closed(&self) {
        for member in self.members.borrow().values().filter(|member| member.closed.is_set()) {
            member.wake.notify_one();
        }
    }
}

#[derive(Debug)]
struct Member {
    wake: Arc<Notify>,
    closed: Closed,
    idle: Rc<IdleClock>,
    activity: Rc<Activity>,
}

/// Whether a connection is answering a command, for the check whether its client is still there.
#[derive(Debug)]
struct Activity {
    socket: Socket,
    /// 0 until the handshake is over.
    connection_id: Cell<u64>,
    is_running: Cell<bool>,
    /// There was a command in the second that is under way.
    had_command: Cell<bool>,
    /// The command was running at the last look already.
    was_running: Cell<bool>,
}

impl Activity {
    fn new(socket: Socket) -> Self {
        Self {
            socket,
            connection_id: Cell::new(0),
            is_running: Cell::new(false),
            had_command: Cell::new(false),
            was_running: Cell::new(false),
        }
    }

    /// Whether a command has been running since the look before this one, and no client waits for its answer any more.
    fn has_lost_client(&self) -> bool {
        let was_running = self.was_running.replace(self.is_running.get());
        was_running && self.is_running.get() && self.socket.has_hung_up()
    }
}

/// How long a connection may wait for its client. One clock for all of a loop's connections, which ticks once a second,
/// instead of a timer for every command.
#[derive(Debug, Default)]
struct IdleClock(Cell<Option<u64>>);

impl IdleClock {
    /// Whether it has been too long, in this second of the loop.
    fn is_over(&self, now: u64) -> bool {
        self.0.get().is_some_and(|end| end <= now)
    }
}

/// One connection among its neighbours on its event loop; leaves them when dropped.
///
/// A protocol waits for its client and, at the same time, to be woken (by [`Client::wake`](crate::Client::wake)): by KILL, when
/// [`Neighbour::is_ending`], and when [`Neighbour::is_idle_too_long`].
pub struct Neighbour {
    neighbours: Rc<Neighbours>,
    key: u64,
    closed: Closed,
    idle: Rc<IdleClock>,
    activity: Rc<Activity>,
}

impl Neighbour {
    /// The number of the event loop.
    #[inline]
    pub fn loop_number(&self) -> usize {
        self.neighbours.number
    }

    /// Whether the event loop may stay awake.
    #[inline]
    pub fn awake(&self) -> &Awake {
        &self.neighbours.awake
    }

    /// Whether the connection has to end, when what it is doing is done: the server is going down, or the listener was closed.
    pub fn is_ending(&self) -> bool {
        self.neighbours.is_shutting_down() || self.closed.is_set()
    }

    /// From here on a statement of this connection stops when its client hangs up
    /// ([`client_gone`](crate::FrontEndContext::client_gone)). 0 for a protocol that looks after that itself.
    pub fn set_connection_id(&self, id: u64) {
        self.activity.connection_id.set(id);
    }

    /// A command begins.
    #[inline]
    pub fn begin_command(&self) {
        self.activity.is_running.set(true);
        self.activity.had_command.set(true);
        self.activity.was_running.set(false);
    }

    /// The command is answered.
    #[inline]
    pub fn end_command(&self) {
        self.activity.is_running.set(false);
    }

    /// Begins to wait for the client, for this many seconds at most; then the connection is woken.
    #[inline]
    pub fn start_idle(&self, seconds: u64) {
        // The second that is under way does not count.
        self.idle.0.set(Some(self.neighbours.seconds.get().saturating_add(seconds).saturating_add(1)));
    }

    /// Ends the waiting.
    #[inline]
    pub fn stop_idle(&self) {
        self.idle.0.set(None);
    }

    /// Whether the client has been waited for too long.
    pub fn is_idle_too_long(&self) -> bool {
        self.idle.is_over(self.neighbours.seconds.get())
    }
}

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbour")
            .field("loop", &self.neighbours.number)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.neighbours.members.borrow_mut().remove(&self.key);
    }
}
