//! Triggers, as the catalog has them: CREATE and DROP in `ddl`, SHOW in `show`. How they run is in [`crate::table_triggers`]; bodies that are not
//! compiled are run by `run`.

mod ddl;
mod run;
pub(crate) mod show;
