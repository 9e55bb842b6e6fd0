//! MySQL's implicit and explicit conversions between values.
//!
//! [`number`] reads numbers, [`text`] prints any value, [`compare`](mod@compare) orders values of any two types,
//! [`store`] converts into a column as INSERT does, [`cast`] as `CAST` does, [`json_elements`] as a multi-valued key does.

pub mod cast;
pub mod compare;
pub mod context;
pub mod json_elements;
pub mod number;
pub mod store;
mod store_geometry;
mod store_hex;
mod store_numeric;
mod store_temporal;
mod store_text;
mod store_vector;
pub mod text;

pub use crate::digits::{write_int, write_uint};
pub use crate::double_text::{write_double, write_float};
pub use cast::{CastTarget, Casted, cast_value};
pub use compare::compare_values;
pub use context::{Condition, ConversionContext, Severity, Stored};
pub use number::{ParsedNumber, parse_f64, parse_integer, parse_integer_rounded};
pub use store::store_value;
pub use store_hex::cast_digits;
pub use store_temporal::temporal_source;
pub use text::{spelled_out, to_text, write_text};
