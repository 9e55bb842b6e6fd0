//! The views of the schema `sys`, as Rust: what each makes of the tables of performance_schema at one time.
//!
//! A view makes its rows once, in raw units (picoseconds, bytes, whole texts) and in its order. The same rows are `sys.x$name` as they
//! are and `sys.name` with units, of the time of the query; and `sys_history.x$name` and `sys_history.name`, of every snapshot of the
//! history, one after the other. So a view of a week costs as much as the snapshots that are read, and nothing is joined over time.
//!
//! Reading order: [`view`] (what a view is), [`source`] (what it reads), [`form`] (units), [`sums`] (grouping), then the families.

mod accounts;
mod buffer;
mod digests;
mod files;
pub(crate) mod form;
mod keys;
mod memory;
mod objects;
mod processes;
mod server;
pub(crate) mod source;
mod sums;
pub(crate) mod view;
mod waits;

use view::View;

/// All views.
pub(crate) fn all() -> impl Iterator<Item = &'static View> {
    let families: [&[View]; 10] = [
        accounts::VIEWS,
        buffer::VIEWS,
        digests::VIEWS,
        files::VIEWS,
        keys::VIEWS,
        memory::VIEWS,
        objects::VIEWS,
        processes::VIEWS,
        server::VIEWS,
        waits::VIEWS,
    ];
    families.into_iter().flatten()
}
