//! Options of CREATE TABLE and ALTER TABLE.

use crate::context::DdlContext;
use crate::data_type::named_collation;
use squall_catalog::{EngineName, TableCompression, TableDef};
use squall_parser::ast::TableOption;
use squall_row_store::TableFeature;
use squall_types::{CollationId, ErrorCode, SqlError, SqlMode, SqlResult};

/// Takes the options into the table; the default collation has been set from them before its columns were made.
pub fn apply_options(table: &mut TableDef, options: &[TableOption], context: &DdlContext<'_>) -> SqlResult<()> {
    for option in options {
        apply_option(table, option, context)?;
    }
    Ok(())
}

/// The default collation that the options ask for.
pub fn table_collation(options: &[TableOption], default: CollationId) -> SqlResult<CollationId> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            TableOption::Charset(name) => {
                let name = name.as_deref().unwrap_or_else(|| default.charset().name());
                if let Some(other) = charset.filter(|other: &&str| !other.eq_ignore_ascii_case(name)) {
                    return Err(SqlError::new(ErrorCode::ConflictingDeclarations, &[&other, &name]));
                }
                charset = Some(name);
            }
            TableOption::Collate(name) => collation = Some(&**name),
            _ => {}
        }
    }
    named_collation(charset, collation, default)
}

fn apply_option(table: &mut TableDef, option: &TableOption, context: &DdlContext<'_>) -> SqlResult<()> {
    let unsupported = |what: &str| Err(SqlError::unsupported(what));
    match option {
        TableOption::Engine(name) => table.engine = engine(name, table, context)?,
        TableOption::AutoIncrement(value) => table.auto_increment_start = *value,
        TableOption::Charset(_) | TableOption::Collate(_) => {}
        TableOption::Comment(text) => {
            if text.chars().count() > 2048 {
                return Err(SqlError::new(ErrorCode::TooLongTableComment, &[&table.name]));
            }
            table.comment = text.to_string();
        }
        TableOption::RowFormat(word) => {
            let known = ["DEFAULT", "DYNAMIC", "FIXED", "COMPRESSED", "REDUNDANT", "COMPACT", "PAGE"];
            if !known.iter().any(|name| word.is(name)) {
                return unsupported(&format!("ROW_FORMAT={}", word.as_str()));
            }
            let shown = (!word.is("DEFAULT")).then(|| word.to_ascii_uppercase());
            set_shown(table, "ROW_FORMAT", shown);
        }
        TableOption::AverageRowLength(value) => set_number(table, "AVG_ROW_LENGTH", *value),
        TableOption::KeyBlockSize(value) => set_number(table, "KEY_BLOCK_SIZE", *value),
        TableOption::MaxRows(value) => set_number(table, "MAX_ROWS", *value),
        TableOption::MinRows(value) => set_number(table, "MIN_ROWS", *value),
        TableOption::Checksum(on) => set_number(table, "CHECKSUM", u64::from(*on)),
        TableOption::DelayKeyWrite(on) => set_number(table, "DELAY_KEY_WRITE", u64::from(*on)),
        TableOption::PackKeys(value) => set_switch(table, "PACK_KEYS", *value),
        TableOption::StatsPersistent(value) => set_switch(table, "STATS_PERSISTENT", *value),
        TableOption::StatsAutoRecalc(value) => set_switch(table, "STATS_AUTO_RECALC", *value),
        TableOption::StatsSamplePages(value) => set_number(table, "STATS_SAMPLE_PAGES", value.unwrap_or(0)),
        TableOption::Compression(name) => compression(name, table, context)?,
        TableOption::Encryption(value) if value.eq_ignore_ascii_case("n") => {}
        TableOption::SecondaryEngine(None) => {}
        // As in MySQL, where no engine has ever used it.
        TableOption::Password(_) => {}
        TableOption::Tablespace(name) if name.is("innodb_file_per_table") => {}
        TableOption::EngineAttribute(text) | TableOption::SecondaryEngineAttribute(text) if text.is_empty() => {}
        TableOption::Other { name, value } if name.is("TRANSACTIONAL") && &**value == "1" => {}
        TableOption::Other { name, value } if name.is("TRANSACTIONAL") && &**value == "0" => {
            let note = SqlError::unsupported("TRANSACTIONAL=0; all tables are transactional");
            context.statement.diagnostics.push(squall_types::Level::Note, note);
        }
        TableOption::Other { name, .. } if name.is("PAGE_CHECKSUM") => {}
        TableOption::Encryption(_) => return unsupported("ENCRYPTION"),
        TableOption::SecondaryEngine(_) => return unsupported("SECONDARY_ENGINE"),
        TableOption::Tablespace(_) => return unsupported("TABLESPACE"),
        TableOption::Connection(_) => return unsupported("CONNECTION"),
        TableOption::DataDirectory(_) => return unsupported("DATA DIRECTORY"),
        TableOption::IndexDirectory(_) => return unsupported("INDEX DIRECTORY"),
        TableOption::InsertMethod(_) => return unsupported("INSERT_METHOD"),
        TableOption::Union(_) => return unsupported("UNION"),
        TableOption::StartTransaction => return unsupported("START TRANSACTION"),
        TableOption::Storage(_) => return unsupported("STORAGE"),
        TableOption::EngineAttribute(_) => return unsupported("ENGINE_ATTRIBUTE"),
        TableOption::SecondaryEngineAttribute(_) => return unsupported("SECONDARY_ENGINE_ATTRIBUTE"),
        TableOption::AutoextendSize(0) => {}
        TableOption::AutoextendSize(_) => return unsupported("AUTOEXTEND_SIZE"),
        TableOption::Other { name, .. } => return unsupported(&format!("table option {}", name.as_str())),
    }
    Ok(())
}

/// The engine that a statement names. Engines of other servers are replaced by ours, with MySQL's warning.
fn engine(name: &str, table: &mut TableDef, context: &DdlContext<'_>) -> SqlResult<EngineName> {
    if let Some(engine) = context.engines.named(name) {
        if table.temporary && engine.traits().refuses(TableFeature::Temporary) {
            return Err(SqlError::with_message(
                ErrorCode::IllegalCreateOption,
                format!("Table storage engine '{}' does not support the create option 'TEMPORARY'", engine.name()),
            ));
        }
        return Ok(EngineName::new(engine.name()));
    }
    let found = context.engines.in_place_of(name, table.temporary);
    if found.is_none() {
        let error = SqlError::new(ErrorCode::UnknownStorageEngine, &[&name]);
        if context.sql_mode().contains(SqlMode::NO_ENGINE_SUBSTITUTION) {
            return Err(error);
        }
        context.statement.diagnostics.warn(error);
    }
    let is_small = found.is_some_and(|(_, replaced)| replaced.is_small);
    let used = found.map_or_else(|| context.engines.default_engine(), |(engine, _)| engine);
    let is_said = table.options.iter().any(|(option, _)| option == "COMPRESSION");
    if is_small && !is_said && used.traits().compression != TableCompression::Zstd {
        set_shown(table, "COMPRESSION", Some("'zstd'".to_owned()));
    }
    context.statement.diagnostics.warn(SqlError::with_message(
        ErrorCode::WarnUsingOtherHandler,
        format!("Using storage engine {} for table '{}'", used.name(), table.name),
    ));
    Ok(EngineName::new(used.name()))
}

/// COMPRESSION as it is shown again. New rows are compressed so, and all rows when the table is rebuilt. MySQL also has zlib; it
/// becomes zstd here, because it asks for a small table.
fn compression(name: &str, table: &mut TableDef, context: &DdlContext<'_>) -> SqlResult<()> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "" => set_shown(table, "COMPRESSION", None),
        "none" | "lz4" | "zstd" => set_shown(table, "COMPRESSION", Some(format!("'{name}'"))),
        "zlib" => {
            let note = SqlError::unsupported("COMPRESSION='zlib'; the table is compressed with zstd");
            context.statement.diagnostics.push(squall_types::Level::Note, note);
            set_shown(table, "COMPRESSION", Some("'zstd'".to_owned()));
        }
        other => return Err(SqlError::unsupported(format!("COMPRESSION='{other}'"))),
    }
    Ok(())
}

/// Gives a new table the compression that the variable `table_compression` says if its definition says none.
pub fn set_default_compression(table: &mut TableDef, name: &str) {
    if name != "default" && table.options.iter().all(|(option, _)| option != "COMPRESSION") {
        set_shown(table, "COMPRESSION", Some(format!("'{name}'")));
    }
}

fn set_shown(table: &mut TableDef, name: &str, value: Option<String>) {
    table.options.retain(|(other, _)| other != name);
    if let Some(value) = value {
        table.options.push((name.to_string(), value));
    }
}

fn set_number(table: &mut TableDef, name: &str, value: u64) {
    set_shown(table, name, (value != 0).then(|| value.to_string()));
}

fn set_switch(table: &mut TableDef, name: &str, value: Option<bool>) {
    set_shown(table, name, value.map(|on| u8::from(on).to_string()));
}
