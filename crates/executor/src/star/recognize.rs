//! Recognizes the aggregations that are star queries.

use super::arithmetic;
use super::node::StarAggregate;
use super::plain_aggregate::PlainAggregate;
use super::spec::{GroupPart, Join, List, Output, StarSpec};
use crate::access::filter::sort_key_column;
use crate::access::{ROW_KEY_COLUMN, RowTable};
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, Result, internal_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Aggregate as AggregatePlan, Expr, LogicalPlan, LogicalPlanBuilder, TableScan};
use squall_column_store::predicate::Predicate;
use squall_column_store::star::{Aggregate, Expression, OrderedText, TextOrder};
use squall_functions::aggregate::group_concat::GroupConcatKernel;
use squall_functions::aggregate::min_max::StringExtremeKernel;
use squall_functions::aggregate::{KernelUdaf, SumKernel};
use squall_functions::arrow_map::arrow_type;
use squall_types::collation::sort_key;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, SqlType};
use std::sync::Arc;

/// Puts star queries in the place of the aggregations that are some.
pub fn recognize(plan: LogicalPlan, zone: &TimeZone) -> Result<LogicalPlan> {
    plan.transform_down(|plan| match &plan {
        LogicalPlan::Aggregate(aggregate) => match star_of(aggregate, zone)? {
            // What is below is planned beside it as it is.
            Some(star) => Ok(Transformed::new(star, true, TreeNodeRecursion::Jump)),
            None => Ok(Transformed::no(plan)),
        },
        _ => Ok(Transformed::no(plan)),
    })
    .data()
}

/// A table of the join.
struct Leaf {
    plan: LogicalPlan,
    table: RowTable,
    /// Whether the plan is the scan alone.
    scan: Option<TableScan>,
}

/// The joined leaves, and the columns by which they are equal.
struct Tables<'p> {
    joined: &'p LogicalPlan,
    leaves: Vec<Leaf>,
    equal: Vec<(Column, Column)>,
}

fn star_of(aggregate: &AggregatePlan, zone: &TimeZone) -> Result<Option<LogicalPlan>> {
    let mut tables = Tables { joined: &aggregate.input, leaves: Vec::new(), equal: Vec::new() };
    if !tables.collect(&aggregate.input)? {
        return Ok(None);
    }
    let Some(fact) = tables.fact() else { return Ok(None) };
    let mut making = match Making::begin(&tables, fact, zone) {
        Some(making) => making,
        None => return Ok(None),
    };
    let known = aggregate.group_expr.iter().all(|expr| making.group(expr).is_some())
        && aggregate.aggr_expr.iter().all(|expr| making.output(expr).is_some());
    if !known && making.distinct_count(aggregate).is_none() && making.list(aggregate).is_none() {
        return Ok(None);
    }
    let mut dimensions = Vec::with_capacity(making.dimensions.len());
    for dimension in &making.dimensions {
        let leaf = &tables.leaves[dimension.leaf];
        let mut exprs = vec![Expr::Column(dimension.key.clone()).alias("key")];
        let behind = dimension.groups.iter().chain(&dimension.others).enumerate();
        exprs.extend(behind.map(|(at, expr)| expr.clone().alias(format!("c{at}"))));
        dimensions.push(LogicalPlanBuilder::from(leaf.plan.clone()).project(exprs)?.build()?);
    }
    let spec = making.finish();
    let beside = Arc::new(LogicalPlan::Aggregate(aggregate.clone()));
    let star = StarAggregate { spec: Arc::new(spec), beside, dimensions };
    Ok(Some(star.into_plan()))
}

impl Tables<'_> {
    /// Takes a tree of inner joins apart; `false` if it is something else.
    fn collect(&mut self, plan: &LogicalPlan) -> Result<bool> {
        match plan {
            LogicalPlan::Join(join) => {
                let plain = join.join_type == JoinType::Inner
                    && join.null_equality == NullEquality::NullEqualsNothing
                    && join.filter.is_none();
                if !plain {
                    return Ok(false);
                }
                for (left, right) in &join.on {
                    match (resolve(left, &join.left), resolve(right, &join.right)) {
                        (Some(Expr::Column(left)), Some(Expr::Column(right))) => self.equal.push((left, right)),
                        _ => return Ok(false),
                    }
                }
                Ok(self.collect(&join.left)? && self.collect(&join.right)?)
            }
            LogicalPlan::Projection(projection) if !is_leaf(plan) => self.collect(&projection.input),
            _ => self.leaf(plan),
        }
    }

    fn leaf(&mut self, plan: &LogicalPlan) -> Result<bool> {
        let Some(scan) = scan_of(plan) else { return Ok(false) };
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = RowTable::of(provider.as_ref()) else { return Ok(false) };
        let alone = matches!(plan, LogicalPlan::TableScan(_));
        self.leaves.push(Leaf { plan: plan.clone(), table: table.clone(), scan: alone.then(|| scan.clone()) });
        Ok(true)
    }

    /// The column table with the most rows.
    fn fact(&self) -> Option<usize> {
        let rows = |leaf: &Leaf| leaf.table.store.table_stats(&leaf.table.table).row_count;
        let facts = self.leaves.iter().enumerate().filter(|(_, leaf)| {
            leaf.table.lock.is_none() && leaf.scan.as_ref().is_some_and(|scan| is_by_column(&leaf.table, scan))
        });
        facts.max_by_key(|(_, leaf)| rows(leaf)).map(|(at, _)| at)
    }

    /// An expression of the leaves' columns.
    fn resolved(&self, expr: &Expr) -> Option<Expr> {
        resolve(expr, self.joined)
    }
}

/// Whether the columns of a scan are read by column: those of a column table, or a copy that is worth it.
fn is_by_column(table: &RowTable, scan: &TableScan) -> bool {
    if table.table.traits().reads_by_column {
        return true;
    }
    let wanted = scan.projection.iter().flatten().copied();
    scan.projection.is_some()
        && table.has_by_column(wanted)
        && scan.filters.iter().all(|filter| table.has_columns_of(filter))
        && table.may_prefer_copy(&scan.filters)
}

/// An expression over a tree of joins, over the columns of the tree's leaves.
fn resolve(expr: &Expr, plan: &LogicalPlan) -> Option<Expr> {
    let resolved = expr.clone().unalias().transform_down(|expr| match &expr {
        Expr::Column(column) => match resolve_column(column, plan) {
            // What it stands for is over the leaves already.
            Some(inner) => Ok(Transformed::new(inner, true, TreeNodeRecursion::Jump)),
            None => internal_err!("a column that no input has"),
        },
        _ => Ok(Transformed::no(expr)),
    });
    resolved.ok().map(|resolved| resolved.data)
}

fn resolve_column(column: &Column, plan: &LogicalPlan) -> Option<Expr> {
    match plan {
        LogicalPlan::Join(join) => match join.left.schema().has_column(column) {
            true => resolve_column(column, &join.left),
            false => resolve_column(column, &join.right),
        },
        LogicalPlan::Projection(projection) if !is_leaf(plan) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            resolve(projection.expr.get(at)?, &projection.input)
        }
        leaf => leaf.schema().has_column(column).then(|| Expr::Column(column.clone())),
    }
}

/// The name in its table of a leaf's column, unless it is calculated.
fn base_name(column: &Column, plan: &LogicalPlan) -> Option<String> {
    match plan {
        LogicalPlan::TableScan(_) => plan.schema().has_column(column).then(|| column.name.clone()),
        LogicalPlan::Filter(filter) => base_name(column, &filter.input),
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            match projection.expr.get(at)?.clone().unalias() {
                Expr::Column(inner) => base_name(&inner, &projection.input),
                _ => None,
            }
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let (qualifier, field) = alias.input.schema().qualified_field(alias.schema.maybe_index_of_column(column)?);
            base_name(&Column::new(qualifier.cloned(), field.name()), &alias.input)
        }
        _ => None,
    }
}

/// A scan, perhaps under filters and projections.
fn scan_of(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() => Some(scan),
        LogicalPlan::Filter(filter) => scan_of(&filter.input),
        LogicalPlan::Projection(projection) => scan_of(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => scan_of(&alias.input),
        _ => None,
    }
}

fn is_leaf(plan: &LogicalPlan) -> bool {
    // A projection right above the column table would hide that it is one.
    match plan {
        LogicalPlan::Projection(projection) => match projection.input.as_ref() {
            LogicalPlan::TableScan(scan) => source_as_provider(&scan.source)
                .is_ok_and(|provider| RowTable::of(provider.as_ref()).is_some_and(|table| !is_by_column(table, scan))),
            other => scan_of(other).is_some(),
        },
        _ => false,
    }
}

/// A dimension as it is found.
struct Dimension {
    leaf: usize,
    /// The column table's column.
    column: usize,
    key: Column,
    groups: Vec<Expr>,
    others: Vec<Expr>,
}

struct Making<'a> {
    tables: &'a Tables<'a>,
    fact: usize,
    dimensions: Vec<Dimension>,
    condition: Vec<Predicate>,
    groups: Vec<GroupPart>,
    kernel: Vec<Aggregate>,
    outputs: Vec<Output>,
    counts_groups: bool,
    list: Option<List>,
}

impl<'a> Making<'a> {
    /// Finds out how the dimensions are joined.
    fn begin(tables: &'a Tables<'a>, fact: usize, zone: &TimeZone) -> Option<Making<'a>> {
        let scan = tables.leaves[fact].scan.as_ref()?;
        let table = &tables.leaves[fact].table;
        let mut condition = Vec::new();
        for filter in &scan.filters {
            for part in split_conjunction(filter) {
                condition.push(table.column_predicate(part, zone)?);
            }
        }
        let mut making = Making {
            tables,
            fact,
            dimensions: Vec::new(),
            condition,
            groups: Vec::new(),
            kernel: Vec::new(),
            outputs: Vec::new(),
            counts_groups: false,
            list: None,
        };
        for leaf in (0..tables.leaves.len()).filter(|leaf| *leaf != fact) {
            let dimension = making.dimension(leaf)?;
            making.dimensions.push(dimension);
        }
        // Each equality joins one dimension, and each dimension is joined by one.
        (tables.equal.len() == making.dimensions.len()).then_some(making)
    }

    fn dimension(&self, leaf: usize) -> Option<Dimension> {
        let schema = self.tables.leaves[leaf].plan.schema();
        for (left, right) in &self.tables.equal {
            for (fact, key) in [(left, right), (right, left)] {
                let (Some(column), true) = (self.fact_column(fact), schema.has_column(key)) else { continue };
                let table = &self.tables.leaves[leaf].table;
                let ordinal = table.def.planned_column(&base_name(key, &self.tables.leaves[leaf].plan)?)?;
                let def = &table.def.columns[ordinal];
                let unique = table.def.indexes.iter().any(|index| {
                    index.unique && table.def.index_ordinals(index) == [ordinal] && index.parts[0].prefix.is_none()
                });
                let fact_type = &self.tables.leaves[self.fact].table.def.columns[column].sql_type;
                let integers = [&def.sql_type, fact_type].iter().all(|ty| matches!(ty, SqlType::Int { .. }));
                return (unique && !def.nullable && integers).then(|| Dimension {
                    leaf,
                    column,
                    key: key.clone(),
                    groups: Vec::new(),
                    others: Vec::new(),
                });
            }
        }
        None
    }

    /// The ordinal of a column of the column table.
    fn fact_column(&self, column: &Column) -> Option<usize> {
        let leaf = &self.tables.leaves[self.fact];
        if !leaf.plan.schema().has_column(column) || column.name == ROW_KEY_COLUMN {
            return None;
        }
        leaf.table.def.planned_column(&column.name)
    }

    fn fact_type(&self, ordinal: usize) -> &SqlType {
        &self.tables.leaves[self.fact].table.def.columns[ordinal].sql_type
    }

    /// The dimension that a column, or a text's sort key, is of. Other expressions would be computed for rows that join
    /// nothing, too, which may be errors or warnings, and once instead of for each row.
    fn dimension_of(&self, expr: &Expr) -> Option<usize> {
        let column = match expr {
            Expr::Column(column) => column,
            _ => sort_key_column(expr)?,
        };
        let of = |dimension: &Dimension| self.tables.leaves[dimension.leaf].plan.schema().has_column(column);
        self.dimensions.iter().position(of)
    }

    fn group(&mut self, expr: &Expr) -> Option<()> {
        let expr = self.tables.resolved(expr)?;
        if let Some(join) = self.dimension_of(&expr) {
            let groups = &mut self.dimensions[join].groups;
            let at = groups.iter().position(|known| *known == expr).unwrap_or_else(|| {
                groups.push(expr);
                groups.len() - 1
            });
            self.groups.push(GroupPart::Dimension { join, at });
            return Some(());
        }
        let part = match &expr {
            Expr::Column(column) => {
                let ordinal = self.fact_column(column)?;
                let sql_type = self.fact_type(ordinal).clone();
                is_integer(&sql_type).then_some(GroupPart::Column { ordinal, sql_type })?
            }
            _ => {
                let ordinal = self.fact_column(sort_key_column(&expr)?)?;
                let sql_type = self.fact_type(ordinal).clone();
                let table = &self.tables.leaves[self.fact].table;
                table.is_sort_key(&expr, ordinal).then_some(GroupPart::Text { ordinal, sql_type })?
            }
        };
        self.groups.push(part);
        Some(())
    }

    fn output(&mut self, expr: &Expr) -> Option<()> {
        let expr = expr.clone().unalias();
        let Expr::AggregateFunction(AggregateFunction { func, params }) = &expr else { return None };
        if params.distinct || params.filter.is_some() || !params.order_by.is_empty() {
            return None;
        }
        let [argument] = params.args.as_slice() else { return None };
        let argument = self.tables.resolved(argument)?;
        let output = match PlainAggregate::of(func) {
            Some(PlainAggregate::Count) => {
                let aggregate = match &argument {
                    Expr::Literal(scalar, _) if !scalar.is_null() => Aggregate::CountRows,
                    Expr::Column(column) => Aggregate::Count(Expression::Column(self.fact_column(column)?)),
                    _ => Aggregate::Count(self.expression(&argument)?),
                };
                Output::Count(self.add(aggregate))
            }
            Some(extreme @ (PlainAggregate::Min | PlainAggregate::Max)) => {
                let Expr::Column(column) = &argument else { return None };
                self.extreme(self.fact_column(column)?, extreme == PlainAggregate::Max)?
            }
            Some(PlainAggregate::AnyValue) => self.any_value(&argument)?,
            Some(PlainAggregate::Determined) => match self.any_value(&argument) {
                Some(output) => output,
                None => self.determined(&argument)?,
            },
            None => {
                let call = KernelUdaf::of(func)?.call();
                if let (Some(kernel), Expr::Column(column)) = (call.kernel_as::<StringExtremeKernel>(), &argument) {
                    let ordinal = self.fact_column(column)?;
                    let output = self.extreme_text(ordinal, kernel.max, kernel.collation)?;
                    self.outputs.push(output);
                    return Some(());
                }
                // Sums of doubles depend on the order of the rows.
                if !call.kernel_as::<SumKernel>()?.is_exact() {
                    return None;
                }
                let argument = self.expression(&argument)?;
                let sum = self.add(Aggregate::Sum(argument.clone()));
                Output::Sum { sum, count: self.add(Aggregate::Count(argument)), call: call.clone() }
            }
        };
        self.outputs.push(output);
        Some(())
    }

    /// MIN or MAX of a column that orders as the kernel's values do.
    fn extreme(&mut self, ordinal: usize, greatest: bool) -> Option<Output> {
        let sql_type = self.fact_type(ordinal);
        if matches!(sql_type, SqlType::String { .. }) {
            return self.extreme_text(ordinal, greatest, CollationId::BINARY);
        }
        let is_moment = matches!(sql_type, SqlType::Timestamp { .. });
        if !is_moment && !is_integer(sql_type) && !matches!(sql_type, SqlType::Float { .. } | SqlType::Double { .. }) {
            return None;
        }
        let data_type = arrow_type(sql_type);
        let argument = Expression::Column(ordinal);
        let at = self.add(if greatest { Aggregate::Max(argument) } else { Aggregate::Min(argument) });
        Some(if is_moment { Output::ExtremeMoment { at, greatest } } else { Output::Extreme { at, data_type } })
    }

    /// MIN or MAX of a text by its collation.
    fn extreme_text(&mut self, ordinal: usize, greatest: bool, by: CollationId) -> Option<Output> {
        let SqlType::String { collation, .. } = self.fact_type(ordinal) else { return None };
        if *collation != by {
            return None;
        }
        let data_type = arrow_type(self.fact_type(ordinal));
        let text = OrderedText::new(ordinal, text_order(by));
        let at = self.add(if greatest { Aggregate::MaxText(text) } else { Aggregate::MinText(text) });
        Some(Output::ExtremeText { at, ordinal, data_type })
    }

    /// COUNT(DISTINCT column) of the whole table is how many groups the column makes.
    fn distinct_count(&mut self, aggregate: &AggregatePlan) -> Option<()> {
        let ([], [expr]) = (aggregate.group_expr.as_slice(), aggregate.aggr_expr.as_slice()) else { return None };
        let expr = expr.clone().unalias();
        let Expr::AggregateFunction(AggregateFunction { func, params }) = &expr else { return None };
        let plain = PlainAggregate::of(func) == Some(PlainAggregate::Count)
            && params.distinct
            && params.filter.is_none()
            && params.order_by.is_empty();
        let ([argument], true) = (params.args.as_slice(), plain) else { return None };
        self.group(argument)?;
        // Groups of a dimension may be none of the column table's rows'.
        let counted = matches!(self.groups.as_slice(), [GroupPart::Column { .. } | GroupPart::Text { .. }]);
        self.counts_groups = counted;
        counted.then_some(())
    }

    /// GROUP_CONCAT(column) of all rows of the column table.
    fn list(&mut self, aggregate: &AggregatePlan) -> Option<()> {
        let ([], [expr]) = (aggregate.group_expr.as_slice(), aggregate.aggr_expr.as_slice()) else { return None };
        let expr = expr.clone().unalias();
        let Expr::AggregateFunction(AggregateFunction { func, params }) = &expr else { return None };
        let call = KernelUdaf::of(func)?.call();
        let kernel = call.kernel_as::<GroupConcatKernel>()?;
        let plain = self.dimensions.is_empty() && kernel.is_plain() && !params.distinct && params.filter.is_none();
        let ([argument], true) = (params.args.as_slice(), plain) else { return None };
        let Expr::Column(column) = self.tables.resolved(argument)? else { return None };
        let ordinal = self.fact_column(&column)?;
        let sql_type = self.fact_type(ordinal);
        // Types whose text is what their codes stand for.
        let listed = matches!(sql_type, SqlType::Int { zerofill: false, .. } | SqlType::String { .. });
        if !listed || kernel.source != *sql_type {
            return None;
        }
        self.list = Some(List { ordinal, call: call.clone() });
        Some(())
    }

    /// Any value of a group: GROUP BY determines it, or the statement does not care.
    fn any_value(&mut self, expr: &Expr) -> Option<Output> {
        if let Some(join) = self.dimension_of(expr) {
            let grouped =
                self.groups.iter().any(|part| matches!(part, GroupPart::Dimension { join: of, .. } if *of == join));
            if !grouped {
                return None;
            }
            let Dimension { groups, others, .. } = &mut self.dimensions[join];
            let at = others.iter().position(|known| known == expr).unwrap_or_else(|| {
                others.push(expr.clone());
                others.len() - 1
            });
            return Some(Output::AnyOfDimension { join, at: groups.len() + at });
        }
        let Expr::Column(column) = expr else { return None };
        let ordinal = self.fact_column(column)?;
        let of = |part: &GroupPart| matches!(part, GroupPart::Text { ordinal: of, .. } if *of == ordinal);
        self.groups.iter().position(of).map(|group| Output::AnyOfText { group })
    }

    /// The value of all rows of a group is the least of them.
    fn determined(&mut self, expr: &Expr) -> Option<Output> {
        let Expr::Column(column) = expr else { return None };
        let ordinal = self.fact_column(column)?;
        is_integer(self.fact_type(ordinal)).then(|| self.extreme(ordinal, false)).flatten()
    }

    /// Arithmetic on columns of the column table.
    fn expression(&self, expr: &Expr) -> Option<Expression> {
        let number = arithmetic::number(expr, &|column| {
            let ordinal = self.fact_column(column)?;
            Some((ordinal, self.fact_type(ordinal)))
        });
        number.map(|number| number.expression)
    }

    /// An aggregate of the kernel, which SUM and AVG of the same have once.
    fn add(&mut self, aggregate: Aggregate) -> usize {
        let is_same = |known: &Aggregate| match (known, &aggregate) {
            (Aggregate::CountRows, Aggregate::CountRows) => true,
            (Aggregate::Count(known), Aggregate::Count(new))
            | (Aggregate::Sum(known), Aggregate::Sum(new))
            | (Aggregate::Min(known), Aggregate::Min(new))
            | (Aggregate::Max(known), Aggregate::Max(new)) => known == new,
            _ => false,
        };
        self.kernel.iter().position(is_same).unwrap_or_else(|| {
            self.kernel.push(aggregate);
            self.kernel.len() - 1
        })
    }

    fn finish(self) -> StarSpec {
        let leaf = &self.tables.leaves[self.fact];
        let filters = leaf.scan.as_ref().map(|scan| scan.filters.clone()).unwrap_or_default();
        let joins = self.dimensions.iter().map(|dimension| Join {
            column: dimension.column,
            alias: self.tables.leaves[dimension.leaf].table.alias.clone(),
            groups: dimension.groups.len(),
        });
        StarSpec {
            fact: Arc::new(leaf.table.clone()),
            condition: Predicate::And(self.condition),
            filter: conjunction(filters),
            joins: joins.collect(),
            groups: self.groups,
            kernel: self.kernel,
            outputs: self.outputs,
            counts_groups: self.counts_groups,
            list: self.list,
        }
    }
}

/// Whether the kernel has a type's values as integers, in the order of the values.
fn is_integer(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Int { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. } | SqlType::Year => true,
        SqlType::Decimal { precision, .. } => *precision <= 18,
        _ => false,
    }
}

/// The order of a collation's texts. Collations that ignore spaces at the end do not order as bytes, also if they are called binary.
fn text_order(collation: CollationId) -> TextOrder {
    if collation == CollationId::BINARY || collation == CollationId::UTF8MB4_0900_BIN {
        return TextOrder::Bytes;
    }
    TextOrder::SortKeys(Arc::new(move |text: &[u8], key: &mut Vec<u8>| {
        sort_key(collation, &String::from_utf8_lossy(text), key);
    }))
}
