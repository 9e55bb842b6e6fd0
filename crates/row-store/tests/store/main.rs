//! Tests of the store through its public interface.

mod basics;
mod bulk;
mod fixture;
mod isolation;
