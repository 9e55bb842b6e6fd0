//! The versions that a plan is valid for, and the slot of a route with its versions.

use crate::plans::{Attempts, Route};
use squall_types::Value;

/// The versions that plans of all sessions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaVersions {
    /// Of the catalog.
    pub catalog: u64,
    /// Of the functions that come and go while the server runs.
    pub functions: u64,
}

/// The versions that plans depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanVersions {
    pub schema: SchemaVersions,
    /// Of the accounts and their privileges.
    pub accounts: u64,
    /// Of the session's settings, default database, roles and TEMPORARY tables.
    pub session: u64,
}

/// A place for a statement's route.
#[derive(Debug, Default)]
pub(crate) struct PlanSlot(Option<(PlanVersions, Kept)>);

/// What is known of a statement's route.
#[derive(Debug)]
enum Kept {
    /// It is this one.
    Route(Route),
    /// The full planner's, as the query was not small; it is looked at again now and then.
    FullPlanner(Attempts),
    /// It is to be chosen each time.
    Uncached,
}

/// The content of a [`PlanSlot`] for a statement.
pub(crate) enum Slot {
    /// This route.
    Route(Route),
    /// The route is to be chosen each time.
    Uncached,
    /// Nothing that holds for these values now.
    Unknown,
}

impl PlanSlot {
    /// The route for these values, if it still holds.
    pub fn get(&self, now: PlanVersions, parameters: &[Value]) -> Slot {
        match &self.0 {
            Some((made, kept)) if *made == now => match kept {
                Kept::Route(route) => route.for_values(parameters).map_or(Slot::Unknown, Slot::Route),
                Kept::FullPlanner(attempts) if attempts.begin() => Slot::Unknown,
                Kept::FullPlanner(_) => Slot::Route(Route::FullPlanner),
                Kept::Uncached => Slot::Uncached,
            },
            _ => Slot::Unknown,
        }
    }

    /// Whether there is a route that does not hold any more.
    pub fn is_outdated(&self, now: PlanVersions) -> bool {
        self.0.as_ref().is_some_and(|(made, _)| *made != now)
    }

    /// Caches a route, or that there is none to be cached.
    pub fn set(&mut self, now: PlanVersions, route: Option<Route>) {
        let before = self.0.take();
        let kept = match route {
            Some(Route::FullPlanner) => {
                let attempts = match before {
                    Some((made, Kept::FullPlanner(attempts))) if made == now => attempts,
                    _ => Attempts::default(),
                };
                attempts.end(false);
                Kept::FullPlanner(attempts)
            }
            Some(route) => Kept::Route(route),
            None => Kept::Uncached,
        };
        self.0 = Some((now, kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: PlanVersions =
        PlanVersions { schema: SchemaVersions { catalog: 1, functions: 1 }, accounts: 1, session: 1 };

    /// How often a route is looked for, of so many executions of a query that is never small.
    fn searches_of(slot: &mut PlanSlot, executions: u32, now: PlanVersions) -> u32 {
        let mut searches = 0;
        for _ in 0..executions {
            match slot.get(now, &[]) {
                Slot::Route(route) => assert!(matches!(route, Route::FullPlanner)),
                Slot::Uncached => panic!("it is not to be chosen each time"),
                Slot::Unknown => {
                    searches += 1;
                    slot.set(now, Some(Route::FullPlanner));
                }
            }
        }
        searches
    }

    #[test]
    fn a_query_that_is_not_small_is_seldom_looked_at_again() {
        let mut slot = PlanSlot::default();
        assert_eq!(searches_of(&mut slot, 3, NOW), 3);
        assert_eq!(searches_of(&mut slot, 60, NOW), 0);
        assert_eq!(searches_of(&mut slot, 640, NOW), 10);
    }

    #[test]
    fn another_catalog_begins_anew() {
        let mut slot = PlanSlot::default();
        searches_of(&mut slot, 10, NOW);
        let later = PlanVersions { schema: SchemaVersions { catalog: 2, functions: 1 }, ..NOW };
        assert!(slot.is_outdated(later));
        assert_eq!(searches_of(&mut slot, 10, later), 3);
    }

    #[test]
    fn a_small_query_ends_the_count() {
        let mut slot = PlanSlot::default();
        searches_of(&mut slot, 2, NOW);
        slot.set(NOW, None);
        assert!(matches!(slot.get(NOW, &[]), Slot::Uncached));
        assert_eq!(
            {
                slot.set(NOW, Some(Route::FullPlanner));
                searches_of(&mut slot, 10, NOW)
            },
            2
        );
    }
}
