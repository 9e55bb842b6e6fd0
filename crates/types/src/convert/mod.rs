//! MySQL's implicit and explicit conversions between values.
//!
//! [`number`] reads and prints numbers, [`text`] prints any value, [`compare`](mod@compare) orders values of any two types,
//! [`store`] converts into a column as INSERT does, [`cast`] as `CAST` does.

pub mod compare;
pub mod number;
pub mod text;

pub use compare::compare_values;
pub use number::{ParsedNumber, parse_f64, parse_integer, parse_integer_rounded, write_double, write_float};
pub use text::{to_text, write_text};
