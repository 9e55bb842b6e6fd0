//! ALTER TABLE and CREATE INDEX build keys and copy rows before they lock the table, where they can: others read and write it meanwhile.

use crate::alter_table::{Alteration, Work, alter_table as resolve_alteration};
use crate::execute::{DdlEnv, QualifiedName, altered_table};
use crate::index_build::{build_keys, build_keys_online};
use crate::locked::{LockedTable, TableInPreparation, prepare_table};
use crate::table_copy::{CopiedTable, CopyEnv, RowsInCopy};
use squall_catalog::Catalog;
use squall_parser::ast::AlterTable;
use squall_row_store::OnlineIndexBuild;
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// An alteration of a table, up to the last changes of its rows.
pub(crate) struct Preparation<'s> {
    alteration: Alteration,
    work: PreparedWork<'s>,
    // Others can define the table when the work has been given up.
    table: TableInPreparation,
}

/// What is ready.
enum PreparedWork<'s> {
    Nothing,
    Keys(OnlineIndexBuild),
    Copy(Box<RowsInCopy<'s>>),
}

impl<'s> Preparation<'s> {
    /// Prepares a statement that refers to no other table; `None` if there is no such table.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn begin(
        state: &'s ServerState,
        env: &'s DdlEnv,
        strict: bool,
        statement: &AlterTable,
        name: &'s QualifiedName,
    ) -> SqlResult<Option<Preparation<'s>>> {
        let wanted = |catalog: &Catalog| altered_table(catalog, name, statement).ok().cloned();
        let Some(table) = prepare_table(state, env, wanted)? else { return Ok(None) };
        let alteration = resolve_alteration(&table.def, statement, &env.ddl_context(&table.catalog, &name.0))?;
        let work = match alteration.work {
            Work::Indexes if alteration.is_online => {
                PreparedWork::Keys(build_keys_online(state, env, &table.def, &alteration)?)
            }
            Work::Rebuild | Work::Copy if alteration.is_online => {
                let new = alteration.table.clone();
                let on = CopyEnv { state, env, strict, database: &name.0 };
                let copy = RowsInCopy::begin(on, &table.def, new)?;
                PreparedWork::Copy(Box::new(copy))
            }
            _ => PreparedWork::Nothing,
        };
        Ok(Some(Preparation { alteration, work, table }))
    }

    /// The alteration, of the definition that it was made of (1412 if the table has another by now).
    pub fn alteration_of(&self, old: &LockedTable) -> SqlResult<Alteration> {
        match Arc::ptr_eq(old.def(), &self.table.def) {
            true => Ok(self.alteration.clone()),
            false => Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[])),
        }
    }

    /// Takes changes over that others have made meanwhile.
    pub fn catch_up(&mut self, env: &DdlEnv) -> SqlResult<()> {
        match &mut self.work {
            PreparedWork::Nothing => Ok(()),
            PreparedWork::Keys(build) => {
                build.catch_up(&|_| env.context.kill.check()).map(|_| ()).map_err(SqlError::from)
            }
            PreparedWork::Copy(copy) => copy.catch_up().map(|_| ()),
        }
    }

    /// Ends the build of the new keys of a table that nobody else uses now, or does all of it.
    pub fn finish_keys(&mut self, state: &ServerState, env: &DdlEnv, old: &LockedTable) -> SqlResult<()> {
        if let PreparedWork::Keys(build) = std::mem::replace(&mut self.work, PreparedWork::Nothing)
            && build.finish(&|_| env.context.kill.check()).map_err(SqlError::from)?
        {
            return Ok(());
        }
        build_keys(state, &env.context, old, &Arc::new(self.alteration.table.clone()))
    }

    /// Ends the copy of the rows of a table that nobody else uses now; `None` if there is none.
    pub fn finish_copy(&mut self) -> SqlResult<Option<CopiedTable<'s>>> {
        match std::mem::replace(&mut self.work, PreparedWork::Nothing) {
            PreparedWork::Copy(copy) => copy.finish(),
            _ => Ok(None),
        }
    }
}
