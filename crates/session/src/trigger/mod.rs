//! Triggers. CREATE and DROP are in `ddl`, SHOW is in `show`. [`crate::table_triggers`] runs them, with `run` for bodies that are not
//! compiled.

mod ddl;
mod run;
pub(crate) mod show;
