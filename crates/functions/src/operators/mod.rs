//! The kernels behind operators, casts and conversions.

pub mod arithmetic_op;
pub mod bits;
pub mod cast;
pub mod characters;
pub mod coerce;
pub mod control;
pub mod convert;
pub mod decimal;
pub mod double;
pub mod in_set;
pub mod integer;
pub mod interval;
pub mod json_compare;
pub mod like;
pub mod regexp;
pub mod sort_key;
pub mod truth;
