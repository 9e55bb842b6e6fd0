//! CREATE and DROP of triggers.

use crate::edit::{define, define_after};
use crate::execute::{DdlEnv, QualifiedName, base_table};
use crate::locked::LockedTables;
use crate::routine::IfThere;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Catalog, TableDef, TriggerDef};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Where a trigger stands among those of its time and event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerPlace {
    /// Behind all.
    Last,
    /// FOLLOWS another.
    Behind(String),
    /// PRECEDES another.
    Before(String),
}

/// Gives a table a trigger, with [`IfThere::Replace`] in the place of one of its name. Tells whether it was made: `false` if one was kept.
///
/// # Errors
/// 1146 and 1347 if it is not a base table, 1359 if a trigger of the database has the name, 3011 for an order by a missing trigger.
pub fn create_trigger(
    state: &ServerState,
    env: &DdlEnv,
    table: &QualifiedName,
    trigger: &TriggerDef,
    place: &TriggerPlace,
    if_there: IfThere,
) -> SqlResult<bool> {
    let wanted = |catalog: &Catalog| base_table(catalog, table).map(|_| vec![table.clone()]);
    // Its definer is not dropped before it is known to define something. No other change of accounts waits while this waits for the table.
    let prepare = |_: &LockedTables| Ok(state.accounts.begin_change_blocking());
    define_after(state, env, wanted, prepare, |tables, catalog| {
        let locked = tables.base_table(table)?;
        if let Some((owner, _)) = catalog.trigger(&table.0, &trigger.name) {
            // One of another table is in the way in any case.
            match if_there {
                IfThere::Keep if owner.id == locked.id => return Ok(false),
                IfThere::Replace if owner.id == locked.id => {}
                _ => return Err(SqlError::new(ErrorCode::TriggerAlreadyExists, &[])),
            }
        }
        let mut changed = (**locked.def()).clone();
        changed.triggers.retain(|known| !eq_ignore_case(&known.name, &trigger.name));
        let at = position(&changed, trigger, place)?;
        changed.triggers.insert(at, trigger.clone());
        changed.version += 1;
        catalog.replace(locked, changed, tables)?;
        Ok(true)
    })
}

/// Where among all triggers of its table one comes.
fn position(table: &TableDef, trigger: &TriggerDef, place: &TriggerPlace) -> SqlResult<usize> {
    let (other, behind) = match place {
        TriggerPlace::Last => return Ok(table.triggers.len()),
        TriggerPlace::Behind(other) => (other, 1),
        TriggerPlace::Before(other) => (other, 0),
    };
    let is_it = |known: &TriggerDef| known.is_for(trigger.time, trigger.event) && eq_ignore_case(&known.name, other);
    match table.triggers.iter().position(is_it) {
        Some(at) => Ok(at + behind),
        None => Err(SqlError::new(ErrorCode::ReferencedTriggerDoesNotExist, &[other])),
    }
}

/// Takes a trigger from its table; tells whether there was one.
///
/// # Errors
/// When it cannot be written.
pub fn drop_trigger(state: &ServerState, env: &DdlEnv, database: &str, name: &str) -> SqlResult<bool> {
    let wanted = |catalog: &Catalog| {
        let table = catalog.trigger(database, name).map(|(table, _)| (database.to_string(), table.name.clone()));
        Ok(table.into_iter().collect())
    };
    define(state, env, wanted, |tables, catalog| {
        let Some((table, _)) = catalog.trigger(database, name) else { return Ok(false) };
        let locked = tables.by_id(table.id)?;
        let mut changed = (**locked.def()).clone();
        changed.triggers.retain(|trigger| !eq_ignore_case(&trigger.name, name));
        changed.version += 1;
        catalog.replace(locked, changed, tables)?;
        Ok(true)
    })
}
