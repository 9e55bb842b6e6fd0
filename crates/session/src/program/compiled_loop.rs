//! Compiles loops that only compute variables. They run without a statement for each step.

use super::interpreter::{Flow, Interpreter, Stop};
use crate::compiled::{CompiledProgram, Compiler, Ended, Machine, Paused, may_be_compiled};
use crate::query::SessionTables;
use squall_catalog::Invoker;
use squall_definitions::data_type::TypeRules;
use squall_parser::ast::Statement;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, Value};
use std::sync::Arc;

/// Operations between two looks at whether others want the thread.
const OPERATIONS_AT_ONCE: usize = 4096;

impl<'a> Interpreter<'_, 'a> {
    /// Runs a loop as a compiled program; `None` if it is to be run statement by statement: since it is no such loop, or since something in it
    /// fails or warns, for which there may be a handler. Then the variables are as they were.
    pub(super) async fn run_compiled(&mut self, statement: &'a Statement) -> Result<Option<Flow<'a>>, Stop> {
        if !may_be_compiled(statement) {
            return Ok(None);
        }
        let context = Arc::new(self.session.change_context());
        let Some(program) = self.compile(statement, &context)? else { return Ok(None) };
        let mut variables = self.locals.lock().values();
        variables.resize(program.variable_count(), Value::Null);
        let mut machine = Machine::default();
        let ended = loop {
            match machine.run(&program, &mut variables, self.returns, OPERATIONS_AT_ONCE, &context) {
                Ok(Err(Paused)) if context.diagnostics.count() == 0 => {}
                Ok(Ok(ended)) if context.diagnostics.count() == 0 => break ended,
                _ => {
                    self.session.process.kill.check().map_err(Stop::Failed)?;
                    return Ok(None);
                }
            }
            self.session.process.kill.check().map_err(Stop::Failed)?;
            let slice = &self.session.nesting.slice;
            if slice.is_over() {
                slice.give_way().await;
            }
        };
        self.locals.lock().set_values(variables);
        self.session.diagnostics.clear();
        Ok(Some(match ended {
            Ended::AtEnd => Flow::Next,
            Ended::Returned(value) => self.return_value(value),
        }))
    }

    fn compile(
        &mut self,
        statement: &Statement,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Option<CompiledProgram>> {
        let session = &*self.session;
        let catalog = session.shared.catalog.load();
        let tables = SessionTables::new(session, context, None);
        let binder = session.binder(self.source, &[], &catalog, context, &tables);
        let database = Values(&session.variables.session).text(ids::COLLATION_DATABASE);
        let rules = TypeRules { collation: CollationId::named(database)?, sql_mode: session.settings.bind.sql_mode };
        let mut compiler = Compiler::new(&binder, rules, Invoker::Session);
        self.locals.lock().each(|name, sql_type| {
            compiler.parameter(name, sql_type.clone());
        });
        // Each step of a loop that is not compiled has a time of its own.
        Ok(compiler.compile(statement).ok().filter(|program| program.is_immutable))
    }
}
