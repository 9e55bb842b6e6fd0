//! Describes tables and routines as an account sees them.

use crate::result::description::{ColumnDescription, ParameterDescription, RoutineDescription, TableDescription};
use crate::session::Session;
use squall_catalog::{ColumnDef, Need, Object, Privileges, RoutineDef, RoutineKind, RoutineParameterMode, TableEntry};
use squall_system_tables::Server as _;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

impl Session {
    /// See [`Connection::describe_table`](crate::api::Connection::describe_table).
    pub(crate) fn table_description(&mut self, database: &str, table: &str) -> SqlResult<TableDescription> {
        self.refresh_access();
        let (shared, access) = (self.shared.clone(), self.identity.access.clone());
        let catalog = shared.catalog.load();
        let describe = |column: &ColumnDef| {
            let may_read = access.on_column(database, table, &column.name).contains(Privileges::SELECT);
            ColumnDescription { may_read, ..described(column) }
        };
        let sees = |column: &&ColumnDef| access.sees_column(database, table, &column.name);
        let entry = catalog.entry(database, table);
        if entry.is_none()
            && let Some(found) = shared.registry.virtual_table(database, table)
        {
            // Which of them an account may read is asked by the statement.
            let columns = found.columns().iter().map(|column| ColumnDescription {
                name: column.name.to_string(),
                sql_type: column.sql_type.clone(),
                is_generated: false,
                is_auto_increment: false,
                is_invisible: column.invisible,
                may_read: true,
            });
            return Ok(TableDescription { is_view: true, columns: columns.collect(), key: Vec::new() });
        }
        // Who has no privilege on a table does not learn whether it exists.
        if !access.sees_table(database, table) {
            return Err(self.security().table_denied("SELECT", table));
        }
        match entry {
            None if catalog.database(database).is_none() => Err(SqlError::new(ErrorCode::BadDatabase, &[&database])),
            None => Err(SqlError::new(ErrorCode::NoSuchTable, &[&database, &table])),
            Some(TableEntry::View(view)) => {
                let context = Arc::new(self.query_context());
                let found = shared.columns_of_view(&catalog, &context, (database, table), view);
                let invalid = || SqlError::new(ErrorCode::ViewInvalid, &[&database, &table]);
                let columns = found.ok_or_else(invalid)?;
                let columns = columns.iter().filter(sees).map(describe).collect();
                Ok(TableDescription { is_view: true, columns, key: Vec::new() })
            }
            Some(TableEntry::Table(table)) => {
                let seen: Vec<&ColumnDef> = table.named_columns().iter().filter(sees).collect();
                let parts = table.primary_key().map_or(&[][..], |key| &key.parts[..]);
                let ordinals = parts.iter().map(|part| seen.iter().position(|column| column.id == part.column));
                let key = ordinals.collect::<Option<Vec<_>>>().unwrap_or_default();
                let columns = seen.into_iter().map(describe).collect();
                Ok(TableDescription { is_view: false, columns, key })
            }
        }
    }

    /// See [`Connection::describe_routine`](crate::api::Connection::describe_routine).
    pub(crate) fn routine_description(
        &mut self,
        database: &str,
        name: &str,
        is_function: bool,
    ) -> SqlResult<RoutineDescription> {
        self.refresh_access();
        let object = Object::Routine { database: database.into(), is_function, name: name.into() };
        // Who may not call a routine does not learn whether it exists.
        self.security().check_needs(&[Need::new(object, Privileges::EXECUTE, "execute")])?;
        let kind = if is_function { RoutineKind::Function } else { RoutineKind::Procedure };
        let catalog = self.shared.catalog.load();
        match catalog.routine(database, kind, name) {
            Some(routine) => Ok(described_routine(routine)),
            None => Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&kind.word(), &format!("{database}.{name}")])),
        }
    }
}

/// A column, but for privileges.
fn described(column: &ColumnDef) -> ColumnDescription {
    ColumnDescription {
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        is_generated: column.generated.is_some(),
        is_auto_increment: column.auto_increment,
        is_invisible: column.invisible,
        may_read: false,
    }
}

fn described_routine(routine: &RoutineDef) -> RoutineDescription {
    let parameters = routine.parameters.iter().map(|parameter| ParameterDescription {
        name: parameter.name.clone(),
        is_in: parameter.mode != RoutineParameterMode::Out,
        is_out: parameter.mode != RoutineParameterMode::In,
        sql_type: parameter.sql_type.clone(),
    });
    RoutineDescription { name: routine.name.clone(), parameters: parameters.collect() }
}
