//! Bodies of triggers, parsed once for all sessions.

use crate::compiled::CompiledProgram;
use crate::plans::routine_cache::CompiledFor;
use parking_lot::{Mutex, RwLock};
use squall_catalog::{NameKey, TableDef, TableId, TriggerDef};
use squall_parser::ast::{Span, Statement};
use squall_types::{SqlResult, SqlType};
use std::collections::HashMap;
use std::sync::Arc;

/// Most tables whose triggers are kept; then all are forgotten.
const TABLES_MAX: usize = 1024;

/// The triggers of one version of a table.
#[derive(Debug)]
pub(crate) struct ParsedTriggers {
    /// The table.
    pub table: Arc<TableDef>,
    /// Their bodies, in the order of the definition.
    pub bodies: Vec<ParsedBody>,
}

/// A trigger's body as a tree.
#[derive(Debug)]
pub(crate) struct ParsedBody {
    /// The tree.
    pub body: Statement,
    /// Where that is in its text.
    pub span: Span,
    /// The same compiled, and what for.
    compiled: Mutex<Option<(CompiledFor, Arc<CompiledTrigger>)>>,
}

/// A trigger's body, compiled.
#[derive(Debug)]
pub(crate) struct CompiledTrigger {
    /// The program.
    pub program: CompiledProgram,
    /// The types of the `@variables` that it reads, as they were when it was compiled; `None` for those that were not there.
    pub user_variables: Vec<(NameKey, Option<SqlType>)>,
}

impl ParsedTriggers {
    /// The triggers of a table; `parse` makes the tree of one.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn new(
        table: &Arc<TableDef>,
        parse: impl Fn(&TriggerDef) -> SqlResult<(Statement, Span)>,
    ) -> SqlResult<ParsedTriggers> {
        let body = |trigger: &TriggerDef| {
            let (body, span) = parse(trigger)?;
            Ok(ParsedBody { body, span, compiled: Mutex::default() })
        };
        let bodies = table.triggers.iter().map(body).collect::<SqlResult<_>>()?;
        Ok(ParsedTriggers { table: table.clone(), bodies })
    }
}

impl ParsedBody {
    /// The compiled body, if it was compiled for that.
    pub fn compiled(&self, wanted: &CompiledFor) -> Option<Arc<CompiledTrigger>> {
        let compiled = self.compiled.lock();
        compiled.as_ref().filter(|(made_for, _)| made_for == wanted).map(|(_, compiled)| compiled.clone())
    }

    /// Keeps a compiled body in the place of another.
    pub fn keep_compiled(&self, made_for: CompiledFor, compiled: Arc<CompiledTrigger>) {
        *self.compiled.lock() = Some((made_for, compiled));
    }
}

/// Parsed bodies by table. They hold as long as the catalog has the definition that they were made of.
#[derive(Debug, Default)]
pub(crate) struct TriggerCache(RwLock<HashMap<TableId, Arc<ParsedTriggers>>>);

impl TriggerCache {
    /// The triggers of a table; `parse` makes the tree of one if they are not there.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn get(
        &self,
        table: &Arc<TableDef>,
        parse: impl Fn(&TriggerDef) -> SqlResult<(Statement, Span)>,
    ) -> SqlResult<Arc<ParsedTriggers>> {
        if let Some(known) = self.0.read().get(&table.id).filter(|known| Arc::ptr_eq(&known.table, table)) {
            return Ok(known.clone());
        }
        let parsed = Arc::new(ParsedTriggers::new(table, parse)?);
        let mut tables = self.0.write();
        if tables.len() >= TABLES_MAX {
            tables.clear();
        }
        tables.insert(table.id, parsed.clone());
        Ok(parsed)
    }
}
