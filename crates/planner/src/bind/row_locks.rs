//! The row locks of a locking read.

use squall_parser::ast::{LockStrength, LockWait, Locking, ObjectName};

/// How the tables of a query are locked.
#[derive(Clone, Debug, Default)]
pub struct RowLocks {
    locking: Vec<Locking>,
    /// Whether these are the locks of a change, which cover all its reads, also in subqueries. A locking clause covers only its own
    /// query.
    pub(super) of_change: bool,
}

impl RowLocks {
    /// The locks of a query's locking clauses.
    pub fn of_clauses(clauses: &[Locking]) -> RowLocks {
        RowLocks { locking: clauses.to_vec(), of_change: false }
    }

    /// The locks of a change: of rows of the tables that it changes, by their names in the statement. If it locks its reads, also
    /// of all other tables.
    pub fn of_change(changed: Vec<ObjectName>, locks_read: bool) -> RowLocks {
        let wait = LockWait::Default;
        let mut locking = vec![Locking { strength: LockStrength::Update, of: changed, wait }];
        if locks_read {
            locking.push(Locking { strength: LockStrength::Share, of: Vec::new(), wait });
        }
        RowLocks { locking, of_change: true }
    }

    /// The lock of a table, by what the query calls it.
    pub fn of_table(&self, alias: &str) -> Option<(LockStrength, LockWait)> {
        self.locking
            .iter()
            .find(|locking| locking.of.is_empty() || locking.of.iter().any(|name| *name.name.value == *alias))
            .map(|locking| (locking.strength, locking.wait))
    }

    /// The locks of a view's tables: as the view itself is locked.
    pub fn inside_view(&self, alias: &str) -> RowLocks {
        let locking = self.of_table(alias).map(|(strength, wait)| Locking { strength, of: Vec::new(), wait });
        RowLocks { locking: locking.into_iter().collect(), of_change: self.of_change }
    }
}
