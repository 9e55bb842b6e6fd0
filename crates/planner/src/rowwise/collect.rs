//! Collects the rows that the loops find: groups them, orders them and writes them.

use super::joined_row::{FoundRow, JoinedRow, MISSING};
use super::outputs::Item;
use super::{OrderKey, RowPlan};
use crate::point::write_stored;
use squall_executor::runtime::output::write_value;
use squall_functions::expr::RowSource;
use squall_registry::ValueAccumulator;
use squall_statement_context::StatementContext;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, RowWriter, SqlResult, SqlType, Value};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A row of the result.
struct ResultRow {
    /// Rows of the tables, for columns that come out as they are stored.
    rows: Vec<Option<FoundRow>>,
    /// Values of the other items, in order.
    values: Vec<Value>,
    /// Sort keys.
    keys: Vec<Value>,
}

/// A group of rows.
struct Group {
    /// Its first row.
    rows: Vec<Option<FoundRow>>,
    states: Vec<Box<dyn ValueAccumulator>>,
    /// For each aggregate the values that it has seen, where each counts once.
    distinct: Vec<HashSet<Vec<u8>>>,
}

/// Takes the rows that the loops find.
pub(super) struct Collector<'a> {
    plan: &'a RowPlan,
    parameters: &'a [Value],
    context: &'a Arc<StatementContext>,
    offset: usize,
    /// Rows of the result at most, those left out included.
    limit: usize,
    found: Vec<ResultRow>,
    groups: Vec<Group>,
    group_of: HashMap<Vec<u8>, usize>,
    seen: HashSet<Vec<u8>>,
}

/// The whole result.
pub struct Answer {
    rows: Vec<ResultRow>,
    /// As many rows there would be without LIMIT, if that is asked for, or as there are.
    found_rows: u64,
    /// Rows read on the way.
    pub(super) rows_read: u64,
}

impl<'a> Collector<'a> {
    /// `None` if LIMIT is no number.
    pub(super) fn new(
        plan: &'a RowPlan,
        parameters: &'a [Value],
        context: &'a Arc<StatementContext>,
    ) -> Option<Collector<'a>> {
        let bound = |operand: &Option<crate::point::Operand>, absent: usize| match operand {
            None => Some(absent),
            Some(operand) => operand
                .integer(parameters)
                .filter(|bound| *bound >= 0)
                .map(|bound| bound.try_into().unwrap_or(usize::MAX)),
        };
        let offset = bound(&plan.offset, 0)?;
        let limit = bound(&plan.limit, usize::MAX)?.saturating_add(offset);
        let mut collector = Collector {
            plan,
            parameters,
            context,
            offset,
            limit,
            found: Vec::new(),
            groups: Vec::new(),
            group_of: HashMap::new(),
            seen: HashSet::new(),
        };
        if plan.grouping.as_ref().is_some_and(|grouping| grouping.always_one) {
            collector.add_group(vec![None; plan.tables.len()]);
            collector.group_of.insert(Vec::new(), 0);
        }
        Some(collector)
    }

    /// Rows of the result so far, or groups.
    pub(super) fn found(&self) -> usize {
        self.found.len() + self.groups.len()
    }

    /// Whether nothing that may still come matters.
    pub(super) fn is_full(&self) -> bool {
        let stops = self.plan.grouping.is_none() && self.plan.order.is_empty() && !self.plan.counts_found;
        stops && self.found.len() >= self.limit
    }

    /// Takes a row.
    pub(super) fn take(&mut self, row: &JoinedRow<'_>) -> SqlResult<ControlFlow<()>> {
        if self.plan.grouping.is_some() {
            self.take_into_group(row)?;
            return Ok(if self.plan.first_row_only { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        }
        let mut values = Vec::new();
        for item in &self.plan.items {
            if let Item::Expr(expr) = item {
                values.push(expr.eval(row, self.context)?);
            }
        }
        if self.plan.distinct && !self.is_new(row, &values)? {
            return Ok(ControlFlow::Continue(()));
        }
        let mut keys = Vec::with_capacity(self.plan.order.len());
        for (key, _) in &self.plan.order {
            if let OrderKey::Expr(expr) = key {
                keys.push(expr.eval(row, self.context)?);
            }
        }
        self.found.push(ResultRow { rows: row.rows.to_vec(), values, keys });
        Ok(if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Whether no row of the result has the same values yet.
    fn is_new(&mut self, row: &JoinedRow<'_>, values: &[Value]) -> SqlResult<bool> {
        let mut key = Vec::new();
        let mut values = values.iter();
        for (item, output) in self.plan.items.iter().zip(&self.plan.outputs) {
            let stored;
            let value = match item {
                Item::Column(table, ordinal, _) => {
                    stored = row.column(self.plan.tables[*table].first + ordinal)?;
                    &stored
                }
                _ => values.next().unwrap_or(&MISSING),
            };
            push_key(&sort_value(value, &output.expr_type.sql_type), &mut key);
        }
        Ok(self.seen.insert(key))
    }

    fn add_group(&mut self, rows: Vec<Option<FoundRow>>) -> usize {
        let aggregates = self.plan.grouping.iter().flat_map(|grouping| &grouping.aggregates);
        let states = aggregates.map(|aggregate| aggregate.kernel.accumulator(Arc::clone(self.context))).collect();
        self.groups.push(Group { rows, states, distinct: Vec::new() });
        self.groups.len() - 1
    }

    fn take_into_group(&mut self, row: &JoinedRow<'_>) -> SqlResult<()> {
        let Some(grouping) = &self.plan.grouping else { return Ok(()) };
        let mut key = Vec::new();
        for expr in &grouping.keys {
            push_key(&expr.eval(row, self.context)?, &mut key);
        }
        let group = match self.group_of.get(&key) {
            Some(group) => *group,
            None => {
                let group = self.add_group(row.rows.to_vec());
                self.group_of.insert(key, group);
                group
            }
        };
        let Group { states, distinct, .. } = &mut self.groups[group];
        for (number, (aggregate, state)) in grouping.aggregates.iter().zip(states).enumerate() {
            let arguments =
                aggregate.args.iter().map(|arg| arg.eval(row, self.context)).collect::<SqlResult<Vec<_>>>()?;
            if aggregate.distinct {
                let mut key = Vec::new();
                for (argument, arg) in arguments.iter().zip(&aggregate.args) {
                    push_key(&sort_value(argument, &arg.sql_type()), &mut key);
                }
                if distinct.len() <= number {
                    distinct.resize_with(number + 1, HashSet::new);
                }
                if !distinct[number].insert(key) {
                    continue;
                }
            }
            state.update(&arguments)?;
        }
        Ok(())
    }

    /// The result.
    pub(super) fn finish(mut self) -> SqlResult<Answer> {
        for group in std::mem::take(&mut self.groups) {
            let row = self.result_of(group)?;
            self.found.extend(row);
        }
        let mut rows = self.found;
        let order = &self.plan.order;
        rows.sort_by(|a, b| {
            let keys = a.keys.iter().zip(&b.keys).zip(order).map(|((a, b), (_, descending))| {
                let ordering = a.total_cmp(b);
                if *descending { ordering.reverse() } else { ordering }
            });
            keys.into_iter().find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
        });
        let all_rows = rows.len();
        rows.truncate(self.limit);
        rows.drain(..self.offset.min(rows.len()));
        let found_rows = if self.plan.counts_found { all_rows } else { rows.len() } as u64;
        Ok(Answer { rows, found_rows, rows_read: 0 })
    }

    /// The row of the result that a group gives; `None` if HAVING or DISTINCT drops it.
    fn result_of(&mut self, mut group: Group) -> SqlResult<Option<ResultRow>> {
        let aggregates = group.states.iter_mut().map(|state| state.evaluate()).collect::<SqlResult<Vec<_>>>()?;
        let row = JoinedRow {
            tables: &self.plan.tables,
            rows: &group.rows,
            aggregates: &aggregates,
            parameters: self.parameters,
            context: self.context,
        };
        if let Some(having) = &self.plan.having
            && having.eval_condition(&row, self.context)? != Some(true)
        {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.plan.items.len());
        for item in &self.plan.items {
            match item {
                Item::Column(_, _, expr) | Item::Expr(expr) => values.push(expr.eval(&row, self.context)?),
                Item::Aggregate(number) => values.push(aggregates[*number].clone()),
            }
        }
        let sorted = |at: usize| sort_value(&values[at], &self.plan.outputs[at].expr_type.sql_type);
        if self.plan.distinct {
            let mut key = Vec::new();
            (0..values.len()).for_each(|at| push_key(&sorted(at), &mut key));
            if !self.seen.insert(key) {
                return Ok(None);
            }
        }
        let mut keys = Vec::with_capacity(self.plan.order.len());
        for (key, _) in &self.plan.order {
            keys.push(match key {
                OrderKey::Item(at) => sorted(*at),
                OrderKey::Expr(expr) => expr.eval(&row, self.context)?,
                OrderKey::Aggregate(number) => {
                    let sql_type =
                        self.plan.grouping.as_ref().map(|grouping| &grouping.aggregates[*number].ty.sql_type);
                    sort_value(&aggregates[*number], sql_type.unwrap_or(&SqlType::Null))
                }
            });
        }
        Ok(Some(ResultRow { rows: Vec::new(), values, keys }))
    }
}

impl Answer {
    /// The value of `FOUND_ROWS()`.
    pub fn found_rows(&self) -> u64 {
        self.found_rows
    }

    /// Rows that were read for it.
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// Writes the rows of a plan's answer.
    pub fn write(&self, plan: &RowPlan, zone: &TimeZone, writer: &mut dyn RowWriter) -> SqlResult<()> {
        for row in &self.rows {
            writer.begin_row();
            let mut values = row.values.iter();
            for (item, output) in plan.items.iter().zip(&plan.outputs) {
                match item {
                    Item::Column(table, ordinal, _) if plan.grouping.is_none() => {
                        let table_plan = &plan.tables[*table];
                        match row.rows.get(*table) {
                            Some(Some(FoundRow::Entry(entry))) => {
                                write_value(entry.column(*ordinal)?, &output.expr_type.sql_type, writer);
                            }
                            Some(Some(FoundRow::Stored(stored))) => {
                                let sql_type = &table_plan.table.def().columns[*ordinal].sql_type;
                                write_stored(stored.view(&table_plan.table).get(*ordinal)?, sql_type, zone, writer);
                            }
                            _ => writer.put_null(),
                        }
                    }
                    _ => {
                        let value = values.next().unwrap_or(&MISSING);
                        write_value(value, &output.expr_type.sql_type, writer);
                    }
                }
            }
            writer.end_row();
        }
        Ok(())
    }
}

/// The form of a value for sorting and comparing: for texts and documents their sort key.
fn sort_value(value: &Value, sql_type: &SqlType) -> Value {
    match (value, sql_type) {
        (Value::String(text), SqlType::String { collation, .. }) if *collation != CollationId::BINARY => {
            let mut key = Vec::with_capacity(text.len() * 2);
            squall_types::collation::sort_key(*collation, text, &mut key);
            Value::Bytes(key)
        }
        (Value::Json(document), _) => {
            let mut key = Vec::with_capacity(document.stored().len());
            squall_types::json::sort_key(document.stored(), &mut key);
            Value::Bytes(key)
        }
        (value, _) => value.clone(),
    }
}

/// Appends bytes that are equal for equal values, and part of no other value's.
fn push_key(value: &Value, key: &mut Vec<u8>) {
    let mut bytes = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    match value {
        Value::Null => bytes(0, &[]),
        Value::Int(number) => bytes(1, &number.to_le_bytes()),
        Value::UInt(number) => bytes(2, &number.to_le_bytes()),
        // There are two zeros.
        Value::Double(number) => bytes(3, &(number + 0.0).to_le_bytes()),
        Value::Decimal(number) => {
            let text = number.to_string();
            let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            bytes(4, text.as_bytes());
        }
        Value::String(text) => bytes(5, text.as_bytes()),
        Value::Json(document) => bytes(5, document.stored().as_bytes()),
        Value::Bytes(text) => bytes(6, text),
        Value::Date(date) => bytes(7, &date.to_packed().to_le_bytes()),
        Value::DateTime(moment) => bytes(8, &moment.to_packed().to_le_bytes()),
        Value::Time(time) => bytes(9, &time.to_micros().to_le_bytes()),
    }
}
