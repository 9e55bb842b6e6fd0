//! Triggers, as the catalog has them: CREATE and DROP in `ddl`, SHOW in `show`. How they run is in [`crate::table_triggers`].

mod ddl;
mod show;
