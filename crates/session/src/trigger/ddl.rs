//! CREATE TRIGGER and DROP TRIGGER.

use crate::authorization::SecurityContext;
use crate::authorization::definition::note_missing_definer;
use crate::authorization::programs::table_of_trigger;
use crate::program::{ProgramKind, check_called, check_program};
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use crate::trigger_rows::TriggerRows;
use squall_catalog::{TableDef, TriggerDef, TriggerEvent, TriggerTime};
use squall_definitions::execute::{DdlEnv, QualifiedName, base_table};
use squall_definitions::names::check_trigger_name;
use squall_definitions::routine::IfThere;
use squall_definitions::trigger::{TriggerPlace, create_trigger, drop_trigger};
use squall_parser::ast::{self, CreateTrigger, DropObject, ObjectName, TriggerOrder};
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, Level, SqlError, SqlResult};

impl Session {
    /// CREATE TRIGGER.
    pub(crate) async fn create_trigger(
        &mut self,
        create: &CreateTrigger,
        run: &StatementRun<'_>,
        env: DdlEnv,
    ) -> SqlResult<Outcome> {
        let (database, name) = self.security().qualify(&create.name)?;
        let table = table_of_trigger(&self.security(), create)?;
        check_trigger_table(&self.security(), create, &database, &table)?;
        let def = base_table(&self.shared.catalog.load(), &table)?.clone();
        let trigger = self.trigger_of(create, name, &def, run)?;
        note_missing_definer(&self.security(), create.definer.as_ref(), &run.context)?;
        let place = match &create.order {
            None => TriggerPlace::Last,
            Some(TriggerOrder::Follows(other)) => TriggerPlace::Behind(other.to_string()),
            Some(TriggerOrder::Precedes(other)) => TriggerPlace::Before(other.to_string()),
        };
        let if_there = match (create.or_replace, create.if_not_exists) {
            (true, true) => return Err(SqlError::new(ErrorCode::WrongUsage, &[&"OR REPLACE", &"IF NOT EXISTS"])),
            (true, false) => IfThere::Replace,
            (false, true) => IfThere::Keep,
            (false, false) => IfThere::Fail,
        };
        let make = move |shared: &crate::database::Shared| {
            create_trigger(&shared.state, &env, &table, &trigger, &place, if_there)
        };
        if !self.waiting(make).await? {
            let error = SqlError::new(ErrorCode::TriggerAlreadyExists, &[]);
            run.context.diagnostics.push(Level::Note, error);
        }
        Ok(Outcome::done())
    }

    /// DROP TRIGGER.
    pub(crate) async fn drop_triggers(
        &mut self,
        drop: &DropObject,
        run: &StatementRun<'_>,
        env: DdlEnv,
    ) -> SqlResult<Outcome> {
        for name in &drop.names {
            let (database, name) = self.security().qualify(name)?;
            let env = env.clone();
            let remove = move |shared: &crate::database::Shared| drop_trigger(&shared.state, &env, &database, &name);
            if self.waiting(remove).await? {
                continue;
            }
            let error = SqlError::new(ErrorCode::TriggerDoesNotExist, &[]);
            if !drop.if_exists {
                return Err(error);
            }
            run.context.diagnostics.push(Level::Note, error);
        }
        Ok(Outcome::done())
    }

    /// The definition that a statement makes.
    fn trigger_of(
        &self,
        create: &CreateTrigger,
        name: String,
        table: &TableDef,
        run: &StatementRun<'_>,
    ) -> SqlResult<TriggerDef> {
        check_trigger_name(&name)?;
        let time = match create.time {
            ast::TriggerTime::Before => TriggerTime::Before,
            ast::TriggerTime::After => TriggerTime::After,
        };
        let event = match create.event {
            ast::TriggerEvent::Insert => TriggerEvent::Insert,
            ast::TriggerEvent::Update => TriggerEvent::Update,
            ast::TriggerEvent::Delete => TriggerEvent::Delete,
        };
        check_program(&create.body, ProgramKind::Trigger, &self.shared.registry.variables)?;
        check_called(&create.called, &self.shared.registry)?;
        TriggerRows { table, time, event }.check(&create.body)?;
        let (database, _) = self.security().qualify(&create.name)?;
        let catalog = self.shared.catalog.load();
        let collation = catalog.database(&database).map_or(table.collation, |database| database.collation);
        let values = Values(&self.variables.session);
        Ok(TriggerDef {
            name,
            time,
            event,
            body: String::from_utf8_lossy(create.body_span.bytes(run.request.sql)).trim().to_string(),
            definer: self.security().definer(create.definer.as_ref())?,
            sql_mode: self.settings.bind.sql_mode.0,
            client_charset: values.text(ids::CHARACTER_SET_CLIENT).to_string(),
            connection_collation: values.text(ids::COLLATION_CONNECTION).to_string(),
            database_collation: collation.name().to_string(),
            created_micros: run.context.now_micros,
        })
    }
}

/// Whether a table is one that triggers can be on, in their own database (1361, 1435, 1465).
fn check_trigger_table(
    security: &SecurityContext<'_>,
    create: &CreateTrigger,
    database: &str,
    table: &QualifiedName,
) -> SqlResult<()> {
    if table.0 == squall_system_tables::SYSTEM_DATABASE || squall_system_tables::virtual_database(&table.0).is_some() {
        return Err(SqlError::new(ErrorCode::NoTriggersOnSystemSchema, &[]));
    }
    if table.0 != database {
        return Err(SqlError::new(ErrorCode::TriggerInWrongSchema, &[]));
    }
    let name = ObjectName { schema: Some(ast::Ident::new(table.0.as_str())), name: create.table.name.clone() };
    if security.temporary_table_named(&name).is_some() {
        return Err(SqlError::new(ErrorCode::TriggerOnViewOrTemporaryTable, &[&table.1]));
    }
    Ok(())
}
