//! The job that runs an event: its statements, as its definer.

use crate::collector::LastError;
use crate::database::{Database, Shared};
use crate::event_scheduler::complain;
use crate::procedure::run_on_this_thread;
use crate::result::writer::ConnectionInfo;
use crate::session::parse_error;
use crate::state::image::SessionImage;
use crate::state::locals::Locals;
use squall_accounting::work_meter::measured;
use squall_jobs::{Handler, KindSpec, RunningJob};
use squall_parser::parse_body;
use squall_server_state::event_definition::EventDef;
use squall_server_state::variables::{Values, ids};
use squall_system_variables::VariableId;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::{Arc, Weak};

/// The kind of the jobs.
const KIND: &str = "event";
/// Most events that run at once.
const WORKERS: usize = 32;
/// Most of them that wait for a worker; when more are due they are left out.
const QUEUED_MAX: usize = 1000;

impl Shared {
    /// Begins to run the events that there are.
    ///
    /// # Errors
    /// When their records cannot be read.
    pub(crate) fn start_events(self: &Arc<Shared>, on: bool) -> SqlResult<()> {
        let handler = Arc::new(EventHandler(Arc::downgrade(self)));
        let spec = KindSpec { workers: WORKERS, queued_max: QUEUED_MAX, ..KindSpec::new(KIND, handler) };
        self.events.start(self.jobs.register(spec)?, on)
    }
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
        active_grants: Arc::new(accounts.roles_at_first(account, all_roles).into()),
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
            crate::api::FrontEndContext::client_gone(&database, id);
        }
    }));
    let (body, span) = parse_body(&event.body, &session.parse_options()).map_err(parse_error)?;
    let mut writer = LastError::default();
    // A writer without a client is never gone.
    let source = event.body.as_bytes();
    let meter = session.instruments().work_meter();
    let ran = session.run_program(&body, span, source, Locals::default(), None, &mut writer);
    run_on_this_thread(measured(meter, ran))?.map_or(Ok(()), |(result, _)| result)
}
