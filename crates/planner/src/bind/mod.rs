//! The binder turns a syntax tree into a DataFusion plan with MySQL's expressions.
//!
//! Reading order: [`Binder`]; `context` (the state), `scope` and `column` (names), `from`, `join`, `cte`, `recursive`, `recursive_form`, `view`;
//! `query`, `set_operation`, `select`, `aggregate`, `dependencies`, `window`; `expr`, `literal`, `special_call`, `functional_key`,
//! `user_variable`;
//! `subquery` and `decorrelate`.
//!
//! The binder knows the catalog, the registry and the tables of [`TableResolver`]. It must not read rows, look at the clock or know how
//! a table is stored.

mod aggregate;
mod block;
mod column;
mod common_tables;
mod context;
mod cte;
mod decorrelate;
mod dependencies;
pub mod environment;
mod expr;
pub(crate) mod from;
mod functional_key;
mod join;
mod json_table;
mod kept_parameters;
pub(crate) mod literal;
pub(crate) mod match_against;
pub mod output;
mod own_expr;
mod parameter;
mod pending_subquery;
mod plans;
mod query;
mod recursive;
mod recursive_form;
mod row_expr;
mod row_locks;
mod scope;
mod select;
mod sequence;
mod set_operation;
mod spatial_key;
mod special_call;
mod subquery;
mod table_function;
mod ties;
mod tree;
mod trigger;
mod types;
pub mod updatable;
mod user_variable;
pub(crate) mod view;
mod window;
mod window_call;

pub(crate) use block::position_of;
pub(crate) use column::NUMBER_MARK;
pub use environment::{TableRequest, TableResolver};
pub use kept_parameters::KeptParameters;
pub(crate) use kept_parameters::{compares_plainly, has_parameter};
pub(crate) use output::announced_type;
pub use output::{BoundQuery, ColumnOrigin, OutputColumn, RowLimit, TableUse};
pub use own_expr::OwnExprs;
pub use parameter::ParameterKind;
pub(crate) use row_expr::{GroupRows, HavingNames};
pub use row_expr::{RowColumn, RowTable, columns_read};
pub use row_locks::RowLocks;
pub(crate) use subquery::is_value_of_subquery;
pub use trigger::RowTriggers;
pub use types::{ARRAY_CAST, element_type, geometry_kind, interval_unit};
pub use view::{parse as parse_view, parse_error, parse_options};

use context::Context;
use squall_catalog::Catalog;
use squall_functions::build::ExprBuilder;
use squall_functions::expr::{BoundExpr, ExecutionSlot};
use squall_parser::ast;
use squall_registry::Registry;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Binds one statement.
#[derive(Clone)]
pub struct Binder<'a> {
    /// The catalog's snapshot.
    pub catalog: &'a Catalog,
    /// `USE`.
    pub default_database: Option<&'a str>,
    /// Functions.
    pub registry: &'a Registry,
    /// Settings of the statement.
    pub context: &'a Arc<StatementContext>,
    /// Tables and variables.
    pub tables: &'a dyn TableResolver,
    /// Values of `?`; empty when a statement is only prepared.
    pub params: &'a [Value],
    /// Which `?` stay parameters, so that the plan can be kept for other values of the same kinds (see
    /// [`ParameterKind`]). The others are bound as literals, whose values types and plans may depend on.
    pub kept_parameters: KeptParameters<'a>,
    /// The statement's text, which names result columns.
    pub text: &'a [u8],
    /// In ON DUPLICATE KEY UPDATE: the alias of the row to be inserted, which VALUES(column) reads.
    pub insert_values: Option<&'a str>,
    /// There too: subqueries that the INSERT's source computes, with the names of its columns that have their values.
    pub source_subqueries: &'a [(ast::Expr, ast::ColumnName)],
    /// In changes of rows: whether updatable views show the key of their table's row.
    pub row_keys_of_views: bool,
    /// In changes of rows within a transaction: how what they read is locked.
    pub change_locks: RowLocks,
}

impl<'a> Binder<'a> {
    /// Binds `?`; `None` when the statement is only prepared and there is no value yet.
    pub(crate) fn bind_parameter(&self, number: u32) -> Option<BoundExpr> {
        let value = self.params.get(number as usize)?;
        let collation = self.context.settings.collation;
        if self.kept_parameters.keeps(number)
            && let Some(kind) = ParameterKind::of(value)
            && let Some(ty) = kind.expr_type(collation)
        {
            let non_negative = kind == ParameterKind::NonNegative;
            return Some(BoundExpr::Parameter { index: number, ty, non_negative });
        }
        Some(match value {
            Value::String(text) => self.builder().string_literal(text.as_str(), collation),
            value => self.builder().literal(value.clone()),
        })
    }

    /// The builder of expressions.
    pub(crate) fn builder(&self) -> ExprBuilder<'a> {
        ExprBuilder::new(self.registry, self.context)
    }

    /// Binds a query.
    pub fn bind_query(&self, query: &ast::Query) -> SqlResult<BoundQuery> {
        self.with_constants(|| on_deep_stack(self.text, || self.bind_query_here(query)))
    }

    /// Binds a statement, with the values of user variables as constants; once more without if it calls programs that may assign them.
    pub(crate) fn with_constants<T>(&self, bind: impl Fn() -> SqlResult<T>) -> SqlResult<T> {
        let (programs, told) = (&self.context.programs, self.context.diagnostics.count());
        let read = programs.variables_read();
        let bound = bind()?;
        if programs.variables_read() == read || !programs.may_assign() {
            return Ok(bound);
        }
        self.context.diagnostics.truncate(told);
        bind()
    }

    /// Whether the statement may assign user variables: one that it only reads is a constant.
    fn assigns_variables(&self) -> bool {
        memchr::memmem::find(self.text, b":=").is_some() || self.context.programs.may_assign()
    }

    /// The names that a FROM clause's columns have without their tables', in lower case.
    pub fn names_in_from(&self, from: &[ast::TableReference]) -> SqlResult<HashSet<String>> {
        on_deep_stack(self.text, || {
            let mut context = Context::new(self);
            let block = context.new_block();
            let item = context.nested(|context| context.bind_from(from, block))?;
            Ok(item.scope(block).visible.iter().map(|column| column.name.to_lowercase()).collect())
        })
    }

    fn bind_query_here(&self, query: &ast::Query) -> SqlResult<BoundQuery> {
        let mut context = Context::new(self);
        context.assigns_variables = self.assigns_variables();
        let locks = self.change_locks.clone();
        let bound = context.nested(|context| context.bind_query_with(query, locks))?;
        let columns = bound
            .outputs
            .iter()
            .map(|output| {
                let info = context.columns.get(output.id);
                OutputColumn {
                    name: Arc::clone(&output.name),
                    expr_type: info.reference.ty.clone(),
                    origin: info.origin.clone(),
                    column: context.columns.datafusion(output.id),
                    announced: info.announced.clone(),
                }
            })
            .collect();
        Ok(BoundQuery {
            plan: bound.plan,
            columns,
            tables: context.tables,
            into: query.into.clone(),
            calc_found_rows: context.found_rows_limit,
            row_order_matters: context.row_order_matters,
            is_told_by_text: context.is_told_by_text,
            plain_parameters: context.compared_parameters.into_inner().plain(),
            known_effects: None,
            slot: context.slot,
        })
    }

    /// The slot that plans and row expressions of this statement read it from.
    pub fn slot(&self) -> Arc<ExecutionSlot> {
        ExecutionSlot::new(Arc::clone(self.context))
    }
}

/// Runs `f` with stack for as many levels of an expression as a statement of this length can have without taking more
/// stack.
///
/// A connection's thread has a small stack. Binding takes a few kilobytes of it for each level, and a level takes at
/// least a byte or two of text, so that short statements need nothing more.
fn on_deep_stack<T>(text: &[u8], f: impl FnOnce() -> T) -> T {
    /// Statements that the smallest of stacks is enough for.
    const SHORT_BYTES: usize = 400;
    if text.len() <= SHORT_BYTES { f() } else { squall_parser::ast::with_stack(f) }
}
