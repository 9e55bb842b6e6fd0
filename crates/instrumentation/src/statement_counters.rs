//! Counters of statements by kind, as SHOW STATUS shows them.

use squall_parser::ast::StatementKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Status variables of what never happens here, be it that no grammar takes the statement, or that a prepared statement is not prepared
/// again but planned again. Monitoring asks for them.
pub const NEVER_COUNTED: &[&str] = &[
    "Com_alter_instance",
    "Com_alter_resource_group",
    "Com_alter_tablespace",
    "Com_clone",
    "Com_create_resource_group",
    "Com_create_spatial_reference_system",
    "Com_drop_resource_group",
    "Com_drop_spatial_reference_system",
    "Com_import",
    "Com_set_resource_group",
    "Com_stmt_reprepare",
];

/// Whether statements of this kind end with rows.
pub fn gives_rows(event: &str) -> bool {
    let Some(kind) = event.strip_prefix("statement/sql/") else { return false };
    kind.starts_with("show_")
        || ["select", "explain_other", "analyze", "check", "checksum", "optimize", "repair", "help"].contains(&kind)
}

/// Adds a counter to a sum that others write to, too. Most counters of a short session are 0, and that costs nothing.
pub(crate) fn add_counter(counter: &AtomicU64, sum: &AtomicU64) {
    let more = counter.load(Ordering::Relaxed);
    if more > 0 {
        sum.fetch_add(more, Ordering::Relaxed);
    }
}

/// How many statements of each kind a session has begun.
#[derive(Debug)]
pub struct StatementCounters([AtomicU64; StatementKind::ALL.len()]);

impl Default for StatementCounters {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; StatementKind::ALL.len()])
    }
}

impl StatementCounters {
    /// Counts one; by the session itself, which is the only writer.
    #[inline]
    pub fn count(&self, kind: StatementKind) {
        let counter = &self.0[kind as usize];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// How many there were of a kind.
    pub fn of(&self, kind: StatementKind) -> u64 {
        self.0[kind as usize].load(Ordering::Relaxed)
    }

    /// Sets the count of a kind, by the session itself: one that was counted was given up, and will be counted where it is run again.
    pub fn set(&self, kind: StatementKind, count: u64) {
        self.0[kind as usize].store(count, Ordering::Relaxed);
    }

    /// Status variables and their values.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = StatementKind::ALL.iter().zip(&self.0);
        let counted = counted.filter_map(|(kind, count)| Some((kind.status_name()?, count.load(Ordering::Relaxed))));
        counted.chain(NEVER_COUNTED.iter().map(|name| (*name, 0)))
    }

    /// Adds all counters to others.
    pub fn add_to(&self, sum: &StatementCounters) {
        self.0.iter().zip(&sum.0).for_each(|(counter, sum)| add_counter(counter, sum));
    }

    /// Sets all counters to 0.
    pub fn clear(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_kind_has_its_own_counter() {
        assert!(StatementKind::EVENT_NAMES.is_sorted());
        let counters = StatementCounters::default();
        for (place, kind) in StatementKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
            counters.count(*kind);
        }
        let counted = counters.values().filter(|(_, count)| *count == 1).count();
        // Texts with syntax errors, and statements without a name, have no status variable.
        assert_eq!(counted, StatementKind::ALL.len() - 2);
    }
}
