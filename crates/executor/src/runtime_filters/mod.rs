//! Runtime filters: one operator finds them while a plan runs, and a scan that begins later uses them to read less. They are a join's
//! keys, the bounds of a column, or the value of a subquery. A scan that begins before they are known reads everything, which is always
//! correct.

pub mod join_keys;
pub(crate) mod noted_bounds;
pub(crate) mod scalar_bound;

pub use join_keys::JoinKeys;
