//! The Squall binary.
fn main() {}
