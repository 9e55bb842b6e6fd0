//! Events: statements that run by the clock.
//!
//! An event is a record of the store's (`definition`), so CREATE, ALTER and DROP (`ddl`) hold durably and at once. One
//! thread sleeps until the next is due (`scheduler`), and hands it to the job system, on whose workers its statements
//! (`body`) run in the name of its definer.

mod ddl;
mod definition;
mod scheduler;
mod show;

pub(crate) use scheduler::EventScheduler;
pub(crate) use show::{event_rows, event_status_rows};

use definition::Status;
