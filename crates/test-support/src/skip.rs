//! Skips tests that cannot run on this machine.

use std::io::Write as _;

/// Says that a test, or a part of it, is skipped and what it needs. The message goes directly to standard error, because the test
/// runner hides the output of `eprintln!` in tests that pass.
///
/// # Panics
/// With `SQUALL_SKIP_IS_FAILURE` in the environment, as in continuous integration, where all tests must run.
pub fn skip(test: &str, needs: &str) {
    // Where standard error is closed there is no reader to tell.
    let _ = writeln!(std::io::stderr(), "skipped: {test} (it needs {needs})");
    assert!(std::env::var_os("SQUALL_SKIP_IS_FAILURE").is_none(), "{test} is skipped: it needs {needs}");
}
