//! Recognizes aggregations that can read an index of documents alone.

use super::sample::Sample;
use super::source::{Given, ValuesTable};
use crate::access::RowTable;
use crate::access::filter::call_of;
use crate::access::terms::json_index;
use crate::env::StatementEnv;
use datafusion::catalog::default_table_source::{provider_as_source, source_as_provider};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, TableScan, TableScanBuilder};
use squall_functions::expr::datafusion_error;
use squall_functions::operators::convert::ConvertKernel;
use squall_types::SqlType;
use squall_types::json::JsonPath;
use squall_types::json::terms::search::MemberPath;
use squall_types::json::terms::value::{TermReader, Wanted};
use std::sync::Arc;

/// Has aggregations read indexes of documents where those say all that they ask for, at less cost.
pub fn recognize(plan: LogicalPlan, env: &StatementEnv) -> Result<LogicalPlan> {
    plan.transform_down(|plan| match &plan {
        LogicalPlan::Aggregate(aggregate) => match by_index(aggregate, env)? {
            Some(by_index) => Ok(Transformed::new(LogicalPlan::Aggregate(by_index), true, TreeNodeRecursion::Jump)),
            None => Ok(Transformed::no(plan)),
        },
        _ => Ok(Transformed::no(plan)),
    })
    .data()
}

fn by_index(aggregate: &Aggregate, env: &StatementEnv) -> Result<Option<Aggregate>> {
    if !aggregate.group_expr.is_empty() {
        return Ok(None);
    }
    let Some(scan) = scan_below(&aggregate.input) else { return Ok(None) };
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = RowTable::of(provider.as_ref()) else { return Ok(None) };
    let Some(asked) = Asked::of(aggregate, table) else { return Ok(None) };
    let Some((index, document)) = index_of(table, &asked.column) else { return Ok(None) };
    let Some(reader) = TermReader::new(asked.wanted.clone()) else { return Ok(None) };
    let sample = Sample::take(table, document, &reader, env.view().map_err(datafusion_error)?);
    let Some(sample) = sample.map_err(datafusion_error)? else { return Ok(None) };
    if !table.hints.forced && !sample.is_worth_it() {
        return Ok(None);
    }
    let given = match asked.number() {
        Some(number) => Given::Numbers { expr: number.clone() },
        None => Given::Documents,
    };
    let values = ValuesTable::new(table.clone(), index, document, reader, given.clone(), sample);
    let values = provider_as_source(Arc::new(values));
    let name = scan.table_name.clone();
    let by_index = match given {
        Given::Documents => {
            let scan = TableScanBuilder::new(name, values).with_projection(scan.projection.clone());
            let scan = LogicalPlan::TableScan(scan.build()?);
            let input = aggregate.input.as_ref().clone().transform_down(|plan| match plan {
                LogicalPlan::TableScan(_) => Ok(Transformed::yes(scan.clone())),
                other => Ok(Transformed::no(other)),
            });
            let (input, aggr_expr) = (Arc::new(input.data()?), aggregate.aggr_expr.clone());
            Aggregate::try_new_with_schema(input, vec![], aggr_expr, aggregate.schema.clone())?
        }
        Given::Numbers { expr } => {
            let scan = LogicalPlan::TableScan(TableScanBuilder::new(name, values).build()?);
            let (qualifier, field) = scan.schema().qualified_field(0);
            let column = Expr::Column(Column::from((qualifier, field)));
            let aggregates = aggregate.aggr_expr.iter().map(|own| with_number(own, aggregate, &expr, &column));
            let aggr_expr = aggregates.collect::<Result<_>>()?;
            Aggregate::try_new_with_schema(Arc::new(scan), vec![], aggr_expr, aggregate.schema.clone())?
        }
    };
    Ok(Some(by_index))
}

/// An aggregate with a column where the number was.
fn with_number(own: &Expr, aggregate: &Aggregate, number: &Expr, column: &Expr) -> Result<Expr> {
    own.clone()
        .transform_down(|expr| match expr {
            Expr::AggregateFunction(mut function) => {
                for argument in &mut function.params.args {
                    let resolved = resolve(argument, &aggregate.input).unwrap_or_else(|| argument.clone());
                    let replaced = resolved.transform_down(|expr| match &expr == number {
                        true => Ok(Transformed::new(column.clone(), true, TreeNodeRecursion::Jump)),
                        false => Ok(Transformed::no(expr)),
                    });
                    *argument = replaced.data()?;
                }
                Ok(Transformed::new(Expr::AggregateFunction(function), true, TreeNodeRecursion::Jump))
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
}

/// The scan that projections alone stand above, without filters.
fn scan_below(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() && scan.filters.is_empty() => Some(scan),
        LogicalPlan::Projection(projection) => scan_below(&projection.input),
        _ => None,
    }
}

/// An expression over the columns of the scan, where projections alone stand above it.
fn resolve(expr: &Expr, plan: &LogicalPlan) -> Option<Expr> {
    let LogicalPlan::Projection(projection) = plan else { return Some(expr.clone()) };
    let resolved = expr.clone().unalias().transform_down(|expr| match &expr {
        Expr::Column(column) => {
            let at = projection.schema.index_of_column(column)?;
            let inner = resolve(&projection.expr[at], &projection.input);
            let inner = inner.ok_or_else(|| internal_datafusion_err!("a column that no input has"))?;
            Ok(Transformed::new(inner.unalias(), true, TreeNodeRecursion::Jump))
        }
        _ => Ok(Transformed::no(expr)),
    });
    resolved.ok().map(|resolved| resolved.data)
}

/// The index of a column of documents, and the column's ordinal.
fn index_of(table: &RowTable, column: &str) -> Option<(usize, usize)> {
    let by_row = table.lock.is_none() && !table.table.traits().reads_by_column && table.copy_def().is_none();
    let (ordinal, _) = table.def.column(column).filter(|_| by_row)?;
    let position = json_index(&table.def, ordinal)?;
    table.hints.allows(position).then_some((position, ordinal))
}

/// The values of documents that an aggregation needs.
struct Asked {
    column: String,
    wanted: Wanted,
    /// Whether numbers are all it asks for, and which expression is one.
    number: Option<Expr>,
    others: bool,
}

impl Asked {
    /// `None` if it asks for anything but values at one place.
    fn of(aggregate: &Aggregate, table: &RowTable) -> Option<Asked> {
        let mut all: Option<Asked> = None;
        for expr in &aggregate.aggr_expr {
            let Expr::AggregateFunction(AggregateFunction { func, params }) = expr.clone().unalias() else {
                return None;
            };
            if params.filter.is_some() || !params.order_by.is_empty() {
                return None;
            }
            let arguments = params.args.iter().map(|argument| resolve(argument, &aggregate.input));
            let arguments = arguments.collect::<Option<Vec<_>>>()?;
            let one = Asked::by_aggregate(func.name(), &arguments, params.distinct)?;
            match &mut all {
                None => all = Some(one),
                Some(all) if all.column == one.column && all.wanted == one.wanted => {
                    all.others |= one.others;
                    all.number = all.number.take().or(one.number);
                }
                Some(_) => return None,
            }
        }
        all.filter(|all| table.def.column(&all.column).is_some())
    }

    /// The number that is all that is asked for.
    fn number(&self) -> Option<&Expr> {
        self.number.as_ref().filter(|_| !self.others)
    }

    fn by_aggregate(name: &str, arguments: &[Expr], distinct: bool) -> Option<Asked> {
        match (name.to_ascii_uppercase().as_str(), arguments) {
            // Of a table without a value they are not NULL, which the scan sees to.
            ("JSON_SUM_ALL" | "JSON_MIN_ALL" | "JSON_MAX_ALL" | "JSON_AVG_ALL" | "JSON_COUNT_ALL", [document, key]) => {
                Asked::of_key(document, key)
            }
            (name @ ("SUM" | "MIN" | "MAX"), [argument]) => match call_of(argument) {
                Some((call, [document, key])) if is_of_key(name, &call.name) && !distinct => {
                    Asked::of_key(document, key)
                }
                _ => Asked::of_path(argument),
            },
            (
                "COUNT" | "AVG" | "STD" | "STDDEV" | "STDDEV_POP" | "STDDEV_SAMP" | "VARIANCE" | "VAR_POP" | "VAR_SAMP",
                [argument],
            ) => Asked::of_path(argument),
            _ => None,
        }
    }

    fn of_key(document: &Expr, key: &Expr) -> Option<Asked> {
        let (Expr::Column(document), Some(key)) = (document, text(key)) else { return None };
        let wanted = Wanted::Name(key.to_string());
        Some(Asked { column: document.name.clone(), wanted, number: None, others: true })
    }

    /// The path of an expression that is NULL where the path has no value.
    fn of_path(argument: &Expr) -> Option<Asked> {
        let (call, arguments) = call_of(argument)?;
        match (&*call.name, arguments) {
            ("JSON_EXTRACT", [Expr::Column(document), path]) => {
                let path = JsonPath::parse(text(path)?).ok()?;
                let names = path.member_names()?.into_iter().map(ToString::to_string).collect();
                let wanted = Wanted::Path(MemberPath::new(names));
                Some(Asked { column: document.name.clone(), wanted, number: None, others: true })
            }
            ("JSON_UNQUOTE", [inner]) => Asked::of_path(inner),
            ("+" | "-" | "*" | "/", [left, right]) => match (left, right) {
                (Expr::Literal(..), inner) | (inner, Expr::Literal(..)) => Asked::of_path(inner),
                _ => None,
            },
            (name, [inner]) if name.starts_with("convert to ") || name.starts_with("CAST AS ") => {
                let asked = Asked::of_path(inner)?;
                let is_number = call_of(inner).is_some_and(|(inner, _)| &*inner.name == "JSON_EXTRACT")
                    && is_conversion_to_double(call);
                if is_number {
                    return Some(Asked { number: Some(argument.clone()), others: false, ..asked });
                }
                Some(asked)
            }
            _ => None,
        }
    }
}

fn is_conversion_to_double(call: &squall_functions::expr::Call) -> bool {
    call.kernel_as::<ConvertKernel>()
        .is_some_and(|convert| convert.from == SqlType::Json && matches!(convert.to, SqlType::Double { .. }))
}

/// Whether an aggregate of a function of each document's values is that of all values together.
fn is_of_key(aggregate: &str, function: &str) -> bool {
    matches!(
        (aggregate, function),
        ("SUM", "JSON_KEY_SUM" | "JSON_KEY_COUNT") | ("MIN", "JSON_KEY_MIN") | ("MAX", "JSON_KEY_MAX")
    )
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text)), _) => Some(text),
        _ => None,
    }
}
