//! MySQL's rules for the types of results.

pub mod collation;
pub mod length;
pub mod numeric;
mod unify;

pub use collation::{StringOperand, aggregate_collations};
pub use length::display_length;
pub use numeric::{NumericKind, numeric_kind};
pub use unify::{string_of_length, unify_types};
