//! The allocator: mimalloc for small blocks, and separate memory mappings for large ones.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use mimalloc::MiMalloc;

/// Blocks from this size on are mapped one by one, which the system's allocator does from 32 MiB on (`M_MMAP_THRESHOLD`). They go
/// back to the system as soon as they are freed, and grow without being copied. A value of 64 MB takes a few of them, and what mimalloc
/// keeps of such for the next one would be as much again. Buffers of 32 MiB, of which bulk work takes one after the other, are mimalloc's to keep.
const LARGE_BYTES_MIN: usize = 40 << 20;

/// The allocator of the program.
#[derive(Debug)]
pub struct Allocator {
    /// Bytes of large blocks.
    large_bytes: AtomicUsize,
}

impl Allocator {
    /// An allocator that has given nothing yet.
    pub const fn new() -> Self {
        Self { large_bytes: AtomicUsize::new(0) }
    }

    /// Bytes of blocks that are not mimalloc's.
    pub fn large_bytes(&self) -> usize {
        self.large_bytes.load(Ordering::Relaxed)
    }

    fn grown(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        if !block.is_null() {
            self.large_bytes.fetch_add(bytes, Ordering::Relaxed);
            prefer_huge_pages(block, bytes);
        }
        block
    }
}

/// Asks for huge pages, as mimalloc does: large caches are looked into everywhere.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "memory is advised on by a C function")]
fn prefer_huge_pages(block: *mut u8, bytes: usize) {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    let skipped = block.align_offset(HUGE_PAGE_BYTES);
    let whole = bytes.saturating_sub(skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if whole > 0 {
        // SAFETY: the range lies in the block, and the advice changes nothing of what it holds. A refusal does not matter.
        unsafe { libc::madvise(block.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_: *mut u8, _: usize) {}

const fn is_large(bytes: usize) -> bool {
    bytes >= LARGE_BYTES_MIN
}

#[expect(unsafe_code, reason = "allocators are")]
// SAFETY: the size of a block's layout tells which of two allocators it is of, and both keep the contract. A block that changes
// from one to the other is copied.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match is_large(layout.size()) {
                false => MiMalloc.alloc(layout),
                true => self.grown(System.alloc(layout), layout.size()),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match is_large(layout.size()) {
                false => MiMalloc.alloc_zeroed(layout),
                true => self.grown(System.alloc_zeroed(layout), layout.size()),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: a block of this size came from the same allocator.
        unsafe {
            if is_large(layout.size()) {
                self.large_bytes.fetch_sub(layout.size(), Ordering::Relaxed);
                System.dealloc(block, layout);
            } else {
                MiMalloc.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the block is of the allocator that its old size tells; a copy is as long as the shorter one.
        unsafe {
            match (is_large(layout.size()), is_large(new_size)) {
                (false, false) => MiMalloc.realloc(block, layout, new_size),
                (true, true) => {
                    let moved = System.realloc(block, layout, new_size);
                    if !moved.is_null() {
                        self.large_bytes.fetch_sub(layout.size(), Ordering::Relaxed);
                    }
                    self.grown(moved, new_size)
                }
                _ => {
                    let copy = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
                    if !copy.is_null() {
                        std::ptr::copy_nonoverlapping(block, copy, layout.size().min(new_size));
                        self.dealloc(block, layout);
                    }
                    copy
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "an allocator is tested")]
    fn blocks_keep_what_they_hold_when_they_become_large_and_small() {
        let allocator = Allocator::new();
        let sizes = [1000, LARGE_BYTES_MIN - 1, LARGE_BYTES_MIN, 3 * LARGE_BYTES_MIN, LARGE_BYTES_MIN + 5, 100, 2000];
        let layout = |size| Layout::from_size_align(size, 8).expect("a layout");
        // SAFETY: each block is used within its size, with the layout that it was given for.
        unsafe {
            let mut block = allocator.alloc(layout(sizes[0]));
            for byte in 0..100 {
                block.add(byte).write(byte as u8);
            }
            for pair in sizes.windows(2) {
                block = allocator.realloc(block, layout(pair[0]), pair[1]);
                assert!((0..100).all(|byte| block.add(byte).read() == byte as u8), "{pair:?}");
                assert_eq!(allocator.large_bytes(), if is_large(pair[1]) { pair[1] } else { 0 });
            }
            allocator.dealloc(block, layout(2000));
            let zeros = allocator.alloc_zeroed(layout(LARGE_BYTES_MIN));
            assert_eq!(zeros.add(LARGE_BYTES_MIN - 1).read(), 0);
            allocator.dealloc(zeros, layout(LARGE_BYTES_MIN));
        }
        assert_eq!(allocator.large_bytes(), 0);
    }
}
