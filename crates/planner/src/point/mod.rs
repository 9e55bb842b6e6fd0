//! Point plans: key look-ups and short ranges of one table, recognized in the syntax tree and run directly on the store.
//!
//! A point plan holds no expression and no DataFusion plan, only ordinals and operands, so it is made in a microsecond and costs
//! nothing to cache. The binder takes all other statements: [`recognize`] gives `None`, and so does [`PointSelect::prepare`] for
//! parameters that a plan cannot use.
//!
//! Reading order: `key`, `recognize`, `select`, `change`; `constant` is independent of these.

mod change;
mod constant;
mod key;
mod order;
mod recognize;
mod select;

pub use change::is_point_change;
pub use constant::{ConstantRow, constant_row, constant_value};
pub use key::{Lookup, NamedTable, Operand, PointAccess, operand_of};
pub use recognize::{FoundTable, recognize};
pub(crate) use select::write_stored;
pub use select::{PointSelect, PointSource, PreparedLookup};
