//! Rows as CSV, TSV, NDJSON and Parquet files, both ways: what SELECT … INTO OUTFILE … FORMAT and `squall export` write, and
//! what LOAD DATA … FORMAT and `squall load` read.
//!
//! Files are read into lines as LOAD DATA takes them by default, so that conversions, warnings and rejected rows are LOAD
//! DATA's, wherever rows come from. Reading order: [`FileFormat`], [`Records`] (text to such lines), [`ParquetRows`]
//! (Parquet to such lines), [`text`] (values to CSV and NDJSON), [`ParquetWriter`].
//!
//! The crate knows no tables, sessions or sockets.

mod field;
mod format;
mod parquet_file;
mod records;
pub mod text;

pub use field::{FieldKind, push_field};
pub use format::FileFormat;
pub use parquet_file::{ParquetRows, ParquetWriter, RowsError, Unfit, WriteError};
pub use records::{Record, Records, member_names};
