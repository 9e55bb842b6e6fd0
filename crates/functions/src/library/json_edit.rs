//! JSON functions that change documents.

use super::json::{element, made, single_path};
use super::support::{Args, Binding, Def, MANY, result};
use squall_registry::ExprType;
use squall_types::json::{DEPTH_MAX, Document, EditMode, JsonPath, edit, merge_patch, merge_preserve, stored};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::borrow::Cow;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSON_SET", (3, MANY), pairs_type, |args| set(args, EditMode::Set)).takes_null(),
    Def::new("JSON_INSERT", (3, MANY), pairs_type, |args| set(args, EditMode::Insert)).takes_null(),
    Def::new("JSON_REPLACE", (3, MANY), pairs_type, |args| set(args, EditMode::Replace)).takes_null(),
    Def::new("JSON_REMOVE", (2, MANY), result::json, remove),
    Def::new("JSON_ARRAY_APPEND", (3, MANY), pairs_type, |args| {
        changed_by_pairs(args, |document, path, value| Ok(edit::array_append(document, path, value)))
    })
    .takes_null(),
    Def::new("JSON_ARRAY_INSERT", (3, MANY), pairs_type, |args| {
        changed_by_pairs(args, |document, path, value| match path.ends_with_cell() {
            true => Ok(edit::array_insert(document, path, value)),
            false => Err(SqlError::new(ErrorCode::InvalidJsonPathArrayCell, &[])),
        })
    })
    .takes_null(),
    Def::new("JSON_MERGE_PRESERVE", (2, MANY), result::json, preserve_all).also(&["JSON_MERGE"]),
    Def::new("JSON_MERGE_PATCH", (2, MANY), result::json, patch_all).takes_null(),
];

/// A document, and paths with values.
fn pairs_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if binding.arguments.len().is_multiple_of(2) {
        return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&binding.name]));
    }
    result::json(binding)
}

fn set(args: &Args<'_>, mode: EditMode) -> SqlResult<Value> {
    changed_by_pairs(args, |document, path, value| Ok(edit::set(document, path, value, mode)))
}

/// The document with a change for each pair of a path and a value, one after the other; NULL, if the document or a path is.
fn changed_by_pairs(
    args: &Args<'_>,
    change: impl Fn(&str, &JsonPath, &str) -> SqlResult<Option<String>>,
) -> SqlResult<Value> {
    if args.value(0).is_null() || (1..args.len()).step_by(2).any(|at| args.value(at).is_null()) {
        return Ok(Value::Null);
    }
    let mut document = args.stored(0)?;
    let mut may_be_deep = false;
    for at in (1..args.len()).step_by(2) {
        // Each change copies the document.
        args.context.kill.check()?;
        let path = single_path(args, at)?;
        let value = element(args, at + 1)?;
        if let Some(changed) = change(&document, &path, &value)? {
            document = Cow::Owned(changed);
        }
        // What is at a path may become an element of an array: a level more.
        let is_wrapped = path.legs().is_empty() || path.ends_with_cell();
        may_be_deep |= is_wrapped || path.legs().len() + stored::nesting(&value) >= DEPTH_MAX;
    }
    if may_be_deep { made(document) } else { Ok(Value::Json(Document::from_stored(document))) }
}

fn remove(args: &Args<'_>) -> SqlResult<Value> {
    let mut document = args.stored(0)?;
    for at in 1..args.len() {
        args.context.kill.check()?;
        let path = single_path(args, at)?;
        if path.is_root() {
            return Err(SqlError::new(ErrorCode::JsonVacuousPath, &[]));
        }
        if let Some(changed) = edit::remove(&document, &path) {
            document = Cow::Owned(changed);
        }
    }
    Ok(Value::Json(Document::from_stored(document)))
}

fn preserve_all(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged = args.stored(0)?;
    for at in 1..args.len() {
        args.context.kill.check()?;
        merged = Cow::Owned(merge_preserve(&merged, &args.stored(at)?));
    }
    made(merged)
}

/// NULL makes everything before it unknown, and a document that is no object takes the place of everything before it.
fn patch_all(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged: Option<Cow<'_, str>> = None;
    for at in 0..args.len() {
        args.context.kill.check()?;
        let patch = if args.value(at).is_null() { None } else { Some(args.stored(at)?) };
        merged = match (merged, patch) {
            (Some(target), Some(patch)) => Some(Cow::Owned(merge_patch(&target, &patch))),
            (None, Some(patch)) if at > 0 && patch.starts_with('{') => None,
            (_, patch) => patch,
        };
    }
    merged.map_or(Ok(Value::Null), made)
}
