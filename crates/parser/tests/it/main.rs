//! The parser from outside: texts that it accepts, refuses, and must survive.

mod digests;
mod errors;
mod golden;
mod limits;
mod multi;
mod soup;
