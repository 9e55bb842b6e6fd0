//! Stages of statements, by MySQL's names. Look-ups by cached plans have none, because they end before a reader could see a stage.

use crate::events::{CountedEvents, Events};
use crate::timed::{Timed, merge_event};

/// Before anything is known of the statement.
pub const STARTING: &str = "stage/sql/starting";
/// A query is bound and planned.
pub const OPTIMIZING: &str = "stage/sql/optimizing";
/// It runs, and its rows are sent.
pub const EXECUTING: &str = "stage/sql/executing";
/// A table is made, and perhaps filled.
pub const CREATING: &str = "stage/sql/creating table";
/// A table is changed, or an index built.
pub const ALTERING: &str = "stage/sql/altering table";
/// The changes are on their way to be durable.
pub const COMMITTING: &str = "stage/sql/waiting for handler commit";

/// All of them, by name.
pub const ALL: &[&str] = &[ALTERING, CREATING, EXECUTING, OPTIMIZING, STARTING, COMMITTING];

const NANOS_PER_MICRO: u64 = 1000;

/// A stage that a statement is in, or was.
#[derive(Clone, Copy, Debug)]
pub struct StageEvent {
    /// Counts the session's stages, from 1.
    pub event_id: u64,
    /// MySQL's name.
    pub name: &'static str,
    /// The number of its statement in the session.
    pub statement: u64,
    /// Microseconds since 1970 UTC.
    pub start_micros: i64,
    /// `None` while it lasts.
    pub end_micros: Option<i64>,
}

/// The stages of one session.
pub type CountedStages = CountedEvents<StageEvent>;

impl Events<StageEvent> {
    fn begin(&mut self, name: &'static str, statement: u64, now_micros: i64) {
        self.end(now_micros);
        self.count += 1;
        let event_id = self.count;
        self.current = Some(StageEvent { event_id, name, statement, start_micros: now_micros, end_micros: None });
    }

    fn end(&mut self, now_micros: i64) {
        let Some(mut event) = self.current.take() else { return };
        event.end_micros = Some(now_micros);
        let mut times = Timed::default();
        times.add(u64::try_from(now_micros - event.start_micros).unwrap_or(0).saturating_mul(NANOS_PER_MICRO));
        merge_event(&mut self.totals, event.name, &times);
        self.make_room();
        self.recent.push_back(event);
    }
}

impl CountedStages {
    /// A statement begins, with its number in the session.
    pub fn begin_statement(&self, statement: u64, now_micros: i64) {
        self.lock().begin(STARTING, statement, now_micros);
    }

    /// The statement goes on to another stage; nothing happens if it is in none.
    pub fn go_on(&self, name: &'static str, now_micros: i64) {
        let mut stages = self.lock();
        if let Some(current) = stages.current.filter(|current| current.name != name) {
            stages.begin(name, current.statement, now_micros);
        }
    }

    /// The statement is over.
    pub fn end(&self, now_micros: i64) {
        self.lock().end(now_micros);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other() {
        let stages = CountedStages::default();
        stages.go_on(EXECUTING, 1);
        assert!(stages.current().is_none());
        stages.begin_statement(7, 10);
        stages.go_on(EXECUTING, 12);
        stages.go_on(EXECUTING, 13);
        assert_eq!(
            stages.current().map(|event| (event.name, event.statement, event.end_micros)),
            Some((EXECUTING, 7, None))
        );
        stages.end(20);
        assert_eq!(stages.list().iter().map(|(_, times)| times.sum_nanos).collect::<Vec<_>>(), [2_000, 8_000]);
        assert_eq!(stages.recent().len(), 2);
        assert_eq!(stages.current().and_then(|event| event.end_micros), Some(20));
    }
}
