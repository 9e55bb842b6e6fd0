//! Moves connections to the event loop that runs on the core of their client.
//!
//! A client on the same machine and its loop wake each other with every command. On one core that is a switch of threads. Between two
//! cores it is an interrupt, in a virtual machine an exit to the hypervisor on both sides, and the packet moves between caches. A new
//! connection gets any loop. So each connection checks now and then from which core its client sends (`SO_INCOMING_CPU`). It moves if
//! that is the core of another loop. The condition is that all loops have about the same load, and that there are more clients than
//! cores.
//!
//! Loops are not bound to cores: the system chooses their cores, and each check reads the current one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync::mpsc::{UnboundedSender, WeakUnboundedSender};

use crate::socket::Socket;

/// Commands from one look to the next.
const COMMANDS_PER_LOOK: u32 = 64;
/// This many looks in a row have to find the client on the same core.
const LOOKS: u32 = 2;
/// Each move makes the next looks rarer, up to this: clients that are moved from core to core all the time are not followed.
const COMMANDS_PER_LOOK_MAX: u32 = 1 << 16;

/// No core.
const UNKNOWN: u32 = u32::MAX;

/// All loops of a server, as they see each other; `C` is a connection on its way to one.
#[derive(Debug)]
pub(crate) struct Loops<C>(OnceLock<Vec<LoopPlace<C>>>);

impl<C> Default for Loops<C> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

#[derive(Debug)]
struct LoopPlace<C> {
    /// Weak: loops end when no other owner can hand them a socket.
    inbox: WeakUnboundedSender<C>,
    /// Where it last ran.
    core: AtomicU32,
    /// Connections that had a command in the last second.
    busy: AtomicUsize,
}

impl<C> Loops<C> {
    /// Makes the loops known to each other, in the order of their numbers.
    pub(crate) fn introduce(&self, inboxes: &[UnboundedSender<C>]) {
        let place = |inbox: &UnboundedSender<C>| LoopPlace {
            inbox: inbox.downgrade(),
            core: AtomicU32::new(UNKNOWN),
            busy: AtomicUsize::new(0),
        };
        // They are introduced once.
        let _ = self.0.set(inboxes.iter().map(place).collect());
    }

    fn places(&self) -> &[LoopPlace<C>] {
        self.0.get().map_or(&[], Vec::as_slice)
    }

    /// Another second has passed for a loop, on its thread.
    pub(crate) fn tick(&self, number: usize, busy: usize) {
        if let Some(place) = self.places().get(number) {
            place.busy.store(busy, Ordering::Relaxed);
            place.core.store(current_core(), Ordering::Relaxed);
        }
    }

    /// The loop that a client on a core is better served by than by its own, if the balance allows it.
    fn better(&self, own: usize, core: u32) -> Option<usize> {
        let places = self.places();
        let here = places.get(own)?;
        let busy = |place: &LoopPlace<C>| place.busy.load(Ordering::Relaxed);
        let (better, there) =
            places.iter().enumerate().find(|(_, place)| place.core.load(Ordering::Relaxed) == core)?;
        let crowded = places.iter().map(busy).sum::<usize>() >= 2 * places.len();
        (better != own && crowded && busy(there) <= busy(here)).then_some(better)
    }

    /// Hands a connection from one loop to another; gives it back if that one is about to end.
    pub(crate) fn hand_over(&self, from: usize, to: usize, connection: C) -> Result<(), C> {
        let (Some(here), Some(there)) = (self.places().get(from), self.places().get(to)) else {
            return Err(connection);
        };
        let Some(inbox) = there.inbox.upgrade() else { return Err(connection) };
        inbox.send(connection).map_err(|refused| refused.0)?;
        there.busy.fetch_add(1, Ordering::Relaxed);
        // Only this loop's own thread writes it otherwise.
        here.busy.store(here.busy.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        Ok(())
    }
}

/// One connection's record of its client's core.
#[derive(Debug)]
pub struct Steering {
    /// Commands until the next look.
    commands: u32,
    commands_per_look: u32,
    /// Looks in a row that have found the client on the core of this loop, which is not the connection's own.
    found: (usize, u32),
}

impl Steering {
    /// Of a connection that has just come.
    #[expect(clippy::new_without_default, reason = "as of the others beside it")]
    pub fn new() -> Self {
        Self { commands: COMMANDS_PER_LOOK, commands_per_look: COMMANDS_PER_LOOK, found: (0, 0) }
    }

    /// Counts a command; whether it is time for a look.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.commands -= 1;
        self.commands == 0
    }

    /// Looks where the client is; the number of the loop that the connection should move to, if it should.
    pub(crate) fn look<C>(&mut self, loops: &Loops<C>, own: usize, socket: &Socket) -> Option<usize> {
        self.commands = self.commands_per_look;
        let places = loops.places();
        if places.len() < 2 {
            return None;
        }
        let core = current_core();
        places.get(own)?.core.store(core, Ordering::Relaxed);
        let client = incoming_core(socket).filter(|client| *client != core);
        self.follow(client.and_then(|client| loops.better(own, client)))
    }

    /// Takes down what a look has found.
    fn follow(&mut self, better: Option<usize>) -> Option<usize> {
        self.found = match (better, self.found) {
            (None, _) => (0, 0),
            (Some(better), (same, looks)) if same == better => (better, looks + 1),
            (Some(better), _) => (better, 1),
        };
        if self.found.1 < LOOKS {
            return None;
        }
        self.found = (0, 0);
        self.commands_per_look = (self.commands_per_look * 2).min(COMMANDS_PER_LOOK_MAX);
        self.commands = self.commands_per_look;
        better
    }
}

#[cfg(target_os = "linux")]
fn current_core() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

/// The core that the client's last packet was sent from, of a client on this machine.
#[cfg(target_os = "linux")]
fn incoming_core(socket: &Socket) -> Option<u32> {
    let Socket::Tcp(stream) = socket else { return None };
    rustix::net::sockopt::socket_incoming_cpu(&*stream.borrow()).ok()
}

#[cfg(not(target_os = "linux"))]
fn current_core() -> u32 {
    UNKNOWN
}

#[cfg(not(target_os = "linux"))]
fn incoming_core(_: &Socket) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    fn loops(busy: [usize; 2]) -> (Loops<u32>, Vec<UnboundedSender<u32>>) {
        let inboxes: Vec<UnboundedSender<u32>> = (0..2).map(|_| unbounded_channel().0).collect();
        let loops = Loops::default();
        loops.introduce(&inboxes);
        for (place, (core, busy)) in loops.places().iter().zip(busy.into_iter().enumerate()) {
            place.core.store(core as u32 + 4, Ordering::Relaxed);
            place.busy.store(busy, Ordering::Relaxed);
        }
        (loops, inboxes)
    }

    #[test]
    fn connections_move_to_their_clients_while_loops_are_in_balance() {
        let better = |busy, own, core| loops(busy).0.better(own, core);
        assert_eq!(better([2, 2], 0, 5), Some(1));
        assert_eq!(better([2, 2], 1, 4), Some(0));
        assert_eq!(better([2, 2], 0, 4), None, "it is there");
        assert_eq!(better([2, 2], 0, 6), None, "no loop is there");
        assert_eq!(better([2, 3], 0, 5), None, "there is more to do there");
        assert_eq!(better([2, 1], 0, 5), None, "there are idle cores");
    }

    #[test]
    fn a_client_is_followed_when_it_stays_and_ever_more_rarely() {
        let mut steering = Steering::new();
        assert_eq!(steering.follow(Some(1)), None);
        assert_eq!(steering.follow(None), None);
        assert_eq!(steering.follow(Some(1)), None);
        assert_eq!(steering.follow(Some(1)), Some(1));
        assert_eq!(steering.commands, 2 * COMMANDS_PER_LOOK);
        for _ in 0..100 {
            steering.follow(Some(0));
        }
        assert_eq!(steering.commands_per_look, COMMANDS_PER_LOOK_MAX);
    }

    #[test]
    fn a_loop_that_ends_takes_no_connection() {
        let (loops, inboxes) = loops([3, 2]);
        // The receivers are gone.
        let refused = loops.hand_over(0, 1, 7).expect_err("no receiver");
        assert_eq!(refused, 7);
        drop(inboxes);
        assert!(loops.hand_over(0, 1, refused).is_err());
        assert_eq!(loops.places()[1].busy.load(Ordering::Relaxed), 2);
    }
}
