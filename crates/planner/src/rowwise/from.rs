//! FROM and WHERE of a small query: base tables, their joins, and the parts of conditions.

use super::{FoundTable, TABLES_MAX};
use crate::bind::{Binder, RowTable};
use squall_functions::expr::{BoundExpr, CompareOp};
use squall_parser::ast;
use squall_row_store::{Table, TableStore};
use squall_types::SqlResult;
use std::sync::Arc;

/// A table of the query.
#[derive(Debug)]
pub(super) struct PlanTable {
    pub(super) database: Arc<str>,
    /// Its alias in the statement.
    pub(super) alias: Arc<str>,
    pub(super) table: Arc<Table>,
    /// The ordinal of its first column among those of all tables.
    pub(super) first: usize,
    /// For the right side of a LEFT JOIN: its rows may be missing, and this says which fit.
    pub(super) on: Option<Vec<Condition>>,
    /// Whether a LEFT JOIN is written, whose columns may be NULL, although WHERE may keep no missing row.
    is_left_joined: bool,
    /// Ordinals of its columns that are read, in order.
    pub(super) columns: Vec<usize>,
}

impl PlanTable {
    pub(super) fn width(&self) -> usize {
        self.table.def().columns.len()
    }
}

/// A condition, one of several that all have to be true.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) expr: BoundExpr,
    /// The tables that it reads, a bit for each.
    pub(super) tables: u32,
}

/// Tables and conditions.
#[derive(Debug)]
pub(super) struct FromClause {
    pub(super) tables: Vec<PlanTable>,
    /// Of WHERE and of inner joins.
    pub(super) filters: Vec<Condition>,
}

impl FromClause {
    /// All conditions.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &BoundExpr> {
        let on = self.tables.iter().flat_map(|table| table.on.iter().flatten());
        self.filters.iter().chain(on).map(|condition| &condition.expr)
    }

    /// Leaves out the rows in which a column is NULL.
    pub(super) fn add_not_null(&mut self, column: &BoundExpr) {
        let expr = BoundExpr::IsNull { operand: Box::new(column.clone()), negated: true };
        self.filters.push(Condition { tables: self.tables_read(&expr), expr });
    }

    /// Takes out of the filters what reads no table.
    pub(super) fn take_constant(&mut self) -> BoundExpr {
        let constant: Vec<Condition> = self.filters.extract_if(.., |filter| filter.tables == 0).collect();
        all_of(constant.iter().collect())
    }

    /// Notes which columns are read, by conditions and by `exprs`.
    pub(super) fn note_columns<'e>(&mut self, exprs: impl Iterator<Item = &'e BoundExpr>) {
        let mut read = Vec::new();
        let mut note = |expr: &BoundExpr| {
            expr.visit(&mut |node| {
                if let BoundExpr::Column(column) = node {
                    read.push(column.ordinal);
                }
            })
        };
        exprs.for_each(&mut note);
        self.conditions().for_each(&mut note);
        read.sort_unstable();
        read.dedup();
        for ordinal in read {
            if let Some(at) = self.table_of(ordinal) {
                let table = &mut self.tables[at];
                table.columns.push(ordinal - table.first);
            }
        }
    }

    /// Columns of all tables.
    pub(super) fn width(&self) -> usize {
        self.tables.last().map_or(0, |table| table.first + table.width())
    }

    /// The table that a column is of.
    pub(super) fn table_of(&self, ordinal: usize) -> Option<usize> {
        self.tables.iter().position(|table| (table.first..table.first + table.width()).contains(&ordinal))
    }

    /// The tables as scopes of expressions.
    pub(super) fn scopes(&self) -> Vec<RowTable<'_>> {
        scopes(&self.tables)
    }

    /// Makes inner joins of LEFT JOINs whose missing rows no filter would let through.
    fn join_where_missing_rows_are_refused(&mut self) {
        for at in 0..self.tables.len() {
            let left_joined = self.tables.iter().enumerate().filter(|(_, table)| table.on.is_some());
            let hidden: u32 = left_joined.map(|(at, _)| 1 << at).sum();
            let Some(on) = &self.tables[at].on else { continue };
            // What refers to rows that may be missing has to be asked where it stands.
            let stands_alone = on.iter().all(|part| part.tables & hidden & !(1 << at) == 0);
            if stands_alone && self.filters.iter().any(|filter| self.refuses_missing(&filter.expr, at)) {
                self.filters.extend(self.tables[at].on.take().unwrap_or_default());
            }
        }
    }

    /// Whether a condition is not true where all columns of a table are NULL.
    fn refuses_missing(&self, condition: &BoundExpr, at: usize) -> bool {
        let is_of_table = |expr: &BoundExpr| match expr {
            BoundExpr::Column(column) => self.table_of(column.ordinal) == Some(at),
            _ => false,
        };
        match condition {
            BoundExpr::Compare { op, left, right, .. } => {
                *op != CompareOp::NullSafeEqual && (is_of_table(left) || is_of_table(right))
            }
            BoundExpr::InList { operand, .. } => is_of_table(operand),
            BoundExpr::IsNull { operand, negated } => *negated && is_of_table(operand),
            BoundExpr::And(parts) => parts.iter().any(|part| self.refuses_missing(part, at)),
            BoundExpr::Or(parts) => parts.iter().all(|part| self.refuses_missing(part, at)),
            _ => false,
        }
    }

    fn tables_read(&self, expr: &BoundExpr) -> u32 {
        let mut tables = 0;
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                tables |= self.table_of(column.ordinal).map_or(0, |table| 1 << table);
            }
        });
        tables
    }

    /// A bound condition's parts.
    fn parts(&self, condition: BoundExpr) -> Vec<Condition> {
        let parts = match condition {
            BoundExpr::And(parts) => parts,
            one => vec![one],
        };
        parts.into_iter().map(|expr| Condition { tables: self.tables_read(&expr), expr }).collect()
    }
}

fn scopes(tables: &[PlanTable]) -> Vec<RowTable<'_>> {
    tables
        .iter()
        .map(|table| {
            let mut scope = RowTable::of(&table.database, &table.alias, table.table.def());
            if table.is_left_joined {
                scope.may_be_missing = true;
                scope.columns.iter_mut().for_each(|column| column.expr_type.nullable = true);
            }
            scope
        })
        .collect()
}

/// Binds the tables and conditions; `None` if anything but base tables is joined, or otherwise than by inner and left
/// joins.
pub(super) fn bind(
    select: &ast::Select,
    binder: &Binder<'_>,
    store: &dyn TableStore,
    table_of: &dyn Fn(&ast::ObjectName) -> FoundTable,
) -> SqlResult<Option<FromClause>> {
    let mut flat = Flat::default();
    let joins = select.from.iter().any(|reference| matches!(reference, ast::TableReference::Join(_)));
    // The condition of a join sees no table in front of a comma.
    if (joins && select.from.len() > 1)
        || !select.from.iter().all(|reference| flat.add(reference))
        || flat.factors.len() > TABLES_MAX
    {
        return Ok(None);
    }
    let mut from = FromClause { tables: Vec::with_capacity(flat.factors.len()), filters: Vec::new() };
    let mut first = 0;
    for (factor, left_join) in &flat.factors {
        let Some((database, def)) = table_of(&factor.name) else { return Ok(None) };
        let alias: Arc<str> = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str().into();
        let taken =
            from.tables.iter().any(|table: &PlanTable| squall_catalog::name::eq_ignore_case(&table.alias, &alias));
        if taken {
            return Ok(None);
        }
        let table = store.table(&def)?;
        let on = left_join.then(Vec::new);
        let is_left_joined = *left_join;
        from.tables.push(PlanTable { database, alias, table, first, on, is_left_joined, columns: Vec::new() });
        first += def.columns.len();
    }
    for (condition, until, of) in flat.conditions {
        // A condition sees the tables up to its own join.
        let bound = binder.bind_condition(condition, &scopes(&from.tables[..until]))?;
        let parts = from.parts(bound);
        match of {
            Some(table) => from.tables[table].on = Some(parts),
            None => {
                let left_joined = (0..from.tables.len()).filter(|at| from.tables[*at].on.is_some());
                let hidden: u32 = left_joined.map(|at| 1 << at).sum();
                // Rows that are missing on the left side of an inner join would have to be made before it.
                if parts.iter().any(|part| part.tables & hidden != 0) {
                    return Ok(None);
                }
                from.filters.extend(parts);
            }
        }
    }
    if let Some(condition) = &select.selection {
        let bound = binder.bind_condition(condition, &from.scopes())?;
        let parts = from.parts(bound);
        from.filters.extend(parts);
    }
    from.join_where_missing_rows_are_refused();
    Ok(Some(from))
}

/// A FROM without its nesting.
#[derive(Default)]
struct Flat<'a> {
    /// Tables, and whether they are joined by LEFT JOIN.
    factors: Vec<(&'a ast::TableFactor, bool)>,
    /// ON conditions, the number of tables they can see, and the table that they are the LEFT JOIN's of.
    conditions: Vec<(&'a ast::Expr, usize, Option<usize>)>,
}

impl<'a> Flat<'a> {
    /// Adds a reference; `false` if it is of another kind.
    fn add(&mut self, reference: &'a ast::TableReference) -> bool {
        match reference {
            ast::TableReference::Table(factor) => {
                self.factors.push((factor, false));
                factor.partitions.is_empty() && factor.hints.is_empty()
            }
            ast::TableReference::Join(join) => {
                if !self.add(&join.left) {
                    return false;
                }
                let ast::TableReference::Table(_) = &join.right else { return false };
                if !self.add(&join.right) {
                    return false;
                }
                let at = self.factors.len() - 1;
                let left = join.kind == ast::JoinKind::Left;
                self.factors[at].1 = left;
                match (&join.kind, &join.condition) {
                    (ast::JoinKind::Inner | ast::JoinKind::Left, ast::JoinCondition::On(condition)) => {
                        self.conditions.push((condition, self.factors.len(), left.then_some(at)));
                        true
                    }
                    (ast::JoinKind::Inner, ast::JoinCondition::None) => true,
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// All of some conditions.
pub(super) fn all_of(conditions: Vec<&Condition>) -> BoundExpr {
    match conditions.as_slice() {
        [one] => one.expr.clone(),
        several => BoundExpr::And(several.iter().map(|condition| condition.expr.clone()).collect()),
    }
}
