//! VALUES LESS THAN and VALUES IN.

use crate::constant::convert_to_column;
use crate::context::DdlContext;
use squall_catalog::{ColumnDef, PartitionBound, PartitionScheme, PartitionValues, Partitioning, TableDef};
use squall_functions::expr::EmptyRow;
use squall_parser::ast;
use squall_planner::partition::{BoundScheme, integer_of, own_exprs};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Resolves the values of a partition's definition; `is_last` tells whether it is the last of its statement.
pub fn resolve_values(
    table: &TableDef,
    scheme: &PartitionScheme,
    definition: &ast::PartitionDefinition,
    is_last: bool,
    context: &DdlContext<'_>,
) -> SqlResult<PartitionValues> {
    let resolver = Resolver { table, scheme, partition: &definition.name, context };
    match &definition.values {
        ast::PartitionValues::None if scheme.is_by_number() => Ok(PartitionValues::ByNumber),
        ast::PartitionValues::None => {
            let words = if scheme.is_range() { ("RANGE", "LESS THAN") } else { ("LIST", "IN") };
            Err(SqlError::new(ErrorCode::PartitionRequiresValues, &[&words.0, &words.1]))
        }
        ast::PartitionValues::LessThan(bounds) if scheme.is_range() => resolver.less_than(bounds, is_last),
        ast::PartitionValues::LessThan(_) => {
            Err(SqlError::new(ErrorCode::PartitionWrongValues, &[&"RANGE", &"LESS THAN"]))
        }
        ast::PartitionValues::In(rows) if scheme.is_list() => resolver.one_of(rows),
        ast::PartitionValues::In(_) => Err(SqlError::new(ErrorCode::PartitionWrongValues, &[&"LIST", &"IN"])),
        ast::PartitionValues::Default => Err(SqlError::unsupported("a DEFAULT partition")),
    }
}

struct Resolver<'a> {
    table: &'a TableDef,
    scheme: &'a PartitionScheme,
    partition: &'a str,
    context: &'a DdlContext<'a>,
}

impl Resolver<'_> {
    fn less_than(&self, bounds: &[ast::PartitionBound], is_last: bool) -> SqlResult<PartitionValues> {
        self.check_width(bounds.len(), "RANGE")?;
        let is_maximum = bounds.iter().all(|bound| matches!(bound, ast::PartitionBound::MaxValue));
        if is_maximum && !is_last {
            return Err(SqlError::new(ErrorCode::PartitionMaxvalue, &[]));
        }
        let bound = |(at, bound): (usize, &ast::PartitionBound)| match bound {
            ast::PartitionBound::MaxValue => Ok(PartitionBound::MaxValue),
            ast::PartitionBound::Expr(expr) => {
                let value = self.value(expr, at)?;
                if value.is_null() {
                    return Err(SqlError::new(ErrorCode::NullInValuesLessThan, &[]));
                }
                Ok(PartitionBound::Value(value))
            }
        };
        bounds.iter().enumerate().map(bound).collect::<SqlResult<_>>().map(PartitionValues::LessThan)
    }

    fn one_of(&self, rows: &[Vec<ast::PartitionBound>]) -> SqlResult<PartitionValues> {
        let row = |row: &Vec<ast::PartitionBound>| {
            self.check_width(row.len(), "LIST")?;
            let value = |(at, bound): (usize, &ast::PartitionBound)| match bound {
                ast::PartitionBound::MaxValue => Err(SqlError::new(ErrorCode::MaxvalueInValuesIn, &[])),
                ast::PartitionBound::Expr(expr) => self.value(expr, at),
            };
            row.iter().enumerate().map(value).collect::<SqlResult<Vec<_>>>()
        };
        rows.iter().map(row).collect::<SqlResult<_>>().map(PartitionValues::In)
    }

    /// As many values as there are columns (1653, 1657).
    fn check_width(&self, width: usize, kind: &str) -> SqlResult<()> {
        match self.scheme.columns().len() {
            0 if width == 1 => Ok(()),
            0 => Err(SqlError::new(ErrorCode::TooManyPartitionValues, &[&kind])),
            columns if columns == width => Ok(()),
            _ => Err(SqlError::new(ErrorCode::PartitionColumnLists, &[])),
        }
    }

    fn column(&self, at: usize) -> Option<&ColumnDef> {
        let id = self.scheme.columns().get(at)?;
        self.table.ordinal(*id).map(|ordinal| &self.table.columns[ordinal])
    }

    /// The value of a constant.
    fn value(&self, expr: &ast::Expr, at: usize) -> SqlResult<Value> {
        let empty = Arc::new(TableDef { columns: Vec::new(), indexes: Vec::new(), ..self.table.clone() });
        let text = crate::constant::expression_text(expr)?;
        let bound = own_exprs(&empty).bind(&text).map_err(|error| match error.is(ErrorCode::BadField) {
            true => SqlError::new(ErrorCode::BadField, &[&text.trim_matches('`'), &"partition function"]),
            false => error,
        })?;
        let from = bound.sql_type();
        let value = bound.eval(&EmptyRow, self.context.statement)?;
        let Some(column) = self.column(at) else {
            return match (&value, &from) {
                (Value::Null, _) => Ok(value),
                (Value::Int(_) | Value::UInt(_), SqlType::Int { .. } | SqlType::Year) => self.within_domain(value),
                _ => Err(SqlError::new(ErrorCode::PartitionValuesNotInt, &[&self.partition])),
            };
        };
        if value.is_null() {
            return Ok(value);
        }
        let is_text = matches!(value, Value::String(_) | Value::Bytes(_));
        let takes_text = !matches!(column.sql_type, SqlType::Int { .. });
        if is_text != takes_text && !matches!(value, Value::Date(_) | Value::DateTime(_) | Value::Time(_)) {
            return Err(SqlError::new(ErrorCode::PartitionColumnValueType, &[]));
        }
        convert_to_column(value, &column.sql_type, &column.name, self.context.statement)
            .map_err(|_| SqlError::new(ErrorCode::PartitionColumnValueType, &[]))
    }

    /// 1563 for a negative number of a function that has none.
    fn within_domain(&self, value: Value) -> SqlResult<Value> {
        let Some(text) = self.scheme.expression() else { return Ok(value) };
        let bound = own_exprs(&Arc::new(self.table.clone())).bind(text)?;
        let is_unsigned = matches!(bound.sql_type(), SqlType::Int { unsigned: true, .. });
        match is_unsigned && integer_of(&value)?.is_some_and(|value| value < 0) {
            true => Err(SqlError::new(ErrorCode::PartitionConstantDomain, &[])),
            false => Ok(value),
        }
    }
}

/// Bounds increase (1493), MAXVALUE is last (1481), and no value is in two lists (1495).
pub fn check_order(partitioning: &Partitioning, scheme: &BoundScheme) -> SqlResult<()> {
    let partitions = &partitioning.partitions;
    for pair in partitions.windows(2) {
        if let (PartitionValues::LessThan(before), PartitionValues::LessThan(after)) =
            (&pair[0].values, &pair[1].values)
        {
            if before.iter().all(|bound| *bound == PartitionBound::MaxValue) {
                return Err(SqlError::new(ErrorCode::PartitionMaxvalue, &[]));
            }
            if !scheme.is_less(before, after) {
                return Err(SqlError::new(ErrorCode::RangeNotIncreasing, &[]));
            }
        }
    }
    match scheme.has_repeated_value() {
        true => Err(SqlError::new(ErrorCode::MultipleConstantsInList, &[])),
        false => Ok(()),
    }
}
