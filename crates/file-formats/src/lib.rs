//! Reads and writes rows as CSV, TSV, NDJSON and Parquet files, for SELECT … INTO OUTFILE … FORMAT, `squall export`, LOAD DATA … FORMAT
//! and `squall load`.
//!
//! Files are read into lines in LOAD DATA's default format. So LOAD DATA does the conversions, warnings and rejected rows of all
//! formats. Reading order: [`FileFormat`], [`Records`] (text to such lines), [`ParquetRows`] (Parquet to such lines), [`text`] (values
//! to CSV and NDJSON), [`exchange`] (columns as plain Arrow arrays), [`ParquetWriter`].
//!
//! The crate knows no tables, sessions or sockets.

pub mod exchange;
mod field;
mod format;
mod parquet_file;
mod records;
pub mod text;

pub use field::{FieldKind, push_field};
pub use format::FileFormat;
pub use parquet_file::{ParquetRows, ParquetWriter, RowsError, Unfit, WriteError};
pub use records::{Record, Records, member_names};
