//! EXPLAIN in MySQL's table form.

use super::condition::condition_notes;
use super::key_length::key_length;
use super::key_parts::is_key_part;
use super::readable::readable;
use super::tree::label;
use crate::bind::is_value_of_subquery;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::union::UnionExec;
use squall_catalog::{PartitionDef, PartitionSet, PartitionStorage, TableDef};
use squall_executor::TableOperator;
use squall_executor::access::path::AccessPath;
use squall_executor::access::scan::RowScanExec;
use squall_executor::access::{ColumnScanExec, RowTable};
use squall_executor::document_values::DocumentValuesExec;
use squall_executor::nearest::NearestRowsExec;
use squall_executor::operator::Operator as _;
use squall_executor::operators::json_table::JsonTableExec;
use squall_executor::operators::lookup_join::{IndexLookupJoinExec, Kept};
use squall_executor::operators::{as_hash_join, as_sort};
use squall_executor::runtime::is_hashed;
use squall_executor::star::StarExec;
use squall_row_store::Direction;
use squall_types::{CollationId, SqlType, Value};
use std::sync::Arc;

/// One line of EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// Number of the query block; `None` for the result of a UNION.
    pub id: Option<u64>,
    /// `SIMPLE`, `PRIMARY`, `UNION` …
    pub select_type: String,
    /// The table.
    pub table: Option<String>,
    /// How it is read: `ALL`, `index`, `range`, `ref`, `eq_ref`, `const`.
    pub access_type: Option<String>,
    /// Partitions that are read.
    pub partitions: Option<String>,
    /// Indexes that could be used.
    pub possible_keys: Option<String>,
    /// The index that is used.
    pub key: Option<String>,
    /// Bytes of it.
    pub key_length: Option<u64>,
    /// The expression that it is compared with.
    pub reference: Option<String>,
    /// Rows read, estimated.
    pub rows: Option<u64>,
    /// Per cent of them that are kept, estimated.
    pub filtered: Option<f64>,
    /// The column Extra.
    pub extra: Vec<&'static str>,
}

/// Names and types of EXPLAIN's columns.
pub fn explain_columns() -> Vec<(&'static str, SqlType)> {
    let text = |length| SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI);
    vec![
        ("id", SqlType::BIGINT_UNSIGNED),
        ("select_type", text(19)),
        ("table", text(64)),
        ("partitions", text(512)),
        ("type", text(10)),
        ("possible_keys", text(4096)),
        ("key", text(64)),
        ("key_len", text(4096)),
        ("ref", text(2048)),
        ("rows", SqlType::BIGINT_UNSIGNED),
        ("filtered", SqlType::Double { unsigned: false, zerofill: false, digits: Some((5, 2)) }),
        ("Extra", text(255)),
    ]
}

impl ExplainRow {
    /// The line's values in the order of [`explain_columns`].
    pub fn values(&self) -> Vec<Value> {
        let text = |text: &Option<String>| text.as_ref().map_or(Value::Null, |text| Value::String(text.clone()));
        let number = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
        let extra = if self.extra.is_empty() { Value::Null } else { Value::String(self.extra.join("; ")) };
        vec![
            number(self.id),
            Value::String(self.select_type.clone()),
            text(&self.table),
            text(&self.partitions),
            text(&self.access_type),
            text(&self.possible_keys),
            text(&self.key),
            self.key_length.map_or(Value::Null, |length| Value::String(length.to_string())),
            text(&self.reference),
            number(self.rows),
            self.filtered.map_or(Value::Null, Value::Double),
            extra,
        ]
    }
}

/// The lines of a plan.
pub fn explain_table(plan: &Arc<dyn ExecutionPlan>) -> Vec<ExplainRow> {
    let mut walker = Walker { rows: Vec::new(), block: 1, block_type: "SIMPLE", condition: None, joined: None };
    walker.walk(plan);
    if walker.rows.is_empty() {
        return vec![ExplainRow {
            id: Some(1),
            select_type: "SIMPLE".into(),
            extra: vec!["No tables used"],
            ..ExplainRow::default()
        }];
    }
    walker.rows
}

/// The condition on a table.
enum Condition {
    /// Of a filter above it.
    Filter(Arc<dyn PhysicalExpr>),
    /// Inside of what reads the table.
    Within,
}

struct Walker {
    rows: Vec<ExplainRow>,
    block: u64,
    block_type: &'static str,
    /// The filter above the next table.
    condition: Option<Condition>,
    /// How the next table is joined.
    joined: Option<&'static str>,
}

/// Whether a MIN or MAX of a whole table is the first entry of an index.
fn is_first_of_index(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return false };
    let [function] = aggregate.aggr_expr() else { return false };
    let is_extreme = ["min", "max"].iter().any(|name| function.fun().name().eq_ignore_ascii_case(name));
    if !is_extreme || !aggregate.group_expr().is_empty() {
        return false;
    }
    // The other half of the aggregate, and what only moves rows about.
    let mut input = aggregate.input();
    loop {
        if let Some(scan) = RowScanExec::of(input.as_ref()) {
            return scan.fetch == Some(1);
        }
        let passes_on = input.is::<AggregateExec>() || label(input).is_none();
        match input.children().as_slice() {
            [only] if passes_on => input = only,
            _ => return false,
        }
    }
}

impl Walker {
    fn walk(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let first_row = self.rows.len();
        if let Some(operator) = TableOperator::of(plan.as_ref())
            && self.walk_table(operator)
        {
            return;
        }
        if is_first_of_index(plan) {
            let row = ExplainRow { id: Some(self.block), select_type: self.block_type.into(), ..ExplainRow::default() };
            self.rows.push(ExplainRow { extra: vec!["Select tables optimized away"], ..row });
            return;
        }
        if let Some(table) = JsonTableExec::of(plan.as_ref()) {
            self.walk_children(plan);
            let mut row = ExplainRow { access_type: Some("ALL".into()), rows: Some(2), ..self.common(table.alias()) };
            row.extra.push("Table function: json_table; Using temporary");
            self.rows.push(row);
            return;
        }
        if plan.is::<UnionExec>() {
            self.walk_union(plan);
            return;
        }
        let filter = plan.downcast_ref::<FilterExec>();
        if let Some(filter) = filter {
            self.condition = Some(Condition::Filter(Arc::clone(filter.predicate())));
        }
        let hash = as_hash_join(plan).is_some() || plan.is::<NestedLoopJoinExec>() || plan.is::<CrossJoinExec>();
        for (position, child) in plan.children().into_iter().enumerate() {
            if hash && position > 0 {
                self.joined = Some("Using join buffer (hash join)");
            }
            self.walk(child);
        }
        let note = if as_sort(plan).is_some() {
            Some("Using filesort")
        } else if plan.downcast_ref::<AggregateExec>().is_some_and(is_hashed) {
            Some("Using temporary")
        } else {
            None
        };
        if let (Some(note), Some(row)) = (note, self.rows.get_mut(first_row))
            && !row.extra.contains(&note)
        {
            row.extra.push(note);
        }
        if filter.is_some() {
            self.condition = None;
        }
    }

    /// Adds the line of an operator that reads a table; `false` if it has none.
    fn walk_table(&mut self, operator: TableOperator<'_>) -> bool {
        if let TableOperator::Lookup(join) = operator {
            self.walk(join.outer());
        }
        let row = match operator {
            TableOperator::Rows(scan) => self.scan_row(scan),
            TableOperator::Columns(scan) => self.column_scan_row(scan),
            TableOperator::DocumentValues(scan) => self.values_row(scan),
            TableOperator::Nearest(nearest) => self.nearest_row(nearest),
            TableOperator::Star(star) => self.star_row(star),
            TableOperator::Lookup(join) => self.lookup_row(join),
            TableOperator::Virtual(_) => return false,
        };
        self.rows.push(row);
        if let TableOperator::Star(star) = operator {
            for dimension in star.dimensions() {
                self.joined = Some("Using star join");
                self.walk(dimension);
            }
        }
        true
    }

    fn walk_children(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        plan.children().into_iter().for_each(|child| self.walk(child));
    }

    fn walk_union(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let outer = (self.block, self.block_type);
        for (position, child) in plan.children().into_iter().enumerate() {
            self.block_type = if position == 0 { "PRIMARY" } else { "UNION" };
            self.walk(child);
            self.block += 1;
        }
        self.block_type = outer.1;
    }

    fn common(&mut self, alias: &str) -> ExplainRow {
        let extra = if self.condition.take().is_some() { vec!["Using where"] } else { Vec::new() };
        ExplainRow {
            id: Some(self.block),
            select_type: self.block_type.into(),
            table: Some(alias.into()),
            filtered: Some(100.0),
            extra,
            ..ExplainRow::default()
        }
    }

    fn scan_row(&mut self, scan: &RowScanExec) -> ExplainRow {
        let joined = self.joined.take();
        let notes = match self.condition.take() {
            Some(Condition::Filter(condition)) => condition_notes(scan, &condition),
            Some(Condition::Within) => vec!["Using where"],
            None => Vec::new(),
        };
        let common = ExplainRow { extra: notes, ..self.common(&scan.source.alias) };
        let mut row = path_row(&scan.source.def, &scan.path, common);
        if scan.path.covering {
            row.extra.push("Using index");
        }
        if scan.direction == Direction::Backward {
            row.extra.push("Backward index scan");
        }
        row.extra.extend(joined);
        row
    }

    fn column_scan_row(&mut self, scan: &ColumnScanExec) -> ExplainRow {
        let joined = self.joined.take();
        if scan.filter.is_some() {
            self.condition = Some(Condition::Within);
        }
        let rows = scan.visible_rows();
        let mut row =
            ExplainRow { access_type: Some("ALL".into()), rows: Some(rows), ..self.common(&scan.source.alias) };
        row.key = copy_name(&scan.source);
        row.extra.push("Using column scan");
        row.extra.extend(joined);
        row
    }

    fn values_row(&mut self, scan: &DocumentValuesExec) -> ExplainRow {
        let joined = self.joined.take();
        let index = scan.index().name.clone();
        let rows = Some(scan.source.sample.entries() as u64);
        let common = self.common(&scan.source.table.alias);
        let mut row = ExplainRow { access_type: Some("index".into()), key: Some(index), rows, ..common };
        row.extra.push("Using index");
        row.extra.extend(joined);
        row
    }

    fn nearest_row(&mut self, nearest: &NearestRowsExec) -> ExplainRow {
        let joined = self.joined.take();
        let index = nearest.index().name.clone();
        let common = self.common(&nearest.scan.source.alias);
        let (possible_keys, key, rows) = (Some(index.clone()), Some(index), Some(nearest.search.wanted as u64));
        let mut row = ExplainRow { access_type: Some("index".into()), possible_keys, key, rows, ..common };
        row.extra.extend(joined);
        row
    }

    fn star_row(&mut self, star: &StarExec) -> ExplainRow {
        let fact = &star.spec.fact;
        if star.filter.is_some() {
            self.condition = Some(Condition::Within);
        }
        let rows = fact.store.table_stats(&fact.table).row_count;
        let mut row = ExplainRow { access_type: Some("ALL".into()), rows: Some(rows), ..self.common(&fact.alias) };
        row.key = copy_name(fact);
        row.extra.push("Using star aggregate");
        row
    }

    fn lookup_row(&mut self, join: &IndexLookupJoinExec) -> ExplainRow {
        self.joined = None;
        let inner = join.inner();
        self.condition = inner.filter.as_ref().map(|_| Condition::Within);
        let source = &inner.scan.source;
        let mut row = self.common(&source.alias);
        let Some(index) = source.def.indexes.get(inner.index) else { return row };
        let parts = inner.keys.len();
        let unique = (index.unique || index.primary) && parts == index.parts.len();
        row.access_type = Some(if unique { "eq_ref" } else { "ref" }.into());
        row.possible_keys = Some(index.name.clone());
        row.key = Some(index.name.clone());
        row.key_length = Some(key_length(&source.def, index, parts));
        let references: Vec<String> = inner
            .keys
            .iter()
            .map(|key| match key.outer.downcast_ref::<datafusion::physical_expr::expressions::Column>() {
                Some(column) if is_value_of_subquery(column.name()) => "const".to_string(),
                Some(column) if !is_key_part(column, join.outer()) => readable(column.name()),
                _ => "func".to_string(),
            })
            .collect();
        row.reference = Some(references.join(","));
        row.rows = Some(source.rows_per_key(index, parts).ceil() as u64);
        match join.kept() {
            Kept::Matched => row.extra.push("FirstMatch"),
            Kept::Unmatched => row.extra.push("Not exists"),
            Kept::Pairs | Kept::PairsAndUnmatched => {}
        }
        row
    }
}

/// The name of the copy of columns that is read instead of a row table.
fn copy_name(table: &RowTable) -> Option<String> {
    table.copy_def().map(|index| index.name.clone())
}

/// The partitions of a table that are read, `p` or `p_subpartition`; `None` for a table without.
fn partition_names(def: &TableDef, read: Option<&PartitionSet>) -> Option<String> {
    let partitioning = def.partitioning.as_ref()?;
    let name = |partition: &PartitionDef, storage: &PartitionStorage| match storage.name.as_str() {
        "" => partition.name.clone(),
        sub => format!("{}_{sub}", partition.name),
    };
    let names = partitioning
        .partitions
        .iter()
        .flat_map(|partition| partition.storages.iter().map(move |storage| name(partition, storage)));
    let is_read = |at: usize| read.is_none_or(|read| read.contains(at));
    let names: Vec<String> = names.enumerate().filter(|(at, _)| is_read(*at)).map(|(_, name)| name).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// How a path reads its table.
pub fn path_row(def: &TableDef, path: &AccessPath, mut row: ExplainRow) -> ExplainRow {
    let possible: Vec<&str> =
        path.possible.iter().filter_map(|at| def.indexes.get(*at)).map(|index| &*index.name).collect();
    row.possible_keys = (!possible.is_empty()).then(|| possible.join(","));
    row.partitions = partition_names(def, path.partitions.as_deref());
    row.rows = Some(path.rows.ceil().max(1.0) as u64);
    let index = path.index_def(def);
    match (&path.ranges, index) {
        (Some(ranges), Some(index)) => {
            if ranges.ranges.is_empty() {
                row.extra.push("Impossible WHERE");
            }
            let equal = ranges.parts_constant == ranges.parts_used;
            row.access_type = Some(
                if path.unique {
                    "const"
                } else if index.is_fulltext() && !index.is_json() {
                    "fulltext"
                } else if equal {
                    "ref"
                } else {
                    "range"
                }
                .into(),
            );
            row.key = Some(index.name.clone());
            row.key_length = Some(key_length(def, index, ranges.parts_used));
            if equal || path.unique {
                row.reference = Some(vec!["const"; ranges.parts_used].join(","));
            }
        }
        (None, Some(index)) if !index.primary => {
            row.access_type = Some("index".into());
            row.key = Some(index.name.clone());
            row.key_length = Some(key_length(def, index, index.parts.len()));
        }
        _ => row.access_type = Some("ALL".into()),
    }
    row
}
