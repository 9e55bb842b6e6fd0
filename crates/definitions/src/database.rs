//! CREATE, ALTER and DROP DATABASE.

use crate::data_type::named_collation;
use crate::drop::with_children;
use crate::edit::change_catalog;
use crate::edit::define;
use crate::execute::{DdlEnv, QualifiedName, referring_keys};
use crate::names::check_database_name;
use squall_catalog::Catalog;
use squall_parser::ast::{AlterDatabase, CreateDatabase, DatabaseOption, DropDatabase};
use squall_server_state::ServerState;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};

fn collation_of(options: &[DatabaseOption], default: CollationId) -> SqlResult<CollationId> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            DatabaseOption::Charset(Some(name)) => charset = Some(&**name),
            DatabaseOption::Charset(None) => charset = Some(default.charset().name()),
            DatabaseOption::Collate(name) => collation = Some(&**name),
            DatabaseOption::Encryption(false) | DatabaseOption::ReadOnly(None | Some(false)) => {}
            DatabaseOption::Encryption(true) => return Err(SqlError::unsupported("ENCRYPTION")),
            DatabaseOption::ReadOnly(Some(true)) => return Err(SqlError::unsupported("READ ONLY")),
            DatabaseOption::Comment(_) => return Err(SqlError::unsupported("COMMENT of a database")),
        }
    }
    named_collation(charset, collation, default)
}

/// Databases in which no statement may make, change or drop anything, nor them (1044).
pub fn refuse_system(env: &DdlEnv, name: &str) -> SqlResult<()> {
    if squall_system_tables::virtual_database(name).is_some() {
        let account = env.context.current_user.clone();
        let (user, host) = account.split_once('@').unwrap_or((&account, "%"));
        return Err(SqlError::new(ErrorCode::DbAccessDenied, &[&user, &host, &name]));
    }
    Ok(())
}

/// CREATE DATABASE; tells how many rows count as changed.
pub fn create_database(state: &ServerState, env: &DdlEnv, statement: &CreateDatabase) -> SqlResult<u64> {
    let name = statement.name.as_str();
    check_database_name(name)?;
    // Dumps of everything have the databases that are always there.
    if statement.if_not_exists && squall_system_tables::virtual_database(name).is_some() {
        env.note(SqlError::new(ErrorCode::DbCreateExists, &[&name]));
        return Ok(1);
    }
    refuse_system(env, name)?;
    let collation = collation_of(&statement.options, env.server_collation)?;
    if statement.or_replace && state.catalog.load().database(name).is_some() {
        let drop = DropDatabase { if_exists: true, name: statement.name.clone() };
        drop_database(state, env, &drop)?;
    }
    change_catalog(state, |catalog| {
        if catalog.database(name).is_some() {
            let error = SqlError::new(ErrorCode::DbCreateExists, &[&name]);
            if !statement.if_not_exists {
                return Err(error);
            }
            env.note(error);
        } else {
            catalog.create_database(name, collation);
        }
        Ok(1)
    })
}

/// ALTER DATABASE.
pub fn alter_database(state: &ServerState, env: &DdlEnv, statement: &AlterDatabase) -> SqlResult<u64> {
    let name = match (&statement.name, &env.context.settings.database) {
        (Some(name), _) => name.to_string(),
        (None, Some(database)) => database.to_string(),
        (None, None) => return Err(SqlError::new(ErrorCode::NoDatabase, &[])),
    };
    refuse_system(env, &name)?;
    change_catalog(state, |catalog| {
        let before = catalog.database(&name).map_or(env.server_collation, |database| database.collation);
        catalog.alter_database(&name, collation_of(&statement.options, before)?)?;
        Ok(1)
    })
}

/// DROP DATABASE with everything in it; tells how many tables went.
pub fn drop_database(state: &ServerState, env: &DdlEnv, statement: &DropDatabase) -> SqlResult<u64> {
    let name = statement.name.as_str();
    refuse_system(env, name)?;
    // Accounts, jobs and time zones are in it.
    if state.is_of_module(name) || name.eq_ignore_ascii_case(squall_system_tables::SYSTEM_DATABASE) {
        return Err(SqlError::new(ErrorCode::NoSystemSchemaAccess, &[&name]));
    }
    let in_it = |catalog: &Catalog| -> Vec<QualifiedName> {
        let tables = catalog.database(name).map(|database| database.tables.keys());
        tables.into_iter().flatten().map(|table| (name.to_string(), table.clone())).collect()
    };
    let wanted =
        |catalog: &Catalog| Ok(in_it(catalog).into_iter().flat_map(|table| with_children(catalog, table)).collect());
    define(state, env, wanted, |tables, catalog| {
        let Some(database) = catalog.database(name) else {
            check_database_name(name)?;
            let error = SqlError::new(ErrorCode::DbDropExists, &[&name]);
            if !statement.if_exists {
                return Err(error);
            }
            env.note(error);
            return Ok(0);
        };
        let count = database.tables.len() as u64;
        if env.foreign_key_checks {
            for table in in_it(catalog) {
                if let Some((_, child, key)) =
                    referring_keys(catalog, &table).into_iter().find(|(database, ..)| database != name)
                {
                    return Err(crate::drop::referenced(&table.1, &key, &child));
                }
            }
        }
        catalog.drop_database(name, tables)?;
        Ok(count)
    })
}
