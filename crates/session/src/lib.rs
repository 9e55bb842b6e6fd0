//! One connection's state; runs one statement at a time.
//!
//! Reading order: [`api`] (what a front end sees).

pub mod api;
