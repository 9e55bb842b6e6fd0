//! Binds the expressions in a table's definition: defaults, generated columns, functional key parts, checks.

use super::{Binder, KeptParameters, RowTable, TableRequest, TableResolver, parse_options};
use datafusion::catalog::TableProvider;
use squall_catalog::{Catalog, FunctionalPart, GeneratedKind, TableDef};
use squall_functions::expr::BoundExpr;
use squall_parser::ast::{Expr, SystemVariable};
use squall_registry::Registry;
use squall_statement_context::{BindSettings, StatementContext};
use squall_types::{CollationId, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Binds texts of a table's definition over its columns, whose places are their ordinals.
///
/// They are bound under the default settings: their meaning may not depend on the session. Literals have the
/// collation that [`OwnExprs::in_collation`] says.
pub struct OwnExprs<'a> {
    registry: &'a Registry,
    database: &'a str,
    def: &'a Arc<TableDef>,
    context: Arc<StatementContext>,
    catalog: Catalog,
}

impl<'a> OwnExprs<'a> {
    /// Of a table.
    pub fn new(registry: &'a Registry, database: &'a str, def: &'a Arc<TableDef>) -> Self {
        Self { registry, database, def, context: Arc::new(StatementContext::default()), catalog: Catalog::default() }
    }

    /// With literals of another collation than the default.
    pub fn in_collation(self, collation: CollationId) -> Self {
        let settings = Arc::new(BindSettings { collation, ..BindSettings::default() });
        Self { context: Arc::new(StatementContext { settings, ..StatementContext::default() }), ..self }
    }

    /// Binds the expression of a generated column.
    pub fn bind_generated(self, generated: &GeneratedKind) -> SqlResult<BoundExpr> {
        let own = match generated.key_part {
            Some(FunctionalPart::Value(collation)) => self.in_collation(collation),
            _ => self,
        };
        own.bind(&generated.expression)
    }

    /// Binds one.
    pub fn bind(&self, text: &str) -> SqlResult<BoundExpr> {
        self.bind_by(text, |binder, expr, tables| binder.bind_assigned(expr, tables))
    }

    /// Binds a condition, whatever the type of its value.
    pub fn bind_condition(&self, text: &str) -> SqlResult<BoundExpr> {
        self.bind_by(text, |binder, expr, tables| binder.bind_condition(expr, tables))
    }

    fn bind_by(
        &self,
        text: &str,
        bind: impl FnOnce(&Binder<'_>, &Expr, &[RowTable<'_>]) -> SqlResult<BoundExpr>,
    ) -> SqlResult<BoundExpr> {
        let binder = Binder {
            catalog: &self.catalog,
            default_database: Some(self.database),
            registry: self.registry,
            context: &self.context,
            tables: &NoTables,
            params: &[],
            text: text.as_bytes(),
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let expr = squall_parser::parse_expr(text, &parse_options(SqlMode::default()))
            .map_err(|_| SqlError::internal(format_args!("expression of table {}: {text}", self.def.name)))?;
        bind(&binder, &expr, &[RowTable::of(self.database, &self.def.name, self.def)])
    }
}

/// The tables and variables that a row's own expressions may use: none.
struct NoTables;

impl TableResolver for NoTables {
    fn has_catalog(&self) -> bool {
        false
    }

    fn base_table(&self, _: &TableRequest<'_>, _: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        Err(SqlError::unsupported("a table in an expression of a row"))
    }

    fn system_variable(&self, _: &SystemVariable) -> SqlResult<(Value, SqlType)> {
        Err(SqlError::unsupported("a variable in an expression of a row"))
    }
}
