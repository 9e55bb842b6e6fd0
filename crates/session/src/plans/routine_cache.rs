//! Bodies of stored routines, parsed once for all sessions.

use parking_lot::RwLock;
use squall_catalog::{RoutineDef, RoutineName};
use squall_parser::ast::{Span, Statement};
use squall_types::SqlResult;
use std::collections::HashMap;
use std::sync::Arc;

/// Most bodies that are kept; then all are forgotten.
const ROUTINES_MAX: usize = 1024;

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
}

/// Parsed bodies by database and name. One holds as long as the catalog has the definition that it was made of.
#[derive(Debug, Default)]
pub(crate) struct RoutineCache(RwLock<HashMap<(Arc<str>, RoutineName), Arc<ParsedRoutine>>>);

impl RoutineCache {
    /// The body of a routine; `parse` makes it if it is not there.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn get(
        &self,
        database: &str,
        def: &Arc<RoutineDef>,
        parse: impl FnOnce() -> SqlResult<(Statement, Span)>,
    ) -> SqlResult<Arc<ParsedRoutine>> {
        let key = (Arc::from(database), def.key());
        if let Some(known) = self.0.read().get(&key).filter(|known| Arc::ptr_eq(&known.def, def)) {
            return Ok(known.clone());
        }
        let (body, span) = parse()?;
        let parsed = Arc::new(ParsedRoutine { database: key.0.clone(), def: def.clone(), body, span });
        let mut routines = self.0.write();
        if routines.len() >= ROUTINES_MAX {
            routines.clear();
        }
        routines.insert(key, parsed.clone());
        Ok(parsed)
    }
}
