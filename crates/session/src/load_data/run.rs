//! Runs the loading thread.

use super::parallel::load_in_parallel;
use super::reader::{LineReader, Rows};
use super::rows::row_values;
use super::text::{LoadContext, Text, broken_off};
use super::{CHUNKS_AHEAD, Load, Loaded};
use squall_accounting::GrowingCharge;
use squall_accounting::work_meter::carried;
use squall_planner::dml::plan::InsertRows;
use squall_planner::dml::{DmlContext, Inserter};
use squall_row_store::Transaction;
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Text from which on a load goes around the transaction.
const BULK_BYTES_MIN: usize = 1 << 20;

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
