//! Measures the memory that an input takes.

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocation that would have the program hold more than this fails, which ends it.
const HELD_BYTES_MAX: usize = 1 << 30;

/// What an input may take whatever its length is, and for each of its bytes.
const BYTES_MAX: usize = 8 << 20;
const BYTES_PER_BYTE_MAX: usize = 4096;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: everything that is allocated is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed).saturating_add(layout.size());
        if held > HELD_BYTES_MAX {
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
            return std::ptr::null_mut();
        }
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs something on an input, a byte of which stands for `text_bytes` of text.
///
/// # Errors
/// If it takes more memory at a time than an input of this length may.
pub fn bounded(bytes: &[u8], text_bytes: usize, run: fn(&[u8])) -> Result<(), String> {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run(bytes);
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let most = BYTES_MAX + BYTES_PER_BYTE_MAX * text_bytes * bytes.len();
    match taken <= most {
        true => Ok(()),
        false => {
            Err(format!("an input of {} bytes takes {taken} bytes of memory, {most} would be enough", bytes.len()))
        }
    }
}
