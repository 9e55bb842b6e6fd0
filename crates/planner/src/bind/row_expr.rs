//! Binds expressions over the rows of given tables, without a query: for changes of rows, CHECK constraints, defaults and generated
//! columns.

use super::Binder;
use super::block::Aggregate;
use super::column::ColumnId;
use super::context::{Context, Frame};
use super::output::ColumnOrigin;
use super::scope::{Clause, Relation, RelationColumn, Scope};
use super::tree::rewrite_down;
use datafusion::common::TableReference;
use squall_catalog::{ColumnDef, TableDef};
use squall_functions::aggregate::AggregateCall;
use squall_functions::expr::{BoundExpr, ColumnRef};
use squall_parser::ast;
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// A table whose row an expression reads.
#[derive(Clone, Debug)]
pub struct RowTable<'a> {
    /// Its database, if names may be qualified with it.
    pub database: Option<&'a str>,
    /// Its alias in the statement.
    pub alias: &'a str,
    /// Its columns in order.
    pub columns: Vec<RowColumn<'a>>,
    /// Its definition, for DEFAULT(column).
    pub definition: Option<&'a Arc<TableDef>>,
    /// Whether only names that say the table find its columns.
    pub qualified_only: bool,
    /// Whether they may say it in any case: OLD and NEW of triggers.
    pub any_case: bool,
    /// Whether an outer join may have NULL in place of each of its columns.
    pub may_be_missing: bool,
}

/// A column of a row.
#[derive(Clone, Debug)]
pub struct RowColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub expr_type: ExprType,
}

impl<'a> RowTable<'a> {
    /// All columns of a table.
    pub fn of(database: &'a str, alias: &'a str, definition: &'a Arc<TableDef>) -> Self {
        let columns = definition
            .columns
            .iter()
            .map(|column| RowColumn {
                name: &column.name,
                expr_type: ExprType::of_column(column.sql_type.clone(), column.nullable),
            })
            .collect();
        Self {
            database: Some(database),
            alias,
            columns,
            definition: Some(definition),
            qualified_only: false,
            any_case: false,
            may_be_missing: false,
        }
    }
}

/// The names that an expression over groups of rows may use.
pub(crate) struct GroupRows<'g> {
    /// The tables whose rows are in the groups.
    pub tables: &'g [RowTable<'g>],
    /// The aggregates that are known.
    pub aggregates: &'g mut Vec<Arc<AggregateCall>>,
    /// For HAVING.
    pub having: Option<HavingNames<'g>>,
}

/// The further names that HAVING may use.
pub(crate) struct HavingNames<'g> {
    /// The select list by name.
    pub aliases: Vec<(Arc<str>, BoundExpr)>,
    /// GROUP BY.
    pub keys: &'g [BoundExpr],
}

/// 1111: rows are not gathered by ROLLUP here, so there is no GROUPING.
fn check_groupings(frame: &Frame) -> SqlResult<()> {
    match frame.groupings.is_empty() {
        true => Ok(()),
        false => Err(SqlError::new(ErrorCode::InvalidGroupFuncUse, &[])),
    }
}

impl Binder<'_> {
    /// Binds an expression over rows. A column's ordinal in the result counts through the tables in order: those of the
    /// first, then those of the second. Subqueries, aggregates and windows are errors: such expressions need a query.
    pub fn bind_expr(&self, expr: &ast::Expr, tables: &[RowTable<'_>]) -> SqlResult<BoundExpr> {
        self.bind_exprs(std::slice::from_ref(expr), tables)?
            .pop()
            .ok_or_else(|| SqlError::internal("one expression gives one"))
    }

    /// Binds several.
    pub fn bind_exprs(&self, exprs: &[ast::Expr], tables: &[RowTable<'_>]) -> SqlResult<Vec<BoundExpr>> {
        self.bind_row_exprs(exprs, tables, Clause::FieldList, false)
    }

    /// Binds a value that a column or variable is given: with all digits that are known of it.
    pub fn bind_assigned(&self, expr: &ast::Expr, tables: &[RowTable<'_>]) -> SqlResult<BoundExpr> {
        self.bind_expr(expr, tables).map(|expr| self.builder().unrounded(expr))
    }

    /// Binds a condition over rows, as in WHERE.
    pub fn bind_condition(&self, expr: &ast::Expr, tables: &[RowTable<'_>]) -> SqlResult<BoundExpr> {
        self.bind_row_exprs(std::slice::from_ref(expr), tables, Clause::Where, true)?
            .pop()
            .ok_or_else(|| SqlError::internal("one expression gives one"))
    }

    fn bind_row_exprs(
        &self,
        exprs: &[ast::Expr],
        tables: &[RowTable<'_>],
        clause: Clause,
        conditions: bool,
    ) -> SqlResult<Vec<BoundExpr>> {
        super::on_deep_stack(self.text, || self.bind_row_exprs_here(exprs, tables, clause, conditions))
    }

    fn bind_row_exprs_here(
        &self,
        exprs: &[ast::Expr],
        tables: &[RowTable<'_>],
        clause: Clause,
        conditions: bool,
    ) -> SqlResult<Vec<BoundExpr>> {
        let mut context = Context::new(self);
        context.assigns_variables = self.assigns_variables();
        let scope = row_scope(&mut context, tables);
        let (bound, frame) = context.with_frame(Frame::new(scope, clause), |context| {
            exprs
                .iter()
                .map(|expr| {
                    if !conditions {
                        return context.bind_expr(expr);
                    }
                    let condition = context.bind_condition(expr)?;
                    context.with_spatial_keys(condition)
                })
                .collect::<SqlResult<Vec<_>>>()
        })?;
        check_groupings(&frame)?;
        match frame.subqueries.is_empty() {
            true => Ok(bound),
            false => Err(SqlError::unsupported("a subquery in an expression of one row")),
        }
    }

    /// Binds an expression over groups of rows. The value of an aggregate in it is a column behind those of the tables; aggregates that are not
    /// known yet are added to `groups`.
    pub(crate) fn bind_group_expr(&self, expr: &ast::Expr, groups: GroupRows<'_>) -> SqlResult<BoundExpr> {
        super::on_deep_stack(self.text, || self.bind_group_expr_here(expr, groups))
    }

    fn bind_group_expr_here(&self, expr: &ast::Expr, groups: GroupRows<'_>) -> SqlResult<BoundExpr> {
        let GroupRows { tables, aggregates, having } = groups;
        let mut context = Context::new(self);
        context.assigns_variables = self.assigns_variables();
        let scope = row_scope(&mut context, tables);
        let block = scope.block;
        let width: usize = tables.iter().map(|table| table.columns.len()).sum();
        let clause = if having.is_some() { Clause::Having } else { Clause::FieldList };
        let mut frame = Frame::new(scope, clause);
        frame.aggregates_allowed = true;
        for call in aggregates.iter() {
            let id = context.columns.add_computed(block, &call.to_string(), call.ty.clone());
            frame.aggregates.push(Aggregate { id, call: call.clone() });
        }
        let is_condition = having.is_some();
        if let Some(having) = having {
            frame.aliases = having.aliases;
            frame.group = having.keys.to_vec();
        }
        let (bound, frame) = context.with_frame(frame, |context| match is_condition {
            true => context.bind_condition(expr),
            false => context.bind_expr(expr),
        })?;
        check_groupings(&frame)?;
        if !frame.subqueries.is_empty() {
            return Err(SqlError::unsupported("a subquery in an expression of one row"));
        }
        let ids: Vec<ColumnId> = frame.aggregates.iter().map(|aggregate| aggregate.id).collect();
        aggregates.extend(frame.aggregates.into_iter().skip(aggregates.len()).map(|aggregate| aggregate.call));
        Ok(rewrite_down(bound, &mut |node| {
            let BoundExpr::Column(column) = node else { return None };
            let number = ids.iter().position(|id| *id == column.ordinal)?;
            Some(BoundExpr::Column(Arc::new(ColumnRef { ordinal: width + number, ..(**column).clone() })))
        }))
    }

    /// Whether an expression can be bound by [`Binder::bind_expr`]: nothing in it needs a query.
    pub fn is_row_expr(&self, expr: &ast::Expr, tables: &[RowTable<'_>]) -> SqlResult<bool> {
        match self.bind_expr(expr, tables) {
            Ok(_) => Ok(true),
            Err(error) if error.is(ErrorCode::NotSupportedYet) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The names of a block whose FROM are these tables.
fn row_scope(context: &mut Context<'_>, tables: &[RowTable<'_>]) -> Scope {
    let block = context.new_block();
    let mut scope = Scope { block, ..Scope::default() };
    for table in tables {
        let relation = row_relation(context, table, block);
        let visible = if table.qualified_only { Vec::new() } else { relation.visible() };
        scope.extend(vec![relation], visible);
    }
    scope
}

fn row_relation(context: &mut Context<'_>, table: &RowTable<'_>, block: u32) -> Relation {
    let alias: Arc<str> = table.alias.into();
    let database: Option<Arc<str>> = table.database.map(Into::into);
    let reference = TableReference::bare(table.alias);
    let columns = table
        .columns
        .iter()
        .enumerate()
        .map(|(ordinal, column)| {
            let display = match &database {
                Some(database) => format!("`{database}`.`{alias}`.`{}`", column.name),
                None => format!("`{alias}`.`{}`", column.name),
            };
            let name: Arc<str> = column.name.into();
            let origin = ColumnOrigin {
                database: database.clone().unwrap_or_else(|| "".into()),
                table: Arc::clone(&alias),
                org_table: table.definition.map_or_else(|| Arc::clone(&alias), |table| table.name.as_str().into()),
                org_name: Arc::clone(&name),
                base: table.definition.map(|definition| (Arc::clone(definition), ordinal)),
                behind: None,
            };
            let id: ColumnId = context.columns.add(
                block,
                Some(reference.clone()),
                column.name,
                &display,
                column.expr_type.clone(),
                Some(Arc::new(origin)),
            );
            if table.may_be_missing {
                context.columns.make_nullable(id);
            }
            let defined = table.definition.and_then(|definition| definition.columns.get(ordinal));
            let invisible = defined.is_some_and(|column| column.invisible);
            let hidden = defined.is_some_and(ColumnDef::is_hidden);
            RelationColumn { name, id, invisible, hidden }
        })
        .collect();
    Relation { alias, database, columns, definition: table.definition.cloned(), any_case: table.any_case }
}

/// The ordinals of the columns that an expression reads.
pub fn columns_read(expr: &BoundExpr) -> Vec<usize> {
    let mut ordinals = Vec::new();
    expr.visit(&mut |node| {
        if let BoundExpr::Column(column) = node {
            let column: &ColumnRef = column;
            if !ordinals.contains(&column.ordinal) {
                ordinals.push(column.ordinal);
            }
        }
    });
    ordinals
}
