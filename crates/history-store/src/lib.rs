//! Snapshots of tables over time. Each file has the snapshots of one slice of time, and is deleted as a whole.
//!
//! A *snapshot* is the content of a set of tables at one time. It is appended as one frame. The frame has only the tables that have
//! changed since the last snapshot, and for each only the differences from its *key block*: the table's last full copy in the same
//! slice. So a binary search and at most two reads find a table at one time, and neighbouring snapshots are neighbours in the file.
//! `docs/formats/history.md` has the bytes, `docs/decisions/0023-history.md` the reasons.
//!
//! ```text
//! history/  00001424…339.slice  |frame|frame|frame|…      an hour
//!           00001424…941.slice  |frame|frame|…            the next, being written
//!           floor               what is older is gone, although its slice is still there
//! ```
//!
//! Knows: values. Must not know: the catalog, SQL text, the clock, what the tables are.
//!
//! Reading order: `codec`, `column`, `block`, `store` with `slice` and `reader`.

mod block;
mod codec;
mod column;
mod error;
mod store;

pub use column::Column;
pub use error::{Error, Result};
pub use store::reader::{Condition, Moment, Reader, TableRows};
pub use store::{HistoryStore, SLICE_MICROS_MAX, TableContent};
