//! The job system runs work later, on its own threads. Jobs run in order, their number is bounded, users can see them, and none is
//! lost.
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
//! The *lease* of a running job ends with its process. If the process ends while a job runs (see `claims`), [`OnRestart`] decides what
//! the next process does with it. Nothing here polls: workers wait on a condition variable, and end when they have been idle for a
//! while. An idle worker only asks its handler now and then to drop its caches. A job wakes the clients that wait for it.
//!
//! Knows: the row store. Must not know: SQL text, sessions, the work of any job.
//!
//! Reading order: [`system`] and, in it, [`system::job`], [`system::kind`], `queue`, `worker`, `at_once`, `ending`, `ended`, `kept`,
//! `retention`, `keeper`, `output`, `pages`, `record`; `claims`.

mod claims;
pub mod system;

pub use system::at_once::DoneJob;
pub use system::job::{Cancelled, JobInfo, JobState, NewJob};
pub use system::kind::{Handler, KindSpec, OnRestart, RunningJob};
pub use system::record::{tables, with_missing_columns};
pub use system::{JobSystem, Kind, Submitted};
