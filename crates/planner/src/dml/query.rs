//! Data changes whose rows come from a query.

use super::change::{delete_row, finish_update, update_result, update_row};
use super::find::{note_use, with_parameters};
use super::plan::{QueryChangePlan, TableChange, column_types};
use super::target::RowMaker;
use super::{DmlContext, DmlResult, ignorable};
use crate::exec::env::StatementEnv;
use crate::exec::runtime::QueryRuntime;
use datafusion::logical_expr::LogicalPlan;
use squall_catalog::ReferentialAction;
use squall_functions::arrow_map::value_at;
use squall_registry::TableOperation;
use squall_row_store::{StoreError, StoreResult};
use squall_types::{ErrorCode, SqlError, SqlType, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// How often a statement of its own is started again because a row changed between finding and locking it.
const ATTEMPTS_MAX: usize = 10;

/// Runs a query and calls `take` for each of its rows, on the calling thread.
pub fn for_each_row(
    runtime: &Arc<QueryRuntime>,
    env: &Arc<StatementEnv>,
    plan: LogicalPlan,
    types: &[SqlType],
    mut take: impl FnMut(Vec<Value>) -> StoreResult<()>,
) -> StoreResult<()> {
    let mut stream = futures::executor::block_on(runtime.query(env, plan))?;
    while let Some(batch) = stream.next_blocking() {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let values = batch
                .columns()
                .iter()
                .zip(types)
                .map(|(array, sql_type)| value_at(array.as_ref(), row, sql_type))
                .collect::<Result<Vec<_>, SqlError>>()?;
            take(values)?;
        }
    }
    Ok(())
}

/// Carries out an UPDATE or DELETE whose rows a query finds.
pub fn execute_by_query(context: &mut DmlContext<'_>, plan: &QueryChangePlan) -> StoreResult<DmlResult> {
    let retry = context.transaction.options().autocommit;
    for _ in 0..ATTEMPTS_MAX {
        let attempt = context.atomically(|context| attempt(context, plan));
        match attempt {
            Err(StoreError::Sql(error))
                if retry && error.is(ErrorCode::RecordChanged) && !context.transaction.is_aborted() =>
            {
                // With the rows as they are now.
                context.transaction.begin_statement(context.options.lock_wait);
                context.env.context.begin_again();
            }
            other => return other,
        }
    }
    let table = plan.changes.first().map_or("", |change| change.target.def().name.as_str());
    Err(SqlError::new(ErrorCode::RecordChanged, &[&table]).into())
}

fn attempt(context: &mut DmlContext<'_>, plan: &QueryChangePlan) -> StoreResult<DmlResult> {
    let env = with_parameters(context);
    let runtime = context.runtime.clone();
    let types = column_types(&plan.query);
    let mut seen: Vec<HashSet<Vec<u8>>> = plan.changes.iter().map(|_| HashSet::new()).collect();
    let reservation = runtime.reserve(&env.context.memory, "rows to change");
    let (mut matched, mut changed) = (0u64, 0u64);
    let mut changed_of = vec![0u64; plan.changes.len()];
    for_each_row(&runtime, &env, plan.query.plan.clone(), &types, |values| {
        for ((change, seen), changed_here) in plan.changes.iter().zip(&mut seen).zip(&mut changed_of) {
            let Some(Value::Bytes(key)) = values.get(change.key_column) else { continue };
            // A row that a join finds several times is changed once.
            if seen.contains(key) {
                continue;
            }
            reservation.try_grow(key.len() + 64).map_err(squall_functions::expr::sql_error_from)?;
            seen.insert(key.clone());
            matched += 1;
            match change_row(context, &env, plan, change, key, &values, matched) {
                Ok(true) => {
                    changed += 1;
                    *changed_here += 1;
                }
                Ok(false) => {}
                Err(error) if plan.ignore && ignorable(&error) => {
                    context.env.context.diagnostics.warn(error.into());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })?;
    let operation = if plan.delete { TableOperation::Delete } else { TableOperation::Update };
    for (change, rows) in plan.changes.iter().zip(changed_of) {
        note_use(context, &change.target, None, operation, rows);
    }
    Ok(if plan.delete {
        DmlResult { affected_rows: changed, ..DmlResult::default() }
    } else {
        update_result(matched, changed, context.options.found_rows)
    })
}

/// Whether the statement itself may have changed a row that it found earlier: by another name of the same table, or by
/// the action of a foreign key.
fn may_change_itself(context: &DmlContext<'_>, plan: &QueryChangePlan, change: &TableChange) -> bool {
    let def = change.target.def();
    let same_table = plan.changes.iter().filter(|other| other.target.def().id == def.id).count() > 1;
    let acts = |action| matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull);
    let by_action = def.foreign_keys.iter().any(|key| acts(key.on_delete) || acts(key.on_update));
    same_table || (context.options.foreign_key_checks && by_action)
}

fn change_row(
    context: &mut DmlContext<'_>,
    env: &StatementEnv,
    plan: &QueryChangePlan,
    change: &TableChange,
    key: &[u8],
    values: &[Value],
    row_number: u64,
) -> StoreResult<bool> {
    let target = &change.target;
    let request = context.write_lock();
    // A row may have gone by a foreign key's CASCADE meanwhile.
    let Some(row) = context.transaction.get_locked(&target.table, key, request)? else { return Ok(false) };
    let found = env.view()?.get(&target.table, key)?;
    if let Some(found) = found {
        let as_found = found.values(&target.table)? == row.values(&target.table)?;
        if !as_found && !may_change_itself(context, plan, change) {
            return Err(SqlError::new(ErrorCode::RecordChanged, &[&target.def().name]).into());
        }
    }
    if plan.delete {
        delete_row(context, target, &row)?;
        return Ok(true);
    }
    let old = target.read_row(&row, &context.env.context.time_zone)?;
    let mut updated = old.clone();
    let strict = context.env.context.sql_mode.is_strict() && !plan.ignore;
    {
        let maker =
            RowMaker { target, env: context.env, parameters: context.parameters, strict, null_becomes_zero: !strict };
        let types = column_types(&plan.query);
        for (column, source) in &change.values {
            let definition = &target.def().columns[*column];
            if definition.generated.is_some() && source.is_some() {
                let error =
                    SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&definition.name, &target.def().name]);
                return Err(error.into());
            }
            updated[*column] = match source {
                None => maker.default_value(*column, &updated)?,
                Some(source) => maker.convert(definition, values[*source].clone(), &types[*source], row_number)?,
            };
        }
        finish_update(&maker, &mut updated, &old, row_number, &|column| {
            change.values.iter().any(|(assigned, _)| *assigned == column)
        })?;
    }
    update_row(context, target, &row, &old, &updated, strict)
}
