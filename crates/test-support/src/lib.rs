//! What the end-to-end tests share: a server process on a fresh data directory, and golden scripts.
//!
//! The client is the `mysql` crate, which nobody here wrote, so that the same scripts can be run on another server.

#[cfg(unix)]
pub mod faults;
pub mod golden;
pub mod random;
pub mod server;
