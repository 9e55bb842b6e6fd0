//! The parser from outside: what it reads, what it refuses, and what it must survive.

mod digests;
mod errors;
mod golden;
mod limits;
mod multi;
mod soup;
