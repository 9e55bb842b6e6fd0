//! What accounts with hourly limits have used in their hour (MAX_QUERIES_PER_HOUR and its kin).
//!
//! As in MySQL, the counts are in memory alone: they begin again with the server, with FLUSH USER_RESOURCES, and when the account is given a
//! limit. An hour begins with the first use after the one before has ended.

use parking_lot::Mutex;
use squall_catalog::{AccountDef, AccountKey, ResourceLimits};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// The counts of all accounts that have hourly limits.
#[derive(Debug, Default)]
pub struct HourlyUses(Mutex<HashMap<AccountKey, Arc<HourlyUse>>>);

/// The counts of one account, which all of its sessions share.
#[derive(Debug)]
pub struct HourlyUse {
    user: String,
    limits: ResourceLimits,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// When the hour began.
    since: Instant,
    queries: u64,
    updates: u64,
    connections: u64,
}

impl HourlyUses {
    /// The counts of an account as it is now; `None` if it has no hourly limit. Others than its limits of before begin at zero.
    pub fn of(&self, account: &AccountDef) -> Option<Arc<HourlyUse>> {
        if !account.limits.are_hourly() {
            return None;
        }
        let mut uses = self.0.lock();
        let kept = uses.get(&account.key()).filter(|kept| kept.limits == account.limits);
        Some(kept.cloned().unwrap_or_else(|| {
            let new = Arc::new(HourlyUse::new(account, Instant::now()));
            uses.insert(account.key(), new.clone());
            new
        }))
    }

    /// Forgets the counts of an account whose limits are about to change, or that is about to go. Its sessions take other counts when they see the new accounts.
    pub fn forget(&self, key: &AccountKey) {
        self.0.lock().remove(key);
    }

    /// FLUSH USER_RESOURCES: all accounts begin at zero.
    pub fn reset(&self) {
        let now = Instant::now();
        self.0.lock().values().for_each(|usage| *usage.counts.lock() = Counts::from(now));
    }
}

impl Counts {
    fn from(since: Instant) -> Counts {
        Counts { since, queries: 0, updates: 0, connections: 0 }
    }
}

impl HourlyUse {
    fn new(account: &AccountDef, now: Instant) -> HourlyUse {
        HourlyUse { user: account.user.clone(), limits: account.limits, counts: Mutex::new(Counts::from(now)) }
    }

    /// Counts a statement.
    ///
    /// # Errors
    /// 1226 beyond MAX_QUERIES_PER_HOUR.
    pub fn count_query(&self) -> SqlResult<()> {
        self.count(Instant::now(), self.limits.queries_per_hour, "max_questions", |counts| &mut counts.queries)
    }

    /// Counts a statement that changes something, beside [`HourlyUse::count_query`].
    ///
    /// # Errors
    /// 1226 beyond MAX_UPDATES_PER_HOUR.
    pub fn count_update(&self) -> SqlResult<()> {
        self.count(Instant::now(), self.limits.updates_per_hour, "max_updates", |counts| &mut counts.updates)
    }

    /// Counts a connection.
    ///
    /// # Errors
    /// 1226 beyond MAX_CONNECTIONS_PER_HOUR.
    pub fn count_connection(&self) -> SqlResult<()> {
        let limit = self.limits.connections_per_hour;
        self.count(Instant::now(), limit, "max_connections_per_hour", |counts| &mut counts.connections)
    }

    fn count(
        &self,
        now: Instant,
        limit: u64,
        resource: &str,
        counter: impl FnOnce(&mut Counts) -> &mut u64,
    ) -> SqlResult<()> {
        if limit == 0 {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        if now.saturating_duration_since(counts.since) >= HOUR {
            *counts = Counts::from(now);
        }
        let counter = counter(&mut counts);
        if *counter >= limit {
            return Err(limit_reached(&self.user, resource, limit));
        }
        *counter += 1;
        Ok(())
    }
}

/// 1226: the account has used all that it may of a resource.
pub fn limit_reached(user: &str, resource: &str, limit: u64) -> SqlError {
    SqlError::new(ErrorCode::UserLimitReached, &[&user, &resource, &limit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(queries_per_hour: u64) -> AccountDef {
        let limits = ResourceLimits { queries_per_hour, ..ResourceLimits::default() };
        AccountDef { user: "u".into(), host: "%".into(), limits, ..AccountDef::default() }
    }

    #[test]
    fn the_next_hour_begins_at_zero() {
        let start = Instant::now();
        let usage = HourlyUse::new(&limited(2), start);
        let query = |after: u64| {
            let at = start + Duration::from_secs(after);
            usage.count(at, 2, "max_questions", |counts| &mut counts.queries).map_err(|error| error.message)
        };
        assert_eq!([query(0), query(3599)], [Ok(()), Ok(())]);
        let refused = "User 'u' has exceeded the 'max_questions' resource (current value: 2)".to_owned();
        assert_eq!(query(3599), Err(refused.clone()));
        assert_eq!([query(3600), query(7199)], [Ok(()), Ok(())]);
        assert_eq!(query(7199), Err(refused));
        assert_eq!(query(7200), Ok(()));
    }

    #[test]
    fn sessions_share_counts_until_the_limits_change() {
        let uses = HourlyUses::default();
        assert!(uses.of(&limited(0)).is_none());
        let first = uses.of(&limited(1)).expect("limits");
        assert!(first.count_query().is_ok());
        assert!(uses.of(&limited(1)).expect("limits").count_query().is_err());
        assert!(uses.of(&limited(2)).expect("limits").count_query().is_ok());
        uses.forget(&limited(2).key());
        let again = uses.of(&limited(2)).expect("limits");
        assert!(again.count_query().is_ok() && again.count_query().is_ok() && again.count_query().is_err());
        uses.reset();
        assert!(again.count_query().is_ok());
    }
}
