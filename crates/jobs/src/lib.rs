//! The job system: work that is done later, on threads of its own, in order, bounded, visible, and not lost.
//!
//! A [`Kind`] of job has a [`Handler`] in Rust and a number of workers. [`Kind::submit`] queues a job; a worker takes the
//! first of the highest priority. Durable jobs are rows of the row store and survive the end of the process; transient
//! ones live in memory, for work that can be found again (sealing, merging).
//!
//! ```text
//!             submit                        worker                       handler returns
//! (nothing) ----------> queued row ------------------> running row ------------------------> done | failed | cancelled
//!            committed,            committed before                       committed, then
//!            then visible          whatever the job commits              waiters wake up
//! ```
//!
//! A *lease* on a running job is the life of the process: a job that a worker had begun when the store was closed (see `claims`) belongs to a
//! process that is gone, and [`OnRestart`] says what happens to it. Nothing here polls: workers wait on a condition variable and end when they
//! have been idle for a while (idle ones only ask their handler now and then to drop what it has kept). A job wakes the clients that wait for
//! it.
//!
//! Knows: the row store. Must not know: SQL text, sessions, what any job does.
//!
//! Reading order: [`system`] and, in it, [`system::kind`], `queue`, `worker`, `at_once`, `ending`, `ended`, `kept`, `retention`,
//! `keeper`, `output`, `pages`, `record`; `claims`.

mod claims;
pub mod system;

pub use system::at_once::DoneJob;
pub use system::kind::{Cancelled, Handler, JobInfo, JobState, KindSpec, NewJob, OnRestart, RunningJob};
pub use system::record::{tables, with_missing_columns};
pub use system::{JobSystem, Kind, Submitted};
