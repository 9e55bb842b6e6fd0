//! How long steps of changes have taken since the server has started: what EXPLAIN SET and EXPLAIN ALTER TABLE estimate with.

use crate::work_rate::{MeanTime, WorkRate};
use squall_system_variables::Action;
use std::time::Duration;

/// Steps of changes of configuration.
#[derive(Debug, Default)]
pub struct ActionTimes {
    actions: [MeanTime; Action::ALL.len()],
    /// Commits of kept values.
    pub keep: MeanTime,
    /// Bytes that caches have freed.
    pub evict: WorkRate,
}

/// Steps of definitions.
#[derive(Debug, Default)]
pub struct DefinitionTimes {
    /// Rows that keys were built of, times the keys.
    pub build_index: WorkRate,
    /// Rows that were copied into another table.
    pub copy_rows: WorkRate,
    /// Commits that make a definition hold.
    pub publish: MeanTime,
}

impl ActionTimes {
    /// Notes what an action has taken.
    pub fn note(&self, action: Action, took: Duration) {
        self.actions[action as usize].note(took);
    }

    /// How long an action takes; `None` until it was measured.
    pub fn estimate(&self, action: Action) -> Option<Duration> {
        self.actions[action as usize].mean()
    }
}

#[cfg(test)]
mod tests {
    use super::ActionTimes;
    use squall_system_variables::Action;
    use std::time::Duration;

    #[test]
    fn each_action_has_its_own_time() {
        let times = ActionTimes::default();
        times.note(Action::Resize, Duration::from_millis(8));
        assert_eq!(times.estimate(Action::Resize), Some(Duration::from_millis(8)));
        assert_eq!(times.estimate(Action::MoveListener), None);
        assert!(Action::ALL.iter().enumerate().all(|(place, action)| *action as usize == place));
    }
}
