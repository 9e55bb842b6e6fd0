//! CREATE, ALTER and DROP DATABASE.

use super::data_type::named_collation;
use super::execute::{DdlEnv, QualifiedName, database_mut, insert_database, referring_keys};
use super::names::check_database_name;
use crate::charset;
use crate::database::Shared;
use squall_parser::ast::{AlterDatabase, CreateDatabase, DatabaseOption, DropDatabase};
use squall_row_store::DdlChanges;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};

fn collation_of(options: &[DatabaseOption], default: CollationId) -> SqlResult<CollationId> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            DatabaseOption::Charset(Some(name)) => charset = Some(&**name),
            DatabaseOption::Charset(None) => charset = Some(charset::charset_name(default)),
            DatabaseOption::Collate(name) => collation = Some(&**name),
            DatabaseOption::Encryption(false) | DatabaseOption::ReadOnly(None | Some(false)) => {}
            DatabaseOption::Encryption(true) => return Err(SqlError::unsupported("ENCRYPTION")),
            DatabaseOption::ReadOnly(Some(true)) => return Err(SqlError::unsupported("READ ONLY")),
            DatabaseOption::Comment(_) => return Err(SqlError::unsupported("COMMENT of a database")),
        }
    }
    named_collation(charset, collation, default)
}

/// Databases that no statement may make, change or drop.
fn refuse_system(env: &DdlEnv, name: &str) -> SqlResult<()> {
    if crate::information_schema::virtual_database(name).is_some() {
        let account = env.context.current_user.clone();
        let (user, host) = account.split_once('@').unwrap_or((&account, "%"));
        return Err(SqlError::new(ErrorCode::DbAccessDenied, &[&user, &host, &name]));
    }
    Ok(())
}

/// CREATE DATABASE; tells how many rows count as changed.
pub fn create_database(shared: &Shared, env: &DdlEnv, statement: &CreateDatabase) -> SqlResult<u64> {
    let name = statement.name.as_str();
    check_database_name(name)?;
    // Dumps of everything have the databases that are always there.
    if statement.if_not_exists && crate::information_schema::virtual_database(name).is_some() {
        env.note(SqlError::new(ErrorCode::DbCreateExists, &[&name]));
        return Ok(1);
    }
    refuse_system(env, name)?;
    let collation = collation_of(&statement.options, env.server_collation)?;
    if statement.or_replace && shared.catalog.load().database(name).is_some() {
        let drop = DropDatabase { if_exists: true, name: statement.name.clone() };
        drop_database(shared, env, &drop)?;
    }
    shared.change_catalog(|catalog| {
        if catalog.database(name).is_some() {
            let error = SqlError::new(ErrorCode::DbCreateExists, &[&name]);
            if !statement.if_not_exists {
                return Err(error);
            }
            env.note(error);
        } else {
            insert_database(catalog, name, collation);
        }
        Ok((1, DdlChanges::default()))
    })
}

/// ALTER DATABASE.
pub fn alter_database(shared: &Shared, env: &DdlEnv, statement: &AlterDatabase) -> SqlResult<u64> {
    let name = match (&statement.name, &env.context.database) {
        (Some(name), _) => name.to_string(),
        (None, Some(database)) => database.to_string(),
        (None, None) => return Err(SqlError::new(ErrorCode::NoDatabase, &[])),
    };
    refuse_system(env, &name)?;
    shared.change_catalog(|catalog| {
        let database = database_mut(catalog, &name)?;
        database.collation = collation_of(&statement.options, database.collation)?;
        Ok((1, DdlChanges::default()))
    })
}

/// DROP DATABASE with everything in it; tells how many tables went.
pub fn drop_database(shared: &Shared, env: &DdlEnv, statement: &DropDatabase) -> SqlResult<u64> {
    let name = statement.name.as_str();
    refuse_system(env, name)?;
    if shared.is_of_module(name) {
        return Err(SqlError::new(ErrorCode::NoSystemSchemaAccess, &[&name]));
    }
    let seen = shared.catalog.load();
    let names: Vec<QualifiedName> = seen
        .database(name)
        .map(|database| database.tables.keys().map(|table| (name.to_string(), table.clone())).collect())
        .unwrap_or_default();
    let _locks = shared.lock_for_ddl(env, &names)?;
    shared.change_locked(&names, &seen, |catalog| {
        let Some(database) = catalog.databases.get(name) else {
            let error = SqlError::new(ErrorCode::DbDropExists, &[&name]);
            if !statement.if_exists {
                return Err(error);
            }
            env.note(error);
            return Ok((0, DdlChanges::default()));
        };
        if env.foreign_key_checks {
            for table in &names {
                if let Some((_, child, key)) =
                    referring_keys(catalog, table).into_iter().find(|(database, ..)| database != name)
                {
                    return Err(super::drop::referenced(&table.1, &key, &child));
                }
            }
        }
        let count = database.tables.len() as u64;
        catalog.databases.remove(name);
        Ok((count, DdlChanges::default()))
    })
}
