//! CREATE, ALTER and DROP SEQUENCE.

use super::create_select::publish_table;
use crate::converted::converted;
use crate::database::Shared;
use crate::result::{Failure, Outcome};
use crate::sequences::{FoundSequence, SequenceUse, find_sequence, write_first_row};
use crate::session::{Session, StatementRun};
use squall_catalog::{EngineName, SequenceRow, TableDef, TableEntry};
use squall_definitions::create::definition;
use squall_definitions::database::refuse_system;
use squall_definitions::edit::reserve_table_id;
use squall_definitions::execute::DdlEnv;
use squall_definitions::names::check_table_name;
use squall_definitions::sequence::{altered_row, first_row};
use squall_definitions::table_option::{apply_options, table_collation};
use squall_definitions::{drop, execute};
use squall_parser::ast::{
    AlterSequence, CreateSequence, CreateTable, DropObject, Insert, InsertSource, ObjectName, TableOption,
};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
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
        refuse_system(&env, &name.0)?;
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

    /// CREATE TABLE … SEQUENCE=1, which dumps have: its row follows as an INSERT.
    pub(super) async fn create_sequence_table(
        &mut self,
        statement: &CreateTable,
        run: &StatementRun<'_>,
    ) -> Result<Outcome, Failure> {
        let (options, table_options) =
            statement.options.iter().cloned().partition::<Vec<_>, _>(TableOption::is_sequence);
        if options.is_empty() {
            return Err(SqlError::internal("a table that is no sequence").into());
        }
        let plain = CreateTable { options: table_options.clone(), ..statement.clone() };
        let env = self.ddl_env(&run.context);
        let name = env.qualify(&statement.name)?;
        let table = definition(&self.shared.catalog.load(), &env, &plain, &name, &[], None)?;
        let has_more = !table.indexes.is_empty() || !table.checks.is_empty() || table.partitioning.is_some();
        if has_more || statement.query.is_some() || statement.like.is_some() || !table.has_columns_of_sequence() {
            let reason = "other columns or keys than a sequence has";
            return Err(SqlError::new(ErrorCode::SequenceInvalidTable, &[&name.0, &name.1, &reason]).into());
        }
        let CreateTable { or_replace, temporary, if_not_exists, .. } = *statement;
        let name = statement.name.clone();
        let sequence =
            CreateSequence { or_replace, temporary, if_not_exists, name, options: Vec::new(), table_options };
        self.create_sequence(&sequence, run).await
    }

    /// The sequence that a name stands for, if it does.
    pub(crate) fn sequence_of(&self, name: &ObjectName) -> Option<FoundSequence> {
        let (database, name) = self.security().qualify(name).ok()?;
        find_sequence(&self.shared.catalog.load(), &database, &name).ok()
    }

    /// INSERT of a whole row into a sequence, which takes the place of its row: what dumps have.
    ///
    /// # Errors
    /// 1031 for any other INSERT, 1099 and 1100 under LOCK TABLES of others, 1136 and 1054 for a row of other columns, 4085 for one that no sequence has.
    pub(crate) async fn insert_into_sequence(&mut self, insert: &Insert, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        self.check_writable()?;
        let found = self.sequence_of(&insert.table);
        let found = found.ok_or_else(|| SqlError::new(ErrorCode::NoSuchTable, &[&"", &insert.table.name.as_str()]))?;
        if let Some(held) = &self.held_locks.tables {
            held.names.check_defined(&found.database, &found.table.name)?;
        }
        let refused = || SqlError::new(ErrorCode::IllegalHandler, &[&found.table.name]);
        let InsertSource::Values(rows) = &insert.source else { return Err(refused()) };
        let is_plain = insert.on_duplicate.is_empty() && insert.returning.is_empty() && insert.partitions.is_empty();
        let row = match rows.only_row() {
            Some(row) if is_plain => row,
            _ => return Err(refused()),
        };
        let columns = &found.table.columns;
        let width = if insert.columns.is_empty() { columns.len() } else { insert.columns.len() };
        if row.len() != width || width != columns.len() {
            return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&1]));
        }
        let mut values = vec![Value::Null; columns.len()];
        for (at, expr) in row.iter().enumerate() {
            let ordinal = match insert.columns.get(at) {
                None => at,
                Some(name) => {
                    let unknown = || SqlError::new(ErrorCode::BadField, &[&name.as_str(), &"field list"]);
                    found.table.column(name).ok_or_else(unknown)?.0
                }
            };
            let column = &columns[ordinal];
            let (value, from) = self.evaluate(expr, run.request.sql, run.request.parameters, &run.context).await?;
            values[ordinal] = converted(value, &from, &column.sql_type, &column.name, &run.context)?;
        }
        let invalid = || SqlError::new(ErrorCode::SequenceInvalidData, &[&found.database, &found.table.name]);
        let row = SequenceRow::of_values(&values).ok_or_else(invalid)?;
        let (context, lock_wait) = (run.context.clone(), Duration::from_secs(self.settings.lock_wait_seconds));
        let change = move |shared: &Shared| {
            let by = SequenceUse { state: &shared.state, context: &context, lock_wait };
            shared.sequences.alter(&found, &by, |_| Ok(row))
        };
        self.waiting(change).await?;
        Ok(Outcome::affected(1))
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
            let by = SequenceUse { state: &shared.state, context: &context, lock_wait };
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
