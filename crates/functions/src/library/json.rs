//! JSON: making documents and asking them.

use super::support::{Args, Binding, Def, MANY, result};
use crate::operators::json_compare::to_json;
use squall_registry::{Coercibility, ExprType};
use squall_types::collation::LikePattern;
use squall_types::json::{self, DEPTH_MAX, Document, Json, JsonError, JsonPath, Object, Outline};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::cell::Cell;
use std::collections::HashSet;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSON_ARRAY", (0, MANY), result::json, |args| {
        made(&Json::Array((0..args.len()).map(|at| element(args, at)).collect::<SqlResult<_>>()?))
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
            Value::Json(document) if document.stored().starts_with('{') => "OBJECT",
            Value::Json(document) if document.stored().starts_with('[') => "ARRAY",
            Value::String(text) if text.trim_ascii_start().starts_with('[') && args.outline(0)?.is_some() => "ARRAY",
            _ => args.document(0)?.type_name(),
        }))
    }),
    Def::new("JSON_DEPTH", (1, 1), result::nullable_int, |args| {
        if let Some(outline) = args.outline(0)? {
            return count(outline.depth);
        }
        count(args.document(0)?.depth())
    }),
    Def::new("JSON_LENGTH", (1, 2), result::nullable_int, |args| {
        if args.len() == 1
            && let Some(outline) = args.outline(0)?
        {
            return count(outline.length);
        }
        let place = if args.len() == 2 { at_path(args, 1)? } else { Some(args.document(0)?) };
        place.map_or(Ok(Value::Null), |place| count(place.length()))
    }),
    Def::new("JSON_KEYS", (1, 2), result::json, |args| {
        let place = if args.len() == 2 { at_path(args, 1)? } else { Some(args.document(0)?) };
        Ok(place.and_then(|place| place.keys()).map_or(Value::Null, |keys| keys.to_value()))
    }),
    Def::new("JSON_CONTAINS", (2, 3), result::nullable_boolean, |args| stored_contains(args, &args.stored(0)?))
        .reading_documents(stored_contains),
    Def::new("JSON_CONTAINS_PATH", (3, MANY), result::nullable_boolean, json_contains_path),
    Def::new("JSON_OVERLAPS", (2, 2), result::nullable_boolean, |args| {
        Ok(Value::from(json::overlaps(&args.document(0)?, &args.document(1)?)))
    }),
    Def::new("MEMBER OF", (2, 2), result::nullable_boolean, |args| {
        let (value, array) = (element(args, 0)?, args.document(1)?);
        Ok(Value::from(match array {
            Json::Array(elements) => elements.iter().any(|element| element.compare(&value).is_eq()),
            other => other.compare(&value).is_eq(),
        }))
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
            if !args.fits((text.len() as u64).saturating_mul(depth as u64) / 4) {
                return Ok(Value::Null);
            }
            Ok(args.string(json::pretty(&text)))
        },
    ),
    Def::new("JSON_STORAGE_SIZE", (1, 1), result::nullable_bigint, |args| count(args.document(0)?.storage_size())),
    Def::new("JSON_STORAGE_FREE", (1, 1), result::nullable_bigint, |args| {
        if args.outline(0)?.is_none() {
            args.document(0)?;
        }
        Ok(Value::Int(0))
    }),
];

/// What is at a path that means one place in the first argument: there is no tree of what does not lead there.
fn at_path(args: &Args<'_>, at: usize) -> SqlResult<Option<Json>> {
    let document = args.stored(0)?;
    let path = single_path(args, at)?;
    json::stored::at_path(&document, &path).map(|place| stored_tree(args, 0, place)).transpose()
}

/// JSON_CONTAINS of a document that is looked into as it is stored.
fn stored_contains(args: &Args<'_>, document: &str) -> SqlResult<Value> {
    let candidate = args.document(1)?;
    if args.len() == 2 {
        return place_contains(args, document, &candidate);
    }
    let place = json::stored::at_path(document, &single_path(args, 2)?);
    place.map_or(Ok(Value::Null), |place| place_contains(args, place, &candidate))
}

fn count(number: usize) -> SqlResult<Value> {
    Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// Whether a candidate is in a part of a stored document.
fn place_contains(args: &Args<'_>, place: &str, candidate: &Json) -> SqlResult<Value> {
    let found = json::stored::contains(place, candidate).map_err(|error| error.for_argument(1, "json_contains"))?;
    Ok(Value::from(match found {
        Some(found) => found,
        None => json::contains(&stored_tree(args, 0, place)?, candidate),
    }))
}

/// The tree of an argument, or of a part of it, in its stored form.
fn stored_tree(args: &Args<'_>, at: usize, stored: &str) -> SqlResult<Json> {
    args.charge_tree(stored)?;
    Json::parse_stored(stored).map_err(|error| error.for_argument(at + 1, &args.name.to_lowercase()))
}

/// An argument as a part of a document: text is a string, JSON is itself.
pub(super) fn element(args: &Args<'_>, at: usize) -> SqlResult<Json> {
    match args.value(at) {
        Value::Json(document) => stored_tree(args, at, document.stored()),
        value => Ok(to_json(value, args.ty(at))),
    }
}

/// A document that was made, unless it is too deep to be one (3157).
pub(super) fn made(document: &Json) -> SqlResult<Value> {
    match document.nesting() {
        levels if levels <= DEPTH_MAX => Ok(document.to_value()),
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
    let mut members = Vec::with_capacity(args.len() / 2);
    for at in (0..args.len()).step_by(2) {
        let Some(name) = args.text_or_null(at) else {
            return Err(SqlError::new(ErrorCode::JsonDocumentNullKey, &[]));
        };
        members.push((name.into_owned(), element(args, at + 1)?));
    }
    made(&Json::Object(Object::from_members(members)))
}

/// Error 3064 for an argument that is no string, and no document where those are taken.
fn check_text(binding: &Binding<'_>, documents: bool) -> SqlResult<()> {
    match binding.arguments.first().map(|argument| &argument.expr_type.sql_type) {
        None | Some(SqlType::String { .. } | SqlType::Enum { .. } | SqlType::Set { .. } | SqlType::Null) => Ok(()),
        Some(SqlType::Json) if documents => Ok(()),
        _ => Err(SqlError::new(ErrorCode::IncorrectType, &[&1, &binding.name.to_lowercase()])),
    }
}

/// Text that is of a document: its collation is that of documents, and weaker than a column's.
fn document_text() -> ExprType {
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
    let parsed = || stored_tree(args, 0, document);
    if args.len() > 2 {
        let paths = (1..args.len()).map(|at| path(args, at)).collect::<SqlResult<Vec<_>>>()?;
        return Ok(at_paths(&parsed()?, &paths));
    }
    let text = args.text(1);
    let (text, path) = match LAST_PATH.take().filter(|(known, _)| *known == text) {
        Some(last) => last,
        None => (text.to_string(), JsonPath::parse(&text)?),
    };
    let found = if path.has_wildcard() && json::stored::is_walked(&path) {
        walked(args, document, &path)
    } else if path.has_wildcard() {
        parsed().map(|document| at_paths(&document, std::slice::from_ref(&path)))
    } else {
        let found = json::stored::at_path(document, &path);
        Ok(found.map_or(Value::Null, |found| Value::Json(Document::from_stored(found))))
    };
    LAST_PATH.set(Some((text, path)));
    found
}

/// An array of what is at a path that is walked; NULL, if that is nothing.
fn walked(args: &Args<'_>, document: &str, path: &JsonPath) -> SqlResult<Value> {
    let mut found = String::new();
    json::stored::for_each_at(document, path, &mut |value| -> SqlResult<()> {
        args.context.kill.check()?;
        found.push_str(if found.is_empty() { "[" } else { ", " });
        found.push_str(value);
        Ok(())
    })?;
    if found.is_empty() {
        return Ok(Value::Null);
    }
    found.push(']');
    Ok(Value::Json(Document::from_stored(found)))
}

fn at_paths(document: &Json, paths: &[JsonPath]) -> Value {
    json::path::extract(document, paths).map_or(Value::Null, |found| found.to_value())
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
    let mut tree = None;
    let one = only_one(args, 1)?;
    for at in 2..args.len() {
        let path = path(args, at)?;
        let is_there = match (path.has_wildcard(), &mut tree) {
            (false, _) => json::stored::at_path(&document, &path).is_some(),
            (true, Some(tree)) => path.find(tree).is_some(),
            (true, tree) => path.find(tree.insert(stored_tree(args, 0, &document)?)).is_some(),
        };
        if is_there == one {
            return Ok(Value::from(one));
        }
    }
    Ok(Value::from(!one))
}

/// `JSON_SEARCH(document, one_or_all, pattern [, escape [, path …]])`.
fn json_search(args: &Args<'_>) -> SqlResult<Value> {
    let missing = |at: usize| args.value(at).is_null();
    if missing(0) || missing(1) || missing(2) || (4..args.len()).any(missing) {
        return Ok(Value::Null);
    }
    let document = args.document(0)?;
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
    for start in &starts {
        for place in json::search::search(&document, &pattern, start, one) {
            let text = place.to_string();
            if starts.len() == 1 || known.insert(text.clone()) {
                found.push(text);
            }
        }
        if one && !found.is_empty() {
            break;
        }
    }
    Ok(match found.len() {
        0 => Value::Null,
        1 => Json::String(found.swap_remove(0)).to_value(),
        _ => Json::Array(found.into_iter().map(Json::String).collect()).to_value(),
    })
}
