//! The views of the schema `sys` in Rust. Each is a function of the tables of performance_schema at one time.
//!
//! A view makes its rows in raw units (picoseconds, bytes, whole texts) and in its order. `sys.x$name` gives these rows for the time of
//! the query, and `sys.name` formats their units. `sys_history.x$name` and `sys_history.name` give them for all snapshots of the
//! history, one after the other. So a view of a week costs as much as reading its snapshots, without a join over time.
//!
//! Reading order: [`view`] (the definition of a view), [`source`] (its input), [`form`] (units), [`sums`] (grouping), then the
//! families.

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
