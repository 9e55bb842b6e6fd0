//! `fb_insert`, `fb_insert2`, `fb_load`, `fb_delete`.

use super::DATABASE;
use super::place::{Place, is_fatal, is_no_table, nested, no_table, parse, query_fault, refuse, run};
use super::tables::{BAD_PATH, UNKNOWN_TABLE};
use squall_fastbit::row_text;
use squall_functions::library::support::{Args, Def, MANY, result};
use squall_statement_context::{AppendColumn, StatementContext};
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{CollationId, Date, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("FB_INSERT", (2, 3), result::nullable_bigint, insert).waiting().in_database(DATABASE),
    Def::new("FB_INSERT2", (2, MANY), result::nullable_bigint, insert2).takes_null().waiting().in_database(DATABASE),
    Def::new("FB_LOAD", (2, 4), result::nullable_bigint, load).waiting().in_database(DATABASE),
    Def::new("FB_DELETE", (2, 2), result::nullable_bigint, delete).waiting().in_database(DATABASE),
];

/// `fb_load` of a file that cannot be read.
const UNREADABLE: i64 = -3;
/// It is no row of the table.
const BAD_ROW: i64 = -4;
/// A value that its column cannot hold.
const BAD_VALUE: i64 = -5;

/// A row of values with their types for a table, checked and stored at the end of the statement.
fn append<'v>(
    place: &Place,
    columns: &[AppendColumn],
    row: impl ExactSizeIterator<Item = (Value, &'v SqlType)>,
    context: &StatementContext,
) -> SqlResult<Value> {
    if row.len() > columns.len() {
        return Ok(refuse(BAD_ROW, SqlError::new(ErrorCode::WarnTooManyRecords, &[&1]), context));
    }
    let today = context.settings.time_zone.from_unix_micros(context.now_micros).map_or(Date::ZERO, |now| now.date());
    let mut values = Vec::with_capacity(columns.len());
    for (column, (value, source)) in columns.iter().zip(row) {
        let conversion = ConversionContext {
            mode: context.settings.sql_mode,
            time_zone: &context.settings.time_zone,
            current_date: today,
            table: "",
            column: &column.name,
            row: 1,
        };
        // What is appended is in the session's time zone still.
        let target = match column.sql_type {
            SqlType::Timestamp { fsp } => &SqlType::DateTime { fsp },
            _ => &column.sql_type,
        };
        match store_value(value, source, target, &conversion).resolve(true, &mut Vec::new()) {
            Ok(Value::Null) if !column.nullable => {
                return Ok(refuse(BAD_VALUE, SqlError::new(ErrorCode::BadNull, &[&column.name]), context));
            }
            Ok(value) => values.push(value),
            Err(error) => return Ok(refuse(BAD_VALUE, error, context)),
        }
    }
    values.resize(columns.len(), Value::Null);
    nested(context)?.append(DATABASE, &place.path().table_name(), &values)?;
    Ok(Value::Int(1))
}

fn columns_of(place: &Place, context: &StatementContext) -> SqlResult<Option<Arc<[AppendColumn]>>> {
    nested(context)?.append_columns(DATABASE, &place.path().table_name())
}

fn insert(args: &Args<'_>) -> SqlResult<Value> {
    let Some(place) = Place::of(&args.text(0), args.context) else { return Ok(Value::Int(BAD_PATH)) };
    let Some(columns) = columns_of(&place, args.context)? else { return Ok(Value::Int(UNKNOWN_TABLE)) };
    let delimiter = delimiter(args, 2);
    let fields = row_text::fields(&args.text(1), &delimiter, !place.dialect().no_backslash_escapes);
    let fields = match fields {
        Ok(fields) => fields,
        Err(error) => {
            let reason = SqlError::with_message(ErrorCode::WrongArguments, error.to_string());
            return Ok(refuse(BAD_ROW, reason, args.context));
        }
    };
    let text = SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI);
    let row = fields.into_iter().enumerate().map(|(at, field)| (field_value(field, columns.get(at)), &text));
    append(&place, &columns, row, args.context)
}

/// A field as a value; blanks around numbers and dates do not count.
fn field_value(field: Option<String>, column: Option<&AppendColumn>) -> Value {
    match field {
        None => Value::Null,
        Some(field) if column.is_some_and(|column| !column.sql_type.is_string()) => Value::from(field.trim()),
        Some(field) => Value::String(field),
    }
}

/// The delimiter's characters; a comma if there are none.
fn delimiter<'a>(args: &Args<'a>, at: usize) -> std::borrow::Cow<'a, str> {
    let given = args.text(at);
    if given.is_empty() { ",".into() } else { given }
}

fn insert2(args: &Args<'_>) -> SqlResult<Value> {
    let Some(path) = args.text_or_null(0) else { return Ok(Value::Null) };
    let Some(place) = Place::of(&path, args.context) else { return Ok(Value::Int(BAD_PATH)) };
    let Some(columns) = columns_of(&place, args.context)? else { return Ok(Value::Int(UNKNOWN_TABLE)) };
    let row = (1..args.len()).map(|at| (args.value(at).clone(), args.ty(at)));
    append(&place, &columns, row, args.context)
}

/// Rows loaded by a LOAD DATA of its own, which fails as a whole.
fn load(args: &Args<'_>) -> SqlResult<Value> {
    let context = args.context;
    let Some(place) = Place::of(&args.text(0), context) else { return Ok(Value::Int(BAD_PATH)) };
    if columns_of(&place, context)?.is_none() {
        return Ok(Value::Int(UNKNOWN_TABLE));
    }
    let file = nested(context)?.server_file(&args.text(1))?;
    let Some(line_end) = line_end(&file) else { return Ok(Value::Int(UNREADABLE)) };
    let (name, delimiter) = (place.dialect().text(&args.text(1)), delimiter(args, 2));
    if args.len() > 3 && args.i64(3)? <= 0 {
        return Err(args.wrong_arguments());
    }
    if delimiter.chars().count() > 1 || delimiter.contains(['"', '\\', '\n']) {
        let reason = "fb_load takes a delimiter of one character that is no quote, backslash or line end";
        return Ok(refuse(BAD_ROW, SqlError::with_message(ErrorCode::WrongArguments, reason), context));
    }
    // What fb_query writes has a blank behind each comma.
    let is_result = file.extension().is_some_and(|extension| extension == "fcsv") && args.len() < 3;
    let delimiter = if is_result { ", " } else { &*delimiter };
    let (table, delimiter) = (place.table(), place.dialect().text(delimiter));
    let escape = place.dialect().text("\\");
    let sql = format!(
        "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'); \
         LOAD DATA INFILE {name} INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY {delimiter} \
         OPTIONALLY ENCLOSED BY '\"' ESCAPED BY {escape} LINES TERMINATED BY {line_end} \
         DEFINED NULL BY '' TRAILING NULLCOLS"
    );
    match run(&sql, context) {
        Ok(loaded) => Ok(Value::Int(i64::try_from(loaded.affected_rows).unwrap_or(i64::MAX))),
        Err(error) if is_no_table(&error) => Ok(Value::Int(UNKNOWN_TABLE)),
        Err(error) if is_fatal(&error) => Err(error),
        Err(error) => Ok(refuse(BAD_VALUE, error, context)),
    }
}

/// How the lines of a file end, as SQL writes it: as its first one does. `None` if it cannot be read.
fn line_end(file: &Path) -> Option<&'static str> {
    /// Where the end of the first line is looked for; a longer line is taken to end as most do.
    const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;
    let mut opened = File::open(file).ok().filter(|opened| opened.metadata().is_ok_and(|found| found.is_file()))?;
    let mut start = Vec::new();
    Read::by_ref(&mut opened).take(FIRST_LINE_BYTES_MAX).read_to_end(&mut start).ok()?;
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(if line.len() < start.len() && line.ends_with(b"\r") { "x'0d0a'" } else { "x'0a'" })
}

fn delete(args: &Args<'_>) -> SqlResult<Value> {
    let Some(place) = Place::of(&args.text(0), args.context) else { return Ok(Value::Int(BAD_PATH)) };
    let text = args.text(1);
    let text = text.trim();
    if text.is_empty() {
        return Ok(Value::Int(0));
    }
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    let query = if first.eq_ignore_ascii_case("where") { text.to_string() } else { format!("where {text}") };
    let condition = match parse(&query).and_then(|query| place.condition_sql(&query)) {
        Ok(condition) => condition,
        Err(error) => return Ok(refuse(i64::from(error.code()), query_fault(&error), args.context)),
    };
    let sql = format!("SET SESSION sql_safe_updates = 0; DELETE FROM {} WHERE {condition}", place.table());
    match run(&sql, args.context) {
        Ok(deleted) => Ok(Value::Int(i64::try_from(deleted.affected_rows).unwrap_or(i64::MAX))),
        Err(error) if is_no_table(&error) => Ok(refuse(0, no_table(place.path().as_str()), args.context)),
        Err(error) if error.code == ErrorCode::BadField.number() => Ok(refuse(0, error, args.context)),
        Err(error) if is_fatal(&error) => Err(error),
        Err(error) => Ok(refuse(BAD_PATH, error, args.context)),
    }
}
