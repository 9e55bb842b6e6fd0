//! The procedures of the schema `async`.

use super::replay::{removed, replay};
use super::worker::run_at_once;
use super::{NAME, Shared, queue_table, set_thread_count};
use crate::captured;
use crate::history::bad_period;
use squall_catalog::{Need, Privileges};
use squall_jobs::{Cancelled, JobInfo, JobState, NewJob};
use squall_session::api::{LocalFuture, OkInfo};
use squall_session::procedure::{Parameter, ParameterMode, ProcedureHead};
use squall_session::result::{ResultSet, typed_column};
use squall_session::{Failure, Procedure, ProcedureCall};
use squall_types::temporal::Interval;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// `@query_number`: the last number that the session got.
const QUERY_NUMBER: &str = "query_number";
/// `@query_list`: all of them, until they are waited for.
const QUERY_LIST: &str = "query_list";

/// The privilege that the queries of others need.
const OTHERS: &str = "CONNECTION_ADMIN";

/// Which of the procedures.
#[derive(Clone, Copy, Debug)]
enum Task {
    Queue,
    Check,
    Wait,
    WaitList,
    WaitAll,
    Cancel,
    Drop,
    Purge,
    SetConcurrency,
}

#[derive(Debug)]
struct AsyncProcedure {
    task: Task,
    head: ProcedureHead,
    shared: Arc<Shared>,
}

/// All of them.
pub(super) fn all(shared: &Arc<Shared>) -> Vec<Arc<dyn Procedure>> {
    let id = || vec![Parameter::new("id", SqlType::BIGINT)];
    let list = || vec![Parameter::text("list").with_mode(ParameterMode::InOutOrValue)];
    let sql = || vec![Parameter::text("sql_text")];
    let interval = || vec![Parameter::text("interval")];
    let count = || vec![Parameter::new("thread_count", SqlType::BIGINT)];
    [
        (Task::Queue, "queue", sql(), "Queues a statement to be run in the background, and answers with its number."),
        (Task::Check, "check", id(), "Shows what has become of a queued statement."),
        (Task::Wait, "wait", id(), "Waits for a queued statement and answers as it does."),
        (Task::WaitList, "wait_list", list(), "Waits for each number of a list in turn."),
        (Task::WaitAll, "wait_all", Vec::new(), "Waits for everything that the session has queued."),
        (Task::Cancel, "cancel", id(), "Ends a queued statement with 70100, whether it runs or waits."),
        (Task::Drop, "drop", id(), "Forgets a statement that has ended, with its results."),
        (
            Task::Purge,
            "purge",
            interval(),
            "Forgets what ended longer ago than `1 DAY`, `7200 SECOND`, …: of all, or one's own.",
        ),
        (Task::SetConcurrency, "set_concurrency", count(), "Sets how many queued statements run at once, for good."),
    ]
    .into_iter()
    .map(|(task, name, parameters, comment)| {
        let shared = shared.clone();
        let head = ProcedureHead { database: NAME, name, parameters, comment };
        Arc::new(AsyncProcedure { task, head, shared }) as Arc<dyn Procedure>
    })
    .collect()
}

impl Procedure for AsyncProcedure {
    fn head(&self) -> &ProcedureHead {
        &self.head
    }

    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async move {
            match self.task {
                Task::Queue => self.queue(call).await,
                Task::Check => self.check(call).await,
                Task::Wait => self.wait(call).await,
                Task::WaitList => self.wait_list(call).await,
                Task::WaitAll => self.wait_all(call).await,
                Task::Cancel => self.cancel(call).await,
                Task::Drop => self.forget(call).await,
                Task::Purge => self.purge(call).await,
                Task::SetConcurrency => self.set_concurrency(call).await,
            }
        })
    }
}

/// The end of a query, and its answer if that is short.
type Outcome = (JobInfo, Option<Vec<u8>>);

fn invalid_number() -> SqlError {
    SqlError::signal(*b"99998", "Invalid QUERY_NUMBER")
}

impl AsyncProcedure {
    /// A query that the caller may know of, with its captured text.
    fn find(&self, call: &ProcedureCall<'_>, number: Option<i64>) -> SqlResult<Option<(JobInfo, Vec<u8>)>> {
        let Some(number) = number.and_then(|number| u64::try_from(number).ok()) else { return Ok(None) };
        let found = self.shared.kind()?.get(number)?;
        Ok(found.filter(|(info, _)| queue_table::sees(call.access(), &call.context().current_user, info)))
    }

    /// The end of a query that the caller may see, with its answer if that is short; an error if there is no such query (1644).
    fn outcome(&self, call: &ProcedureCall<'_>, number: Option<i64>) -> SqlResult<Outcome> {
        let number = number.and_then(|number| u64::try_from(number).ok()).ok_or_else(invalid_number)?;
        let kind = self.shared.kind()?;
        match kind.outcome(number)? {
            Some((info, _)) if !queue_table::sees(call.access(), &call.context().current_user, &info) => {
                Err(invalid_number())
            }
            Some(outcome) => Ok(outcome),
            None if kind.was_given(number) => Err(removed()),
            None => Err(invalid_number()),
        }
    }

    /// A query that the caller may know of; an error if there is none (1644).
    fn known(&self, call: &ProcedureCall<'_>, number: Option<i64>) -> SqlResult<JobInfo> {
        self.outcome(call, number).map(|(info, _)| info)
    }

    /// The query that a call is about, which the caller may end and forget: one's own, or with CONNECTION_ADMIN any.
    fn known_to_change(&self, call: &ProcedureCall<'_>) -> SqlResult<JobInfo> {
        let info = self.known(call, call.number(0))?;
        if info.owner == *call.context().current_user || call.access().has_dynamic(OTHERS) {
            return Ok(info);
        }
        Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&OTHERS]))
    }

    async fn queue(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let sql = call.text(0).ok_or_else(|| SqlError::new(ErrorCode::BadNull, &[&"sql_text"]))?;
        let payload =
            captured::encode(sql, &call.image(captured::sees_user_variables(sql)), call.database().registry());
        let owner = call.context().current_user.to_string();
        let done = run_at_once(&self.shared, &call.database(), sql, &payload);
        let job = NewJob { owner, payload, ..NewJob::default() };
        let submitted = match done {
            Some(done) => self.shared.kind()?.submit_done(job, done),
            None => self.shared.kind()?.submit(job),
        }?;
        let number = Value::Int(submitted.await? as i64);
        call.add_to_list(QUERY_LIST, &text(&number))?;
        call.set_user_variable(QUERY_NUMBER, number.clone())?;
        let mut result = ResultSet::new(vec![typed_column("QUERY_NUMBER", SqlType::BIGINT, false)]);
        result.rows.push(vec![number]);
        call.send_rows(&result).await?;
        Ok(OkInfo::default())
    }

    async fn check(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let columns = queue_table::columns().into_iter();
        let column = |(name, sql_type, nullable): (&str, _, bool)| typed_column(name, sql_type, !nullable);
        let mut result = ResultSet::new(columns.map(column).collect());
        if let Some((info, payload)) = self.find(call, call.number(0))? {
            result.rows.push(queue_table::row(&info, &payload, call.context())?);
        }
        call.send_rows(&result).await?;
        Ok(OkInfo::default())
    }

    async fn wait(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let _timer = call.start_timer();
        let outcome = self.outcome(call, call.number(0))?;
        self.answer(call, outcome).await
    }

    /// Waits for the end of a query, and answers as it does.
    async fn answer(&self, call: &mut ProcedureCall<'_>, outcome: Outcome) -> Result<OkInfo, Failure> {
        let (mut info, mut output) = outcome;
        let (kind, number) = (self.shared.kind()?.clone(), info.number);
        if !info.state.is_final() {
            let kill = call.context().kill.clone();
            tokio::select! {
                () = kind.ended(number) => {}
                error = kill.stopped() => return Err(error.into()),
            }
            (info, output) = kind.outcome(number)?.ok_or_else(removed)?;
        }
        match (info.state, info.error.take()) {
            (JobState::Done, _) => replay(call, &kind, &info, output).await,
            (_, Some(error)) => Err(error.into()),
            (state, None) => Err(SqlError::internal(format_args!("a query is {}", state.word())).into()),
        }
    }

    /// Answers as each of some queries, one after the other; then fails as the first of them that has failed.
    async fn answer_all(&self, call: &mut ProcedureCall<'_>, list: &str) -> Result<OkInfo, Failure> {
        let _timer = call.start_timer();
        let mut first_error = None;
        for number in list.split(',').map(str::trim).filter(|number| !number.is_empty()) {
            let result = match self.outcome(call, number.parse().ok()) {
                Ok(outcome) => self.answer(call, outcome).await.map(|_| ()),
                Err(error) => Err(error.into()),
            };
            match result {
                Err(Failure::Sql(error)) if call.context().kill.check().is_ok() => {
                    first_error.get_or_insert(error);
                }
                other => other?,
            }
        }
        match first_error {
            Some(error) => Err(error.into()),
            None => Ok(OkInfo::default()),
        }
    }

    async fn wait_list(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let list = call.text(0).unwrap_or_default().to_string();
        let ok = self.answer_all(call, &list).await?;
        call.set_argument(0, Value::from(""));
        Ok(ok)
    }

    async fn wait_all(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let list = call.user_variable(QUERY_LIST).map(|list| text(&list)).unwrap_or_default();
        let result = self.answer_all(call, &list).await;
        // A wait that was cut short is begun again with the same list.
        if call.context().kill.check().is_ok() {
            call.set_user_variable(QUERY_LIST, Value::from(""))?;
        }
        result
    }

    async fn cancel(&self, call: &ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let info = self.known_to_change(call)?;
        let reason = SqlError::new(ErrorCode::QueryInterrupted, &[]);
        let kind = self.shared.kind()?.clone();
        if kind.cancel(info.number, reason)? == Cancelled::Waiting {
            // Nothing has to be ended but the wait: the next check sees that it is.
            let kill = call.context().kill.clone();
            tokio::select! {
                () = kind.ended(info.number) => {}
                error = kill.stopped() => return Err(error.into()),
            }
        }
        Ok(OkInfo::default())
    }

    /// Forgets what ended a while ago; answers with how many that were.
    async fn purge(&self, call: &ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let age = call.text(0).and_then(Interval::parse_period).ok_or_else(bad_period)?;
        let own = call.context().current_user.to_string();
        let owner = (!call.access().has_dynamic(OTHERS)).then_some(own);
        let kind = self.shared.kind()?.clone();
        let affected_rows = call.blocking(move || kind.purge(age, owner.as_deref())).await?;
        Ok(OkInfo { affected_rows, ..OkInfo::default() })
    }

    async fn forget(&self, call: &mut ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        let info = self.known_to_change(call)?;
        let kind = self.shared.kind()?.clone();
        if !call.blocking(move || kind.remove(info.number)).await? {
            return Err(SqlError::signal(*b"99997", "The query has not ended").into());
        }
        Ok(OkInfo::default())
    }

    async fn set_concurrency(&self, call: &ProcedureCall<'_>) -> Result<OkInfo, Failure> {
        call.check(&[Need::table(NAME, "settings", Privileges::UPDATE, "UPDATE")])?;
        let (shared, count, context) = (self.shared.clone(), call.number(0), call.context().clone());
        call.blocking(move || set_thread_count(&shared, count, &context)).await?;
        Ok(OkInfo::default())
    }
}

/// A number or a text as text; empty for NULL.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}
