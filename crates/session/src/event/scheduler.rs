//! The thread that sleeps until the next event is due, and the job that an event is when it runs.

use super::Status;
use super::definition::{EventDef, SPACE, Schedule};
use crate::api::ConnectionInfo;
use crate::collector::LastError;
use crate::database::{Database, Shared};
use crate::procedure::{SessionImage, run_on_this_thread};
use crate::session::parse_error;
use parking_lot::{Condvar, Mutex};
use squall_jobs::{Handler, Kind, KindSpec, NewJob, RunningJob};
use squall_logs::error_log::{Severity, error_log};
use squall_parser::parse_body;
use squall_registry::VariableId;
use squall_row_store::SystemChange;
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_types::work_meter::measured;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The kind of the jobs.
const KIND: &str = "event";
/// Most events that run at once.
const WORKERS: usize = 32;
/// Most of them that wait for a worker; when more are due they are left out.
const QUEUED_MAX: usize = 1000;

/// Database and name, the latter in lower case.
type Key = (String, String);

/// All events, and the thread that starts them.
#[derive(Debug, Default)]
pub(crate) struct EventScheduler {
    state: Mutex<State>,
    changed: Condvar,
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
    /// Reads all events and begins to run them.
    pub fn start(&self, shared: &Arc<Shared>, on: bool) -> SqlResult<()> {
        let handler = Arc::new(EventHandler(Arc::downgrade(shared)));
        let kind = shared.jobs.register(KindSpec {
            workers: WORKERS,
            queued_max: QUEUED_MAX,
            ..KindSpec::new(KIND, handler)
        })?;
        // No other task starts it.
        let _first = self.kind.set(kind);
        let now = now_micros();
        let mut state = self.state.lock();
        for (_, record) in shared.store.system_records(SPACE)? {
            let event = EventDef::decode(&record)?;
            state.events.insert(key(&event.database, &event.name), entry(Arc::new(event), now));
        }
        state.on = on;
        drop(state);
        self.see_to_thread(shared);
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
        &self,
        shared: &Arc<Shared>,
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
        shared.store.commit_system(&changes)?;
        let mut state = self.state.lock();
        for (database, name) in gone {
            state.events.remove(&key(database, name));
        }
        if let Some(event) = new {
            state.events.insert(key(&event.database, &event.name), entry(Arc::new(event), now_micros()));
        }
        drop(state);
        self.changed.notify_all();
        self.see_to_thread(shared);
        Ok(())
    }

    /// A database is gone, and its events with it.
    pub fn drop_database(&self, shared: &Arc<Shared>, database: &str) -> SqlResult<()> {
        let changing = self.begin_change_blocking();
        let events = self.list();
        let own = events.iter().filter(|event| event.database == database);
        let gone: Vec<(&str, &str)> = own.map(|event| (event.database.as_str(), event.name.as_str())).collect();
        self.replace(shared, &changing, &gone, None)
    }

    /// `event_scheduler` was set.
    pub fn set_on(&self, shared: &Arc<Shared>, on: bool) {
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
        self.see_to_thread(shared);
    }

    /// Starts no event any more.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.changed.notify_all();
    }

    /// There is a thread as long as there is an event.
    fn see_to_thread(&self, shared: &Arc<Shared>) {
        let mut state = self.state.lock();
        if state.has_thread || state.events.is_empty() || !state.on || state.stopping {
            return;
        }
        let (own, weak) = (shared.events.clone(), Arc::downgrade(shared));
        let spawned = std::thread::Builder::new().name("events".to_string()).spawn(move || own.run(&weak));
        match spawned {
            Ok(_) => state.has_thread = true,
            Err(error) => error_log().write(Severity::Warning, &format!("events do not run: {error}")),
        }
    }

    /// The thread's life: it ends when there is nothing to wait for.
    fn run(&self, shared: &Weak<Shared>) {
        loop {
            let mut state = self.state.lock();
            if state.stopping || !state.on || state.events.is_empty() || shared.strong_count() == 0 {
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
            let Some(shared) = shared.upgrade() else { return };
            for event in due {
                if let Err(error) = self.fire(&shared, &event, now) {
                    complain(&event, &error);
                }
            }
        }
    }

    /// Has an event run, once its record says that it has.
    fn fire(&self, shared: &Arc<Shared>, event: &Arc<EventDef>, now: i64) -> SqlResult<()> {
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
            self.replace(shared, &changing, &[], Some(after))?;
        } else if after.preserve {
            after.status = Status::Disabled;
            self.replace(shared, &changing, &[], Some(after))?;
        } else {
            self.replace(shared, &changing, &[name], None)?;
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
fn complain(event: &EventDef, error: &SqlError) {
    let EventDef { definer, database, name, .. } = event;
    let message = format!("Event Scheduler: [{}@{}][{database}.{name}] {}", definer.user, definer.host, error.message);
    error_log().write(Severity::Error, &message);
}

/// Runs the statements of events.
#[derive(Debug)]
struct EventHandler(Weak<Shared>);

impl Handler for EventHandler {
    fn run(&self, job: &RunningJob) -> SqlResult<()> {
        let shared = self.0.upgrade().ok_or_else(|| SqlError::internal("the database is closing"))?;
        let event = EventDef::decode(&job.payload)?;
        let result = run_event(&Database(shared), &event, job);
        if let Err(error) = &result {
            complain(&event, error);
        }
        result
    }
}

fn run_event(database: &Database, event: &EventDef, job: &RunningJob) -> SqlResult<()> {
    let shared = &database.0;
    let accounts = shared.accounts.load_now();
    let Some(account) = accounts.get(&event.definer) else {
        let (user, host) = (&event.definer.user, &event.definer.host);
        return Err(SqlError::new(ErrorCode::NoSuchUser, &[user, host]));
    };
    let mut variables = shared.globals.load_values();
    let all_roles = Values(&variables).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
    let mut set = |id: VariableId, value: &str| variables.set(id, Value::from(value));
    set(ids::SQL_MODE, &event.sql_mode);
    set(ids::TIME_ZONE, &event.time_zone);
    set(ids::CHARACTER_SET_CLIENT, &event.client_charset);
    set(ids::COLLATION_CONNECTION, &event.connection_collation);
    let image = SessionImage {
        account: event.definer.clone(),
        active_roles: Arc::new(accounts.roles_at_first(account, all_roles)),
        info: ConnectionInfo { user: event.definer.user.clone(), ..ConnectionInfo::default() },
        database: Some(event.database.as_str().into()),
        variables,
        user_variables: Arc::default(),
    };
    drop(accounts);
    let mut session = image.open(database, Arc::new(|| {}))?;
    let (weak, id) = (database.downgrade(), session.id());
    job.on_cancel(Box::new(move || {
        if let Some(database) = weak.upgrade() {
            crate::api::Backend::client_gone(&database, id);
        }
    }));
    let (body, span) = parse_body(&event.body, &session.parse_options()).map_err(parse_error)?;
    let mut writer = LastError::default();
    // A writer without a client is never gone.
    let ran = measured(session.work_meter(), session.run_program(&body, span, event.body.as_bytes(), &mut writer));
    run_on_this_thread(ran)?.unwrap_or(Ok(()))
}
