//! Character sets and collations by MySQL's numbers.
//!
//! Strings are UTF-8 inside the server. A [`Charset`] decides which characters a column accepts, and how bytes of clients are decoded
//! and encoded; a [`Collation`] decides order and equality.
//!
//! Reading order: [`charset`], `definition` (what a collation is), [`registry`] (the list of collations), [`mod@sort_key`] (keys, comparison, hashes), [`like`] (patterns
//! and searching, with [`ascii_search`] for most texts), [`case`] (letters' cases).

pub mod ascii_search;
pub mod case;
pub mod charset;
mod charset_data;
mod code_table;
mod definition;
mod equality;
mod icu;
pub mod like;
mod mariadb;
mod multi_byte;
pub mod registry;
pub mod sort_key;
mod weight_data;
mod weights;

use crate::{ErrorCode, SqlError, SqlResult};
pub use ascii_search::AsciiSearch;
pub use case::{to_lower, to_upper};
pub use charset::Charset;
pub use definition::{Collation, Sensitivity};
pub use like::{LikePattern, find, find_unless, like_match};
pub use sort_key::{compare, eq, hash, sort_key, sort_key_length_max, sort_key_start};

/// A collation by MySQL's id, as it goes over the wire and into the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollationId(pub u16);

impl CollationId {
    /// `binary`.
    pub const BINARY: CollationId = CollationId(63);
    /// `utf8mb4_general_ci`.
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    /// `utf8mb4_bin`.
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    /// `utf8mb4_0900_ai_ci`, the default.
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    /// `utf8mb4_0900_bin`.
    pub const UTF8MB4_0900_BIN: CollationId = CollationId(309);
    /// `utf8mb3_general_ci`, of metadata and identifiers.
    pub const UTF8MB3_GENERAL_CI: CollationId = CollationId(33);
    /// `latin1_swedish_ci`.
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    /// `ft_kvpair_ci`, latin1 in which `key=value` is one word of a FULLTEXT key.
    pub const FT_KVPAIR_CI: CollationId = CollationId(1024);
    /// `utf8mb4_ft_kvpair_ci`, the same of utf8mb4.
    pub const UTF8MB4_FT_KVPAIR_CI: CollationId = CollationId(1025);
    /// `ascii_general_ci`.
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);

    /// The properties of the collation; unknown ids have those of `utf8mb4_0900_ai_ci`.
    pub fn info(self) -> &'static Collation {
        registry::by_id(self).unwrap_or_else(registry::default_collation)
    }

    /// The character set.
    pub fn charset(self) -> Charset {
        self.info().charset
    }

    /// The collation's name.
    pub fn name(self) -> &'static str {
        &self.info().name
    }

    /// Whether it orders by code points or bytes.
    pub fn is_binary(self) -> bool {
        self.info().sensitivity == Sensitivity::Binary
    }

    /// Whether upper and lower case differ in it.
    pub fn is_case_sensitive(self) -> bool {
        self.info().sensitivity != Sensitivity::CaseInsensitive
    }

    /// The collation of a number, if there is one.
    pub fn from_number(number: u64) -> Option<CollationId> {
        let id = u16::try_from(number).ok().map(CollationId)?;
        registry::by_id(id).map(|collation| collation.id)
    }

    /// The collation that a statement names.
    ///
    /// # Errors
    /// 1273 for an unknown one.
    pub fn named(name: &str) -> SqlResult<CollationId> {
        CollationId::from_name(name).ok_or_else(|| SqlError::new(ErrorCode::UnknownCollation, &[&name]))
    }

    /// The collation of a name, in any case; `utf8_` stands for `utf8mb3_`.
    pub fn from_name(name: &str) -> Option<CollationId> {
        registry::by_name(name).map(|collation| collation.id)
    }
}
