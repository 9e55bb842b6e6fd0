//! Costs of reading rows; the unit is reading one row of a table scan.

/// Cost of one row read in the table's own order; the unit of all costs.
pub const COST_ROW: f64 = 1.0;
/// Cost of one entry of an index alone.
pub const COST_ENTRY: f64 = 0.6;
/// Cost of one row fetched through an index.
pub const COST_LOOKUP: f64 = 4.0;
/// Cost of looking for words in one row's text, which is taken apart for that, where no index of its words has found it.
pub const COST_MATCH: f64 = 20.0;
/// Cost of starting on one range.
pub const COST_RANGE: f64 = 4.0;
/// Cost of one row's lock where it is released at once or with the statement.
pub const COST_LOCK_SHORT: f64 = 4.0;
/// Cost of one row's lock that is kept until the transaction ends. It is more than the work: others wait for it.
pub const COST_LOCK: f64 = 50.0;
