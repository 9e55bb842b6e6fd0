//! Functions for performance_schema: units, digests, threads, names of files.

use super::DATABASE;
use super::config::{directories, statement_characters};
use super::statements::literal;
use crate::views::form::{self, Style};
use squall_functions::library::support::{Args, Def, result};
use squall_session::session::parse_options;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("FORMAT_BYTES", (1, 1), result::connection_text, |args| {
        Ok(Value::String(form::bytes(number(args), Style::Units)))
    }),
    Def::new("SYS.FORMAT_BYTES", (1, 1), result::utf8mb4_text, |args| {
        Ok(Value::String(form::bytes(number(args), Style::Sys)))
    })
    .in_database(DATABASE),
    Def::new("FORMAT_PICO_TIME", (1, 1), result::connection_text, |args| {
        Ok(Value::String(form::time(number(args), Style::Units)))
    }),
    Def::new("FORMAT_TIME", (1, 1), result::utf8mb4_text, |args| {
        Ok(Value::String(form::time(number(args), Style::Sys)))
    })
    .in_database(DATABASE),
    Def::new("FORMAT_STATEMENT", (1, 1), result::utf8mb4_text, format_statement).in_database(DATABASE),
    Def::new("FORMAT_PATH", (1, 1), result::utf8mb4_text, format_path).in_database(DATABASE),
    Def::new("EXTRACT_SCHEMA_FROM_FILE_NAME", (1, 1), result::utf8mb4_text, schema_of_file).in_database(DATABASE),
    Def::new("EXTRACT_TABLE_FROM_FILE_NAME", (1, 1), result::utf8mb4_text, table_of_file).in_database(DATABASE),
    Def::new("QUOTE_IDENTIFIER", (1, 1), result::utf8mb4_text, quote_identifier).in_database(DATABASE),
    Def::new("VERSION_MAJOR", (0, 0), result::nullable_unsigned, |args| version(args, 0))
        .in_database(DATABASE)
        .stable(),
    Def::new("VERSION_MINOR", (0, 0), result::nullable_unsigned, |args| version(args, 1))
        .in_database(DATABASE)
        .stable(),
    Def::new("VERSION_PATCH", (0, 0), result::nullable_unsigned, |args| version(args, 2))
        .in_database(DATABASE)
        .stable(),
    Def::new("STATEMENT_DIGEST", (1, 1), result::connection_text, statement_digest).stable(),
    Def::new("STATEMENT_DIGEST_TEXT", (1, 1), result::connection_text, statement_digest_text).stable(),
    // A connection's thread has its number.
    Def::new("PS_CURRENT_THREAD_ID", (0, 0), result::nullable_unsigned, |args| {
        Ok(Value::UInt(args.context.connection_id))
    })
    .stable(),
    Def::new("PS_IS_ACCOUNT_ENABLED", (2, 2), result::utf8mb4_text, |_| Ok(Value::from("YES"))).in_database(DATABASE),
    Def::new("PS_IS_CONSUMER_ENABLED", (1, 1), result::utf8mb4_text, consumer_enabled).in_database(DATABASE).waiting(),
    Def::new("PS_IS_INSTRUMENT_DEFAULT_ENABLED", (1, 1), result::utf8mb4_text, |args| {
        setup(args, "setup_instruments", "enabled").map(or_no)
    })
    .in_database(DATABASE)
    .waiting(),
    Def::new("PS_IS_INSTRUMENT_DEFAULT_TIMED", (1, 1), result::utf8mb4_text, |args| {
        setup(args, "setup_instruments", "timed").map(or_no)
    })
    .in_database(DATABASE)
    .waiting(),
    Def::new("PS_IS_THREAD_INSTRUMENTED", (1, 1), result::utf8mb4_text, |args| {
        let id = number(args) as u64;
        let sql = format!("SELECT INSTRUMENTED FROM performance_schema.threads WHERE PROCESSLIST_ID = {id}");
        Ok(match first(args, &sql)? {
            Value::Null => Value::from("UNKNOWN"),
            known => known,
        })
    })
    .in_database(DATABASE)
    .waiting(),
    Def::new("PS_THREAD_ACCOUNT", (1, 1), result::utf8mb4_text, |args| {
        let id = number(args) as u64;
        let sql = format!(
            "SELECT CONCAT(PROCESSLIST_USER, '@', PROCESSLIST_HOST) FROM performance_schema.threads WHERE TYPE = \
             'FOREGROUND' AND THREAD_ID = {id}"
        );
        first(args, &sql)
    })
    .in_database(DATABASE)
    .waiting(),
    Def::new("PS_THREAD_ID", (1, 1), result::nullable_unsigned, thread_id).in_database(DATABASE).waiting(),
];

/// The number of an argument, whatever its type.
fn number(args: &Args<'_>) -> f64 {
    match args.value(0) {
        Value::UInt(number) => *number as f64,
        Value::Int(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        _ => args.text(0).trim().parse().unwrap_or(0.0),
    }
}

fn format_statement(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::String(form::statement(&args.text(0), statement_characters(args.context))))
}

/// A path with the name of the variable whose directory it begins with.
fn format_path(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::String(form::path(&args.text(0), &directories(args.context))))
}

/// The last part of a path that is no file's name.
fn schema_of_file(args: &Args<'_>) -> SqlResult<Value> {
    let path = args.text(0);
    let folder = path.rsplit('/').nth(1).unwrap_or(&path);
    Ok(Value::from(folder))
}

/// The file's name up to its point.
fn table_of_file(args: &Args<'_>) -> SqlResult<Value> {
    let path = args.text(0);
    let name = path.rsplit('/').next().unwrap_or(&path);
    Ok(Value::from(name.split('.').next().unwrap_or(name)))
}

fn quote_identifier(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::String(format!("`{}`", args.text(0).replace('`', "``"))))
}

fn version(args: &Args<'_>, part: usize) -> SqlResult<Value> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let number = args.context.version.split('.').nth(part).and_then(|part| digits(part).parse().ok());
    Ok(number.map_or(Value::Null, Value::UInt))
}

/// The digest of a statement, which has to be one (3677).
fn digest(args: &Args<'_>) -> SqlResult<squall_parser::Digest> {
    let sql = args.text(0);
    let options = parse_options(&args.context.settings);
    if squall_parser::parse(&sql, &options).is_err() {
        return Err(SqlError::new(ErrorCode::ParseErrorInDigestFunction, &[]));
    }
    Ok(squall_parser::digest(sql.as_bytes(), &options))
}

fn statement_digest(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::String(format!("{:032x}", digest(args)?.hash)))
}

fn statement_digest_text(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::String(digest(args)?.text))
}

/// The first value of a query, with the caller's privileges; NULL if there is none.
fn first(args: &Args<'_>, sql: &str) -> SqlResult<Value> {
    let Some(nested) = args.context.nested.as_ref() else { return Ok(Value::Null) };
    let found = nested.run(sql, args.context)?.into_iter().flat_map(|result| result.rows).flatten().next();
    Ok(found.unwrap_or(Value::Null))
}

/// What a table of performance_schema's setup says of a name; NULL if it has none such.
fn setup(args: &Args<'_>, table: &str, column: &str) -> SqlResult<Value> {
    let name = literal(&args.text(0));
    first(args, &format!("SELECT {column} FROM performance_schema.{table} WHERE name = {name}"))
}

/// Whether a consumer gets events: it is on, and all consumers that it depends on are on. NULL if there is none such.
fn consumer_enabled(args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0).to_ascii_lowercase();
    let mut needed = vec![name.clone(), "global_instrumentation".to_string()];
    if name.starts_with("events_") {
        needed.push("thread_instrumentation".to_string());
    }
    if let Some((family, _)) = name.split_once("_history") {
        needed.push(format!("{family}_current"));
    }
    needed.sort_unstable();
    needed.dedup();
    let (count, names) = (needed.len(), needed.iter().map(|name| literal(name)).collect::<Vec<_>>().join(", "));
    let sql = format!(
        "SELECT IF(COUNT(*) = {count}, IF(SUM(enabled = 'YES') = {count}, 'YES', 'NO'), NULL) FROM \
         performance_schema.setup_consumers WHERE name IN ({names})"
    );
    first(args, &sql)
}

fn or_no(value: Value) -> Value {
    if value.is_null() { Value::from("NO") } else { value }
}

/// The thread of a connection that the caller sees.
fn thread_id(args: &Args<'_>) -> SqlResult<Value> {
    let id = number(args);
    let Some(nested) = args.context.nested.as_ref().filter(|_| id >= 1.0 && id < u64::MAX as f64) else {
        return Ok(Value::Null);
    };
    let sql = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE ID = {}", id as u64);
    let results = nested.run(&sql, args.context)?;
    let found = results.into_iter().flat_map(|result| result.rows).flatten().next();
    Ok(found.unwrap_or(Value::Null))
}
