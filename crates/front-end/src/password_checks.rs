//! Runs password checks on threads of the pool: a few at once, and only a part of these for one address.
//!
//! A check takes milliseconds of a core, for a client that is still unknown. So connections from one address wait for each other, and
//! cores are free for other addresses and for statements.

use parking_lot::Mutex;
use squall_types::SqlError;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::available_parallelism;
use tokio::sync::Semaphore;

/// Checks at once of one address.
const CHECKS_PER_ADDRESS: usize = 1;
/// Bits that tell networks of IPv6 apart: a client that has one has all of its addresses.
const IPV6_NETWORK_BITS: u32 = 64;

/// The client's address; `None` for the Unix socket.
type Asker = Option<IpAddr>;

/// The places in which passwords are checked.
#[derive(Debug)]
pub(crate) struct PasswordChecks {
    places: Arc<Semaphore>,
    askers: Mutex<HashMap<Asker, Arc<Semaphore>>>,
}

impl Default for PasswordChecks {
    /// Half of the cores, so that the others serve clients that have logged in.
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Self::at_once((cores / 2).max(1))
    }
}

impl PasswordChecks {
    fn at_once(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), askers: Mutex::default() }
    }

    /// Runs a check for a client of an address when the limits allow it.
    ///
    /// # Errors
    /// When the check itself ended in panic.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        address: Option<IpAddr>,
        check: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SqlError> {
        let queued = self.queue_of(address.map(network_of));
        // The address first: many from one address do not hold up others.
        let own = Arc::clone(&queued.semaphore).acquire_owned().await.map_err(SqlError::internal)?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(SqlError::internal)?;
        // The check keeps them even when no client waits for it any more.
        let checked = tokio::task::spawn_blocking(move || {
            let _places = (own, place);
            check()
        });
        checked.await.map_err(SqlError::internal)
    }

    fn queue_of(&self, asker: Asker) -> Queued<'_> {
        let mut askers = self.askers.lock();
        let semaphore = askers.entry(asker).or_insert_with(|| Arc::new(Semaphore::new(CHECKS_PER_ADDRESS)));
        Queued { checks: self, asker, semaphore: Arc::clone(semaphore) }
    }
}

/// An asker that is known for as long as it waits or is checked.
struct Queued<'c> {
    checks: &'c PasswordChecks,
    asker: Asker,
    semaphore: Arc<Semaphore>,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let mut askers = self.checks.askers.lock();
        // The map's and this one: no other client waits.
        if Arc::strong_count(&self.semaphore) <= 2 {
            askers.remove(&self.asker);
        }
    }
}

/// The part of an address that counts as one client: all of IPv4, the first 64 bits of IPv6.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> IPV6_NETWORK_BITS << IPV6_NETWORK_BITS).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::task::JoinSet;

    /// Runs checks of all addresses at once, and says how many of them ran at once at most.
    async fn most_at_once(checks: &Arc<PasswordChecks>, addresses: &[Option<IpAddr>]) -> usize {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut all = JoinSet::new();
        for &address in addresses {
            let (checks, running, most) = (checks.clone(), running.clone(), most.clone());
            all.spawn(async move {
                let check = move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(50));
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                checks.run(address, check).await.expect("a check");
            });
        }
        all.join_all().await;
        most.load(Ordering::SeqCst)
    }

    #[tokio::test]
    async fn an_address_has_one_check_at_once_and_all_have_few() {
        let checks = Arc::new(PasswordChecks::at_once(3));
        let address = |text: &str| Some(text.parse().expect("an address"));
        assert_eq!(most_at_once(&checks, &[address("192.0.2.1"); 6]).await, 1);
        let of_one_network: Vec<_> = (1..7).map(|host| address(&format!("2001:db8::{host}"))).collect();
        assert_eq!(most_at_once(&checks, &of_one_network).await, 1);
        let many: Vec<_> = (1..10).map(|host| address(&format!("192.0.2.{host}"))).collect();
        assert_eq!(most_at_once(&checks, &many).await, 3);
        assert_eq!(most_at_once(&checks, &[None; 4]).await, 1);
        assert!(checks.askers.lock().is_empty(), "no client waits any more");
    }
}
