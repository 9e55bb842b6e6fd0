//! Counters of statements by kind, as SHOW STATUS shows them.

use squall_parser::ast::StatementKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Status variables of what never happens here, be it that no grammar takes the statement, or that a prepared statement is not prepared
/// anew but planned anew. Monitoring asks for them.
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

    /// Status variables and their values.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = StatementKind::ALL.iter().zip(&self.0);
        let counted = counted.filter_map(|(kind, count)| Some((kind.status_name()?, count.load(Ordering::Relaxed))));
        counted.chain(NEVER_COUNTED.iter().map(|name| (*name, 0)))
    }

    /// Adds all counters to others.
    pub fn add_to(&self, sum: &StatementCounters) {
        for (counter, sum) in self.0.iter().zip(&sum.0) {
            sum.fetch_add(counter.load(Ordering::Relaxed), Ordering::Relaxed);
        }
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
