//! Events: statements that run at given times.
//!
//! [`crate::event_scheduler`] knows the events and their times. CREATE, ALTER and DROP are in `ddl`, SHOW is in `show`; the job that
//! runs an event is in `handler`.

mod ddl;
mod handler;
pub(crate) mod show;
