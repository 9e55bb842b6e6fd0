//! What those who plan have to know of a table's engine.

/// Where an engine's tables differ for readers and writers, who can do with each table all that they can do with any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineTraits {
    /// Rows are read by column: a scan applies conditions itself, columns that are not asked for cost nothing, and a whole row is dear.
    pub reads_by_column: bool,
    /// Many rows are changed at once for less than each by itself.
    pub changes_at_once: bool,
    /// Cost of one look-up by a key, in rows of a table scan.
    pub lookup_cost: f64,
}

impl EngineTraits {
    /// Of tables whose rows are the store's own.
    pub const ROWS: EngineTraits = EngineTraits { reads_by_column: false, changes_at_once: false, lookup_cost: 8.0 };
}
