//! Parquet files that other programs can read, or have written.
//!
//! | MySQL | Parquet |
//! |---|---|
//! | integers | INT(8…64), signed or not; MEDIUMINT 32 bits, YEAR and BIT unsigned |
//! | DECIMAL | DECIMAL |
//! | FLOAT, DOUBLE | FLOAT, DOUBLE |
//! | DATE, TIME | DATE, TIME(MICROS) |
//! | DATETIME, TIMESTAMP | TIMESTAMP(MICROS), local and UTC |
//! | character strings, ENUM, SET | STRING |
//! | byte strings | BYTE_ARRAY |
//! | JSON | JSON |
//!
//! Dates that no calendar has and TIMEs beyond a day have no form there; the writer decides what to do with them ([`Unfit`]).

mod input;
mod read;
mod value;
mod write;

pub use read::{ParquetRows, RowsError};
pub use write::{ParquetWriter, Unfit, WriteError};

/// The text of a failure of the library, without its own prefix.
fn reason(error: impl std::fmt::Display) -> String {
    let text = error.to_string();
    let known = ["Parquet error: ", "Parquet argument error: ", "EOF: ", "External: "];
    known.iter().fold(text.as_str(), |text, prefix| text.strip_prefix(prefix).unwrap_or(text)).to_owned()
}
