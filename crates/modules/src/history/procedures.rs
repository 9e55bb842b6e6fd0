//! The procedures of the schema `ps_history`.

use super::collector::Collector;
use super::settings::{SETTINGS, Settings, set_interval};
use super::{History, NAME, bad_period, set_period};
use squall_catalog::{Need, Privileges};
use squall_session::api::{LocalFuture, OkInfo};
use squall_session::procedure::{Parameter, ProcedureHead};
use squall_session::result::{ResultSet, typed_column};
use squall_session::{Failure, Procedure, ProcedureCall};
use squall_types::clock::now_micros;
use squall_types::temporal::Interval;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Which of the procedures.
#[derive(Clone, Copy, Debug)]
enum Task {
    Collect,
    CollectAtInterval,
    SetInterval,
    SetPeriod,
    TestPeriod,
    Truncate,
    CleanUp,
    AutoCleanUp,
    SetUp,
}

#[derive(Debug)]
struct HistoryProcedure {
    task: Task,
    head: ProcedureHead,
    history: Arc<History>,
}

/// All of them.
pub(super) fn all(history: &Arc<History>) -> Vec<Arc<dyn Procedure>> {
    let none = Vec::new;
    let seconds = || vec![Parameter::new("v_interval", SqlType::INT)];
    let period = || vec![Parameter::new("v_period", SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI))];
    let set_interval = "Sets how many seconds pass from one collection to the next, for good.";
    [
        (Task::Collect, "collect", none(), "Copies every table of performance_schema."),
        (Task::CollectAtInterval, "collect_at_interval", none(), "Collects if the last time is an interval ago."),
        (Task::SetInterval, "set_collection_interval", seconds(), set_interval),
        (Task::SetInterval, "set_collect_interval", seconds(), set_interval),
        (Task::SetPeriod, "set_retention_period", period(), "Sets how long snapshots are kept, for good."),
        (Task::TestPeriod, "test_retention_period", period(), "Fails if a text is no length of time."),
        (Task::Truncate, "truncate_tables", none(), "Lets go of all snapshots."),
        (Task::CleanUp, "cleanup_history", period(), "Lets go of snapshots that are older than a length of time."),
        (Task::AutoCleanUp, "auto_cleanup_history", none(), "Lets go of snapshots that are older than they are kept."),
        (Task::SetUp, "setup", none(), "Makes the history tables, which are always there."),
    ]
    .into_iter()
    .map(|(task, name, parameters, comment)| {
        let history = history.clone();
        let head = ProcedureHead { database: NAME, name, parameters, comment };
        Arc::new(HistoryProcedure { task, head, history }) as Arc<dyn Procedure>
    })
    .collect()
}

impl Procedure for HistoryProcedure {
    fn head(&self) -> &ProcedureHead {
        &self.head
    }

    fn call<'a>(&'a self, call: &'a mut ProcedureCall<'_>) -> LocalFuture<'a, Result<OkInfo, Failure>> {
        Box::pin(async move {
            let collector = self.history.collector()?.clone();
            match self.task {
                Task::Collect => self.collect(call, collector).await?,
                Task::CollectAtInterval => {
                    let interval = Settings::of(&collector.database()?).interval;
                    let passed = now_micros() - collector.last_refresh_micros();
                    if u128::try_from(passed).is_ok_and(|passed| passed >= interval.as_micros()) {
                        self.collect(call, collector).await?;
                    }
                }
                Task::SetInterval => {
                    require_settings(call)?;
                    let (database, interval, user) =
                        (collector.database()?, call.number(0), call.context().user.clone());
                    call.blocking(move || set_interval(&database, interval, &user)).await?;
                    self.answer(call, "Updated interval setting").await?;
                }
                Task::SetPeriod => {
                    require_settings(call)?;
                    let (database, period) = (collector.database()?, call.text(0).map(str::to_string));
                    let user = call.context().user.clone();
                    call.blocking(move || set_period(&database, period.as_deref(), &user)).await?;
                    self.answer(call, "Updated retention period setting").await?;
                }
                Task::TestPeriod => drop(period(call)?),
                Task::Truncate => {
                    require(call, Privileges::DROP)?;
                    call.blocking(move || Ok(collector.store.clear()?)).await?;
                }
                Task::CleanUp => {
                    require(call, Privileges::DELETE)?;
                    let period = period(call)?;
                    call.blocking(move || collector.clean_up(period)).await?;
                }
                Task::AutoCleanUp => {
                    require(call, Privileges::DELETE)?;
                    if let Some(period) = Settings::of(&collector.database()?).period {
                        call.blocking(move || collector.clean_up(period)).await?;
                    }
                }
                Task::SetUp => require(call, Privileges::CREATE)?,
            }
            Ok(OkInfo::default())
        })
    }
}

impl HistoryProcedure {
    async fn collect(&self, call: &ProcedureCall<'_>, collector: Arc<Collector>) -> Result<(), Failure> {
        require(call, Privileges::INSERT)?;
        if !call.blocking(move || collector.collect()).await? {
            let message = "Another collection is under way; this one was skipped";
            call.context().diagnostics.warn(SqlError::with_message(ErrorCode::UnknownError, message));
        }
        Ok(())
    }

    async fn answer(&self, call: &mut ProcedureCall<'_>, message: &str) -> Result<(), Failure> {
        let sql_type = SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI);
        let mut result = ResultSet::new(vec![typed_column("message", sql_type, true)]);
        result.rows.push(vec![Value::from(message)]);
        call.send_rows(&result).await
    }
}

/// The argument of procedures that take a length of time.
fn period(call: &ProcedureCall<'_>) -> SqlResult<Interval> {
    call.text(0).and_then(Interval::parse_period).ok_or_else(bad_period)
}

/// 1044 unless the caller has a privilege on the whole history.
fn require(call: &ProcedureCall<'_>, needed: Privileges) -> SqlResult<()> {
    call.check(&[Need::database(NAME, needed)])
}

/// 1142 unless the caller may change settings.
fn require_settings(call: &ProcedureCall<'_>) -> SqlResult<()> {
    call.check(&[Need::table(NAME, SETTINGS, Privileges::UPDATE, "UPDATE")])
}
