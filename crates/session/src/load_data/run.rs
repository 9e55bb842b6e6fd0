//! Runs the loading thread.

use super::convert::plain_integer;
use super::parallel::load_in_parallel;
use super::reader::{LineReader, Row, Rows};
use super::{CHUNKS_AHEAD, FieldKind, Load, Loaded, Target, text_type};
use crate::query::ChangeEnv;
use squall_accounting::GrowingCharge;
use squall_accounting::work_meter::carried;
use squall_functions::expr::ParameterisedRow;
use squall_instrumentation::process::Process;
use squall_planner::dml::plan::InsertRows;
use squall_planner::dml::{DmlContext, Inserter};
use squall_row_store::Transaction;
use squall_statement_context::StatementContext;
use squall_types::collation::Charset;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{Date, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Text from which on a load goes around the transaction.
const BULK_BYTES_MIN: usize = 1 << 20;

/// Text as it comes.
pub(super) struct Text {
    /// The text that came before the way to load was chosen.
    pub first: Vec<u8>,
    /// The next text; `None` at the end.
    pub rest: Option<mpsc::Receiver<Vec<u8>>>,
    /// For a row whose end has not come.
    pub unfinished: GrowingCharge,
}

impl Text {
    /// The next piece, and whether it is the last. Text that breaks off is an error: its sender has failed.
    pub fn next(&mut self) -> SqlResult<(Vec<u8>, bool)> {
        if !self.first.is_empty() || self.rest.is_none() {
            return Ok((std::mem::take(&mut self.first), self.rest.is_none()));
        }
        match self.rest.as_mut().and_then(mpsc::Receiver::blocking_recv) {
            Some(piece) => {
                let last = piece.is_empty();
                Ok((piece, last))
            }
            None => Err(broken_off()),
        }
    }
}

impl Text {
    /// Charges the statement with a row whose end has not come: it may be as long as the text.
    ///
    /// # Errors
    /// That of the statement's memory.
    pub fn hold(&mut self, unfinished_bytes: usize) -> SqlResult<()> {
        self.unfinished.clear();
        self.unfinished.grow(unfinished_bytes)
    }
}

fn broken_off() -> SqlError {
    SqlError::internal("the text to load breaks off")
}

/// The parameters of the loading thread beside the load.
pub(super) struct LoadContext {
    pub change: ChangeEnv<'static>,
    /// The session's number.
    pub session: u64,
    /// Where progress is shown.
    pub process: Arc<Process>,
}

/// Loads what comes.
pub(super) fn run_load(
    loading: &LoadContext,
    transaction: &mut Transaction,
    load: &Load,
    mut receiver: mpsc::Receiver<Vec<u8>>,
) -> SqlResult<Loaded> {
    let unfinished = GrowingCharge::new(&loading.change.context.memory);
    let mut text = Text { first: Vec::new(), rest: None, unfinished };
    let mut ended = false;
    while text.first.len() < BULK_BYTES_MIN && !ended {
        match receiver.blocking_recv() {
            Some(chunk) if chunk.is_empty() => ended = true,
            Some(chunk) => text.first.extend_from_slice(&chunk),
            None => return Err(broken_off()),
        }
    }
    text.rest = (!ended).then_some(receiver);
    if load.ways.bulk && (text.first.len() >= BULK_BYTES_MIN || load.reject_limit.is_some()) {
        return load_in_parallel(loading, &loading.change.statement_env(None), load, text);
    }
    let env = Arc::new(loading.change.statement_env(Some(transaction.read_view())));
    loading.change.run_with(&env, transaction, |dml| {
        let savepoint = dml.transaction.savepoint();
        let result = load_into_transaction(loading, dml, load, text);
        if result.is_err() && !dml.transaction.is_aborted() {
            dml.transaction.rollback_to(savepoint);
        }
        result
    })
}

fn load_into_transaction(
    loading: &LoadContext,
    dml: &mut DmlContext<'_>,
    load: &Load,
    mut text: Text,
) -> SqlResult<Loaded> {
    let context = &loading.change.context;
    debug_assert!(matches!(load.plan.source, InsertRows::Values(_)), "an INSERT of values was bound");
    let mut inserter = Inserter::new(dml, load.plan.as_ref(), false);
    let reader = LineReader::new(load.format.clone(), load.skip);
    let mut records = 0;
    let (sender, batches) = std::sync::mpsc::sync_channel(CHUNKS_AHEAD);
    std::thread::scope(|scope| -> SqlResult<()> {
        // Cutting lines into fields takes a good part of the time, so it has a thread of its own.
        scope.spawn(carried(move || cut_batches(reader, &mut text, &sender)));
        for rows in batches {
            let rows = rows?;
            loading.process.transfer.add_rows(rows.len() as u64);
            for row in rows.iter() {
                records += 1;
                let values = inserter.context().evaluate(|_| row_values(context, load, row, records))?;
                inserter.insert_values(values.into_iter()).map_err(SqlError::from)?;
            }
        }
        Ok(())
    })?;
    let duplicates = inserter.duplicates();
    let result = inserter.finish(true);
    let mut loaded = Loaded { records, generated_id: result.generated_id, ..Default::default() };
    if load.ignore {
        loaded.skipped = duplicates;
    } else {
        loaded.deleted = duplicates;
    }
    Ok(loaded)
}

/// Cuts the text into batches of rows until it ends or the receiver is gone.
fn cut_batches(mut reader: LineReader, text: &mut Text, sender: &std::sync::mpsc::SyncSender<SqlResult<Rows>>) {
    loop {
        let (chunk, last) = match text.next() {
            Ok(next) => next,
            Err(error) => {
                let _ = sender.send(Err(error));
                return;
            }
        };
        reader.feed(&chunk, last);
        let mut rows = Rows::default();
        reader.cut_rows(&mut rows);
        if let Err(error) = text.hold(reader.unfinished_bytes()) {
            let _ = sender.send(Err(error));
            return;
        }
        if (!rows.is_empty() && sender.send(Ok(rows)).is_err()) || last {
            return;
        }
    }
}

/// The values of a row's columns with their types, in the order of the plan's columns, and of what SET assigns; variables
/// get theirs. `number` counts rows from 1.
pub(super) fn row_values<'l>(
    context: &StatementContext,
    load: &'l Load,
    row: Row<'_>,
    number: u64,
) -> SqlResult<Vec<Option<(Value, &'l SqlType)>>> {
    check_field_count(context, load, row.count_for(load.targets.len()), number)?;
    let definition = load.plan.target.def();
    let (text, bytes) = (&load.text, &load.bytes);
    let mut values: Vec<Option<(Value, &SqlType)>> = vec![None; load.plan.columns.len()];
    let mut fields = row.fields();
    for target in &load.targets {
        let field = fields.next();
        match target {
            Target::Column { position, kind } => {
                let Some(field) = field else { continue };
                let integer = || (*kind == FieldKind::Integer).then(|| field.and_then(plain_integer)).flatten();
                values[*position] = Some(match (field, kind, integer()) {
                    (None, ..) => (Value::Null, &SqlType::Null),
                    (_, _, Some(number)) => (Value::Int(number), &SqlType::BIGINT),
                    (Some(field), FieldKind::Binary | FieldKind::Bits, _) => (Value::Bytes(field.to_vec()), bytes),
                    (Some(field), ..) => (Value::String(decode(load.charset, field)), text),
                });
            }
            Target::Variable(name) => {
                let value = match field.flatten() {
                    Some(field) => Value::String(decode(load.charset, field)),
                    None => Value::Null,
                };
                context.user_variables.assign(name.clone(), value, text_type())?;
            }
        }
    }
    if load.assignments.is_empty() {
        return Ok(values);
    }
    let mut so_far = vec![Value::Null; definition.columns.len()];
    for (position, value) in values.iter().enumerate() {
        if let Some((value, from)) = value {
            let ordinal = load.plan.columns[position];
            let column = &definition.columns[ordinal];
            let conversion = ConversionContext {
                mode: context.settings.sql_mode,
                time_zone: &context.settings.time_zone,
                current_date: Date::ZERO,
                table: "",
                column: &column.name,
                row: number,
            };
            // What is wrong with a value is said when it is stored.
            so_far[ordinal] = store_value(value.clone(), from, &column.sql_type, &conversion).value;
        }
    }
    for (position, assigned) in &load.assignments {
        let Some((expr, sql_type)) = assigned else { continue };
        let source = ParameterisedRow { row: so_far.as_slice(), parameters: &[] };
        values[*position] = Some((expr.eval(&source, context)?, sql_type));
    }
    Ok(values)
}

fn check_field_count(context: &StatementContext, load: &Load, fields: usize, number: u64) -> SqlResult<()> {
    let code = match fields.cmp(&load.targets.len()) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => ErrorCode::WarnTooFewRecords,
        std::cmp::Ordering::Greater => ErrorCode::WarnTooManyRecords,
    };
    let error = SqlError::new(code, &[&number]);
    if load.strict {
        return Err(error);
    }
    context.diagnostics.warn(error);
    Ok(())
}

fn decode(charset: Charset, bytes: &[u8]) -> String {
    if matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    charset.decode(bytes).text.into_owned()
}
