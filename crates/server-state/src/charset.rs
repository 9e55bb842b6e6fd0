//! Character sets and collations by name, with MySQL's errors.

use squall_types::collation::{Charset, registry};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};

/// The character set of that name (1115).
pub fn charset(name: &str) -> SqlResult<Charset> {
    Charset::from_name(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownCharacterSet, &[&name]))
}

/// The default collation of the character set of that name.
pub fn default_collation(name: &str) -> SqlResult<CollationId> {
    Ok(charset(name)?.default_collation())
}

/// The collation of that name (1273).
pub fn collation(name: &str) -> SqlResult<CollationId> {
    CollationId::from_name(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownCollation, &[&name]))
}

/// The collation of a number, if there is one.
pub fn collation_by_number(number: u64) -> Option<CollationId> {
    u16::try_from(number).ok().and_then(|id| registry::by_id(CollationId(id))).map(|info| info.id)
}

/// The name of a collation.
pub fn collation_name(id: CollationId) -> &'static str {
    id.name()
}

/// The name of a collation's character set.
pub fn charset_name(id: CollationId) -> &'static str {
    id.charset().name()
}

/// Whether a collation is the default of its character set.
pub fn is_default_collation(id: CollationId) -> bool {
    id.info().is_default
}

/// The `_bin` collation of a collation's character set.
pub fn binary_collation(id: CollationId) -> CollationId {
    id.charset().binary_collation()
}

/// Most bytes of a character.
pub fn bytes_per_character(id: CollationId) -> u32 {
    id.charset().bytes_per_character_max()
}
