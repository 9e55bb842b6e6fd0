//! `fb_create`, `fb_drop`, `fb_resort`.

use super::DATABASE;
use super::place::{Place, is_fatal, is_no_table, refuse, run};
use squall_fastbit::columns::{column_definitions, parse_columns};
use squall_fastbit::quote;
use squall_functions::library::support::{Args, Def, MANY, result};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("FB_CREATE", (2, 2), result::nullable_bigint, create).waiting().in_database(DATABASE),
    Def::new("FB_DROP", (1, 1), result::nullable_bigint, drop).waiting().in_database(DATABASE),
    Def::new("FB_RESORT", (1, MANY), result::nullable_bigint, resort).waiting().in_database(DATABASE),
];

/// The storage engine of the tables, as CREATE TABLE names it.
const ENGINE_CLAUSE: &str = " ENGINE=COLUMN";

/// It is no path.
pub const BAD_PATH: i64 = -1;
/// A path without a table.
pub const UNKNOWN_TABLE: i64 = -2;
/// `fb_create` of a path that has a table.
const TABLE_EXISTS: i64 = -2;
/// `fb_drop` of a path without a table.
const NOT_A_TABLE: i64 = -3;
/// `fb_create` of something that specifies no columns.
const BAD_COLUMNS: i64 = -6;

fn create(args: &Args<'_>) -> SqlResult<Value> {
    let Some(place) = Place::of(&args.text(0), args.context) else { return Ok(Value::Int(BAD_PATH)) };
    let columns = match parse_columns(&args.text(1)) {
        Ok(columns) => columns,
        Err(error) => {
            let reason = SqlError::with_message(ErrorCode::WrongArguments, error.to_string());
            return Ok(refuse(BAD_COLUMNS, reason, args.context));
        }
    };
    let (table, definitions) = (place.table(), column_definitions(&columns, place.dialect()));
    let comment = place.dialect().text(place.path().as_str());
    match run(&format!("CREATE TABLE {table} ({definitions}){ENGINE_CLAUSE} COMMENT={comment}"), args.context) {
        Ok(_) => Ok(Value::Int(0)),
        Err(error) if error.code == ErrorCode::TableExists.number() => Ok(Value::Int(TABLE_EXISTS)),
        Err(error) => Err(error),
    }
}

fn drop(args: &Args<'_>) -> SqlResult<Value> {
    let Some(place) = Place::of(&args.text(0), args.context) else { return Ok(Value::Int(BAD_PATH)) };
    match run(&format!("DROP TABLE {}", place.table()), args.context) {
        Ok(_) => Ok(Value::Int(0)),
        Err(error) if is_no_table(&error) => Ok(Value::Int(NOT_A_TABLE)),
        Err(error) => Err(error),
    }
}

/// Stores the rows again in the order of the columns given; without any, of all columns, those with the fewest different values
/// first.
fn resort(args: &Args<'_>) -> SqlResult<Value> {
    let Some(place) = Place::of(&args.text(0), args.context) else { return Ok(Value::Int(BAD_PATH)) };
    let given: Vec<String> = (1..args.len()).map(|at| args.text(at).trim().to_string()).collect();
    let sorted = if given.is_empty() { by_cardinality(&place, args) } else { Ok(given) };
    let sorted = sorted.and_then(|columns| {
        let columns: Vec<String> = columns.iter().map(|column| quote::name(column)).collect();
        run(&format!("ALTER TABLE {} ORDER BY {}", place.table(), columns.join(", ")), args.context)?;
        count(&place, args)
    });
    match sorted {
        Ok(rows) => Ok(rows),
        Err(error) if is_no_table(&error) => Ok(Value::Int(0)),
        Err(error) if is_fatal(&error) => Err(error),
        Err(error) => Ok(refuse(BAD_PATH, error, args.context)),
    }
}

fn count(place: &Place, args: &Args<'_>) -> SqlResult<Value> {
    let counted = run(&format!("SELECT COUNT(*) FROM {}", place.table()), args.context)?;
    Ok(counted.rows.into_iter().flatten().next().unwrap_or(Value::Int(0)))
}

fn by_cardinality(place: &Place, args: &Args<'_>) -> SqlResult<Vec<String>> {
    let columns = run(&format!("SELECT * FROM {} LIMIT 0", place.table()), args.context)?.columns;
    let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    let counts: Vec<String> = names.iter().map(|name| format!("COUNT(DISTINCT {})", quote::name(name))).collect();
    let counted = run(&format!("SELECT {} FROM {}", counts.join(", "), place.table()), args.context)?;
    let counts = counted.rows.into_iter().flatten().map(|count| match count {
        Value::Int(count) => count,
        _ => i64::MAX,
    });
    let mut sorted: Vec<(i64, String)> = counts.zip(names).collect();
    sorted.sort_by_key(|(count, _)| *count);
    Ok(sorted.into_iter().map(|(_, name)| name).collect())
}
