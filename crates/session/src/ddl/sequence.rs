//! CREATE, ALTER and DROP SEQUENCE.

use super::create_select::publish_table;
use crate::database::Shared;
use crate::result::{Failure, Outcome};
use crate::sequences::{SequenceUse, find_sequence, write_first_row};
use crate::session::{Session, StatementRun};
use squall_catalog::{EngineName, TableDef, TableEntry};
use squall_definitions::edit::reserve_table_id;
use squall_definitions::execute::DdlEnv;
use squall_definitions::names::check_table_name;
use squall_definitions::sequence::{altered_row, first_row};
use squall_definitions::table_option::{apply_options, table_collation};
use squall_definitions::{drop, execute};
use squall_parser::ast::{AlterSequence, CreateSequence, DropObject};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// CREATE SEQUENCE: the catalog gets it when its row is durable.
    pub(super) async fn create_sequence(
        &mut self,
        statement: &CreateSequence,
        run: &StatementRun<'_>,
    ) -> Result<Outcome, Failure> {
        if statement.temporary {
            let instead = "TEMPORARY SEQUENCE (make one without TEMPORARY, and drop it)";
            return Err(SqlError::unsupported(instead).into());
        }
        let env = self.ddl_env(&run.context);
        let name = env.qualify(&statement.name)?;
        check_table_name(&name.1)?;
        let catalog = self.shared.catalog.load();
        if catalog.database(&name.0).is_none() {
            return Err(execute::missing(&catalog, &name).into());
        }
        if let Some(entry) = catalog.entry(&name.0, &name.1)
            && !(statement.or_replace && matches!(entry, TableEntry::Table(table) if table.is_sequence()))
        {
            let error = SqlError::new(ErrorCode::TableExists, &[&name.1]);
            if statement.if_not_exists {
                env.note(error);
                return Ok(Outcome::done());
            }
            return Err(error.into());
        }
        let row = first_row(&name.0, &name.1, &statement.options)?;
        let context = env.ddl_context(&catalog, &name.0);
        let collation = table_collation(&statement.table_options, context.database_collation)?;
        let mut table = TableDef::sequence(&name.1, collation, run.context.now_micros);
        apply_options(&mut table, &statement.table_options, &context)?;
        if table.engine != EngineName::ROWS {
            let engine = table.engine.as_str();
            return Err(
                SqlError::unsupported(format_args!("a sequence with ENGINE={engine} (leave ENGINE out)")).into()
            );
        }
        let or_replace = statement.or_replace;
        let create = move |shared: &Shared| {
            let reserved = reserve_table_id(shared, &mut table)?;
            let table = Arc::new(table);
            shared.store.create_data(&table)?;
            let made = write_first_row(shared, &table, &row.values())
                .and_then(|()| publish_table(shared, &env, &name, &reserved, &table, &[], or_replace));
            if made.is_err() {
                shared.store.drop_data(&table)?;
            }
            made
        };
        self.waiting(create).await?;
        Ok(Outcome::done())
    }

    /// ALTER SEQUENCE.
    pub(super) async fn alter_sequence(
        &mut self,
        statement: &AlterSequence,
        run: &StatementRun<'_>,
        env: DdlEnv,
    ) -> SqlResult<Outcome> {
        let (database, name) = env.qualify(&statement.name)?;
        let found = match find_sequence(&self.shared.catalog.load(), &database, &name) {
            Err(error) if statement.if_exists && error.is(ErrorCode::UnknownSequence) => {
                env.note(error);
                return Ok(Outcome::done());
            }
            found => found?,
        };
        let (options, context) = (statement.options.clone(), run.context.clone());
        let lock_wait = Duration::from_secs(self.settings.table_lock_wait_seconds);
        let alter = move |shared: &Shared| {
            let by = SequenceUse { shared, context: &context, lock_wait };
            shared.sequences.alter(&found, &by, |row| altered_row(&database, &name, row, &options))
        };
        self.waiting(alter).await?;
        Ok(Outcome::done())
    }

    /// DROP SEQUENCE.
    pub(super) async fn drop_sequences(&mut self, statement: &DropObject, env: DdlEnv) -> SqlResult<Outcome> {
        if statement.temporary {
            return Err(SqlError::unsupported("TEMPORARY SEQUENCE (sequences are dropped without it)"));
        }
        let names = statement.names.iter().map(|name| env.qualify(name)).collect::<SqlResult<Vec<_>>>()?;
        let (dropped, if_exists) = (names.clone(), statement.if_exists);
        self.waiting(move |shared| drop::drop_sequences(shared, &env, &names, if_exists)).await?;
        self.forget_locked(&dropped);
        Ok(Outcome::done())
    }
}
