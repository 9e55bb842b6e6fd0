//! CREATE, ALTER and DROP EVENT.

use crate::authorization::SecurityContext;
use crate::event_scheduler::ChangingEvents;
use crate::program::{ProgramKind, check_program};
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use squall_definitions::names::check_identifier;
use squall_functions::operators::coerce;
use squall_parser::ast::{self, AccountName, CreateEvent, DropObject, EventStatus};
use squall_planner::bind::interval_unit;
use squall_server_state::event_definition::{EventDef, Schedule, Status, interval, whole_seconds};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, DateTime, ErrorCode, Level, SqlError, SqlResult, Value};

/// The greatest number of units in an event's interval, as in MySQL.
const INTERVAL_MAX: i64 = 1_000_000_000;
/// 3001-01-19 00:00:00 UTC: where timestamps end in MySQL, in microseconds.
const MOMENT_END_MICROS: i64 = 32_536_771_200 * 1_000_000;

impl Session {
    /// CREATE EVENT and ALTER EVENT.
    pub(crate) async fn run_create_event(
        &mut self,
        statement: &CreateEvent,
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        self.check_writable()?;
        let (database, name) = event_name(&self.security(), &statement.name)?;
        if let Some(body) = statement.body.as_deref() {
            check_program(body, ProgramKind::Event, &self.shared.registry.variables)?;
        }
        if let Some(AccountName::Named { .. }) = &statement.definer {
            let definer = self.security().definer(statement.definer.as_ref())?;
            if self.shared.accounts.load_now().get(&definer).is_none() {
                let unknown = SqlError::new(ErrorCode::NoSuchUser, &[&definer.user, &definer.host]);
                run.context.diagnostics.push(Level::Note, unknown);
            }
        }
        let schedule = match &statement.schedule {
            Some(schedule) => Some(self.event_schedule(schedule, run).await?),
            None => None,
        };
        let body = statement.body.as_ref().map(|_| statement.body_span.bytes(run.request.sql));
        let body = body.map(|body| String::from_utf8_lossy(body).trim().to_string());
        let shared = self.shared.clone();
        // Its definer is not dropped before it is known to define something.
        let _accounts = shared.accounts.begin_change().await;
        let changing = shared.events.begin_change().await;
        let known = shared.events.get(&database, &name);
        let new = match (statement.alter, known) {
            (false, Some(_)) if statement.if_not_exists => {
                run.context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::EventExists, &[&name]));
                return Ok(Outcome::done());
            }
            (false, Some(_)) if !statement.or_replace => {
                return Err(SqlError::new(ErrorCode::EventExists, &[&name]));
            }
            (true, None) => return Err(SqlError::new(ErrorCode::NoSuchEvent, &[&name])),
            (true, Some(known)) => self.altered(statement, (*known).clone(), schedule, body)?,
            (false, _) => {
                let schedule = schedule.ok_or_else(|| SqlError::internal("an event without a schedule"))?;
                self.created(statement, database.clone(), name.clone(), schedule, body.unwrap_or_default())?
            }
        };
        // What is over before it begins.
        let last = match &new.schedule {
            Schedule::At(at) => Some(*at),
            Schedule::Every { ends, .. } => *ends,
        };
        // Times of schedules are whole seconds: the one that the statement began in is not over.
        let over = last.is_some_and(|last| last < whole_seconds(run.context.now_micros));
        let looked_at = !statement.alter || statement.schedule.is_some();
        if over && looked_at && new.executed_micros.is_none() {
            if statement.alter && !new.preserve {
                return Err(SqlError::new(ErrorCode::EventAlteredIntoPast, &[]));
            }
            if !new.preserve {
                run.context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::EventCreatedInPast, &[]));
                return Ok(Outcome::done());
            }
            run.context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::EventTimeInPast, &[]));
            let disabled = EventDef { status: Status::Disabled, ..new };
            self.replace_event(database, name, Some(disabled), changing).await?;
            return Ok(Outcome::done());
        }
        self.replace_event(database, name, Some(new), changing).await?;
        Ok(Outcome::done())
    }

    /// Makes an event what it is to be, or nothing, where waiting for the disk is allowed.
    async fn replace_event(
        &self,
        database: String,
        name: String,
        new: Option<EventDef>,
        changing: ChangingEvents,
    ) -> SqlResult<()> {
        let shared = self.shared.clone();
        self.blocking(move |_| shared.events.replace(&changing, &[(&database, &name)], new)).await
    }

    /// DROP EVENT.
    pub(crate) async fn run_drop_event(&mut self, drop: &DropObject, context: &StatementContext) -> SqlResult<Outcome> {
        self.check_writable()?;
        let [name] = drop.names.as_slice() else {
            return Err(SqlError::internal("DROP EVENT of several"));
        };
        let (database, name) = event_name(&self.security(), name)?;
        let shared = self.shared.clone();
        let changing = shared.events.begin_change().await;
        if shared.events.get(&database, &name).is_none() {
            if !drop.if_exists {
                return Err(SqlError::new(ErrorCode::NoSuchEvent, &[&name]));
            }
            context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::SpDoesNotExist, &[&"Event", &name]));
            return Ok(Outcome::done());
        }
        self.replace_event(database, name, None, changing).await?;
        Ok(Outcome::done())
    }

    fn created(
        &self,
        statement: &CreateEvent,
        database: String,
        name: String,
        schedule: Schedule,
        body: String,
    ) -> SqlResult<EventDef> {
        let now = now_micros();
        let event = EventDef {
            definer: self.security().definer(statement.definer.as_ref())?,
            status: statement.status.map_or(Status::Enabled, status_of),
            preserve: statement.preserve.unwrap_or(false),
            comment: statement.comment.as_deref().unwrap_or_default().to_string(),
            time_zone: String::new(),
            sql_mode: String::new(),
            client_charset: String::new(),
            connection_collation: String::new(),
            database_collation: String::new(),
            created_micros: now,
            altered_micros: now,
            executed_micros: None,
            database,
            name,
            body,
            schedule,
        };
        Ok(self.with_settings(event))
    }

    /// The event with the session's settings, which go with its body.
    fn with_settings(&self, event: EventDef) -> EventDef {
        let values = Values(&self.variables.session);
        let catalog = self.shared.catalog.load();
        let collation = catalog.database(&event.database).map(|database| database.collation);
        EventDef {
            time_zone: values.text(ids::TIME_ZONE).to_string(),
            sql_mode: self.settings.bind.sql_mode.to_string(),
            client_charset: values.text(ids::CHARACTER_SET_CLIENT).to_string(),
            connection_collation: values.text(ids::COLLATION_CONNECTION).to_string(),
            database_collation: collation.map(CollationId::name).unwrap_or_default().to_string(),
            ..event
        }
    }

    fn altered(
        &self,
        statement: &CreateEvent,
        known: EventDef,
        schedule: Option<Schedule>,
        body: Option<String>,
    ) -> SqlResult<EventDef> {
        let mut event = EventDef { altered_micros: now_micros(), ..known };
        if let Some(to) = &statement.rename {
            let (database, name) = event_name(&self.security(), to)?;
            let same = database == event.database && name.to_lowercase() == event.name.to_lowercase();
            if same {
                return Err(SqlError::new(ErrorCode::EventSameName, &[]));
            }
            if self.shared.events.get(&database, &name).is_some() {
                return Err(SqlError::new(ErrorCode::EventExists, &[&name]));
            }
            (event.database, event.name) = (database, name);
        }
        if let Some(schedule) = schedule {
            event.schedule = schedule;
            event.executed_micros = None;
        }
        if let Some(body) = body {
            event.body = body;
        }
        event.definer = self.security().definer(statement.definer.as_ref())?;
        event.status = statement.status.map_or(event.status, status_of);
        event.preserve = statement.preserve.unwrap_or(event.preserve);
        if let Some(comment) = &statement.comment {
            event.comment = comment.to_string();
        }
        Ok(self.with_settings(event))
    }

    async fn event_schedule(&mut self, schedule: &ast::Schedule, run: &StatementRun<'_>) -> SqlResult<Schedule> {
        let (value, unit, starts, ends) = match schedule {
            ast::Schedule::At(at) => return Ok(Schedule::At(self.event_moment(at, "AT", run).await?)),
            ast::Schedule::Every { value, unit, starts, ends } => (value, interval_unit(*unit), starts, ends),
        };
        if unit.has_microseconds() {
            return Err(SqlError::unsupported("MICROSECOND"));
        }
        let (given, sql_type) = self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
        if given.is_null() {
            return Err(SqlError::new(ErrorCode::WrongValue, &[&"INTERVAL", &"NULL"]));
        }
        // Of a single unit there is a whole number.
        let amount = match coerce::to_i64(&given, &sql_type, &run.context)? {
            Some(amount) if !unit.is_composite() => amount.to_string(),
            _ => coerce::to_text(&given, &sql_type).unwrap_or_default().trim().to_string(),
        };
        let length = interval(&amount, unit);
        let too_big = amount.parse::<i64>().is_ok_and(|amount| amount > INTERVAL_MAX);
        if too_big || !length.is_positive() || length.times(1).is_none() {
            return Err(SqlError::new(ErrorCode::EventInterval, &[]));
        }
        let starts = match starts {
            Some(starts) => self.event_moment(starts, "STARTS", run).await?,
            None => whole_seconds(run.context.now_micros),
        };
        let ends = match ends {
            Some(ends) => Some(self.event_moment(ends, "ENDS", run).await?),
            None => None,
        };
        if ends.is_some_and(|ends| ends <= starts) {
            return Err(SqlError::new(ErrorCode::EventEndsBeforeStarts, &[]));
        }
        Ok(Schedule::Every { amount, unit, starts, ends })
    }

    /// A time of a schedule, in whole seconds (1525).
    async fn event_moment(&mut self, expr: &ast::Expr, clause: &str, run: &StatementRun<'_>) -> SqlResult<i64> {
        let (value, sql_type) = self.evaluate(expr, run.request.sql, run.request.parameters, &run.context).await?;
        let moment: Option<DateTime> = match &value {
            Value::Null => None,
            value => coerce::to_datetime(value, &sql_type, &run.context)?,
        };
        let micros = moment
            .filter(|moment| !moment.date().has_zero_part())
            .map(|moment| run.context.settings.time_zone.to_unix_micros(moment).unix_micros)
            .filter(|micros| (1..MOMENT_END_MICROS).contains(micros));
        let Some(micros) = micros else {
            let shown = match value {
                Value::Null => "NULL".to_string(),
                value => coerce::to_text(&value, &sql_type).unwrap_or_default().into_owned(),
            };
            return Err(SqlError::new(ErrorCode::WrongValue, &[&clause, &shown]));
        };
        Ok(micros - micros.rem_euclid(1_000_000))
    }
}

/// Database and name of an event that may be changed (1046, 1044, 1049).
fn event_name(security: &SecurityContext<'_>, name: &ast::ObjectName) -> SqlResult<(String, String)> {
    let (database, name) = security.qualify(name)?;
    check_identifier(&name)?;
    if squall_system_tables::virtual_database(&database).is_some() {
        return Err(security.database_denied(&database));
    }
    if security.shared.catalog.load().database(&database).is_none() {
        return Err(SqlError::new(ErrorCode::BadDatabase, &[&database]));
    }
    Ok((database, name))
}

fn status_of(status: EventStatus) -> Status {
    match status {
        EventStatus::Enabled => Status::Enabled,
        EventStatus::Disabled => Status::Disabled,
        EventStatus::DisabledOnReplica => Status::DisabledOnReplica,
    }
}
