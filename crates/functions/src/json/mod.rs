//! Values out of documents as values of SQL types: [`scalar`] (the conversion), JSON_VALUE ([`value`]) and JSON_TABLE
//! ([`table`]). The functions that give documents are in the library.

pub mod scalar;
pub mod table;
pub mod value;

pub use table::{JsonTable, Response, TableColumn};
pub use value::{JsonValueKernel, ValueResponse};
