//! Statements about events, and what events do: statements that run by the clock.
//!
//! [`crate::event_scheduler`] knows the events and when they are due. CREATE, ALTER and DROP are in `ddl`; the job that runs an event is
//! in `handler`.

mod ddl;
mod handler;
pub(crate) mod show;

pub(crate) use show::{event_rows, event_status_rows};
