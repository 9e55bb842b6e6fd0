//! Bodies of stored routines, parsed once for all sessions.

use crate::compiled::CompiledProgram;
use crate::plans::slot::SchemaVersions;
use parking_lot::{Mutex, RwLock};
use squall_catalog::{AccountKey, ActiveGrants, Invoker, RoutineDef, RoutineName};
use squall_parser::ast::{Span, Statement};
use squall_registry::RoutineLanguage;
use squall_statement_context::BindSettings;
use squall_types::SqlResult;
use std::collections::HashMap;
use std::sync::Arc;

/// Most bodies that are kept; then all are forgotten.
const ROUTINES_MAX: usize = 1024;

/// The body of a stored routine as a tree.
#[derive(Debug)]
pub(crate) struct ParsedBody {
    /// The statement that runs it; an empty one for a procedure or an aggregate function in another language.
    pub statement: Statement,
    /// Where it is in the text of the definition.
    pub span: Span,
    /// The body, if it is in another language.
    pub external: Option<ExternalRoutine>,
}

impl ParsedBody {
    /// One in SQL.
    pub fn of_sql((statement, span): (Statement, Span)) -> ParsedBody {
        ParsedBody { statement, span, external: None }
    }
}

/// A routine in another language.
#[derive(Clone, Debug)]
pub(crate) struct ExternalRoutine {
    pub language: Arc<dyn RoutineLanguage>,
    pub source: Arc<str>,
}

/// A routine with its body as a tree.
#[derive(Debug)]
pub(crate) struct ParsedRoutine {
    /// Its database.
    pub database: Arc<str>,
    /// Its definition.
    pub def: Arc<RoutineDef>,
    /// Its body.
    pub body: Statement,
    /// Where that is in the text of the definition.
    pub span: Span,
    /// The body, if it is in another language than SQL; `body` is that of a function then, and empty otherwise.
    pub external: Option<ExternalRoutine>,
    /// A function's body, compiled, and what for.
    compiled: Mutex<Option<(CompiledFor, Arc<CompiledProgram>)>>,
}

/// The versions that a compiled body depends on.
#[derive(Debug, PartialEq)]
pub(crate) struct CompiledFor {
    /// The settings that it was bound with.
    pub settings: Arc<BindSettings>,
    /// Functions that it calls may be others at other versions,
    pub schema: SchemaVersions,
    /// or may not be run any more
    pub accounts: u64,
    /// by this account
    pub account: AccountKey,
    /// with these grants,
    pub active_grants: Arc<ActiveGrants>,
    /// or in whose place they are called.
    pub invoker: Invoker,
}

impl ParsedRoutine {
    /// As whom it runs for an invoker.
    pub fn runs_as(&self, invoker: &Invoker) -> Invoker {
        match self.def.security_invoker {
            true => invoker.clone(),
            false => Invoker::Definer(self.def.definer.clone()),
        }
    }

    /// The compiled body, if it was compiled for that.
    pub fn compiled(&self, wanted: &CompiledFor) -> Option<Arc<CompiledProgram>> {
        let compiled = self.compiled.lock();
        compiled.as_ref().filter(|(made_for, _)| made_for == wanted).map(|(_, program)| program.clone())
    }

    /// Keeps a compiled body in the place of another.
    pub fn keep_compiled(&self, made_for: CompiledFor, program: Arc<CompiledProgram>) {
        *self.compiled.lock() = Some((made_for, program));
    }
}

/// A database, and the name of a routine in it.
type Key = (Arc<str>, RoutineName);

/// Parsed bodies by database and name. One holds as long as the catalog has the definition that it was made of.
#[derive(Debug, Default)]
pub(crate) struct RoutineCache(RwLock<HashMap<Key, Arc<ParsedRoutine>>>);

impl RoutineCache {
    /// The body of a routine; `parse` makes it if it is not there.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn get(
        &self,
        database: &str,
        def: &Arc<RoutineDef>,
        parse: impl FnOnce() -> SqlResult<ParsedBody>,
    ) -> SqlResult<Arc<ParsedRoutine>> {
        let key: Key = (database.into(), def.key());
        if let Some(known) = self.0.read().get(&key).filter(|known| Arc::ptr_eq(&known.def, def)) {
            return Ok(known.clone());
        }
        let ParsedBody { statement: body, span, external } = parse()?;
        let parsed = Arc::new(ParsedRoutine {
            database: key.0.clone(),
            def: def.clone(),
            body,
            span,
            external,
            compiled: Mutex::default(),
        });
        let mut routines = self.0.write();
        if routines.len() >= ROUTINES_MAX {
            routines.clear();
        }
        routines.insert(key, parsed.clone());
        Ok(parsed)
    }
}
