//! JavaScript as a language of stored functions.

use crate::engine::{Failure, ResultForm, Task};
use crate::errors::error_of;
use crate::functions::{BINARY_BODY, PRIVILEGE, Settings, Shared, TEXT_BODY, called_body};
use squall_registry::{RoutineLanguage, StatementContext, off_pool};
use squall_types::{CollationId, SqlResult, SqlType};
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

    fn check(&self, source: &str, parameters: &[&str], context: &StatementContext) -> SqlResult<()> {
        context.demand_privilege(PRIVILEGE)?;
        // A body by itself: it ends where its text ends.
        let script = called_body(source, parameters.iter().copied());
        let task = Task {
            arguments: &[],
            form: ResultForm::Sql,
            limits: self.settings.limits(context),
            kill: &context.kill,
            zone: &context.settings.time_zone,
        };
        let checked: Result<(), Failure> = off_pool(|| self.shared.engine.check(&script, &task));
        checked.map_err(|failure| error_of(failure, source, context))
    }

    fn evaluator(&self, returns: &SqlType) -> &str {
        match returns.collation() {
            Some(CollationId::BINARY) => BINARY_BODY,
            _ => TEXT_BODY,
        }
    }
}
