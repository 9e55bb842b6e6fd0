//! MySQL's rules for the types of results.

pub mod collation;
pub mod length;
pub mod numeric;
mod unify;

pub use collation::{StringOperand, aggregate_collations};
pub use length::display_length;
pub use numeric::{NumericKind, numeric_kind};
pub use unify::{string_of_length, unify_types};

use squall_types::SqlType;

/// Whether values of a type have a date: all but TIME of the temporal ones.
pub fn has_date(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. })
}
