//! Assertions of invariants that the whole server relies on.
//!
//! The policy: in commit and recovery, assertions are in every build and end the process. To go on could write damage to the disk, and
//! the store can recover from a crash. A check that costs more than the work around it is a `debug_assert!`. Elsewhere a panic ends one
//! statement. Input from clients and from disk is never asserted: if it is wrong, that is an error.

use std::fmt::Arguments;

/// Ends the process, with a message, unless a condition holds.
///
/// Unlike `assert!` it unwinds nothing: no destructor, and no other thread, works on with a state that is not as it must be.
#[macro_export]
macro_rules! invariant {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            $crate::invariant::violated(format_args!($($message)+));
        }
    };
}

/// Says what is wrong on the standard error, and ends the process.
#[cold]
pub fn violated(message: Arguments<'_>) -> ! {
    eprintln!("squall: assertion failed: {message}; the process ends so that no damage spreads");
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    const ENVIRONMENT: &str = "SQUALL_TEST_INVARIANT";

    /// Runs itself in a process of its own, which has to end.
    #[test]
    fn what_does_not_hold_ends_the_process() {
        if std::env::var_os(ENVIRONMENT).is_some() {
            invariant!(1 + 1 == 2, "this holds");
            invariant!(1 + 1 == 3, "sequence number {} is not {}", 2, 3);
            return;
        }
        let binary = std::env::current_exe().expect("this test's program");
        let arguments = ["--exact", "invariant::tests::what_does_not_hold_ends_the_process", "--nocapture"];
        let ended = Command::new(binary).args(arguments).env(ENVIRONMENT, "1").output().expect("it runs");
        assert!(!ended.status.success());
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(text.contains("assertion failed: sequence number 2 is not 3"), "{text}");
    }
}
