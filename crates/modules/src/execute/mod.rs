//! The module `execute`: the function EXECUTE(), and lists of statements in the background.
//!
//! The crate `session` runs lists of statements in child sessions ([`squall_session::execute`]), as for the statement `EXECUTE …
//! CONCURRENT`. This module adds the function (`SELECT EXECUTE('…')`), jobs that run lists later (`background`), and the table
//! `data_dictionary.execute_history` that shows them (`history`).

mod background;
mod history;

use self::background::Jobs;
use squall_functions::library::support::{self, Args, Def, result};
use squall_jobs::{KindSpec, OnRestart};
use squall_registry::Registry;
use squall_session::database::BackgroundStatements;
use squall_session::execute::child::DYNAMIC_EXECUTE;
use squall_session::execute::list::FAILED_STATEMENT;
use squall_session::{Database, Module};
use squall_system_variables::definition::{Unit, unsigned};
use squall_system_variables::{Scope, VariableDef, VariableId};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;
use std::time::Duration;

/// The name of the module and of its kind of jobs.
const NAME: &str = "execute";
const MODE: VariableId = VariableId::of("execute_function_mode");
const RETENTION: &str = "execute_history_retention";
const WORKERS: &str = "execute_background_threads";
/// In this mode EXECUTE() is not waited for, unless its call says so.
const BACKGROUND: &str = "background";

const VARIABLES: &[VariableDef] = &[
    unsigned(
        WORKERS,
        Scope::Global,
        4,
        1,
        1024,
        "Most lists of statements of EXECUTE in the background that run at once.",
    ),
    unsigned(
        RETENTION,
        Scope::Global,
        7 * 24 * 3600,
        0,
        100 * 365 * 24 * 3600,
        "Seconds that EXECUTE in the background is in data_dictionary.execute_history after its end.",
    )
    .unit(Unit::Seconds),
];

const FUNCTIONS: &[Def] =
    &[Def::new("EXECUTE", (1, 2), result::nullable_boolean, execute).takes_null().running_texts()];

/// `EXECUTE(text [, wait])`: 1 when all statements have succeeded, or are queued; NULL for no text.
fn execute(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text_or_null(0).unwrap_or_default();
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let context = args.context;
    let nested = context.nested.as_ref();
    let nested = nested.ok_or_else(|| SqlError::new(ErrorCode::SpecificAccessDenied, &[&DYNAMIC_EXECUTE]))?;
    let is_background = *context.variables.session.get(MODE) == Value::from(BACKGROUND);
    match args.len() < 2 && is_background {
        true => nested.queue_list(&text, context)?,
        false => {
            nested.run_list(&text, context)?;
        }
    }
    Ok(Value::Int(1))
}

/// The module.
#[derive(Debug, Default)]
pub(crate) struct ExecuteModule {
    jobs: Arc<Jobs>,
}

impl Module for ExecuteModule {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "EXECUTE(), and lists of statements in the background."
    }

    fn declare(&self, registry: &mut Registry) {
        for definition in VARIABLES {
            registry.variables.declare(*definition);
        }
        registry.register_privilege(DYNAMIC_EXECUTE);
        registry.register_errors(&[("ER_FAILED_STATEMENT", FAILED_STATEMENT)]);
        support::register(registry, FUNCTIONS);
        registry.register_virtual_table(Arc::new(history::History::new(self.jobs.clone())));
    }

    fn background_statements(&self) -> Option<Arc<dyn BackgroundStatements>> {
        Some(self.jobs.clone())
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        let handler = Arc::new(background::ListHandler::new(Arc::downgrade(&self.jobs)));
        let kind = database.jobs().register(KindSpec {
            // None, until what they need is there.
            workers: 0,
            durable: true,
            on_restart: OnRestart::Fail,
            ..KindSpec::new(NAME, handler)
        })?;
        self.jobs.start(database, kind);
        self.variables_changed()
    }

    fn variables_changed(&self) -> SqlResult<()> {
        let (Ok(kind), Ok(database)) = (self.jobs.kind(), self.jobs.database()) else { return Ok(()) };
        let workers = usize::try_from(number(&database, WORKERS)).unwrap_or(usize::MAX);
        if kind.worker_limit() != workers {
            kind.set_workers(workers);
        }
        let retention = Duration::from_secs(number(&database, RETENTION));
        if kind.retention() != retention {
            kind.set_retention(retention);
        }
        Ok(())
    }
}

fn number(database: &Database, name: &str) -> u64 {
    let id = database.registry().variables.find(name);
    match id.map(|id| database.globals().get(id).clone()) {
        Some(Value::UInt(number)) => number,
        _ => 0,
    }
}
