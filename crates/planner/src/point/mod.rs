//! Point plans: key look-ups and short ranges of one table, recognised in the syntax tree and run straight on the store.
//!
//! A point plan holds no expression and no DataFusion plan, only ordinals and operands, so it is made in a microsecond
//! and costs nothing to keep. Whatever does not fit is left to the binder: [`recognize`] gives `None`, and
//! [`PointSelect::prepare`] does for parameters that a plan cannot use.
//!
//! Reading order: `recognize`, `select`.

mod recognize;
mod select;

pub use recognize::recognize;
pub use select::{Lookup, PointSelect, PointSource};
