//! What one operator finds out while a plan runs and a scan that begins later uses to read less: a join's keys, the bounds of a
//! column, the value of a subquery. A scan that begins before they are known reads everything, which is never wrong.

pub mod join_keys;
pub(crate) mod noted_bounds;
pub(crate) mod scalar_bound;

pub use join_keys::JoinKeys;
