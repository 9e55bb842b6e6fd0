//! The system's clock.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds since 1970 UTC, by the system's clock, which may be set back. Every statement asks several times: this costs half of what
/// `SystemTime` does, which takes times apart and checks them.
#[inline]
pub fn now_micros() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "compares with it")]
    fn it_is_the_time_of_the_system() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
        let now = now_micros();
        let after = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
        assert!((before..=after).contains(&now), "{before} {now} {after}");
    }
}
