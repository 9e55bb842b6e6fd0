//! JavaScript as a language of stored routines.

use crate::aggregate::{BodyAggregate, BodyKernel};
use crate::engine::{Failure, ResultForm, Task};
use crate::errors::error_of;
use crate::functions::{BINARY_BODY, PRIVILEGE, Settings, Shared, TEXT_BODY, called_body};
use crate::{aggregate, procedure};
use squall_registry::{AggregateKernel, CallerStatements, ExternalCall, ExternalKind, RoutineLanguage};
use squall_statement_context::{StatementContext, off_pool};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;

/// `LANGUAGE JAVASCRIPT`.
#[derive(Debug)]
pub struct JavaScriptLanguage {
    settings: Settings,
    shared: Arc<Shared>,
}

impl JavaScriptLanguage {
    /// The language, on an engine.
    pub fn new(settings: Settings, shared: &Arc<Shared>) -> JavaScriptLanguage {
        JavaScriptLanguage { settings, shared: shared.clone() }
    }
}

impl RoutineLanguage for JavaScriptLanguage {
    fn name(&self) -> &str {
        "JAVASCRIPT"
    }

    fn check(
        &self,
        source: &str,
        parameters: &[&str],
        kind: ExternalKind,
        context: &StatementContext,
    ) -> SqlResult<()> {
        context.demand_privilege(PRIVILEGE)?;
        let script = match kind {
            ExternalKind::Aggregate => aggregate::called_body(source, parameters.len()),
            ExternalKind::Function => called_body(source, parameters.iter().copied()),
            ExternalKind::Procedure => procedure::called_body(source, parameters.iter().copied()),
        };
        // A body ends where its text ends: one that closes the function around it and begins another is none in a method.
        let names = if kind == ExternalKind::Aggregate { String::new() } else { parameters.join(", ") };
        let method = format!("({{ m({names}) {{ {source}\n}} }})");
        let task = Task {
            arguments: &[],
            form: ResultForm::Sql,
            limits: self.settings.limits(context),
            kill: &context.kill,
            zone: &context.settings.time_zone,
            statements: None,
            is_abandoned: None,
        };
        let checked: Result<(), Failure> =
            off_pool(|| [script, method].iter().try_for_each(|script| self.shared.engine.check(script, &task)))?;
        checked.map_err(|failure| error_of(failure, source, context))
    }

    fn evaluator(&self, returns: &SqlType) -> &str {
        match returns.collation() {
            Some(CollationId::BINARY) => BINARY_BODY,
            _ => TEXT_BODY,
        }
    }

    fn aggregate(&self, source: Arc<str>, types: Box<[SqlType]>) -> Arc<dyn AggregateKernel> {
        let kernel = BodyKernel::new(self.settings, &self.shared, source, types);
        Arc::new(BodyAggregate(Arc::new(kernel)))
    }

    fn call(&self, call: &ExternalCall, statements: &dyn CallerStatements) -> SqlResult<Vec<(Value, SqlType)>> {
        procedure::call(&self.settings, &self.shared, call, statements)
    }
}
