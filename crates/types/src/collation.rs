//! Character sets and collations by MySQL's numbers.

/// A collation by MySQL's id, as it goes over the wire and into the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollationId(pub u16);

/// A character set. Strings are UTF-8 inside; the set decides which characters a column takes and how bytes look at the rim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `utf8mb4`.
    Utf8mb4,
    /// `utf8mb3`.
    Utf8mb3,
    /// `latin1` (Windows-1252).
    Latin1,
    /// `ascii`.
    Ascii,
    /// `binary`.
    Binary,
}

impl CollationId {
    /// `binary`.
    pub const BINARY: CollationId = CollationId(63);
    /// `utf8mb4_general_ci`.
    pub const UTF8MB4_GENERAL_CI: CollationId = CollationId(45);
    /// `utf8mb4_bin`.
    pub const UTF8MB4_BIN: CollationId = CollationId(46);
    /// `utf8mb4_0900_ai_ci`, the default.
    pub const UTF8MB4_0900_AI_CI: CollationId = CollationId(255);
    /// `latin1_swedish_ci`.
    pub const LATIN1_SWEDISH_CI: CollationId = CollationId(8);
    /// `ascii_general_ci`.
    pub const ASCII_GENERAL_CI: CollationId = CollationId(11);
}
