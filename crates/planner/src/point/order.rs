//! The order of the rows of a short range.

use squall_row_store::{Row, Table, ValueRef};
use squall_types::{SqlResult, SqlType, Value, collation, json};
use std::cmp::Ordering;

/// The order of rows.
enum Key<'a> {
    /// A text, and the beginning of its sort key: most texts differ there, and it costs a fraction of the whole key.
    Text(u64, &'a str),
    /// Anything else.
    Value(Value),
}

/// Rows in the order of a column, equal ones as they were; `distinct` leaves the first of equal ones only.
pub(super) fn in_order<'a>(
    table: &'a Table,
    rows: &'a [Row],
    ordinal: usize,
    descending: bool,
    distinct: bool,
) -> SqlResult<Vec<&'a Row>> {
    let sql_type = &table.def().columns[ordinal].sql_type;
    let id = sql_type.collation();
    let key_of = |row: &'a Row| -> SqlResult<Key<'a>> {
        Ok(match (row.view(table).get(ordinal)?, id) {
            (value, _) if *sql_type == SqlType::Json => Key::Value(json_key(value.to_value())),
            (ValueRef::String(text), Some(id)) => Key::Text(collation::sort_key_start(id, text), text),
            (value, _) => Key::Value(value.to_value()),
        })
    };
    let compare = |a: &Key<'_>, b: &Key<'_>| match (a, b, id) {
        (Key::Text(start, a), Key::Text(other, b), Some(id)) => {
            start.cmp(other).then_with(|| collation::compare(id, a, b))
        }
        (Key::Value(a), Key::Value(b), _) => a.total_cmp(b),
        // NULL comes first.
        (Key::Value(_), Key::Text(..), _) => Ordering::Less,
        (Key::Text(..), _, _) => Ordering::Greater,
    };
    let mut keyed = rows.iter().map(|row| Ok((key_of(row)?, row))).collect::<SqlResult<Vec<_>>>()?;
    keyed.sort_by(|(a, _), (b, _)| if descending { compare(b, a) } else { compare(a, b) });
    if distinct {
        keyed.dedup_by(|(a, _), (b, _)| compare(a, b).is_eq());
    }
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

/// The sort key of a document.
fn json_key(value: Value) -> Value {
    match value {
        Value::Json(document) => {
            let mut key = Vec::with_capacity(document.stored().len());
            json::sort_key(document.stored(), &mut key);
            Value::Bytes(key)
        }
        other => other,
    }
}
