//! All events, and the thread that sleeps until the next one is due and queues it as a job.
//!
//! An event is a record of the store (`squall_server_state::event_definition`), so CREATE, ALTER and DROP are durable and take effect at once.

use parking_lot::{Condvar, Mutex};
use squall_jobs::{Kind, NewJob};
use squall_logs::error_log::{Severity, error_log};
use squall_row_store::{SystemChange, SystemRecords};
use squall_server_state::event_definition::{EventDef, SPACE, Schedule, Status, whole_seconds};
use squall_server_state::now_micros;
use squall_types::{SqlError, SqlResult};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long closing waits for events that are being started.
const STOP_WAIT_MAX: Duration = Duration::from_secs(10);

/// Database and name, the latter in lower case.
type Key = (String, String);

/// All events, and the thread that starts them.
#[derive(Debug)]
pub(crate) struct EventScheduler {
    /// Where they are, as long as the database is open.
    records: Weak<dyn SystemRecords>,
    state: Mutex<State>,
    changed: Condvar,
    /// Held by the thread while it has events run.
    firing: Mutex<()>,
    kind: OnceLock<Kind>,
    /// See [`ChangingEvents`].
    change: Arc<tokio::sync::Mutex<()>>,
}

/// The right to change events, for one at a time from looking at them to the record: nothing is [replaced](EventScheduler::replace)
/// without it.
#[derive(Debug)]
#[must_use = "others may change events as soon as it is dropped"]
pub(crate) struct ChangingEvents {
    // Dropping gives it back.
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

#[derive(Debug, Default)]
struct State {
    events: BTreeMap<Key, Entry>,
    on: bool,
    has_thread: bool,
    stopping: bool,
}

#[derive(Debug)]
struct Entry {
    event: Arc<EventDef>,
    /// When it is due, if it ever is.
    next: Option<i64>,
}

fn key(database: &str, name: &str) -> Key {
    (database.to_string(), name.to_lowercase())
}

fn entry(event: Arc<EventDef>, from: i64) -> Entry {
    let next = (event.status == Status::Enabled).then(|| event.next(from)).flatten();
    Entry { event, next }
}

impl EventScheduler {
    /// Without events yet.
    pub fn new(records: Weak<dyn SystemRecords>) -> Arc<EventScheduler> {
        Arc::new(EventScheduler {
            records,
            state: Mutex::default(),
            changed: Condvar::new(),
            firing: Mutex::default(),
            kind: OnceLock::new(),
            change: Arc::default(),
        })
    }

    /// The records.
    ///
    /// # Errors
    /// When the database is being closed.
    fn records(&self) -> SqlResult<Arc<dyn SystemRecords>> {
        self.records.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))
    }

    /// Reads all events and begins to run them, as jobs of a kind.
    pub fn start(self: &Arc<Self>, kind: Kind, on: bool) -> SqlResult<()> {
        // No other task starts it.
        let _first = self.kind.set(kind);
        let now = now_micros();
        let mut state = self.state.lock();
        for (_, record) in self.records()?.system_records(SPACE)? {
            let event = EventDef::decode(&record)?;
            state.events.insert(key(&event.database, &event.name), entry(Arc::new(event), now));
        }
        state.on = on;
        drop(state);
        self.see_to_thread();
        Ok(())
    }

    /// The events of a database, or all, in the order of their names.
    pub fn list(&self) -> Vec<Arc<EventDef>> {
        self.state.lock().events.values().map(|entry| entry.event.clone()).collect()
    }

    /// The event of that name.
    pub fn get(&self, database: &str, name: &str) -> Option<Arc<EventDef>> {
        self.state.lock().events.get(&key(database, name)).map(|entry| entry.event.clone())
    }

    /// Waits until no other session changes events.
    pub async fn begin_change(&self) -> ChangingEvents {
        ChangingEvents { _turn: self.change.clone().lock_owned().await }
    }

    /// As [`EventScheduler::begin_change`], on a thread that may wait.
    fn begin_change_blocking(&self) -> ChangingEvents {
        ChangingEvents { _turn: self.change.clone().blocking_lock_owned() }
    }

    /// Makes events hold, and others hold no more, durably and as a whole.
    pub fn replace(
        self: &Arc<Self>,
        _changing: &ChangingEvents,
        gone: &[(&str, &str)],
        new: Option<EventDef>,
    ) -> SqlResult<()> {
        let removed = gone.iter().map(|(database, name)| EventDef::key(database, name));
        let mut changes: Vec<SystemChange> =
            removed.map(|key| SystemChange { space: SPACE, key, value: None }).collect();
        if let Some(event) = &new {
            let key = EventDef::key(&event.database, &event.name);
            changes.retain(|change| change.key != key);
            changes.push(SystemChange { space: SPACE, key, value: Some(event.encode()) });
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.records()?.commit_system(&changes)?;
        let mut state = self.state.lock();
        for (database, name) in gone {
            state.events.remove(&key(database, name));
        }
        if let Some(event) = new {
            let from = whole_seconds(now_micros());
            state.events.insert(key(&event.database, &event.name), entry(Arc::new(event), from));
        }
        drop(state);
        self.changed.notify_all();
        self.see_to_thread();
        Ok(())
    }

    /// A database is gone, and its events with it.
    pub fn drop_database(self: &Arc<Self>, changing: &ChangingEvents, database: &str) -> SqlResult<()> {
        let events = self.list();
        let own = events.iter().filter(|event| event.database == database);
        let gone: Vec<(&str, &str)> = own.map(|event| (event.database.as_str(), event.name.as_str())).collect();
        self.replace(changing, &gone, None)
    }

    /// `event_scheduler` was set.
    pub fn set_on(self: &Arc<Self>, on: bool) {
        let mut state = self.state.lock();
        if state.on == on {
            return;
        }
        state.on = on;
        // What was due while it was off is not made up for.
        let now = now_micros();
        for known in state.events.values_mut() {
            *known = entry(known.event.clone(), now);
        }
        drop(state);
        self.changed.notify_all();
        self.see_to_thread();
    }

    /// Starts no event any more, and waits until the thread has done with the store: the directory is given up behind it.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
        // Not for ever: a change of events whose future is not polled any more may hold the thread up.
        let _ended = self.firing.try_lock_for(STOP_WAIT_MAX);
    }

    /// There is a thread as long as there is an event.
    fn see_to_thread(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.has_thread || state.events.is_empty() || !state.on || state.stopping {
            return;
        }
        let own = self.clone();
        let spawned = std::thread::Builder::new().name("events".to_string()).spawn(move || own.run());
        match spawned {
            Ok(_) => state.has_thread = true,
            Err(error) => error_log().write(Severity::Warning, &format!("events do not run: {error}")),
        }
    }

    /// The thread's life: it ends when there is nothing to wait for.
    fn run(self: &Arc<Self>) {
        loop {
            let mut state = self.state.lock();
            if state.stopping || !state.on || state.events.is_empty() {
                state.has_thread = false;
                return;
            }
            let now = now_micros();
            let next = state.events.values().filter_map(|entry| entry.next).min();
            match next {
                Some(next) if next <= now => {}
                Some(next) => {
                    let wait = Duration::from_micros((next - now) as u64);
                    // A day at most, for clocks that are set.
                    let until = Instant::now() + wait.min(Duration::from_secs(24 * 3600));
                    self.changed.wait_until(&mut state, until);
                    continue;
                }
                None => {
                    self.changed.wait(&mut state);
                    continue;
                }
            }
            let due: Vec<Arc<EventDef>> = state
                .events
                .values()
                .filter(|entry| entry.next.is_some_and(|next| next <= now))
                .map(|entry| entry.event.clone())
                .collect();
            drop(state);
            let _firing = self.firing.lock();
            if self.state.lock().stopping {
                continue;
            }
            for event in due {
                if let Err(error) = self.fire(&event, now) {
                    complain(&event, &error);
                }
            }
        }
    }

    /// Has an event run, once its record says that it has.
    fn fire(self: &Arc<Self>, event: &Arc<EventDef>, now: i64) -> SqlResult<()> {
        let changing = self.begin_change_blocking();
        let current = self.get(&event.database, &event.name);
        if !current.is_some_and(|current| Arc::ptr_eq(&current, event)) {
            // It was altered or dropped meanwhile.
            return Ok(());
        }
        let mut after = EventDef { executed_micros: Some(now), ..(**event).clone() };
        let goes_on = match &after.schedule {
            Schedule::At(_) => false,
            Schedule::Every { .. } => after.next(now + 1).is_some(),
        };
        let name = (event.database.as_str(), event.name.as_str());
        if goes_on {
            self.replace(&changing, &[], Some(after))?;
        } else if after.preserve {
            after.status = Status::Disabled;
            self.replace(&changing, &[], Some(after))?;
        } else {
            self.replace(&changing, &[name], None)?;
        }
        let mut state = self.state.lock();
        if let Some(entry) = state.events.get_mut(&key(name.0, name.1)) {
            // Not the slot that has just been used.
            entry.next = entry.next.and_then(|_| entry.event.next(now + 1));
        }
        drop(state);
        if let Some(kind) = self.kind.get() {
            let owner = format!("{}@{}", event.definer.user, event.definer.host);
            let _number = kind.submit(NewJob { owner, payload: event.encode(), ..NewJob::default() })?.number;
        }
        Ok(())
    }
}

/// Tells the error log that an event has failed.
pub(crate) fn complain(event: &EventDef, error: &SqlError) {
    let EventDef { definer, database, name, .. } = event;
    let message = format!("Event Scheduler: [{}@{}][{database}.{name}] {}", definer.user, definer.host, error.message);
    error_log().write(Severity::Error, &message);
}
