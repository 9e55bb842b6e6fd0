//! What the crate keeps, compared with arrays that were kept aside.

mod corruption;
mod generate;
mod indexes;
mod other_readers;
mod round_trip;
