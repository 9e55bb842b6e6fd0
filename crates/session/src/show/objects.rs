//! SHOW of databases, tables, columns, keys and their definitions.

use crate::authorization::SecurityContext;
use crate::result::{ResultSet, number_column, text_column, typed_column};
use crate::sequences::stored_row;
use crate::session::Session;
use squall_catalog::{ColumnDef, Need, Privileges, TableDef, TableEntry};
use squall_definitions::execute::{QualifiedName, missing};
use squall_definitions::names::check_database_name;
use squall_parser::ast::{ObjectName, ShowFilter};
use squall_registry::VirtualScan;
use squall_statement_context::StatementContext;
use squall_system_tables::create_table::{
    create_database_text, create_sequence_text, create_table_text, create_view_text, virtual_table_text,
};
use squall_system_tables::tables::table_type;
use squall_system_tables::type_text::{has_charset, type_text};
use squall_system_tables::{self as information_schema};
use squall_system_tables::{is_system_table, is_unlisted};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

fn s(text: impl Into<String>) -> Value {
    Value::String(text.into())
}

impl Session {
    pub(super) fn show_columns(
        &mut self,
        table: &ObjectName,
        full: bool,
        context: &Arc<StatementContext>,
    ) -> SqlResult<ResultSet> {
        let mut columns = vec![text_column("Field", 64), text_column("Type", 16_383)];
        if full {
            columns.push(text_column("Collation", 64));
        }
        columns.extend([text_column("Null", 3), text_column("Key", 3), text_column("Default", 16_383)]);
        columns.push(text_column("Extra", 256));
        if full {
            columns.extend([text_column("Privileges", 154), text_column("Comment", 2048)]);
        }
        let mut result = ResultSet::new(columns);
        let qualified = self.security().qualify(table)?;
        if is_virtual(&self.security(), &qualified) {
            result.rows = virtual_columns(&self.security(), &qualified, full)?;
            return Ok(result);
        }
        let (name, entry) = visible_entry(&self.security(), table)?;
        match entry {
            TableEntry::Table(definition) => result.rows = column_rows(&self.security(), &name, &definition, full),
            TableEntry::View(_) => result.rows = self.view_columns(&name, full, context)?,
        }
        Ok(result)
    }
}

/// The database given, or the default one (1046), if the account sees it (1044) and it exists (1049).
pub(crate) fn database_or(security: &SecurityContext<'_>, given: Option<&str>) -> SqlResult<String> {
    let name = match (given, security.default_database) {
        (Some(name), _) => name.to_string(),
        (None, Some(database)) => database.to_string(),
        (None, None) => return Err(SqlError::new(ErrorCode::NoDatabase, &[])),
    };
    if let Some(name) = information_schema::virtual_database(&name) {
        return Ok(name.to_string());
    }
    if !security.access.sees_database(&name) {
        return Err(security.database_denied(&name));
    }
    if security.shared.catalog.load().database(&name).is_none() {
        check_database_name(&name)?;
        return Err(SqlError::new(ErrorCode::BadDatabase, &[&name]));
    }
    Ok(name)
}

pub(crate) fn show_databases(security: &SecurityContext<'_>, filter: Option<&ShowFilter>) -> ResultSet {
    let title = match filter {
        Some(ShowFilter::Like(pattern)) => format!("Database ({pattern})"),
        _ => "Database".to_string(),
    };
    let catalog = security.shared.catalog.load();
    let mut names: Vec<String> = information_schema::virtual_databases().iter().map(|name| name.to_string()).collect();
    names.extend(catalog.databases().keys().filter(|name| security.access.sees_database(name)).cloned());
    names.sort();
    let rows = names.into_iter().map(|name| vec![s(name)]).collect();
    ResultSet { columns: vec![text_column(&title, 64)], rows }
}

pub(crate) fn show_tables(
    security: &SecurityContext<'_>,
    full: bool,
    database: Option<&str>,
    filter: Option<&ShowFilter>,
) -> SqlResult<ResultSet> {
    let database = database_or(security, database)?;
    let title = match filter {
        Some(ShowFilter::Like(pattern)) => format!("Tables_in_{database} ({pattern})"),
        _ => format!("Tables_in_{database}"),
    };
    let mut columns = vec![text_column(&title, 64)];
    if full {
        columns.push(text_column("Table_type", 11));
    }
    let mut entries: Vec<(String, &str)> = Vec::new();
    let catalog = security.shared.catalog.load();
    if let Some(definition) = catalog.database(&database) {
        for (name, entry) in &definition.tables {
            if security.access.sees_table(&database, name) && !is_system_table(&database, name) {
                let kind = match entry {
                    TableEntry::View(_) => "VIEW",
                    TableEntry::Table(table) => table_type(table),
                };
                entries.push((name.clone(), kind));
            }
        }
    }
    let tables = security.shared.registry.virtual_tables().filter(|table| table.database() == database);
    let tables = tables.filter(|table| !is_unlisted(&database, table.name()));
    let seen = |name: &str| {
        information_schema::virtual_database(&database).is_some() || security.access.sees_table(&database, name)
    };
    entries.extend(tables.map(|table| (table.name().to_string(), "SYSTEM VIEW")).filter(|(name, _)| seen(name)));
    entries.sort();
    let row = |(name, kind): (String, &str)| if full { vec![s(name), s(kind)] } else { vec![s(name)] };
    Ok(ResultSet { columns, rows: entries.into_iter().map(row).collect() })
}

pub(crate) fn show_table_status(
    security: &SecurityContext<'_>,
    database: Option<&str>,
    context: &Arc<StatementContext>,
) -> SqlResult<ResultSet> {
    let database = database_or(security, database)?;
    let mut columns = vec![text_column("Name", 64), text_column("Engine", 64), number_column("Version")];
    columns.push(text_column("Row_format", 10));
    let numbers =
        ["Rows", "Avg_row_length", "Data_length", "Max_data_length", "Index_length", "Data_free", "Auto_increment"];
    columns.extend(numbers.iter().map(|name| typed_column(name, SqlType::BIGINT_UNSIGNED, false)));
    let times = ["Create_time", "Update_time", "Check_time"];
    columns.extend(times.iter().map(|name| typed_column(name, SqlType::DateTime { fsp: 0 }, false)));
    columns.push(text_column("Collation", 64));
    columns.push(typed_column("Checksum", SqlType::BIGINT, false));
    columns.push(text_column("Create_options", 256));
    columns.push(text_column("Comment", 2048));
    let equals = [(1, Value::String(database))];
    let scan = VirtualScan { equals: &equals, ..VirtualScan::all(context) };
    let rows = match security.shared.registry.virtual_table("information_schema", "TABLES") {
        Some(table) => table.all_rows(&scan)?,
        None => Vec::new(),
    };
    // Name, then everything from ENGINE on.
    let pick = |row: Vec<Value>| {
        let mut picked = vec![row[2].clone()];
        picked.extend_from_slice(&row[4..]);
        picked
    };
    Ok(ResultSet { columns, rows: rows.into_iter().map(pick).collect() })
}

/// A base table, temporary ones first, or a view, that may be looked at (1146, 1142).
fn visible_entry(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<(QualifiedName, TableEntry)> {
    if let Some(table) = security.temporary_table_named(name) {
        return Ok((security.qualify(name)?, TableEntry::Table(table)));
    }
    visible_catalog_entry(security, name)
}

/// The same without TEMPORARY tables.
fn visible_catalog_entry(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<(QualifiedName, TableEntry)> {
    let qualified = security.qualify(name)?;
    if !security.access.sees_table(&qualified.0, &qualified.1) {
        return Err(security.table_denied("SELECT", &qualified.1));
    }
    let catalog = security.shared.catalog.load();
    let Some(entry) = catalog.entry(&qualified.0, &qualified.1) else {
        return Err(missing(&catalog, &qualified));
    };
    Ok((qualified, entry.clone()))
}

fn column_rows(security: &SecurityContext<'_>, name: &QualifiedName, table: &TableDef, full: bool) -> Vec<Vec<Value>> {
    let mut rows = Vec::with_capacity(table.columns.len());
    // Who has been given single columns sees no others.
    let is_seen = |column: &&ColumnDef| table.temporary || security.access.sees_column(&name.0, &name.1, &column.name);
    for column in table.named_columns().iter().filter(is_seen) {
        let collation = column.sql_type.collation().filter(|_| has_charset(&column.sql_type));
        let mut row = vec![s(&column.name), s(type_text(&column.sql_type))];
        if full {
            row.push(collation.map_or(Value::Null, |id| s(id.name())));
        }
        row.push(s(if column.nullable { "YES" } else { "NO" }));
        row.push(s(information_schema::column_key(table, column)));
        row.push(information_schema::column_default(column).map_or(Value::Null, s));
        row.push(s(information_schema::extra(column)));
        if full {
            let own = security.access.on_column(&name.0, &name.1, &column.name);
            row.push(s(information_schema::column_privileges(own)));
            row.push(s(&column.comment));
        }
        rows.push(row);
    }
    rows
}

/// Whether a table's rows are made when they are read. Those of `mysql` are only there for who may see them.
fn is_virtual(security: &SecurityContext<'_>, name: &QualifiedName) -> bool {
    information_schema::virtual_database(&name.0).is_some()
        || security.shared.registry.virtual_table(&name.0, &name.1).is_some()
            && security.access.sees_table(&name.0, &name.1)
}

fn virtual_columns(security: &SecurityContext<'_>, name: &QualifiedName, full: bool) -> SqlResult<Vec<Vec<Value>>> {
    let Some(table) = security.shared.registry.virtual_table(&name.0, &name.1) else {
        return Err(SqlError::new(ErrorCode::UnknownTable, &[&name.1, &name.0]));
    };
    let row = |column: &squall_registry::VirtualColumn| {
        let mut row = vec![s(&*column.name), s(type_text(&column.sql_type))];
        if full {
            let collation = column.sql_type.collation().filter(|_| has_charset(&column.sql_type));
            row.push(collation.map_or(Value::Null, |id| s(id.name())));
        }
        row.extend([s(if column.nullable { "YES" } else { "NO" }), s(""), Value::Null, s("")]);
        if full {
            row.extend([s("select"), s("")]);
        }
        row
    };
    Ok(table.columns().iter().map(row).collect())
}

pub(crate) fn show_indexes(security: &SecurityContext<'_>, table: &ObjectName) -> SqlResult<ResultSet> {
    let columns = vec![
        text_column("Table", 64),
        number_column("Non_unique"),
        text_column("Key_name", 64),
        number_column("Seq_in_index"),
        text_column("Column_name", 64),
        text_column("Collation", 1),
        typed_column("Cardinality", SqlType::BIGINT, false),
        typed_column("Sub_part", SqlType::BIGINT, false),
        text_column("Packed", 1),
        text_column("Null", 3),
        text_column("Index_type", 11),
        text_column("Comment", 8),
        text_column("Index_comment", 2048),
        text_column("Visible", 3),
        text_column("Expression", 16_383),
    ];
    let qualified = security.qualify(table)?;
    if is_virtual(security, &qualified) {
        return Ok(ResultSet::new(columns));
    }
    let (name, entry) = visible_entry(security, table)?;
    let rows = match entry {
        TableEntry::Table(definition) => information_schema::index_rows(security.shared, &name.0, &definition)?,
        TableEntry::View(_) => Vec::new(),
    };
    let pick =
        |row: Vec<Value>| [2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17].map(|at| row[at].clone()).to_vec();
    Ok(ResultSet { columns, rows: rows.into_iter().map(pick).collect() })
}

pub(crate) fn show_create_table(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<ResultSet> {
    let qualified = security.qualify(name)?;
    if is_virtual(security, &qualified) {
        let Some(table) = security.shared.registry.virtual_table(&qualified.0, &qualified.1) else {
            return Err(SqlError::new(ErrorCode::UnknownTable, &[&qualified.1, &qualified.0]));
        };
        let columns = vec![text_column("Table", 64), text_column("Create Table", 16_383)];
        let text = virtual_table_text(&qualified.0, table.name(), table.columns());
        return Ok(ResultSet { columns, rows: vec![vec![s(table.name()), s(text)]] });
    }
    let (qualified, entry) = visible_entry(security, name)?;
    match entry {
        // The text has all columns: a privilege on some of them does not do.
        TableEntry::Table(table)
            if !table.temporary && security.access.on_table(&qualified.0, &qualified.1).is_empty() =>
        {
            Err(security.table_denied("SHOW", &qualified.1))
        }
        TableEntry::Table(table) => {
            let next = match table.auto_increment_ordinal() {
                Some(_) => Some(security.shared.store.peek_auto_increment(&*security.shared.store.table(&table)?)),
                None => None,
            };
            let text = create_table_text(&security.shared.catalog.load(), &table, next, &qualified.0);
            let columns = vec![text_column("Table", 64), text_column("Create Table", 16_383)];
            Ok(ResultSet { columns, rows: vec![vec![s(&table.name), s(text)]] })
        }
        TableEntry::View(_) => show_create_view(security, name),
    }
}

/// SHOW CREATE SEQUENCE.
pub(crate) fn show_create_sequence(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<ResultSet> {
    let (qualified, entry) = visible_catalog_entry(security, name)?;
    let table = match entry {
        TableEntry::Table(table) if table.is_sequence() => table,
        _ => return Err(SqlError::new(ErrorCode::NotSequence, &[&qualified.0, &qualified.1])),
    };
    security.check_needs(&[Need::table(&qualified.0, &qualified.1, Privileges::SELECT, "SHOW")])?;
    let row = stored_row(security.shared, &qualified.0, &table)?;
    let columns = vec![text_column("Table", 64), text_column("Create Table", 16_383)];
    Ok(ResultSet { columns, rows: vec![vec![s(&table.name), s(create_sequence_text(&table, &row))]] })
}

pub(crate) fn show_create_view(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<ResultSet> {
    // A TEMPORARY table does not hide a view here.
    let (qualified, entry) = visible_catalog_entry(security, name)?;
    let TableEntry::View(view) = entry else {
        return Err(SqlError::new(ErrorCode::WrongObject, &[&qualified.0, &qualified.1, &"VIEW"]));
    };
    let needed = Privileges::SELECT.union(Privileges::SHOW_VIEW);
    security.check_needs(&[Need::table(&qualified.0, &qualified.1, needed, "SHOW VIEW")])?;
    let text = create_view_text(&view, &qualified.0, security.default_database.map(|name| &**name));
    let columns = vec![
        text_column("View", 64),
        text_column("Create View", 16_383),
        text_column("character_set_client", 64),
        text_column("collation_connection", 64),
    ];
    Ok(ResultSet { columns, rows: vec![vec![s(&view.name), s(text), s("utf8mb4"), s("utf8mb4_0900_ai_ci")]] })
}

pub(crate) fn show_create_database(
    security: &SecurityContext<'_>,
    name: &str,
    if_not_exists: bool,
) -> SqlResult<ResultSet> {
    let columns = vec![text_column("Database", 64), text_column("Create Database", 1024)];
    let name = database_or(security, Some(name))?;
    let catalog = security.shared.catalog.load();
    let text = match catalog.database(&name) {
        Some(database) => create_database_text(database, if_not_exists),
        None => {
            let clause = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
            format!(
                "CREATE DATABASE {clause}`{name}` /*!40100 DEFAULT CHARACTER SET utf8mb3 */ /*!80016 DEFAULT ENCRYPTION='N' */"
            )
        }
    };
    Ok(ResultSet { columns, rows: vec![vec![s(name), s(text)]] })
}
