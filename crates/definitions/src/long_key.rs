//! How long keys are, and keys of hashes, which UNIQUE ones become that no key can hold whole
//! (`docs/decisions/0085-long-unique-keys.md`).

use squall_catalog::{ColumnDef, IndexDef, IndexId, IndexPart, IndexType, TableDef};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind};

/// Longest key in bytes.
pub const KEY_BYTES_MAX: u64 = 3072;

/// 1071.
pub fn too_long() -> SqlError {
    SqlError::new(ErrorCode::TooLongKey, &[&KEY_BYTES_MAX])
}

/// Whether parts are too long for a key of their values: a whole TEXT or BLOB, or more bytes than a key has.
pub fn are_too_long(table: &TableDef, parts: &[IndexPart]) -> bool {
    let mut bytes = 0;
    for part in parts {
        let Some(ordinal) = table.ordinal(part.column) else { continue };
        let column = &table.columns[ordinal];
        if is_whole_text(column, part) {
            return true;
        }
        bytes += part_bytes(column, part.prefix);
    }
    bytes > KEY_BYTES_MAX
}

/// Gives the unique keys of an altered table the type that their columns need now. A key that gets another type gets another id, so that
/// it is built again. Other keys must not have become too long (1071). Tells whether there are keys to build.
pub fn resolve_long_keys(table: &mut TableDef, old: &TableDef) -> SqlResult<bool> {
    let mut changes = false;
    for at in 0..table.indexes.len() {
        let index = &table.indexes[at];
        if !matches!(index.index_type, IndexType::BTree | IndexType::Hash | IndexType::LongHash) {
            continue;
        }
        let is_too_long = are_too_long(table, &index.parts);
        if is_too_long == index.is_hashed() {
            continue;
        }
        if index.unique && !index.primary {
            let id = IndexId(table.next_index_id);
            table.next_index_id += 1;
            let index = &mut table.indexes[at];
            index.index_type = if is_too_long { IndexType::LongHash } else { IndexType::BTree };
            index.id = id;
            changes = true;
            continue;
        }
        let was_too_long = |before: &IndexDef| before.id == index.id && are_too_long(old, &before.parts);
        if !old.indexes.iter().any(was_too_long) {
            return Err(too_long());
        }
    }
    Ok(changes)
}

fn is_whole_text(column: &ColumnDef, part: &IndexPart) -> bool {
    part.prefix.is_none() && matches!(column.sql_type, SqlType::String { kind: StringKind::Text(_), .. })
}

/// The most bytes that a part of a key has.
pub fn part_bytes(column: &ColumnDef, prefix: Option<u32>) -> u64 {
    match column.element_type().unwrap_or(&column.sql_type) {
        SqlType::String { length, collation, .. } => {
            u64::from(prefix.unwrap_or(*length)) * u64::from(collation.charset().bytes_per_character_max())
        }
        _ => 8,
    }
}
