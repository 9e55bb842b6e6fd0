//! JSON: changed documents.

use super::json::{element, made, single_path};
use super::support::{Args, Binding, Def, MANY, result};
use squall_registry::ExprType;
use squall_types::json::{DEPTH_MAX, Document, EditMode, Json, JsonPath, merge_patch, merge_preserve, splice};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::borrow::Cow;

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSON_SET", (3, MANY), pairs_type, |args| set(args, EditMode::Set)).takes_null(),
    Def::new("JSON_INSERT", (3, MANY), pairs_type, |args| set(args, EditMode::Insert)).takes_null(),
    Def::new("JSON_REPLACE", (3, MANY), pairs_type, |args| set(args, EditMode::Replace)).takes_null(),
    Def::new("JSON_REMOVE", (2, MANY), result::json, remove),
    Def::new("JSON_ARRAY_APPEND", (3, MANY), pairs_type, |args| {
        edit(args, |document, path, value| {
            document.array_append(path, value);
            Ok(())
        })
    })
    .takes_null(),
    Def::new("JSON_ARRAY_INSERT", (3, MANY), pairs_type, |args| {
        edit(args, |document, path, value| if document.array_insert(path, value) { Ok(()) } else { Err(no_cell()) })
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

fn no_cell() -> SqlError {
    SqlError::new(ErrorCode::InvalidJsonPathArrayCell, &[])
}

/// Applies pairs of paths and values.
fn edit(args: &Args<'_>, change: impl Fn(&mut Json, &JsonPath, Json) -> SqlResult<()>) -> SqlResult<Value> {
    if is_null(args) {
        return Ok(Value::Null);
    }
    let mut document = args.document(0)?;
    for at in (1..args.len()).step_by(2) {
        let path = single_path(args, at)?;
        change(&mut document, &path, element(args, at + 1)?)?;
    }
    made(&document)
}

/// Whether the document or a path is NULL: then the result is.
fn is_null(args: &Args<'_>) -> bool {
    args.value(0).is_null() || (1..args.len()).step_by(2).any(|at| args.value(at).is_null())
}

fn set(args: &Args<'_>, mode: EditMode) -> SqlResult<Value> {
    if !is_null(args)
        && let Some(spliced) = set_members(args, mode)?
    {
        return Ok(Value::Json(spliced));
    }
    edit(args, |document, path, value| {
        document.set(path, value, mode);
        Ok(())
    })
}

/// A stored document changed where it lies; `None` for paths with cells, and where the result may be too deep.
fn set_members(args: &Args<'_>, mode: EditMode) -> SqlResult<Option<Document>> {
    let Value::Json(document) = args.value(0) else { return Ok(None) };
    let mut changed = Cow::Borrowed(document.stored());
    for at in (1..args.len()).step_by(2) {
        let path = single_path(args, at)?;
        let Some(names) = path.member_names() else { return Ok(None) };
        let value = element(args, at + 1)?;
        if path.legs().len() + value.nesting() > DEPTH_MAX {
            return Ok(None);
        }
        if let Some(spliced) = splice::set(&changed, names, &value.to_stored(), mode) {
            changed = Cow::Owned(spliced);
        }
    }
    Ok(Some(Document::from_stored(changed)))
}

/// The same of removals.
fn remove_members(args: &Args<'_>) -> SqlResult<Option<Document>> {
    let Value::Json(document) = args.value(0) else { return Ok(None) };
    let mut changed = Cow::Borrowed(document.stored());
    for at in 1..args.len() {
        let path = single_path(args, at)?;
        let Some(names) = path.member_names().filter(|_| !path.is_root()) else { return Ok(None) };
        if let Some(spliced) = splice::remove(&changed, names) {
            changed = Cow::Owned(spliced);
        }
    }
    Ok(Some(Document::from_stored(changed)))
}

fn remove(args: &Args<'_>) -> SqlResult<Value> {
    if let Some(spliced) = remove_members(args)? {
        return Ok(Value::Json(spliced));
    }
    let mut document = args.document(0)?;
    for at in 1..args.len() {
        let path = single_path(args, at)?;
        if path.is_root() {
            return Err(SqlError::new(ErrorCode::JsonVacuousPath, &[]));
        }
        document.remove(&path);
    }
    Ok(document.to_value())
}

fn preserve_all(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged = args.document(0)?;
    for at in 1..args.len() {
        merged = merge_preserve(merged, args.document(at)?);
    }
    made(&merged)
}

/// NULL makes everything before it unknown, and a document that is no object takes the place of everything before it.
fn patch_all(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged = None;
    for at in 0..args.len() {
        let patch = if args.value(at).is_null() { None } else { Some(args.document(at)?) };
        merged = match (merged, patch) {
            (Some(target), Some(patch)) => Some(merge_patch(target, patch)),
            (None, Some(Json::Object(_))) if at > 0 => None,
            (_, patch) => patch,
        };
    }
    merged.as_ref().map_or(Ok(Value::Null), made)
}
