//! Runs the nested loops of a small query.

use super::collect::{Answer, Collector};
use super::joined_row::{FoundRow, JoinedRow};
use super::loops::Level;
use super::{ROWS_MAX, RowPlan};
use squall_accounting::PlanCounts;
use squall_catalog::{Authorized, IndexDef};
use squall_executor::access::filter::predicate_of_bound;
use squall_executor::access::fulltext::SnapshotWords;
use squall_executor::access::key::{IndexKey, storage_range};
use squall_executor::access::range::{EncodedRange, index_ranges};
use squall_executor::access::terms;
use squall_functions::expr::BoundExpr;
use squall_row_store::{Direction, ReadView, TableStore};
use squall_statement_context::{StatementContext, TableOperation};
use squall_types::{SqlError, SqlResult, Value};
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Why the loops end early.
enum Stop {
    /// There are as many rows as were asked for.
    Enough,
    /// The query is not small.
    TooMany,
    Failed(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Failed(error)
    }
}

struct Run<'a> {
    plan: &'a RowPlan,
    view: &'a ReadView,
    parameters: &'a [Value],
    context: &'a Arc<StatementContext>,
    rows: Vec<Option<FoundRow>>,
    rows_read: usize,
    bytes_read: usize,
    /// How each table was read.
    reads: Vec<TableRead>,
    collector: Collector<'a>,
}

impl RowPlan {
    /// Runs the query; `None` if it is not small, or something is wrong with it, which the full planner will say.
    pub fn run(
        plan: Authorized<&RowPlan>,
        (view, store): (&ReadView, &impl TableStore),
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> Option<Answer> {
        let noted = context.diagnostics.count();
        let _words = plan.ranks.then(|| SnapshotWords::read_by(context, view, store.shared()));
        let answer = plan.run_loops(view, parameters, context).ok().flatten();
        let quiet = context.diagnostics.count() == noted;
        context.diagnostics.truncate(noted);
        answer.filter(|_| quiet)
    }

    fn run_loops(
        &self,
        view: &ReadView,
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> SqlResult<Option<Answer>> {
        let Some(collector) = Collector::new(self, parameters, context) else { return Ok(None) };
        let mut run = Run {
            plan: self,
            view,
            parameters,
            context,
            rows: vec![None; self.tables.len()],
            rows_read: 0,
            bytes_read: 0,
            reads: vec![TableRead::default(); self.tables.len()],
            collector,
        };
        let is_over = run.collector.is_full() || !run.satisfies(&self.constant)?;
        let ended = if is_over { Err(Stop::Enough) } else { run.descend(0) };
        match ended {
            Ok(()) | Err(Stop::Enough) => {
                let found = run.collector.found();
                let mut answer = run.collector.finish()?;
                answer.rows_read = run.rows_read as u64;
                self.note_reads(&run.reads, context);
                context.planned(&self.counts(&run.reads, found));
                Ok(Some(answer))
            }
            Err(Stop::TooMany) => Ok(None),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// MySQL's counters of what was done; `found` are the rows before they were put in order.
    fn counts(&self, reads: &[TableRead], found: usize) -> PlanCounts {
        let mut counts = PlanCounts::default();
        for (at, level) in self.levels.iter().enumerate() {
            let read = &reads[level.table];
            let index = level.index.and_then(|position| self.tables[level.table].table.def().indexes.get(position));
            if read.by_range {
                counts.ranged(at == 0);
            } else if !read.by_key && read.rows > 0 {
                counts.scanned(at == 0, index.is_none_or(|index| index.primary));
            }
        }
        if !self.order.is_empty() {
            counts.sorted(found as u64);
        }
        let groups = self.grouping.as_ref().is_some_and(|grouping| !grouping.keys.is_empty());
        counts.tmp_tables += u64::from(groups || self.distinct);
        counts
    }

    /// Tells how many rows were read, by table and index.
    fn note_reads(&self, reads: &[TableRead], context: &StatementContext) {
        for level in &self.levels {
            let (def, read) = (self.tables[level.table].table.def(), &reads[level.table]);
            let index = level.index.and_then(|position| def.indexes.get(position));
            let index = index.filter(|index| read.by_key || !index.primary).map(|index| index.id);
            if read.rows > 0 {
                context.table_uses.note(def.id, index, TableOperation::Fetch, read.rows, None);
            }
        }
    }
}

/// How a table was read.
#[derive(Clone, Copy, Debug, Default)]
struct TableRead {
    /// Rows; a look-up that finds nothing is one, too.
    rows: u64,
    /// Whether its loop looked for keys, rather than reading everything.
    by_key: bool,
    /// Whether it read ranges of keys.
    by_range: bool,
}

impl Run<'_> {
    fn row(&self) -> JoinedRow<'_> {
        JoinedRow {
            tables: &self.plan.tables,
            rows: &self.rows,
            aggregates: &[],
            parameters: self.parameters,
            context: self.context,
        }
    }

    fn satisfies(&self, condition: &BoundExpr) -> SqlResult<bool> {
        Ok(condition.eval_condition(&self.row(), self.context)? == Some(true))
    }

    /// The loop at a depth, and those inside of it.
    fn descend(&mut self, depth: usize) -> Result<(), Stop> {
        let plan = self.plan;
        let Some(level) = plan.levels.get(depth) else {
            let flow = self.collector.take(&JoinedRow {
                tables: &plan.tables,
                rows: &self.rows,
                aggregates: &[],
                parameters: self.parameters,
                context: self.context,
            })?;
            return match flow {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Stop::Enough),
            };
        };
        let mut matched = false;
        self.read(level, &mut |run, row| {
            run.rows[level.table] = Some(row);
            if !run.satisfies(&level.condition)? {
                return Ok(());
            }
            matched = true;
            run.inside(depth, level)
        })?;
        self.rows[level.table] = None;
        if level.left_join.is_some() && !matched {
            self.inside(depth, level)?;
        }
        Ok(())
    }

    fn inside(&mut self, depth: usize, level: &Level) -> Result<(), Stop> {
        if let Some(filter) = &level.left_join
            && !self.satisfies(filter)?
        {
            return Ok(());
        }
        self.descend(depth + 1)
    }

    /// Reads the rows that a loop's condition leaves for the rows of the loops around it.
    fn read(
        &mut self,
        level: &Level,
        visit: &mut dyn FnMut(&mut Self, FoundRow) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let plan = self.plan;
        let table = &plan.tables[level.table];
        let own = table.first..table.first + table.width();
        let index = level.index.and_then(|position| table.table.def().indexes.get(position));
        let found = index.map(|index| {
            let predicate = predicate_of_bound(
                table.table.def(),
                &level.condition,
                &self.context.settings.time_zone,
                &|column| own.contains(&column.ordinal).then(|| column.ordinal - own.start),
                &|expr| self.value_outside(expr, level),
            );
            match (index.is_fulltext(), level.index) {
                (true, Some(position)) => {
                    let rows = ROWS_MAX as f64;
                    let best = terms::best(self.view, &table.table, position, &predicate, rows);
                    best.map(|best| best.map(|(ranges, _)| ranges))
                }
                _ => Ok(index_ranges(&IndexKey::new(&table.table, index), &predicate)),
            }
        });
        let found = match found {
            Some(found) => found?,
            None => None,
        };
        if found.is_none() && index.is_some_and(IndexDef::files_by_terms) {
            // Not all rows are in such an index.
            return Err(Stop::TooMany);
        }
        let rows_before = self.reads[level.table].rows;
        let read = &mut self.reads[level.table];
        read.by_key |= found.is_some();
        let constant_parts = found.as_ref().map_or(0, |found| found.parts_constant);
        let covering = level.covering.as_ref().filter(|covering| covering.constant_parts <= constant_parts);
        read.by_range |= found.as_ref().is_some_and(|found| found.parts_constant < found.parts_used);
        let mut seen: Option<HashSet<Vec<u8>>> = found.as_ref().filter(|found| found.repeats).map(|_| HashSet::new());
        let (ranges, points) = match found {
            Some(found) => (found.ranges, found.points && index.is_some_and(|index| index.primary)),
            None => (vec![EncodedRange::all()], false),
        };
        let ranges: Vec<EncodedRange> = match level.direction {
            Direction::Forward => ranges,
            Direction::Backward => ranges.into_iter().rev().collect(),
        };
        for range in ranges {
            let range = storage_range(&table.table, level.index_id, &range)?;
            if let (true, Bound::Included(key)) = (points, &range.start) {
                if let Some(row) = self.view.get(&table.table, key)? {
                    self.count(level, row.size_bytes())?;
                    visit(self, FoundRow::Stored(row))?;
                }
                continue;
            }
            let mut cursor = self.view.scan(&table.table, &range, level.direction);
            if let Some(covering) = covering {
                while let Some(entry) = cursor.next_entry()? {
                    self.count(level, entry.key().len())?;
                    let row = covering.row((table, level.index_id), &entry, &self.row(), self.context)?;
                    visit(self, FoundRow::Entry(Arc::new(row)))?;
                }
                continue;
            }
            while let Some(row) = cursor.next_row()? {
                if let Some(seen) = &mut seen
                    && !seen.insert(row.key_bytes().to_vec())
                {
                    continue;
                }
                self.count(level, row.size_bytes())?;
                visit(self, FoundRow::Stored(row))?;
            }
        }
        let read = &mut self.reads[level.table];
        read.rows += u64::from(read.rows == rows_before);
        Ok(())
    }

    fn count(&mut self, level: &Level, bytes: usize) -> Result<(), Stop> {
        self.rows_read += 1;
        self.reads[level.table].rows += 1;
        self.bytes_read += bytes;
        match self.rows_read > ROWS_MAX || self.bytes_read > self.plan.bytes_max {
            true => Err(Stop::TooMany),
            false => Ok(()),
        }
    }

    /// The value of an expression of constants and of the rows of the loops outside.
    fn value_outside(&self, expr: &BoundExpr, level: &Level) -> Option<Value> {
        let mut outside = true;
        let placed = |ordinal: usize| {
            let table = self.plan.tables.iter().rposition(|table| table.first <= ordinal);
            let depth = self.plan.levels.iter().position(|at| Some(at.table) == table);
            let own = self.plan.levels.iter().position(|at| at.table == level.table);
            depth < own
        };
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                outside &= placed(column.ordinal);
            }
        });
        if !outside {
            return None;
        }
        expr.eval(&self.row(), self.context).ok()
    }
}
