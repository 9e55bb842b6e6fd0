//! The connections of one event loop, and the data that they share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::busy_poll::Awake;
use crate::shared::Shared;
use crate::transport::Socket;

/// The state that the connections of one loop share: how to wake them all. Never leaves the loop's thread.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// The number of the loop.
    pub(crate) number: usize,
    pub(crate) awake: Awake,
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

    /// A connection comes.
    pub(crate) fn join(self: &Rc<Self>, wake: &Arc<Notify>, socket: Socket) -> Neighbour {
        let key = self.last_key.get() + 1;
        self.last_key.set(key);
        let (idle, activity) = (Rc::new(IdleClock::default()), Rc::new(Activity::new(socket)));
        let member = Member { wake: Arc::clone(wake), idle: Rc::clone(&idle), activity: Rc::clone(&activity) };
        self.members.borrow_mut().insert(key, member);
        Neighbour { neighbours: Rc::clone(self), key, idle, activity }
    }

    /// Called each second: wakes connections that have waited too long for their clients, and stops statements whose clients have
    /// hung up.
    pub(crate) fn tick(&self, shared: &Shared) {
        self.seconds.set(self.seconds.get() + 1);
        self.awake.tick();
        let mut busy = 0;
        for member in self.members.borrow().values() {
            busy += usize::from(member.activity.had_command.take());
            if member.idle.is_over(self) {
                member.wake.notify_one();
            }
            if member.activity.is_for_nobody() {
                let id = member.activity.connection_id.get();
                tracing::debug!("connection {id} hung up while its statement ran");
                shared.backend.client_gone(id);
            }
        }
        shared.loops.tick(self.number, busy);
    }

    /// Wakes all: the server is going down.
    pub(crate) fn shut_down(&self) {
        self.shutting_down.set(true);
        for member in self.members.borrow().values() {
            member.wake.notify_one();
        }
    }
}

#[derive(Debug)]
struct Member {
    wake: Arc<Notify>,
    idle: Rc<IdleClock>,
    activity: Rc<Activity>,
}

/// Whether a connection is answering a command, for the check whether its client is still there.
#[derive(Debug)]
pub(crate) struct Activity {
    socket: Socket,
    /// 0 until the handshake is over.
    pub(crate) connection_id: Cell<u64>,
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

    /// A command begins.
    pub(crate) fn begin(&self) {
        self.is_running.set(true);
        self.had_command.set(true);
        self.was_running.set(false);
    }

    /// The command is answered.
    pub(crate) fn end(&self) {
        self.is_running.set(false);
    }

    /// Whether a command has been running since the look before this one, and no client waits for its answer any more.
    fn is_for_nobody(&self) -> bool {
        let was_running = self.was_running.replace(self.is_running.get());
        was_running && self.is_running.get() && self.socket.has_hung_up()
    }
}

/// How long a connection may wait for its client. One clock for all of a loop's connections, which ticks once a second,
/// instead of a timer for every command.
#[derive(Debug, Default)]
pub(crate) struct IdleClock(Cell<Option<u64>>);

impl IdleClock {
    /// Begins to wait, for so many seconds at most.
    pub(crate) fn start(&self, neighbours: &Neighbours, seconds: u64) {
        // The second that is under way does not count.
        self.0.set(Some(neighbours.seconds.get().saturating_add(seconds).saturating_add(1)));
    }

    /// Ends the waiting.
    pub(crate) fn stop(&self) {
        self.0.set(None);
    }

    /// Whether it has been too long.
    pub(crate) fn is_over(&self, neighbours: &Neighbours) -> bool {
        self.0.get().is_some_and(|end| end <= neighbours.seconds.get())
    }
}

/// One connection among its neighbours; leaves them when dropped.
#[derive(Debug)]
pub(crate) struct Neighbour {
    neighbours: Rc<Neighbours>,
    key: u64,
    pub(crate) idle: Rc<IdleClock>,
    pub(crate) activity: Rc<Activity>,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.neighbours.members.borrow_mut().remove(&self.key);
    }
}
