//! Runs a definition statement: checks privileges, then works on a thread that may block.

use crate::authorization::SecurityContext;
use crate::authorization::definition::is_virtual_already;
use crate::authorization::definition::note_missing_definer;
use crate::authorization::programs::table_of_trigger;
use crate::authorization::programs::tables_of_triggers;
use crate::result::writer::OkInfo;
use crate::result::{Failure, Outcome};
use crate::session::{Session, StatementRun};
use squall_catalog::{TableDef, TableEntry};
use squall_definitions::alter::AlterEnv;
use squall_definitions::execute::{DdlEnv, QualifiedName, no_such_table};
use squall_definitions::{alter, create, database, drop, view};
use squall_parser::ast::{self, Statement, TableOption};
use squall_row_store::LockWait;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, ErrorCode, Level, SqlError, SqlResult};
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// The environment of definition statements.
    pub(crate) fn ddl_env(&self, context: &Arc<StatementContext>) -> DdlEnv {
        let values = Values(&self.variables.session);
        DdlEnv {
            context: context.clone(),
            session: self.process.id,
            wait: LockWait::Timeout(Duration::from_secs(self.settings.table_lock_wait_seconds)),
            foreign_key_checks: self.settings.foreign_key_checks,
            server_collation: CollationId::named(values.text(ids::COLLATION_SERVER))
                .unwrap_or(CollationId::UTF8MB4_0900_AI_CI),
            require_primary_key: values.on(ids::SQL_REQUIRE_PRIMARY_KEY),
            default_engine: values.text(ids::DEFAULT_STORAGE_ENGINE).to_string(),
            table_compression: values.text(ids::TABLE_COMPRESSION).to_string(),
            engines: self.shared.store.engines().clone(),
            registry: self.shared.registry.clone(),
            account: self.identity.account.clone(),
            client_host: self.security().client_host().into(),
            access: self.identity.access.clone(),
        }
    }

    /// CREATE, ALTER, DROP, RENAME and TRUNCATE of databases, tables, keys, views and triggers.
    pub(crate) async fn run_definition(&mut self, run: &StatementRun<'_>) -> Result<Outcome, Failure> {
        self.check_transaction_writable()?;
        let is_about_temporary = is_about_temporary(&self.security(), run.request.statement);
        if !is_about_temporary {
            self.check_server_writable()?;
        }
        self.check_definition_locks(run.request.statement)?;
        let _pass = match is_about_temporary {
            true => None,
            false => Some(self.definition_pass().await?),
        };
        let env = self.ddl_env(&run.context);
        match run.request.statement {
            Statement::CreateDatabase(statement) => {
                let statement = statement.clone();
                let rows = self.waiting(move |shared| database::create_database(shared, &env, &statement)).await?;
                Ok(Outcome::affected(rows))
            }
            Statement::AlterDatabase(statement) => {
                let statement = statement.clone();
                let rows = self.waiting(move |shared| database::alter_database(shared, &env, &statement)).await?;
                Ok(Outcome::affected(rows))
            }
            Statement::DropDatabase(statement) => self.drop_database(statement, env).await,
            Statement::CreateTable(statement) => {
                if is_virtual_already(&self.security(), statement) {
                    let error = SqlError::new(ErrorCode::TableExists, &[&statement.name.name.as_str()]);
                    run.context.diagnostics.push(Level::Note, error);
                    return Ok(Outcome::done());
                }
                if statement.options.iter().any(TableOption::is_sequence) {
                    return Box::pin(self.create_sequence_table(statement, run)).await;
                }
                self.create_table(statement, run).await
            }
            Statement::AlterTable(statement) => Ok(self.alter_table(statement, &run.context).await?),
            Statement::DropTable(statement) => Ok(self.drop_tables(statement, env).await?),
            Statement::TruncateTable(name) => self.truncate_table(name, env).await,
            Statement::RenameTable(statement) => {
                let statement = statement.clone();
                self.waiting(move |shared| drop::rename_tables(shared, &env, &statement)).await?;
                Ok(Outcome::done())
            }
            Statement::CreateIndex(statement) => {
                let alter = alter::alter_of_create_index(statement);
                Ok(self.alter_table(&alter, &run.context).await?)
            }
            Statement::DropIndex(statement) => {
                let alter = alter::alter_of_drop_index(statement);
                Ok(self.alter_table(&alter, &run.context).await?)
            }
            Statement::CreateView(statement) => {
                let definition = self.resolve_view(statement, run).await?;
                note_missing_definer(&self.security(), statement.definer.as_ref(), &run.context)?;
                let (statement, account) = (statement.clone(), self.identity.account.clone());
                self.waiting(move |shared| view::create_view(shared, &env, &statement, definition, &account)).await?;
                Ok(Outcome::done())
            }
            Statement::DropView(statement) => {
                let statement = statement.clone();
                self.waiting(move |shared| drop::drop_views(shared, &env, &statement)).await?;
                Ok(Outcome::done())
            }
            Statement::CreateSequence(create) => self.create_sequence(create, run).await,
            Statement::AlterSequence(alter) => Ok(self.alter_sequence(alter, run, env).await?),
            Statement::DropSequence(drop) => Ok(self.drop_sequences(drop, env).await?),
            Statement::CreateTrigger(create) => Ok(Box::pin(self.create_trigger(create, run, env)).await?),
            Statement::DropTrigger(drop) => Ok(self.drop_triggers(drop, run, env).await?),
            _ => Err(SqlError::internal("a definition that nothing carries out").into()),
        }
    }

    /// DROP DATABASE, with its events.
    async fn drop_database(&mut self, statement: &ast::DropDatabase, env: DdlEnv) -> Result<Outcome, Failure> {
        let (statement, name) = (statement.clone(), statement.name.to_string());
        let rows = self.waiting(move |shared| database::drop_database(shared, &env, &statement)).await?;
        let (events, dropped) = (self.shared.events.clone(), name.clone());
        let changing = events.begin_change().await;
        self.blocking(move |_| events.drop_database(&changing, &dropped)).await?;
        if self.default_database().map(|name| &**name) == Some(&*name) {
            self.set_default_database(None);
            self.process.set_database("");
        }
        Ok(Outcome::affected(rows))
    }

    /// TRUNCATE TABLE: of a TEMPORARY table, a log, counters, or a table of the catalog.
    async fn truncate_table(&mut self, name: &ast::ObjectName, env: DdlEnv) -> Result<Outcome, Failure> {
        if let Some(table) = self.security().temporary_table_named(name) {
            self.truncate_temporary(&table)?;
            return Ok(Outcome::done());
        }
        let (database, table) = self.security().qualify(name)?;
        if self.truncate_log(name)? || squall_system_tables::truncate(&self.shared.state, &database, &table) {
            return Ok(Outcome::done());
        }
        check_truncate_virtual(&self.security(), name)?;
        let name = name.clone();
        self.waiting(move |shared| drop::truncate_table(shared, &env, &name)).await?;
        Ok(Outcome::done())
    }

    async fn drop_tables(&mut self, statement: &ast::DropTable, env: DdlEnv) -> SqlResult<Outcome> {
        let mut names = Vec::new();
        for name in &statement.names {
            let qualified = env.qualify(name)?;
            if let Some(table) = self.temporary_tables.remove(&qualified) {
                self.session_plans.forget_plans();
                self.shared.store.drop_data(&table)?;
                continue;
            }
            names.push(qualified);
        }
        if statement.temporary {
            if let Some((database, table)) = names.first() {
                let error = squall_types::SqlError::new(
                    squall_types::ErrorCode::BadTable,
                    &[&format_args!("{database}.{table}")],
                );
                if !statement.if_exists {
                    return Err(error);
                }
                env.note(error);
            }
            return Ok(Outcome::done());
        }
        if !names.is_empty() {
            let if_exists = statement.if_exists;
            let dropped = names.clone();
            self.waiting(move |shared| drop::drop_tables(shared, &env, &names, if_exists)).await?;
            self.forget_locked(&dropped);
        }
        Ok(Outcome::done())
    }

    /// Tables that are dropped are not locked any more. When all are that were locked, LOCK TABLES has ended; views alone do not keep it.
    pub(super) fn forget_locked(&mut self, dropped: &[(String, String)]) {
        let Some(held) = &mut self.state.held_locks.tables else { return };
        dropped.iter().for_each(|(database, table)| held.names.forget(database, table));
        let catalog = self.shared.catalog.load();
        let is_left = |(database, table): &(String, String)| {
            matches!(catalog.entry(database, table), Some(TableEntry::Table(_)))
                || squall_system_tables::virtual_database(database).is_some()
        };
        if !held.names.names().any(is_left) {
            self.held_locks.tables = None;
        }
    }

    pub(crate) fn drop_temporary_tables(&mut self) {
        for (_, table) in self.state.temporary_tables.drain() {
            // What stays behind is removed at the next start.
            if self.shared.store.drop_data(&table).is_err() {
                return;
            }
        }
    }

    /// Under LOCK TABLES only tables that are locked for writing are defined again (1099, 1100), and no database (1192).
    fn check_definition_locks(&self, statement: &Statement) -> SqlResult<()> {
        let Some(held) = &self.held_locks.tables else { return Ok(()) };
        let written = |name: &ast::ObjectName| {
            if self.security().temporary_table_named(name).is_some() {
                return Ok(());
            }
            let (database, table) = self.security().qualify(name)?;
            held.names.check_defined(&database, &table)
        };
        match statement {
            Statement::CreateTable(create) if !create.temporary => written(&create.name),
            Statement::AlterTable(alter) => {
                written(&alter.name)?;
                alter.exchanged_with().map_or(Ok(()), written)
            }
            Statement::CreateSequence(create) => written(&create.name),
            Statement::AlterSequence(alter) => written(&alter.name),
            Statement::DropSequence(drop) => drop.names.iter().try_for_each(written),
            Statement::DropTable(drop) if !drop.temporary => drop.names.iter().try_for_each(written),
            Statement::TruncateTable(name) => {
                let (database, table) = self.security().qualify(name)?;
                // It empties no view, so that a lock of one does not count.
                match self.shared.catalog.load().entry(&database, &table) {
                    Some(TableEntry::View(_)) if self.security().temporary_table_named(name).is_none() => {
                        Err(SqlError::new(ErrorCode::TableNotLocked, &[&table]))
                    }
                    _ => written(name),
                }
            }
            Statement::RenameTable(rename) => rename.renames.iter().try_for_each(|(from, _)| written(from)),
            Statement::CreateIndex(create) => written(&create.table),
            Statement::DropIndex(drop) => written(&drop.table),
            Statement::CreateTrigger(create) => {
                let (database, table) = table_of_trigger(&self.security(), create)?;
                held.names.check_defined(&database, &table)
            }
            Statement::DropTrigger(drop) => {
                let mut tables = tables_of_triggers(&self.security(), drop)?.into_iter();
                tables.try_for_each(|(database, table)| held.names.check_defined(&database, &table))
            }
            Statement::CreateDatabase(_) | Statement::AlterDatabase(_) | Statement::DropDatabase(_) => {
                Err(SqlError::new(ErrorCode::LockOrActiveTransaction, &[]))
            }
            _ => Ok(()),
        }
    }

    fn truncate_temporary(&mut self, table: &Arc<TableDef>) -> SqlResult<()> {
        let mut fresh = (**table).clone();
        fresh.id = self.shared.store.allocate_temporary_id();
        fresh.version += 1;
        let fresh = Arc::new(fresh);
        self.shared.store.create_data(&fresh)?;
        for place in self.temporary_tables.values_mut().filter(|other| other.id == table.id) {
            *place = fresh.clone();
        }
        self.shared.store.drop_data(table)
    }

    async fn create_table(&mut self, statement: &ast::CreateTable, run: &StatementRun<'_>) -> Result<Outcome, Failure> {
        let env = self.ddl_env(&run.context);
        let name = env.qualify(&statement.name)?;
        let selected = match &statement.query {
            Some(query) => self.columns_of_query(query, run).await?,
            None => Vec::new(),
        };
        let source = match &statement.like {
            Some(like) => Some(table_to_copy(&self.security(), &env, like)?),
            None => None,
        };
        if let Some(query) = &statement.query
            && !statement.temporary
        {
            return self.create_from_query(statement, &name, query, selected, run).await;
        }
        let created = if statement.temporary {
            self.create_temporary(statement, &env, &name, &selected, source)?
        } else {
            let (owned, name) = (statement.clone(), name.clone());
            self.waiting(move |shared| create::create_table(shared, &env, &owned, &name, &selected, source)).await?
        };
        if let Some(query) = &statement.query
            && created
        {
            return self.fill_created(statement, &name, query, run).await;
        }
        Ok(Outcome::done())
    }

    fn create_temporary(
        &mut self,
        statement: &ast::CreateTable,
        env: &DdlEnv,
        name: &QualifiedName,
        selected: &[squall_catalog::ColumnDef],
        source: Option<Arc<TableDef>>,
    ) -> SqlResult<bool> {
        if let Some(existing) = self.temporary_tables.get(name).cloned() {
            if statement.or_replace {
                self.temporary_tables.remove(name);
                self.shared.store.drop_data(&existing)?;
            } else {
                let error = squall_types::SqlError::new(squall_types::ErrorCode::TableExists, &[&name.1]);
                if statement.if_not_exists {
                    env.note(error);
                    return Ok(false);
                }
                return Err(error);
            }
        }
        let catalog = self.shared.catalog.load();
        let mut table = create::definition(&catalog, env, statement, name, selected, source.as_deref())?;
        table.id = self.shared.store.allocate_temporary_id();
        table.temporary = true;
        let table = Arc::new(table);
        self.shared.store.create_data(&table)?;
        self.temporary_tables.insert(name.clone(), table);
        Ok(true)
    }

    async fn alter_table(
        &mut self,
        statement: &ast::AlterTable,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        let env = self.ddl_env(context);
        let name = env.qualify(&statement.name)?;
        if let Some(table) = self.security().temporary_table_named(&statement.name) {
            return self.alter_temporary(statement, &table, &name, env).await;
        }
        let catalog = self.shared.catalog.load();
        if statement.if_exists && catalog.table(&name.0, &name.1).is_none() {
            env.note(no_such_table(&name));
            return Ok(Outcome::done());
        }
        if let [action] = &statement.actions[..]
            && let Some((kind, names)) = partition_maintenance(action)
        {
            let def = squall_definitions::execute::base_table(&catalog, &name)?;
            squall_definitions::partition_change::truncated_storages(def, names)?;
            let maintenance = ast::TableMaintenance {
                kind,
                local: false,
                tables: vec![statement.name.clone()],
                options: Vec::new(),
                histogram: None,
                view: false,
            };
            return self.maintain_tables(&maintenance, context).await;
        }
        let (statement, alter_env) = (statement.clone(), AlterEnv { strict: self.settings.bind.sql_mode.is_strict() });
        let rows = self.waiting(move |shared| alter::alter_table(shared, &env, &alter_env, &statement, &name)).await?;
        Ok(Outcome::Ok(copied(rows)))
    }

    async fn alter_temporary(
        &mut self,
        statement: &ast::AlterTable,
        table: &Arc<TableDef>,
        name: &QualifiedName,
        env: DdlEnv,
    ) -> SqlResult<Outcome> {
        let (statement, alter_env) = (statement.clone(), AlterEnv { strict: self.settings.bind.sql_mode.is_strict() });
        // It may hide any other table, but no TEMPORARY one.
        if let Some(to) = alter::renamed_to(&env, name, &statement)?
            && to != *name
            && self.temporary_tables.contains_key(&to)
        {
            return Err(SqlError::new(ErrorCode::TableExists, &[&to.1]));
        }
        let (old, database) = (table.clone(), name.0.clone());
        let (changed, rename, rows) = self
            .waiting(move |shared| alter::alter_temporary(shared, &env, &alter_env, &statement, &old, &database))
            .await?;
        self.temporary_tables.remove(name);
        if changed.id != table.id {
            self.shared.store.drop_data(table)?;
        }
        self.temporary_tables.insert(rename.unwrap_or_else(|| name.clone()), changed);
        Ok(Outcome::Ok(copied(rows)))
    }
}

/// 1288 for TRUNCATE of a virtual table.
fn check_truncate_virtual(security: &SecurityContext<'_>, name: &ast::ObjectName) -> SqlResult<()> {
    match security.virtual_table_named(name) {
        Some(table) => Err(SqlError::new(ErrorCode::NonUpdatableTable, &[&table.name(), &"TRUNCATE"])),
        None => Ok(()),
    }
}

/// Whether a definition changes nothing but the session's TEMPORARY tables.
fn is_about_temporary(security: &SecurityContext<'_>, statement: &Statement) -> bool {
    let is_temporary = |name: &ast::ObjectName| security.temporary_table_named(name).is_some();
    match statement {
        Statement::CreateTable(create) => create.temporary,
        Statement::DropTable(drop) => drop.temporary || drop.names.iter().all(is_temporary),
        Statement::AlterTable(alter) => is_temporary(&alter.name),
        Statement::TruncateTable(name) => is_temporary(name),
        Statement::CreateIndex(create) => is_temporary(&create.table),
        Statement::DropIndex(drop) => is_temporary(&drop.table),
        _ => false,
    }
}

fn table_to_copy(security: &SecurityContext<'_>, env: &DdlEnv, like: &ast::ObjectName) -> SqlResult<Arc<TableDef>> {
    if let Some(table) = security.temporary_table_named(like) {
        return Ok(table);
    }
    let name = env.qualify(like)?;
    let catalog = security.shared.catalog.load();
    squall_definitions::execute::base_table(&catalog, &name).cloned()
}

fn copied(rows: u64) -> OkInfo {
    crate::session::info_text(rows, 0)
}

/// ANALYZE, CHECK, OPTIMIZE and REPAIR PARTITION. The work is that of the whole table: what is not asked for does no harm.
fn partition_maintenance(action: &ast::AlterAction) -> Option<(ast::MaintenanceKind, &ast::PartitionNames)> {
    match action {
        ast::AlterAction::AnalyzePartition(names) => Some((ast::MaintenanceKind::Analyze, names)),
        ast::AlterAction::CheckPartition(names) => Some((ast::MaintenanceKind::Check, names)),
        ast::AlterAction::OptimizePartition(names) => Some((ast::MaintenanceKind::Optimize, names)),
        ast::AlterAction::RepairPartition(names) => Some((ast::MaintenanceKind::Repair, names)),
        _ => None,
    }
}
