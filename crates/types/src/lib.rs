//! MySQL types, values, decimals, temporal values, collations and conversions.
//!
//! All other crates use [`SqlType`] for the types of columns and [`Value`] for single values. The crate must not know tables, packets,
//! Arrow arrays or sessions.
//!
//! Reading order: [`sql_type`], [`value`], [`decimal`], [`temporal`], [`collation`], [`error`], [`convert`], [`json`], [`geometry`],
//! [`vector`], [`key_codec`]; apart from these [`durable_files`].

pub mod clock;
pub mod collation;
pub mod condition;
pub mod convert;
pub mod decimal;
pub mod digits;
pub mod double_text;
pub mod durable_files;
pub mod error;
pub mod geometry;
pub mod hex;
pub mod invariant;
pub mod json;
mod json_value;
pub mod key_codec;
pub mod ngrams;
pub mod row_writer;
pub mod sql_mode;
pub mod sql_type;
pub mod stored_bytes;
pub mod temporal;
pub mod term_list;
mod type_name;
pub mod value;
pub mod vector;
pub mod words;

pub use collation::{Charset, CollationId};
pub use decimal::Decimal;
pub use error::{ErrorCode, Level, ModuleError, SqlError, SqlResult, Warning, io_error_text};
pub use geometry::{GeometryKind, GeometryType};
pub use json::Json;
pub use key_codec::KeyPart;
pub use row_writer::RowWriter;
pub use sql_mode::SqlMode;
pub use sql_type::{IntWidth, SqlType, StringKind, TextSize};
pub use stored_bytes::StoredBytes;
pub use temporal::{Date, DateTime, Time};
pub use value::Value;
