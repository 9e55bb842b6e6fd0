//! Runs definition statements in a session; their work is in [`squall_definitions`].

pub(crate) mod create_select;
mod explain;
mod run;
mod sequence;
