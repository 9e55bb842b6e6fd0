//! One lock: its holders, and the queue of waiters.

use super::Owner;
use super::implicit::UncommittedWrites;
use super::modes::Mode;
use parking_lot::{Condvar, Mutex};
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An owner with the mode it holds or wants.
#[derive(Clone)]
pub(super) struct Holder {
    pub owner: Owner,
    pub mode: Mode,
    /// Of a table's lock: what the owner's transaction has written.
    pub written: Option<Arc<dyn UncommittedWrites>>,
}

impl Holder {
    pub fn new(owner: Owner, mode: Mode) -> Holder {
        Holder { owner, mode, written: None }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Waiting,
    Granted,
    Deadlock,
    Interrupted,
}

/// A waiter in the queue.
pub(super) struct Waiter {
    pub wants: Holder,
    outcome: Mutex<Outcome>,
    changed: Condvar,
}

impl Waiter {
    pub fn new(wants: Holder) -> Waiter {
        Waiter { wants, outcome: Mutex::new(Outcome::Waiting), changed: Condvar::new() }
    }

    pub fn outcome(&self) -> Outcome {
        *self.outcome.lock()
    }

    /// Ends the wait, if it has not ended. Tells whether it was this call that ended it.
    pub fn end(&self, outcome: Outcome) -> bool {
        let mut current = self.outcome.lock();
        if *current != Outcome::Waiting {
            return false;
        }
        *current = outcome;
        self.changed.notify_one();
        true
    }

    /// Waits for an end; still `Waiting` means that time is up.
    pub fn wait(&self, timeout: Duration) -> Outcome {
        // Far futures overflow the clock; a day at a time is as good.
        let deadline = Instant::now().checked_add(timeout.min(Duration::from_secs(86_400 * 365)));
        let mut outcome = self.outcome.lock();
        while *outcome == Outcome::Waiting {
            let Some(deadline) = deadline else { break };
            if self.changed.wait_until(&mut outcome, deadline).timed_out() {
                break;
            }
        }
        *outcome
    }
}

/// One lock. Most have one owner and an empty line, and a transaction may have millions of them.
#[derive(Default)]
pub(super) enum Entry {
    #[default]
    Free,
    /// Held by one, whose transaction's writes are not looked into by it.
    One(Owner, Mode),
    Line(Box<Line>),
}

/// A lock that several hold or want.
#[derive(Default)]
pub(super) struct Line {
    holders: SmallVec<[Holder; 1]>,
    waiters: VecDeque<Arc<Waiter>>,
}

impl Entry {
    pub fn held_by(holder: Holder) -> Entry {
        match holder.written {
            None => Entry::One(holder.owner, holder.mode),
            Some(_) => Entry::Line(Box::new(Line { holders: smallvec![holder], waiters: VecDeque::new() })),
        }
    }

    /// Makes it one that several may hold or want, and changes that.
    fn change_line(&mut self, change: impl FnOnce(&mut Line)) {
        let mut line = match std::mem::take(self) {
            Entry::Line(line) => line,
            one => Box::new(Line { holders: one.holders().collect(), waiters: VecDeque::new() }),
        };
        change(&mut line);
        *self = Entry::Line(line);
    }

    /// Its holders.
    pub fn holders(&self) -> impl Iterator<Item = Holder> {
        let (one, several) = match self {
            Entry::Free => (None, &[][..]),
            Entry::One(owner, mode) => (Some(Holder::new(*owner, *mode)), &[][..]),
            Entry::Line(line) => (None, &line.holders[..]),
        };
        one.into_iter().chain(several.iter().cloned())
    }

    /// Its waiters.
    pub fn waiters(&self) -> impl Iterator<Item = &Arc<Waiter>> {
        let line = if let Entry::Line(line) = self { Some(line) } else { None };
        line.into_iter().flat_map(|line| &line.waiters)
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Entry::Free => true,
            Entry::One(..) => false,
            Entry::Line(line) => line.holders.is_empty() && line.waiters.is_empty(),
        }
    }

    pub fn mode_of(&self, owner: Owner) -> Option<Mode> {
        match self {
            Entry::Free => None,
            Entry::One(held, mode) => (held.id == owner.id).then_some(*mode),
            Entry::Line(line) => {
                line.holders.iter().find(|holder| holder.owner.id == owner.id).map(|holder| holder.mode)
            }
        }
    }

    /// Whether an owner gets a mode at once: no other family has an incompatible mode, and none waits before it. One
    /// whose family holds the lock already goes before the line, since the line waits for it.
    pub fn is_free_for(&self, owner: Owner, mode: Mode) -> bool {
        match self {
            Entry::Free => true,
            Entry::One(held, held_mode) => held.family == owner.family || held_mode.is_compatible(mode),
            Entry::Line(line) => line.is_free_for(owner, mode),
        }
    }

    pub fn grant(&mut self, holder: Holder) {
        match self {
            Entry::Free => *self = Entry::held_by(holder),
            Entry::One(owner, mode) if owner.id == holder.owner.id && holder.written.is_none() => {
                *mode = mode.join(holder.mode);
            }
            Entry::One(..) | Entry::Line(_) => self.change_line(|line| line.grant(holder)),
        }
    }

    /// Has what an owner holds be another family's.
    pub fn change_family(&mut self, owner: u64, family: u64) {
        match self {
            Entry::One(held, _) if held.id == owner => held.family = family,
            Entry::Free | Entry::One(..) => {}
            Entry::Line(line) => {
                let held = line.holders.iter_mut().filter(|holder| holder.owner.id == owner);
                held.for_each(|holder| holder.owner.family = family);
            }
        }
    }

    pub fn weaken(&mut self, owner: Owner, mode: Mode) {
        match self {
            Entry::Free => {}
            Entry::One(held, held_mode) => {
                if held.id == owner.id {
                    *held_mode = mode;
                }
            }
            Entry::Line(line) => {
                let held = line.holders.iter_mut().filter(|holder| holder.owner.id == owner.id);
                held.for_each(|holder| holder.mode = mode);
            }
        }
    }

    pub fn remove(&mut self, owner: Owner) -> Option<Holder> {
        match self {
            Entry::One(held, mode) if held.id == owner.id => {
                let holder = Holder::new(*held, *mode);
                *self = Entry::Free;
                Some(holder)
            }
            Entry::Free | Entry::One(..) => None,
            Entry::Line(line) => {
                let at = line.holders.iter().position(|holder| holder.owner.id == owner.id)?;
                Some(line.holders.swap_remove(at))
            }
        }
    }

    /// Puts a waiter at the end of the line, or before it if its family holds the lock.
    pub fn enqueue(&mut self, waiter: Arc<Waiter>) {
        self.change_line(|line| match line.is_held_by(waiter.wants.owner.family) {
            true => line.waiters.push_front(waiter),
            false => line.waiters.push_back(waiter),
        });
    }

    pub fn dequeue(&mut self, waiter: &Arc<Waiter>) {
        if let Entry::Line(line) = self {
            line.waiters.retain(|queued| !Arc::ptr_eq(queued, waiter));
        }
    }

    /// Hands the lock to those at the head of the line that it can be handed to.
    pub fn grant_waiters(&mut self) {
        if let Entry::Line(line) = self {
            line.grant_waiters();
        }
    }

    /// Families that a waiter waits for: holders, and those before it in line. None, if it has left the line meanwhile.
    pub fn blockers_of(&self, waiter: &Arc<Waiter>) -> Vec<u64> {
        if !self.waiters().any(|queued| Arc::ptr_eq(queued, waiter)) {
            return Vec::new();
        }
        self.blocking(waiter).map(|other| other.owner.family).collect()
    }

    /// Those whom one in line waits for.
    pub fn blocking<'a>(&'a self, waiter: &'a Arc<Waiter>) -> impl Iterator<Item = Holder> + 'a {
        let wants = &waiter.wants;
        let holds_up = |queued: &&Arc<Waiter>| matches!(self, Entry::Line(line) if line.holds_up(queued));
        let ahead = self.waiters().take_while(|queued| !Arc::ptr_eq(queued, waiter)).filter(holds_up);
        self.holders()
            .chain(ahead.map(|queued| queued.wants.clone()))
            .filter(move |other| other.owner.family != wants.owner.family && !other.mode.is_compatible(wants.mode))
    }
}

impl Line {
    /// Whether one in line holds up those behind it. One that wants the lock alone does not while another session prepares a definition: that
    /// takes as long as it takes to read the table, and others are to use the table meanwhile.
    fn holds_up(&self, waiter: &Waiter) -> bool {
        let wants = &waiter.wants;
        let is_prepared =
            |holder: &Holder| holder.mode == Mode::Definition && holder.owner.family != wants.owner.family;
        wants.mode != Mode::Exclusive || !self.holders.iter().any(is_prepared)
    }

    fn is_held_by(&self, family: u64) -> bool {
        self.holders.iter().any(|holder| holder.owner.family == family)
    }

    fn holders_agree(&self, owner: Owner, mode: Mode) -> bool {
        self.holders.iter().all(|holder| holder.owner.family == owner.family || holder.mode.is_compatible(mode))
    }

    fn is_free_for(&self, owner: Owner, mode: Mode) -> bool {
        let line_agrees = || {
            self.is_held_by(owner.family)
                || self.waiters.iter().all(|waiter| waiter.wants.mode.is_compatible(mode) || !self.holds_up(waiter))
        };
        self.holders_agree(owner, mode) && line_agrees()
    }

    fn grant(&mut self, holder: Holder) {
        match self.holders.iter_mut().find(|held| held.owner.id == holder.owner.id) {
            Some(held) => {
                held.mode = held.mode.join(holder.mode);
                held.written = held.written.take().or(holder.written);
            }
            None => self.holders.push(holder),
        }
    }

    fn grant_waiters(&mut self) {
        let mut at = 0;
        // Modes that waiters who stay in line want, and that hold up those behind them.
        let mut ahead: SmallVec<[Mode; 4]> = SmallVec::new();
        while let Some(waiter) = self.waiters.get(at) {
            let Holder { owner, mode, .. } = waiter.wants;
            let line_agrees = ahead.iter().all(|ahead| ahead.is_compatible(mode)) || self.is_held_by(owner.family);
            if !(line_agrees && self.holders_agree(owner, mode)) {
                if self.holds_up(waiter) {
                    if mode == Mode::Exclusive {
                        return;
                    }
                    if !ahead.contains(&mode) {
                        ahead.push(mode);
                    }
                }
                at += 1;
                continue;
            }
            // One whose wait has ended otherwise is on its way to leave the line.
            if let Some(waiter) = self.waiters.remove(at)
                && waiter.end(Outcome::Granted)
            {
                self.grant(waiter.wants.clone());
            }
        }
    }
}
