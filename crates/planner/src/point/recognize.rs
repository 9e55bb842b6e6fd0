//! Seeing a point plan in a syntax tree.

use super::select::{Operand, PointAccess, PointSelect, Shape};
use crate::bind::output::{ColumnOrigin, OutputColumn};
use datafusion::common::Column;
use squall_catalog::TableDef;
use squall_functions::arrow_map::expr_type_of;
use squall_parser::ast;
use squall_registry::{Argument, Registry, StatementContext};
use squall_row_store::RowStore;
use squall_types::{SqlResult, SqlType, Value};
use std::sync::Arc;

/// The database and the definition of the base table that a name stands for.
pub type NamedTable = Option<(Arc<str>, Arc<TableDef>)>;

/// The point plan of a query, if it is one. `table_of` gives the base table that a name stands for, if it does.
pub fn recognize(
    query: &ast::Query,
    text: &[u8],
    registry: &Registry,
    store: &RowStore,
    table_of: &dyn Fn(&ast::ObjectName) -> NamedTable,
) -> SqlResult<Option<PointSelect>> {
    let Some((select, factor)) = simple_select(query) else { return Ok(None) };
    let Some((database, def)) = table_of(&factor.name) else { return Ok(None) };
    let alias: Arc<str> = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str().into();
    let reader = Reader { def: &def, alias: &alias, database: &database };
    let Some(access) = select.selection.as_ref().and_then(|condition| reader.access(condition)) else {
        return Ok(None);
    };
    let single = matches!(access, PointAccess::Row { .. });
    if let Some(limit) = &query.limit {
        // One row is all that a key finds; LIMIT 0 and offsets are for others.
        let harmless = limit.offset.is_none()
            && matches!(&limit.count, Some(ast::Expr::Literal(ast::Literal::Integer(count)))
                if count.parse::<u64>().is_ok_and(|count| count > 0));
        if !single || !harmless {
            return Ok(None);
        }
    }
    let Some((outputs, shape)) = reader.outputs(select, &query.order_by, text, registry) else { return Ok(None) };
    let table = store.table(&def)?;
    Ok(Some(PointSelect::new(table, access, outputs, shape)))
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
}

impl Reader<'_> {
    fn ordinal(&self, expr: &ast::Expr) -> Option<usize> {
        let ast::Expr::Column(name) = expr else { return None };
        if name.table.as_ref().is_some_and(|table| **table != **self.alias)
            || name.schema.as_ref().is_some_and(|schema| **schema != **self.database)
        {
            return None;
        }
        self.def.column(&name.column).map(|(ordinal, _)| ordinal)
    }

    /// The look-up that a condition asks for.
    fn access(&self, condition: &ast::Expr) -> Option<PointAccess> {
        if let ast::Expr::Between { operand, low, high, negated: false } = condition {
            return self.range(operand, low, high);
        }
        let conditions: &[ast::Expr] = match condition {
            ast::Expr::And(parts) => parts,
            one => std::slice::from_ref(one),
        };
        let mut equal: Vec<(usize, Operand)> = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let ast::Expr::Binary { op: ast::BinaryOp::Equal, left, right } = condition else { return None };
            let (ordinal, operand) = match self.ordinal(left) {
                Some(ordinal) => (ordinal, operand_of(right)?),
                None => (self.ordinal(right)?, operand_of(left)?),
            };
            if !is_lookup_type(&self.def.columns[ordinal].sql_type) || equal.iter().any(|(known, _)| *known == ordinal)
            {
                return None;
            }
            equal.push((ordinal, operand));
        }
        let (position, columns) = self.def.indexes.iter().enumerate().find_map(|(position, index)| {
            let columns = self.def.index_ordinals(index);
            let whole = columns.len() == equal.len()
                && index.parts.iter().all(|part| part.prefix.is_none())
                && columns.iter().all(|column| equal.iter().any(|(known, _)| known == column));
            (whole && (index.primary || index.unique) && !index.invisible).then_some((position, columns))
        })?;
        let operands = columns
            .iter()
            .filter_map(|column| equal.iter().find(|(known, _)| known == column).map(|(_, operand)| operand.clone()))
            .collect();
        Some(PointAccess::Row { index: position, operands })
    }

    /// A range of the primary key, if that is one integer.
    fn range(&self, operand: &ast::Expr, low: &ast::Expr, high: &ast::Expr) -> Option<PointAccess> {
        let key = self.def.primary_key()?;
        let [part] = key.parts.as_slice() else { return None };
        let column = self.def.ordinal(part.column)?;
        let integer = matches!(self.def.columns[column].sql_type, SqlType::Int { .. });
        if self.ordinal(operand)? != column || !integer || part.descending {
            return None;
        }
        Some(PointAccess::Range { low: operand_of(low)?, high: operand_of(high)? })
    }

    fn outputs(
        &self,
        select: &ast::Select,
        order_by: &[ast::OrderItem],
        text: &[u8],
        registry: &Registry,
    ) -> Option<(Vec<OutputColumn>, Shape)> {
        if let [ast::SelectItem::Expr(item)] = select.items.as_slice()
            && let ast::Expr::Aggregate(call) = &item.expr
        {
            return self.aggregate(select, order_by, item, call, text, registry);
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
                    outputs.push(self.output(&item.column_name(text), ordinal));
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
        text: &[u8],
        registry: &Registry,
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
        let function = registry.aggregate(name)?;
        let bound = function
            .bind(&[Argument { expr_type: &expr_type, literal: None }], false, &StatementContext::default())
            .ok()?;
        let name: Arc<str> = item.column_name(text).into();
        let output = OutputColumn {
            column: Column::from_name(name.to_string()),
            name,
            expr_type: bound.result.clone(),
            origin: None,
        };
        Some((vec![output], Shape::Aggregate { ordinal, kernel: bound.kernel }))
    }

    fn output(&self, name: &str, ordinal: usize) -> OutputColumn {
        let column = &self.def.columns[ordinal];
        let fields = crate::access::table::field_of(column);
        OutputColumn {
            name: name.into(),
            expr_type: expr_type_of(&fields),
            origin: Some(Arc::new(ColumnOrigin {
                database: self.database.clone(),
                table: self.alias.clone(),
                org_table: self.def.name.as_str().into(),
                org_name: column.name.as_str().into(),
                base: Some((self.def.clone(), ordinal)),
            })),
            column: Column::from_name(column.name.clone()),
        }
    }
}

/// Types whose equality with a constant is a key's equality.
fn is_lookup_type(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Int { .. } | SqlType::String { .. } | SqlType::Date | SqlType::DateTime { .. })
}

fn operand_of(expr: &ast::Expr) -> Option<Operand> {
    match expr {
        ast::Expr::Placeholder(number) => Some(Operand::Parameter(*number)),
        ast::Expr::Literal(ast::Literal::Integer(digits)) => Some(Operand::Value(Value::Int(digits.parse().ok()?))),
        ast::Expr::Literal(ast::Literal::String(text)) if text.introducer.is_none() => {
            Some(Operand::Value(Value::String(text.value.as_str()?.to_string())))
        }
        ast::Expr::Unary { op: ast::UnaryOp::Minus, operand } => match operand.as_ref() {
            ast::Expr::Literal(ast::Literal::Integer(digits)) => {
                Some(Operand::Value(Value::Int(digits.parse::<i64>().ok()?.checked_neg()?)))
            }
            _ => None,
        },
        _ => None,
    }
}
