//! JSON functions that make and search documents.

use super::support::{Args, Binding, Def, MANY, result};
use crate::operators::json_compare::to_json;
use squall_accounting::GrowingCharge;
use squall_registry::{Coercibility, ExprType};
use squall_types::collation::LikePattern;
use squall_types::json::{self, DEPTH_MAX, Document, Json, JsonError, JsonPath, Outline};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSON_ARRAY", (0, MANY), result::json, |args| {
        let elements = (0..args.len()).map(|at| element(args, at)).collect::<SqlResult<Vec<_>>>()?;
        made(format!("[{}]", elements.join(", ")))
    })
    .takes_null(),
    Def::new("JSON_OBJECT", (0, MANY), object_type, json_object).takes_null(),
    Def::new("JSON_QUOTE", (1, 1), quoted_type, |args| {
        no_bytes(args, 0)?;
        Ok(args.string(json::quote(&args.text(0))))
    }),
    Def::new("JSON_UNQUOTE", (1, 1), unquoted_type, json_unquote),
    Def::new("JSON_EXTRACT", (2, MANY), result::json, json_extract).reading_documents(extract),
    Def::new("JSON_VALID", (1, 1), result::nullable_boolean, |args| {
        Ok(Value::from(match args.value(0) {
            Value::Json(_) => true,
            Value::String(text) => match Outline::of(text) {
                Err(JsonError::TooDeep) => return Err(SqlError::new(ErrorCode::JsonDocumentTooDeep, &[])),
                outline => outline.is_ok(),
            },
            _ => false,
        }))
    }),
    Def::new("JSON_TYPE", (1, 1), type_name_type, |args| {
        Ok(args.string(match args.value(0) {
            Value::String(text) if text.trim_ascii_start().starts_with('[') && args.outline(0)?.is_some() => "ARRAY",
            _ => json::stored::root(&args.stored(0)?).map_err(|error| error.for_argument(1, "json_type"))?.type_name(),
        }))
    }),
    Def::new("JSON_DEPTH", (1, 1), result::nullable_int, |args| {
        if let Some(outline) = args.outline(0)? {
            return count(outline.depth);
        }
        let outline = Outline::of_stored(&args.stored(0)?);
        count(outline.map_err(|error| error.for_argument(1, "json_depth"))?.depth)
    }),
    Def::new("JSON_LENGTH", (1, 2), result::nullable_int, |args| {
        if args.len() == 1
            && let Some(outline) = args.outline(0)?
        {
            return count(outline.length);
        }
        let document = args.stored(0)?;
        let place = place(args, &document, 1)?;
        place.map_or(Ok(Value::Null), |place| count(json::stored::length(place)))
    }),
    Def::new("JSON_KEYS", (1, 2), result::json, |args| {
        let document = args.stored(0)?;
        let keys = place(args, &document, 1)?.and_then(json::stored::keys);
        Ok(keys.map_or(Value::Null, |keys| Value::Json(Document::from_stored(keys))))
    }),
    Def::new("JSON_CONTAINS", (2, 3), result::nullable_boolean, |args| stored_contains(args, &args.stored(0)?))
        .reading_documents(stored_contains),
    Def::new("JSON_CONTAINS_PATH", (3, MANY), result::nullable_boolean, json_contains_path),
    Def::new("JSON_OVERLAPS", (2, 2), result::nullable_boolean, |args| {
        let (left, right) = (args.stored(0)?, args.stored(1)?);
        // The elements of the shorter one are sorted.
        args.charge_tree(if left.len() < right.len() { &left } else { &right })?;
        Ok(Value::from(json::overlaps(&left, &right)))
    }),
    Def::new("MEMBER OF", (2, 2), result::nullable_boolean, |args| {
        Ok(Value::from(json::is_member(&element(args, 0)?, &args.stored(1)?)))
    }),
    Def::new("JSON_SEARCH", (3, MANY), result::json, json_search).takes_null(),
    Def::new(
        "JSON_PRETTY",
        (1, 1),
        |_| Ok(document_text()),
        |args| {
            let stored = args.stored(0)?;
            let depth = Outline::of_stored(&stored).map_err(|error| error.for_argument(1, "json_pretty"))?.depth;
            let text = json::printed(&stored);
            // Each element has a line of its own, which is as far to the right as the element is deep.
            if !args.fits((text.len() as u64).saturating_mul(depth as u64) / 4)? {
                return Ok(Value::Null);
            }
            Ok(args.string(json::pretty(&text)))
        },
    ),
    Def::new("JSON_STORAGE_SIZE", (1, 1), result::nullable_bigint, |args| {
        count(json::storage_size(&args.stored(0)?).map_err(|error| error.for_argument(1, "json_storage_size"))?)
    }),
    Def::new("JSON_STORAGE_FREE", (1, 1), result::nullable_bigint, |args| {
        if args.outline(0)?.is_none() {
            args.stored(0)?;
        }
        Ok(Value::Int(0))
    }),
];

/// The value at the path in an argument, which must mean one place; without that argument the whole document.
fn place<'a>(args: &Args<'_>, document: &'a str, at: usize) -> SqlResult<Option<&'a str>> {
    if args.len() <= at {
        return Ok(Some(document));
    }
    Ok(json::stored::at_path(document, &single_path(args, at)?))
}

/// JSON_CONTAINS of a document that is looked into as it is stored.
fn stored_contains(args: &Args<'_>, document: &str) -> SqlResult<Value> {
    let candidate = args.stored(1)?;
    let Some(place) = place(args, document, 2)? else { return Ok(Value::Null) };
    /// No array of so many candidates that the elements of a place are sorted is shorter.
    const MANY_CANDIDATES_BYTES: usize = 24;
    if candidate.len() > MANY_CANDIDATES_BYTES && candidate.contains('[') {
        args.charge_tree(place)?;
    }
    Ok(Value::from(json::contains(place, &candidate)))
}

fn count(number: usize) -> SqlResult<Value> {
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// The stored form of an argument as a part of a document: text is a string, JSON is itself.
pub(super) fn element<'a>(args: &'a Args<'_>, at: usize) -> SqlResult<Cow<'a, str>> {
    Ok(match args.value(at) {
        Value::Json(document) => Cow::Borrowed(document.stored()),
        value => Cow::Owned(to_json(value, args.ty(at)).to_stored()),
    })
}

/// A document that was made, unless it is too deep to be one (3157).
pub(super) fn made(stored: impl Into<String>) -> SqlResult<Value> {
    let stored = stored.into();
    match json::stored::nesting(&stored) {
        levels if levels <= DEPTH_MAX => Ok(Value::Json(Document::from_stored(stored))),
        _ => Err(SqlError::new(ErrorCode::JsonDocumentTooDeep, &[])),
    }
}

/// A path that means one place only; error 3149 for wildcards.
pub(super) fn single_path(args: &Args<'_>, at: usize) -> SqlResult<JsonPath> {
    let path = path(args, at)?;
    if path.has_wildcard() {
        return Err(SqlError::new(ErrorCode::InvalidJsonPathWildcard, &[]));
    }
    Ok(path)
}

/// Error 3144 for a byte string.
fn no_bytes(args: &Args<'_>, at: usize) -> SqlResult<()> {
    match args.value(at) {
        Value::Bytes(_) => Err(SqlError::new(ErrorCode::InvalidJsonCharset, &[&"binary"])),
        _ => Ok(()),
    }
}

/// An argument as a path; error 3143 if it is none.
pub(super) fn path(args: &Args<'_>, at: usize) -> SqlResult<JsonPath> {
    no_bytes(args, at)?;
    Ok(JsonPath::parse(&args.text(at))?)
}

fn object_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if binding.arguments.len() % 2 == 1 {
        return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&binding.name]));
    }
    result::json(binding)
}

fn json_object(args: &Args<'_>) -> SqlResult<Value> {
    let mut members: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::with_capacity(args.len() / 2);
    for at in (0..args.len()).step_by(2) {
        let Some(name) = args.text_or_null(at) else {
            return Err(SqlError::new(ErrorCode::JsonDocumentNullKey, &[]));
        };
        members.push((name, element(args, at + 1)?));
    }
    made(json::merge::object_of(members))
}

/// Error 3064 for an argument that is neither a string nor, if allowed, a document.
fn check_text(binding: &Binding<'_>, documents: bool) -> SqlResult<()> {
    match binding.arguments.first().map(|argument| &argument.expr_type.sql_type) {
        None | Some(SqlType::String { .. } | SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Null) => Ok(()),
        Some(SqlType::Json) if documents => Ok(()),
        _ => Err(SqlError::new(ErrorCode::IncorrectType, &[&1, &binding.name.to_lowercase()])),
    }
}

/// Text that is of a document: its collation is that of documents, and weaker than a column's.
pub(super) fn document_text() -> ExprType {
    ExprType {
        sql_type: SqlType::longtext(CollationId::UTF8MB4_BIN),
        nullable: true,
        coercibility: Coercibility::Literal,
    }
}

fn type_name_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    /// `UNSIGNED INTEGER` is 16, and MySQL says 51.
    const LENGTH: u32 = 51;
    Ok(ExprType { sql_type: SqlType::varchar(LENGTH, CollationId::UTF8MB4_BIN), ..document_text() })
}

fn quoted_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    check_text(binding, false)?;
    Ok(document_text())
}

fn unquoted_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    check_text(binding, true)?;
    Ok(document_text())
}

fn json_unquote(args: &Args<'_>) -> SqlResult<Value> {
    no_bytes(args, 0)?;
    Ok(match args.value(0) {
        Value::Json(document) if document.stored().starts_with(['[', '{']) => args.string(document.text()),
        Value::Json(document) => match document.to_json() {
            Ok(json) => args.string(json.unquoted()),
            Err(_) => args.string(document.text()),
        },
        _ => args.string(json::unquote(&args.text(0)).map_err(|error| error.for_argument(1, "json_unquote"))?),
    })
}

fn json_extract(args: &Args<'_>) -> SqlResult<Value> {
    extract(args, &args.stored(0)?)
}

/// What is at the paths in a stored document.
fn extract(args: &Args<'_>, document: &str) -> SqlResult<Value> {
    if args.len() > 2 {
        let paths = (1..args.len()).map(|at| path(args, at)).collect::<SqlResult<Vec<_>>>()?;
        return found_at(args, document, &paths);
    }
    let text = args.text(1);
    let (text, path) = match LAST_PATH.take().filter(|(known, _)| *known == text) {
        Some(last) => last,
        None => (text.to_string(), JsonPath::parse(&text)?),
    };
    let found = if path.has_wildcard() {
        found_at(args, document, std::slice::from_ref(&path))
    } else {
        let found = json::stored::at_path(document, &path);
        Ok(found.map_or(Value::Null, |found| Value::Json(Document::from_stored(found))))
    };
    LAST_PATH.set(Some((text, path)));
    found
}

/// An array of what is at paths; NULL, if that is nothing.
fn found_at(args: &Args<'_>, document: &str, paths: &[JsonPath]) -> SqlResult<Value> {
    let mut array = String::new();
    // Values inside of each other are there several times: the array may be much longer than the document.
    let mut charge = GrowingCharge::new(&args.context.memory);
    for path in paths {
        known_values(args, path, document)?;
        json::stored::for_each_at(document, path, &mut |value| -> SqlResult<()> {
            args.context.kill.check()?;
            array.push_str(if array.is_empty() { "[" } else { ", " });
            array.push_str(value);
            charge.grow(value.len())
        })?;
    }
    if array.is_empty() {
        return Ok(Value::Null);
    }
    array.push(']');
    Ok(Value::Json(Document::from_stored(array)))
}

/// Charges the memory of a walk along a path: the values that an ellipsis has found.
fn known_values(args: &Args<'_>, path: &JsonPath, document: &str) -> SqlResult<()> {
    if path.has_ellipsis() { args.charge_tree(document) } else { Ok(()) }
}

thread_local! {
    /// Most statements ask all documents for the same.
    static LAST_PATH: Cell<Option<(String, JsonPath)>> = const { Cell::new(None) };
}

/// Whether `one` of the paths is enough, or `all` are needed; error 3154 for another word.
fn only_one(args: &Args<'_>, at: usize) -> SqlResult<bool> {
    match args.text(at).to_ascii_lowercase().as_str() {
        "one" => Ok(true),
        "all" => Ok(false),
        _ => Err(SqlError::new(ErrorCode::JsonBadOneOrAll, &[&args.name.to_lowercase()])),
    }
}

fn json_contains_path(args: &Args<'_>) -> SqlResult<Value> {
    let document = args.stored(0)?;
    let one = only_one(args, 1)?;
    for at in 2..args.len() {
        let path = path(args, at)?;
        known_values(args, &path, &document)?;
        // The first value ends the walk.
        let is_there = json::stored::for_each_at(&document, &path, &mut |_| Err(())).is_err();
        if is_there == one {
            return Ok(Value::from(one));
        }
    }
    Ok(Value::from(!one))
}

/// Why a search ended early.
enum Ended {
    /// With the only string that was asked for.
    Found,
    /// With an error.
    Failed(SqlError),
}

/// `JSON_SEARCH(document, one_or_all, pattern [, escape [, path …]])`.
fn json_search(args: &Args<'_>) -> SqlResult<Value> {
    let missing = |at: usize| args.value(at).is_null();
    if missing(0) || missing(1) || missing(2) || (4..args.len()).any(missing) {
        return Ok(Value::Null);
    }
    let document = args.stored(0)?;
    let one = only_one(args, 1)?;
    let given = args.text(3);
    let mut escapes = given.chars();
    let escape = escapes.next().unwrap_or('\\');
    if escapes.next().is_some() {
        return Err(SqlError::new(ErrorCode::WrongArguments, &[&"ESCAPE"]));
    }
    let pattern = LikePattern::new(CollationId::UTF8MB4_BIN, &args.text(2), Some(escape));
    let starts = if args.len() > 4 {
        (4..args.len()).map(|at| path(args, at)).collect::<SqlResult<Vec<_>>>()?
    } else {
        vec![JsonPath::parse("$")?]
    };
    let (mut found, mut known): (Vec<String>, HashSet<String>) = Default::default();
    let mut charge = GrowingCharge::new(&args.context.memory);
    let check = || args.context.kill.check().map_err(Ended::Failed);
    for start in &starts {
        if start.has_wildcard() {
            // The places where the search starts.
            args.charge_tree(&document)?;
        }
        let searched = json::search::search(&document, &pattern, start, &check, &mut |place| {
            let text = place.to_string();
            charge.grow(2 * (text.len() + size_of::<String>())).map_err(Ended::Failed)?;
            if starts.len() == 1 || known.insert(text.clone()) {
                found.push(text);
            }
            if one { Err(Ended::Found) } else { Ok(()) }
        });
        match searched {
            Err(Ended::Failed(error)) => return Err(error),
            Err(Ended::Found) => break,
            Ok(()) => {}
        }
    }
    Ok(match found.len() {
        0 => Value::Null,
        1 => Json::String(found.swap_remove(0)).to_value(),
        _ => Json::Array(found.into_iter().map(Json::String).collect()).to_value(),
    })
}
