//! Runs the body of a procedure in another language.
//!
//! The body runs on its own thread, so that neither an event loop nor the query pool waits for it. It sends its statements to the
//! calling session, which runs them one after the other, and waits for each. Each side ends when the other has ended.

use crate::collector::{Collector, StatementResult};
use crate::converted::converted_from_script;
use crate::plans::long_statement::Text;
use crate::plans::routine_cache::{ExternalRoutine, ParsedRoutine};
use crate::plans::statements::TextStatement;
use crate::program::{ProgramKind, check_program};
use crate::result::Failure;
use crate::result::pass_on::PassOn;
use crate::result::writer::{OkInfo, ResultWriter};
use crate::session::{Request, Session};
use crate::stack::OnGrowingStack;
use crate::statement_kind::refused_for_its_rows;
use squall_accounting::GrowingCharge;
use squall_accounting::work_meter::carried;
use squall_catalog::RoutineParameterMode;
use squall_executor::runtime::STACK_BYTES;
use squall_registry::{CallerError, CallerStatement, CallerStatements, ExternalCall, RowsOf};
use squall_statement_context::{NestedResult, WaitingPlace, thread_error};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc as orders, oneshot};

/// Procedures in other languages inside of each other, at most (1456): each has a thread.
const EXTERNAL_CALLS_MAX: usize = 16;

/// A statement on its way to the session.
struct Order {
    statement: CallerStatement,
    answer: mpsc::Sender<Result<Vec<NestedResult>, CallerError>>,
}

/// The body's end of the way.
#[derive(Debug)]
struct Orders(orders::UnboundedSender<Order>);

impl CallerStatements for Orders {
    fn run(&self, statement: CallerStatement) -> Result<Vec<NestedResult>, CallerError> {
        let gone = || CallerError::Ended(SqlError::new(ErrorCode::QueryInterrupted, &[]));
        let (answer, answered) = mpsc::channel();
        self.0.send(Order { statement, answer }).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

/// Ends the body when the session is gone before it.
struct Leash(Arc<AtomicBool>);

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why a statement has no answer for the body.
enum Unanswered {
    Failed(CallerError),
    /// The client is gone.
    Client(std::io::Error),
}

impl From<SqlError> for Unanswered {
    fn from(error: SqlError) -> Self {
        Unanswered::Failed(CallerError::Failed(error))
    }
}

/// Results for the body, and what their rows are charged for.
type Answered = (Vec<NestedResult>, Option<GrowingCharge>);
type Left = SqlResult<Vec<(Value, SqlType)>>;

impl Session {
    /// Runs the body of an external procedure, within [`Session::enter_body`]. Gives the values of its parameters.
    ///
    /// # Errors
    /// 1456 for too many inside of each other; those of the body.
    pub(crate) async fn run_external(
        &mut self,
        routine: &ParsedRoutine,
        external: &ExternalRoutine,
        arguments: Vec<Value>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(OkInfo, Vec<Value>), Failure> {
        let def = &routine.def;
        if self.nesting.calls.iter().filter(|routine| routine.external.is_some()).count() > EXTERNAL_CALLS_MAX {
            return Err(SqlError::new(ErrorCode::SpRecursionLimit, &[&EXTERNAL_CALLS_MAX, &def.name]).into());
        }
        let context = Arc::new(self.change_context());
        // A SELECT has a timer of its own; the procedure has one around all that it does, unless a statement around has it.
        let _timer = match self.nesting.inside {
            None => self.start_timer_of(self.settings.max_execution_millis, &context),
            Some(_) => None,
        };
        let named = def.parameters.iter().zip(&arguments);
        let named =
            named.map(|(parameter, value)| (parameter.name.as_str().into(), parameter.sql_type.clone(), value.clone()));
        let call = ExternalCall {
            source: external.source.clone(),
            parameters: named.collect(),
            context: context.clone(),
            is_abandoned: Arc::default(),
        };
        let leash = Leash(call.is_abandoned.clone());
        let (mut incoming, ended) = start(self.shared.runtime.waiting_threads().take()?, external, call)?;
        // The variables of a program that calls it are not its own.
        let locals = self.locals.take();
        self.previous.row_count = 0;
        let served = self.serve(&mut incoming, writer).await;
        self.locals = locals;
        if served.is_err() {
            drop(leash);
        }
        drop(incoming);
        let left = ended.await;
        let has_caught = served?;
        let left = left.unwrap_or_else(|_| Err(SqlError::internal("a procedure's thread has ended")));
        let left = left.inspect_err(|error| self.note_failure(error, &context))?;
        if has_caught {
            self.diagnostics.clear();
            self.publish_counts();
        }
        let mut values = Vec::with_capacity(arguments.len());
        for ((parameter, argument), (value, from)) in def.parameters.iter().zip(arguments).zip(left) {
            values.push(match parameter.mode {
                RoutineParameterMode::In => argument,
                RoutineParameterMode::Out | RoutineParameterMode::InOut => {
                    converted_from_script(value, &from, &parameter.sql_type, &parameter.name, &context)?
                }
            });
        }
        let affected_rows = u64::try_from(self.previous.row_count).unwrap_or(0);
        Ok((OkInfo { affected_rows, ..OkInfo::default() }, values))
    }

    /// The conditions of the body's own error are added to the statement's; those of a failed statement are there already.
    fn note_failure(&mut self, error: &SqlError, context: &squall_statement_context::StatementContext) {
        if !self.diagnostics.rows().iter().any(|row| row.error == *error) {
            self.finish_with_error(error, Some(context));
        }
    }

    /// Runs the body's statements until it is over. Tells whether the last of them has failed.
    async fn serve(
        &mut self,
        incoming: &mut orders::UnboundedReceiver<Order>,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<bool> {
        let mut has_failed = false;
        // The body makes values of its own of the rows before it asks for more.
        let mut charge = None;
        while let Some(Order { statement, answer }) = incoming.recv().await {
            drop(charge.take());
            let result = match OnGrowingStack(Box::pin(self.run_ordered(&statement, writer))).await {
                Ok((results, charged)) => {
                    charge = charged;
                    Ok(results)
                }
                Err(Unanswered::Failed(error)) => Err(error),
                Err(Unanswered::Client(error)) => return Err(error),
            };
            has_failed = result.is_err();
            // A body that waits no longer has ended.
            let _ = answer.send(result);
        }
        Ok(has_failed)
    }

    async fn run_ordered(
        &mut self,
        statement: &CallerStatement,
        writer: &mut dyn ResultWriter,
    ) -> Result<Answered, Unanswered> {
        let context = statement.deadline.map(|_| self.query_context());
        let _timer = statement.deadline.zip(context).and_then(|(deadline, context)| {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.start_timer_of(u64::try_from(left.as_millis()).unwrap_or(u64::MAX), &context)
        });
        let result = match statement.rows {
            RowsOf::Client => {
                let mut passed = PassOn::new(writer);
                self.run_for_procedure(statement, &mut passed).await?;
                match passed.error {
                    Some(error) => Err(error),
                    None => Ok((vec![changed(&passed.ok.unwrap_or_default())], None)),
                }
            }
            RowsOf::Procedure { bytes_max } => {
                let mut collector = Collector::bounded(bytes_max, &self.process.memory);
                let ran = self.run_for_procedure(statement, &mut collector).await;
                if collector.is_full() {
                    return Err(Unanswered::Failed(CallerError::TooManyRows));
                }
                collector.refused()?;
                ran?;
                let results = collector.into_charged_results();
                results.map(|(results, charge)| (results.into_iter().map(nested_result).collect(), charge))
            }
        };
        result.map_err(|error| {
            let is_over = self.process.kill.is_stopped() || self.has_lost_statement();
            Unanswered::Failed(if is_over { CallerError::Ended(error) } else { CallerError::Failed(error) })
        })
    }

    /// Runs one statement of a body.
    async fn run_for_procedure(
        &mut self,
        statement: &CallerStatement,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), Unanswered> {
        let text = Text::new(statement.sql.as_bytes());
        let checked = match self.checked_statement(statement, &text).await {
            Ok(checked) => checked,
            Err(error) => {
                self.finish_with_error(&error, None);
                return Err(error.into());
            }
        };
        self.run_with_values(Request::of_text(&checked), &statement.parameters, true, writer)
            .await
            .map_err(Unanswered::Client)?;
        Ok(())
    }

    /// Parses a statement of a body: it is one that a body in SQL may have.
    async fn checked_statement<'t>(&self, ordered: &CallerStatement, text: &Text<'t>) -> SqlResult<TextStatement<'t>> {
        let checked = self.only_statement(text).await?;
        let statement = &checked.parsed.statement;
        if squall_parser::placeholders(text.bytes(), &self.parse_options()).len() != ordered.parameters.len() {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&"EXECUTE"]));
        }
        check_program(statement, ProgramKind::Procedure(&[]), &self.shared.registry.variables)?;
        if ordered.rows == RowsOf::Client
            && let Some(inside) = &self.nesting.inside
        {
            refused_for_its_rows(statement, inside.word)?;
        }
        Ok(checked)
    }
}

/// Starts the body. Its orders end when it is over.
fn start(
    place: WaitingPlace,
    external: &ExternalRoutine,
    call: ExternalCall,
) -> SqlResult<(orders::UnboundedReceiver<Order>, oneshot::Receiver<Left>)> {
    let language = external.language.clone();
    let (sender, incoming) = orders::unbounded_channel();
    let (done, ended) = oneshot::channel();
    let work = carried(move || {
        let orders = Orders(sender);
        let ran = place.run(|| catch_unwind(AssertUnwindSafe(|| language.call(&call, &orders))));
        // A session that waits no longer is gone.
        let _ = done.send(ran.unwrap_or_else(|_| Err(SqlError::internal("a procedure panicked"))));
    });
    let thread = std::thread::Builder::new().name("procedure".to_string()).stack_size(STACK_BYTES);
    thread.spawn(work).map_err(|error| thread_error(&error))?;
    Ok((incoming, ended))
}

/// The result of a statement as functions and scripts get it.
pub(super) fn nested_result(result: StatementResult) -> NestedResult {
    NestedResult {
        columns: result.columns.iter().map(|meta| (meta.name.to_string(), meta.sql_type.clone())).collect(),
        rows: result.rows,
        affected_rows: result.affected_rows,
        last_insert_id: result.last_insert_id,
    }
}

fn changed(ok: &OkInfo) -> NestedResult {
    NestedResult { affected_rows: ok.affected_rows, last_insert_id: ok.last_insert_id, ..NestedResult::default() }
}
