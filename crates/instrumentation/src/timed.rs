//! Counts and times of repeated events.

use squall_accounting::file_use::IoTotals;

/// How often something happened, and how long it took. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timed {
    /// How often.
    pub count: u64,
    /// All of them together.
    pub sum_nanos: u64,
    /// The shortest.
    pub min_nanos: u64,
    /// The longest.
    pub max_nanos: u64,
}

impl From<IoTotals> for Timed {
    fn from(io: IoTotals) -> Timed {
        Timed { count: io.count, sum_nanos: io.sum_nanos, min_nanos: io.min_nanos, max_nanos: io.max_nanos }
    }
}

impl Timed {
    /// It happened once more.
    pub fn add(&mut self, nanos: u64) {
        self.add_many(1, nanos);
    }

    /// It happened so often, in so much time altogether. Shortest and longest are known by their average.
    pub fn add_many(&mut self, count: u64, nanos: u64) {
        if let Some(average) = nanos.checked_div(count) {
            self.merge(&Timed { count, sum_nanos: nanos, min_nanos: average, max_nanos: average });
        }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Timed) {
        if other.count == 0 {
            return;
        }
        self.min_nanos = if self.count == 0 { other.min_nanos } else { self.min_nanos.min(other.min_nanos) };
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.count += other.count;
        self.sum_nanos = self.sum_nanos.saturating_add(other.sum_nanos);
    }
}

/// Times by the names of events. There are few that a session meets.
pub type TimesByEvent = Vec<(&'static str, Timed)>;

/// The use of files, as times.
pub fn times_of_files(files: &[(&'static str, IoTotals)]) -> TimesByEvent {
    files.iter().map(|(event, io)| (*event, Timed::from(*io))).collect()
}

/// Adds times of an event.
pub fn merge_event(times: &mut TimesByEvent, event: &'static str, other: &Timed) {
    match times.iter_mut().find(|(known, _)| *known == event) {
        Some((_, timed)) => timed.merge(other),
        None => times.push((event, *other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_known_by_their_average() {
        let mut timed = Timed::default();
        timed.add_many(0, 9);
        assert_eq!(timed, Timed::default());
        timed.add_many(4, 40);
        timed.add(3);
        assert_eq!((timed.count, timed.sum_nanos, timed.min_nanos, timed.max_nanos), (5, 43, 3, 10));
        let mut events = TimesByEvent::new();
        merge_event(&mut events, "a", &timed);
        merge_event(&mut events, "a", &timed);
        assert_eq!(events.iter().map(|(name, times)| (*name, times.count)).collect::<Vec<_>>(), [("a", 10)]);
    }
}
