//! Point plans: key look-ups and short ranges of one table, recognised in the syntax tree and run straight on the store.
//!
//! A point plan holds no expression and no DataFusion plan, only ordinals and operands, so it is made in a microsecond
//! and costs nothing to keep. The binder takes everything else: [`recognize`] gives `None`, and so does
//! [`PointSelect::prepare`] for parameters that a plan cannot use.
//!
//! Reading order: `key`, `recognize`, `select`, `change`; `constant` stands by itself.

mod change;
mod constant;
mod key;
mod order;
mod recognize;
mod select;

pub use change::is_point_change;
pub use constant::{ConstantRow, constant_row};
pub use key::{Lookup, NamedTable, Operand, PointAccess, operand_of};
pub use recognize::{FoundTable, recognize};
pub(crate) use select::write_stored;
pub use select::{PointSelect, PointSource, PreparedLookup};
