//! The properties of a table's engine that plans, changes and definitions need.

use squall_catalog::{IndexType, TableCompression};

/// How an engine's tables differ, for readers and writers, which treat all tables alike, and for definitions, which some
/// engines refuse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineTraits {
    /// Rows are read by column: a scan applies conditions itself, columns that are not asked for cost nothing, and a whole row is dear.
    pub reads_by_column: bool,
    /// Many rows are changed at once for less than each by itself.
    pub changes_at_once: bool,
    /// Cost of one look-up by a key, in rows of a table scan.
    pub lookup_cost: f64,
    /// Rows move out of the store, in the background, into a level below it that the engine opens for each table.
    pub seals_rows: bool,
    /// The engine keeps copies of columns for tables of other engines (COLUMNAR keys).
    pub keeps_copies: bool,
    /// How tables are compressed whose definition does not say.
    pub compression: TableCompression,
    /// The structure of a key that is not unique and names none.
    pub plain_keys: IndexType,
    /// The features that definitions of its tables may not have.
    pub refuses: &'static [TableFeature],
}

impl EngineTraits {
    /// Of tables whose rows are the store's own.
    pub const ROWS: EngineTraits = EngineTraits {
        reads_by_column: false,
        changes_at_once: false,
        lookup_cost: 8.0,
        seals_rows: false,
        keeps_copies: false,
        compression: TableCompression::Lz4,
        plain_keys: IndexType::BTree,
        refuses: &[],
    };

    /// Whether a definition may not have a feature.
    pub fn refuses(&self, feature: TableFeature) -> bool {
        self.refuses.contains(&feature)
    }
}

/// A feature that a definition can ask for and an engine can refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFeature {
    /// CREATE TEMPORARY TABLE.
    Temporary,
    /// FOREIGN KEY.
    ForeignKeys,
    /// FULLTEXT keys, of words and of documents.
    FulltextKeys,
    /// COLUMNAR keys: copies of columns.
    ColumnarKeys,
}
