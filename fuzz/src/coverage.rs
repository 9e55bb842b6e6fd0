//! The code that an input reaches, by the counters that `-C instrument-coverage` puts into every branch of the workspace's crates.

#![cfg_attr(instrumented, expect(unsafe_code, reason = "counters of the profiler's runtime"))]

/// Which counters have been seen how high, in classes.
#[derive(Debug, Default)]
pub struct Coverage(Vec<u8>);

impl Coverage {
    /// Sets the counters to 0.
    pub fn begin(&mut self) {
        counters().fill(0);
    }

    /// Whether a counter was in a class that it has not been in before, since [`Coverage::begin`].
    pub fn is_new(&mut self) -> bool {
        let counters = counters();
        self.0.resize(counters.len(), 0);
        let mut is_new = false;
        for (seen, count) in self.0.iter_mut().zip(counters) {
            if *count != 0 {
                let class = class(*count);
                is_new |= *seen & class == 0;
                *seen |= class;
            }
        }
        is_new
    }

    /// Whether a counter was other than 0 that has never been, since [`Coverage::begin`].
    pub fn reaches_more(&mut self) -> bool {
        let before = self.reached();
        self.is_new();
        self.reached() > before
    }

    /// How many counters have been other than 0.
    pub fn reached(&self) -> usize {
        self.0.iter().filter(|seen| **seen != 0).count()
    }
}

/// One bit: how often something ran is looked at as roughly as that.
fn class(count: u64) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 1 << 1,
        3 => 1 << 2,
        4..=7 => 1 << 3,
        8..=15 => 1 << 4,
        16..=31 => 1 << 5,
        32..=127 => 1 << 6,
        _ => 1 << 7,
    }
}

/// The program's counters. Only the thread that runs inputs asks for them.
#[cfg(instrumented)]
fn counters() -> &'static mut [u64] {
    unsafe extern "C" {
        fn __llvm_profile_begin_counters() -> *mut u64;
        fn __llvm_profile_end_counters() -> *mut u64;
    }
    // SAFETY: these are the ends of one section of the program, which lasts as long as it. What counts meanwhile are single
    // additions of machine words, whose loss would not matter.
    unsafe {
        let begin = __llvm_profile_begin_counters();
        let end = __llvm_profile_end_counters();
        std::slice::from_raw_parts_mut(begin, end.offset_from_unsigned(begin))
    }
}

/// Without instrumentation every input is like every other.
#[cfg(not(instrumented))]
fn counters() -> &'static mut [u64] {
    &mut []
}
