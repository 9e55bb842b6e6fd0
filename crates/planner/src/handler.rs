//! HANDLER … READ: reads the next rows of a table along an index, from the end of the last step.

use crate::bind::{Binder, BoundQuery, OutputColumn, RowTable};
use crate::dml::target::{RowMaker, Target};
use crate::dml::{DmlBinder, RulesCache};
use squall_accounting::GrowingCharge;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Authorized, IndexId, LockedNames, Need, Touches};
use squall_executor::access::key::storage_index_id;
use squall_executor::env::StatementEnv;
use squall_executor::runtime::output::write_value;
use squall_functions::expr::{BoundExpr, EmptyRow, ParameterisedRow};
use squall_parser::ast::{self, BinaryOp, HandlerDirection};
use squall_row_store::{Direction, KeyRange, ReadView, Row, TableStore, ValueRange};
use squall_statement_context::TableOperation;
use squall_types::{ErrorCode, RowWriter, SqlError, SqlResult, Value};
use std::ops::Bound;

/// The name of the statement in errors of its arguments.
const READ: &str = "HANDLER ... READ";

/// Rows that a reader wants unless LIMIT says otherwise.
const ROWS: u64 = 1;

/// The position of a reader: on a row, or between two, at either end of the rows that it has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The index that it goes along; `None` is the table's own order.
    index: Option<usize>,
    /// Where the next step begins; `None` behind the last row.
    next: Option<Bound<Vec<u8>>>,
    /// Where a step back begins; `None` before the first row.
    previous: Option<Bound<Vec<u8>>>,
}

/// A bound READ.
#[derive(Debug)]
pub struct HandlerRead {
    /// `SELECT *` of the table: the result's columns, and what they need.
    query: BoundQuery,
    target: Target,
    /// Ordinals of the result's columns in the table.
    ordinals: Vec<usize>,
    index: Option<usize>,
    step: Step,
    condition: Option<BoundExpr>,
    limit: Option<BoundExpr>,
    offset: Option<BoundExpr>,
}

/// Which rows are wanted.
#[derive(Debug)]
enum Step {
    To(HandlerDirection),
    /// By the index's first columns.
    Key(BinaryOp, Vec<BoundExpr>),
}

/// A part of an index, and what happens to the position at its end.
struct Piece {
    range: KeyRange,
    direction: Direction,
    /// Where one stands behind its last row.
    end: Position,
}

/// The result of READ.
#[derive(Debug)]
pub struct HandlerRows {
    rows: Vec<Vec<Value>>,
    /// Where the reader stands now.
    pub position: Position,
    /// How many rows were looked at.
    pub rows_read: u64,
    /// Of the rows that are kept here.
    charge: GrowingCharge,
}

impl Touches for HandlerRead {
    fn needs(&self) -> Vec<Need> {
        self.query.needs()
    }

    fn check_locks(&self, locked: &LockedNames) -> SqlResult<()> {
        self.query.check_locks(locked)
    }
}

impl HandlerRead {
    /// Binds a READ of a table that is opened as `alias`.
    ///
    /// # Errors
    /// 1176 for a missing index, 1070 for too many values, 1210 for values that are not constant; 1235 for indexes of words and of
    /// elements, which do not order rows, and for conditions with subqueries.
    pub fn bind(
        binder: &Binder<'_>,
        (store, rules): (&impl TableStore, &RulesCache),
        (name, alias): (&ast::ObjectName, &ast::Ident),
        (read, selection, limit): (&ast::HandlerRead, Option<&ast::Expr>, Option<&ast::Limit>),
    ) -> SqlResult<HandlerRead> {
        let query = binder.bind_query(&select_all(name, alias))?;
        let target = DmlBinder::new(binder, store, rules).target(name, Some(alias), "HANDLER")?;
        let index = match read {
            ast::HandlerRead::Scan(_) => None,
            ast::HandlerRead::Index { index, .. } | ast::HandlerRead::Key { index, .. } => {
                Some(index_of(&target, index)?)
            }
        };
        let step = match read {
            ast::HandlerRead::Scan(direction) | ast::HandlerRead::Index { direction, .. } => Step::To(*direction),
            ast::HandlerRead::Key { op, values, .. } => {
                Step::Key(*op, key_values(binder, &target, index.unwrap_or_default(), values)?)
            }
        };
        let scope = [RowTable::of(&target.database, &target.alias, target.def())];
        let condition = selection.map(|condition| binder.bind_expr(condition, &scope)).transpose()?;
        let constant = |expr: Option<&ast::Expr>| expr.map(|expr| binder.bind_expr(expr, &[])).transpose();
        let ordinals = query.columns.iter().map(ordinal_of).collect::<SqlResult<_>>()?;
        Ok(HandlerRead {
            ordinals,
            index,
            step,
            condition: condition.map(|condition| binder.builder().condition(condition)),
            limit: constant(limit.and_then(|limit| limit.count.as_ref()))?,
            offset: constant(limit.and_then(|limit| limit.offset.as_ref()))?,
            query,
            target,
        })
    }

    /// The result's columns.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.query.columns
    }

    /// Reads, from where the last READ has ended if that is known.
    ///
    /// # Errors
    /// Those of the store and of expressions.
    pub fn run(
        plan: Authorized<&HandlerRead>,
        (env, view): (&StatementEnv, &ReadView),
        parameters: &[Value],
        position: Option<&Position>,
    ) -> SqlResult<HandlerRows> {
        let read = plan.get();
        let context = &env.context;
        let row = ParameterisedRow { row: &EmptyRow, parameters };
        let count = |expr: &Option<BoundExpr>, otherwise| match expr {
            None => Ok(otherwise),
            Some(expr) => match expr.eval(&row, context)? {
                Value::UInt(number) => Ok(number),
                Value::Int(number) if number >= 0 => Ok(number.unsigned_abs()),
                _ => Err(SqlError::new(ErrorCode::WrongArguments, &[&"LIMIT"])),
            },
        };
        let (mut limit, mut offset) = (count(&read.limit, ROWS)?, count(&read.offset, 0)?);
        let mut found = HandlerRows {
            rows: Vec::new(),
            position: position.cloned().unwrap_or_else(|| read.start()),
            rows_read: 0,
            charge: GrowingCharge::new(&context.memory),
        };
        // MySQL does not move then, either.
        let Some(piece) = read.piece((env, parameters), position)?.filter(|_| limit > 0) else { return Ok(found) };
        found.position = piece.end;
        let mut cursor = view.scan(&read.target.table, &piece.range, piece.direction);
        while let Some((key, row)) = read.next_row(&mut cursor, view)? {
            context.kill.check()?;
            found.rows_read += 1;
            let values = read.target.read_row(&row, &context.settings.time_zone)?;
            let source = ParameterisedRow { row: &values[..], parameters };
            let is_wanted = match &read.condition {
                Some(condition) => condition.eval_condition(&source, context)? == Some(true),
                None => true,
            };
            if !is_wanted {
                continue;
            }
            if offset > 0 {
                offset -= 1;
                continue;
            }
            found.take(read, values)?;
            limit -= 1;
            if limit == 0 {
                found.position = read.at(key);
                break;
            }
        }
        let id = read.index.map(|position| read.target.def().indexes[position].id);
        context.examined(usize::try_from(found.rows_read).unwrap_or(usize::MAX));
        context.table_uses.note(read.target.def().id, id, TableOperation::Fetch, found.rows_read.max(1), None);
        Ok(found)
    }

    fn next_row(&self, cursor: &mut squall_row_store::Cursor, view: &ReadView) -> SqlResult<Option<(Vec<u8>, Row)>> {
        if self.index_id() == IndexId(0) {
            return Ok(cursor.next_row()?.map(|row| (row.key_bytes().to_vec(), row)));
        }
        let table = &self.target.table;
        while let Some(entry) = cursor.next_entry()? {
            if let Some(row) = view.get(table, &entry.row_key(table)?)? {
                return Ok(Some((entry.key().to_vec(), row)));
            }
        }
        Ok(None)
    }

    fn index_id(&self) -> IndexId {
        self.index.map_or(IndexId(0), |position| storage_index_id(&self.target.def().indexes[position]))
    }

    fn at(&self, key: Vec<u8>) -> Position {
        let bound = Some(Bound::Excluded(key));
        Position { index: self.index, next: bound.clone(), previous: bound }
    }

    /// Before the first row.
    fn start(&self) -> Position {
        Position { index: self.index, next: Some(Bound::Unbounded), previous: None }
    }

    /// Behind the last row.
    fn end(&self) -> Position {
        Position { index: self.index, next: None, previous: Some(Bound::Unbounded) }
    }

    /// The range to read; `None` if it is empty.
    fn piece(
        &self,
        (env, parameters): (&StatementEnv, &[Value]),
        position: Option<&Position>,
    ) -> SqlResult<Option<Piece>> {
        let table = &self.target.table;
        let all = table.range(self.index_id(), ValueRange::ALL)?;
        let forward = |range| Piece { range, direction: Direction::Forward, end: self.end() };
        let backward = |range| Piece { range, direction: Direction::Backward, end: self.start() };
        // Along another index it begins again.
        let position = position.filter(|position| position.index == self.index);
        let (op, values) = match &self.step {
            Step::To(HandlerDirection::First) => return Ok(Some(forward(all))),
            Step::To(HandlerDirection::Last) => return Ok(Some(backward(all))),
            Step::To(HandlerDirection::Next) => {
                let next = position.map_or(Some(Bound::Unbounded), |position| position.next.clone());
                return Ok(next.map(|next| forward(KeyRange { start: or(next, all.start), end: all.end })));
            }
            Step::To(HandlerDirection::Previous) => {
                let previous = position.map_or(Some(Bound::Unbounded), |position| position.previous.clone());
                return Ok(previous.map(|previous| backward(KeyRange { start: all.start, end: or(previous, all.end) })));
            }
            Step::Key(op, values) => (*op, self.stored_key((env, parameters), values)?),
        };
        let range = |start, end| table.range(self.index_id(), ValueRange { start, end });
        let (from, unbounded) = (values.as_slice(), Bound::Unbounded);
        Ok(Some(match op {
            BinaryOp::Equal => {
                let range = table.range(self.index_id(), ValueRange::prefix(from))?;
                let previous = match &range.end {
                    // What ends the range is the first that comes behind it.
                    Bound::Excluded(key) => Bound::Excluded(key.clone()),
                    other => other.clone(),
                };
                let next = match &range.end {
                    Bound::Excluded(key) => Some(Bound::Included(key.clone())),
                    _ => None,
                };
                let end = Position { index: self.index, next, previous: Some(previous) };
                Piece { range, direction: Direction::Forward, end }
            }
            BinaryOp::GreaterOrEqual => forward(range(Bound::Included(from), unbounded)?),
            BinaryOp::Greater => forward(range(Bound::Excluded(from), unbounded)?),
            BinaryOp::LessOrEqual => backward(range(unbounded, Bound::Included(from))?),
            _ => backward(range(unbounded, Bound::Excluded(from))?),
        }))
    }

    /// Values as the index holds them.
    fn stored_key(&self, (env, parameters): (&StatementEnv, &[Value]), values: &[BoundExpr]) -> SqlResult<Vec<Value>> {
        let target = &self.target;
        let def = target.def();
        let ordinals = def.index_ordinals(&def.indexes[self.index.unwrap_or_default()]);
        let maker = RowMaker { target, env, parameters, strict: false, null_becomes_zero: true, null_waits: false };
        let mut row = vec![Value::Null; def.columns.len()];
        for (ordinal, value) in ordinals.iter().zip(values) {
            let given = maker.eval(value, &[])?;
            row[*ordinal] = maker.convert(&def.columns[*ordinal], given, &value.sql_type(), 1)?;
        }
        let row = target.stored_row(&row, &env.context.settings.time_zone);
        Ok(ordinals.iter().take(values.len()).map(|ordinal| row[*ordinal].clone()).collect())
    }
}

impl HandlerRows {
    fn take(&mut self, read: &HandlerRead, mut values: Vec<Value>) -> SqlResult<()> {
        let row: Vec<Value> = read.ordinals.iter().map(|ordinal| std::mem::take(&mut values[*ordinal])).collect();
        let bytes = row.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>();
        self.charge.grow(size_of::<Vec<Value>>() + bytes)?;
        self.rows.push(row);
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the rows.
    pub fn write(&self, read: &HandlerRead, writer: &mut dyn RowWriter) {
        for row in &self.rows {
            writer.begin_row();
            for (value, column) in row.iter().zip(read.columns()) {
                write_value(value, &column.expr_type.sql_type, writer);
            }
            writer.end_row();
        }
    }
}

/// A bound of a part of a range, or that of the whole.
fn or(bound: Bound<Vec<u8>>, whole: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match bound {
        Bound::Unbounded => whole,
        bound => bound,
    }
}

/// `SELECT * FROM table AS alias`.
fn select_all(name: &ast::ObjectName, alias: &ast::Ident) -> ast::Query {
    let (name, alias) = (name.clone(), Some(alias.clone()));
    let factor = ast::TableFactor { name, partitions: Vec::new(), alias, hints: Vec::new() };
    let select = ast::Select {
        items: vec![ast::SelectItem::Wildcard],
        from: vec![ast::TableReference::Table(Box::new(factor))],
        ..ast::Select::default()
    };
    ast::Query::new(ast::QueryBody::Select(ast::Deep::new(select)))
}

fn ordinal_of(column: &OutputColumn) -> SqlResult<usize> {
    let origin = column.origin.as_ref().and_then(|origin| origin.base.as_ref());
    let (_, ordinal) = origin.ok_or_else(|| SqlError::internal("a table's column that is of no table"))?;
    Ok(*ordinal)
}

fn index_of(target: &Target, name: &ast::Ident) -> SqlResult<usize> {
    let indexes = &target.def().indexes;
    let found = indexes.iter().position(|index| eq_ignore_case(&index.name, name));
    let position = found.ok_or_else(|| SqlError::new(ErrorCode::KeyDoesNotExist, &[&name.as_str(), &target.alias]))?;
    if indexes[position].files_by_terms() || indexes[position].has_no_order() {
        return Err(SqlError::unsupported("HANDLER along an index that has no order of rows (read another one)"));
    }
    Ok(position)
}

/// Binds the values of a key.
fn key_values(binder: &Binder<'_>, target: &Target, index: usize, values: &[ast::Expr]) -> SqlResult<Vec<BoundExpr>> {
    let parts = target.def().indexes[index].parts.len();
    if values.len() > parts {
        return Err(SqlError::new(ErrorCode::TooManyKeyParts, &[&parts]));
    }
    let scope = [RowTable::of(&target.database, &target.alias, target.def())];
    let bind = |value: &ast::Expr| {
        let expr = binder.bind_expr(value, &scope)?;
        let mut reads_row = false;
        expr.visit(&mut |node| reads_row |= matches!(node, BoundExpr::Column(_)));
        match reads_row {
            true => Err(SqlError::new(ErrorCode::WrongArguments, &[&READ])),
            false => Ok(expr),
        }
    };
    values.iter().map(bind).collect()
}
