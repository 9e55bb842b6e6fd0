//! Recognizes a point plan in a syntax tree.

use super::key::{NamedTable, operand_of};
use super::select::{PointSelect, Shape};
use crate::bind::output::{ColumnOrigin, OutputColumn};
use datafusion::common::Column;
use squall_catalog::TableDef;
use squall_functions::arrow_map::expr_type_of;
use squall_parser::ast;
use squall_registry::{Argument, Registry};
use squall_row_store::TableStore;
use squall_statement_context::StatementContext;
use squall_types::SqlResult;
use std::sync::Arc;

/// The database and the definition of the base table that a name stands for.
pub type FoundTable = Option<(Arc<str>, Arc<TableDef>)>;

/// The point plan of a query, if it is one. `table_of` gives the base table that a name stands for, if it does.
pub fn recognize(
    query: &ast::Query,
    text: &[u8],
    context: &StatementContext,
    registry: &Registry,
    store: &dyn TableStore,
    table_of: &dyn Fn(&ast::ObjectName) -> FoundTable,
) -> SqlResult<Option<PointSelect>> {
    let Some((select, factor)) = simple_select(query) else { return Ok(None) };
    let Some((database, def)) = table_of(&factor.name) else { return Ok(None) };
    let alias: Arc<str> = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str().into();
    let reader = Reader { def: &def, alias: &alias, database: &database, text, context, registry };
    let Some(access) = select.selection.as_ref().and_then(|condition| reader.named().access(condition)) else {
        return Ok(None);
    };
    let limit = match &query.limit {
        None => None,
        Some(ast::Limit { count: Some(count), offset: None, with_ties: false }) => match operand_of(count) {
            Some(limit) => Some(limit),
            None => return Ok(None),
        },
        Some(_) => return Ok(None),
    };
    let Some((outputs, shape)) = reader.outputs(select, &query.order_by) else { return Ok(None) };
    let table = store.table(&def)?;
    Ok(Some(PointSelect::new(database.clone(), table, access, limit, outputs, shape)))
}

/// The select and the table of a query that has nothing but columns, one table, WHERE, ORDER BY and LIMIT.
fn simple_select(query: &ast::Query) -> Option<(&ast::Select, &ast::TableFactor)> {
    if query.with.is_some() || !query.locking.is_empty() || query.into.is_some() {
        return None;
    }
    let select = query.as_select()?;
    let options = ast::SelectOptions { distinct: select.options.distinct, ..ast::SelectOptions::default() };
    let plain = select.options == options
        && select.hints.is_none()
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty();
    match select.from.as_slice() {
        [ast::TableReference::Table(factor)] if plain && factor.partitions.is_empty() && factor.hints.is_empty() => {
            Some((select, factor))
        }
        _ => None,
    }
}

struct Reader<'a> {
    def: &'a Arc<TableDef>,
    alias: &'a Arc<str>,
    database: &'a Arc<str>,
    text: &'a [u8],
    context: &'a StatementContext,
    registry: &'a Registry,
}

impl Reader<'_> {
    fn named(&self) -> NamedTable<'_> {
        NamedTable { def: self.def, database: self.database, alias: self.alias }
    }

    fn ordinal(&self, expr: &ast::Expr) -> Option<usize> {
        self.named().ordinal(expr)
    }

    fn outputs(&self, select: &ast::Select, order_by: &[ast::OrderItem]) -> Option<(Vec<OutputColumn>, Shape)> {
        if let [ast::SelectItem::Expr(item)] = select.items.as_slice()
            && let ast::Expr::Aggregate(call) = &item.expr
        {
            return self.aggregate(select, order_by, item, call);
        }
        let mut outputs = Vec::new();
        let mut ordinals = Vec::new();
        for item in &select.items {
            match item {
                ast::SelectItem::Wildcard => {
                    for (ordinal, column) in self.def.columns.iter().enumerate() {
                        if !column.invisible {
                            outputs.push(self.output(&column.name, ordinal));
                            ordinals.push(ordinal);
                        }
                    }
                }
                ast::SelectItem::Expr(item) => {
                    let ordinal = self.ordinal(&item.expr)?;
                    outputs.push(self.output(&item.column_name(self.text), ordinal));
                    ordinals.push(ordinal);
                }
                ast::SelectItem::QualifiedWildcard(_) => return None,
            }
        }
        let order = match order_by {
            [] => None,
            [item] => {
                let ordinal = self.ordinal(&item.expr)?;
                // An alias hides a column of the same name.
                let plain = ordinals.contains(&ordinal)
                    && outputs.iter().zip(&ordinals).all(|(output, at)| {
                        *at == ordinal
                            || !squall_catalog::name::eq_ignore_case(&output.name, &self.def.columns[ordinal].name)
                    });
                if !plain {
                    return None;
                }
                Some((ordinal, item.descending))
            }
            _ => return None,
        };
        if select.options.distinct && ordinals.len() != 1 {
            return None;
        }
        Some((outputs, Shape::Rows { ordinals, order, distinct: select.options.distinct }))
    }

    fn aggregate(
        &self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        item: &ast::SelectExpr,
        call: &ast::AggregateCall,
    ) -> Option<(Vec<OutputColumn>, Shape)> {
        let name = match call.function {
            ast::AggregateFunction::Sum => "SUM",
            ast::AggregateFunction::Min => "MIN",
            ast::AggregateFunction::Max => "MAX",
            ast::AggregateFunction::Avg => "AVG",
            _ => return None,
        };
        let [argument] = call.arguments.as_slice() else { return None };
        if call.distinct || call.over.is_some() || select.options.distinct || !order_by.is_empty() {
            return None;
        }
        let ordinal = self.ordinal(argument)?;
        let expr_type = self.output("", ordinal).expr_type;
        if !expr_type.sql_type.is_numeric() {
            return None;
        }
        let function = self.registry.aggregate(name)?;
        let bound = function
            .bind(&[Argument { expr_type: &expr_type, literal: None, name: None }], false, self.context)
            .ok()?;
        let name: Arc<str> = item.column_name(self.text).into();
        let output = OutputColumn {
            column: Column::from_name(name.to_string()),
            name,
            expr_type: bound.result.clone(),
            origin: None,
            announced: None,
        };
        Some((vec![output], Shape::Aggregate { ordinal, kernel: bound.kernel }))
    }

    fn output(&self, name: &str, ordinal: usize) -> OutputColumn {
        let column = &self.def.columns[ordinal];
        let fields = squall_executor::access::table::field_of(column);
        OutputColumn {
            name: name.into(),
            expr_type: expr_type_of(&fields),
            origin: Some(Arc::new(ColumnOrigin {
                database: self.database.clone(),
                table: self.alias.clone(),
                org_table: self.def.name.as_str().into(),
                org_name: column.name.as_str().into(),
                base: Some((self.def.clone(), ordinal)),
                behind: None,
            })),
            column: Column::from_name(column.name.clone()),
            announced: None,
        }
    }
}
