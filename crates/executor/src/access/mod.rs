//! Reading row tables: the choice of an access path, and the operator that reads.
//!
//! Reading order: [`predicate`] and [`range`] (the keys of an index that a condition leaves), [`filter`] (the source of conditions),
//! [`path`] (the choice), [`order`] (the order of the rows), [`table`] and [`scan`] (the tables as DataFusion sees them);
//! [`column_filter`] and [`column_scan`] for column tables; [`terms`] for FULLTEXT and JSON indexes, [`fulltext`] for the weights of
//! words.

mod candidate_rows;
pub mod chosen_path;
pub(crate) mod column_copy;
pub(crate) mod column_estimate;
pub mod column_filter;
pub mod column_scan;
mod cost;
pub mod filter;
pub mod fulltext;
pub mod key;
pub mod lock;
pub mod order;
mod partitions;
pub mod path;
pub mod predicate;
mod provider;
pub mod range;
pub mod scan;
pub(crate) mod scan_conditions;
pub mod table;
pub mod terms;
pub mod virtual_table;

pub use column_scan::ColumnScanExec;
pub use lock::TableLock;
pub use path::{AccessPath, IndexHints};
pub use scan::RowScanExec;
pub use table::{ROW_KEY_COLUMN, RowTable, is_row_key_column, row_key_column};
pub use virtual_table::VirtualTableProvider;
