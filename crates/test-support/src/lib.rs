//! What the end-to-end tests share: a server process on a fresh data directory, and golden scripts.
//!
//! The client is the `mysql` crate, which nobody here wrote, so that the same scripts can be run on another server.

#[cfg(unix)]
pub mod faults;
pub mod golden;
pub mod mariadb;
pub mod random;
pub mod server;
mod skip;

pub use skip::skip;

/// How many rounds a test of killed servers makes: `SQUALL_CRASH_ROUNDS`, for long runs, or else so many.
pub fn crash_rounds(otherwise: u64) -> u64 {
    std::env::var("SQUALL_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(otherwise)
}
