//! The memory of one realm. The engine allocates everything in this one piece, which can be copied and restored.

use super::guard::shield;
use crate::limits::TotalMemory;
use rquickjs_sys::size_t;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Bytes in front of each block, which hold its class.
const HEADER: usize = 16;
/// The smallest block with its header, bytes.
const SMALLEST: usize = 64;
/// Classes of sizes: four to each doubling.
const CLASSES: usize = 4 * 34;
/// What is taken of the total at a time, bytes.
const CHARGE_STEP: usize = 1 << 20;
/// Address space for each byte that a script may have, since freed blocks are used again for blocks of their class alone.
const SPACE_FACTOR: usize = 4;
/// Pages above what a realm begins with are kept, up to this many bytes; more are given back after a call.
const KEPT_BYTES: usize = 1 << 20;

/// What the allocator knows, at the beginning of the memory itself: it is set back with all else.
#[repr(C)]
struct Head {
    /// Offset of what was never used.
    top: usize,
    /// Bytes in use.
    live: usize,
    /// Most bytes in use; 0 for no limit.
    limit: usize,
    /// Bytes of address space.
    reserved: usize,
    /// Up to here the total is charged.
    charged: usize,
    /// Which limit a request has met.
    exceeded: Exceeded,
    /// What all realms share.
    total: *const TotalMemory,
    /// First free block of each class, or 0.
    free: [usize; CLASSES],
}

/// A limit that a request for memory has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Exceeded {
    Nothing = 0,
    /// That of one script.
    Heap,
    /// That of all scripts together.
    Total,
    /// The engine has refused to use more stack.
    Stack,
}

/// The memory of one realm.
pub(crate) struct Arena {
    base: NonNull<u8>,
    reserved: usize,
    snapshot: Vec<u8>,
    total: Arc<TotalMemory>,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("reserved", &self.reserved).finish_non_exhaustive()
    }
}

// SAFETY: the memory belongs to the arena alone, and nothing in it belongs to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Address space for scripts of `limit` bytes.
    ///
    /// # Errors
    /// 1041 when the system has none.
    pub fn new(limit: usize, total: Arc<TotalMemory>) -> SqlResult<Arena> {
        let reserved = limit.saturating_mul(SPACE_FACTOR).saturating_add(4 << 20);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping touches no memory that is in use.
        let base = unsafe { libc::mmap(ptr::null_mut(), reserved, protection, flags, -1, 0) };
        let base = match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => base,
            _ => return Err(SqlError::new(ErrorCode::OutOfResources, &[])),
        };
        let arena = Arena { base, reserved, snapshot: Vec::new(), total };
        let top = size_of::<Head>().next_multiple_of(HEADER);
        let free = [0; CLASSES];
        let total = Arc::as_ptr(&arena.total);
        let head = Head { top, live: 0, limit: 0, reserved, charged: 0, exceeded: Exceeded::Nothing, total, free };
        // SAFETY: the mapping is longer than a head, and pages are aligned.
        unsafe { arena.head().write(head) };
        Ok(arena)
    }

    fn head(&self) -> *mut Head {
        self.base.as_ptr().cast()
    }

    /// What the allocator's functions get.
    pub fn opaque(&self) -> *mut c_void {
        self.base.as_ptr().cast()
    }

    /// Most bytes that a script may have here.
    pub fn limit_max(&self) -> usize {
        (self.reserved - (4 << 20)) / SPACE_FACTOR
    }

    /// Bytes that [`Arena::restore`] copies.
    pub fn kept_bytes(&self) -> usize {
        self.snapshot.len()
    }

    /// Bytes that are in use.
    #[cfg(test)]
    pub fn live(&self) -> usize {
        // SAFETY: the head is valid for as long as the arena is, and the engine is not running.
        unsafe { (*self.head()).live }
    }

    /// Which limit was met since the memory was set back.
    pub fn exceeded(&self) -> Exceeded {
        // SAFETY: as above.
        unsafe { (*self.head()).exceeded }
    }

    /// Whether a limit was met, for the engine's question whether to stop.
    ///
    /// # Safety
    /// `opaque` is that of a living arena.
    pub unsafe fn is_exceeded(opaque: *mut c_void) -> bool {
        // SAFETY: the caller says so.
        unsafe { (*opaque.cast::<Head>()).exceeded != Exceeded::Nothing }
    }

    /// Notes that the stack is full.
    ///
    /// # Safety
    /// As [`Arena::is_exceeded`]; only the thread that runs the realm is here.
    pub unsafe fn stack_is_full(opaque: *mut c_void) {
        // SAFETY: the caller says so.
        unsafe { &mut *opaque.cast::<Head>() }.exceed(Exceeded::Stack);
    }

    /// Copies the current memory for [`Arena::restore`].
    pub fn keep(&mut self) {
        // SAFETY: `top` bytes are in use.
        let used = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), (*self.head()).top) };
        self.snapshot = used.to_vec();
    }

    /// Sets the limit of what runs next: this many bytes beside what there is.
    pub fn begin(&mut self, limit: usize) {
        let head = self.head();
        // SAFETY: the head is valid for as long as the arena is, and the engine is not running.
        unsafe { (*head).limit = limit.saturating_add((*head).live) };
    }

    /// Sets the memory back to what was kept.
    pub fn restore(&mut self) {
        let head = self.head();
        // SAFETY: the snapshot is shorter than the mapping, and nothing has references into it while no script runs.
        unsafe {
            let (top, charged) = ((*head).top, (*head).charged);
            ptr::copy_nonoverlapping(self.snapshot.as_ptr(), self.base.as_ptr(), self.snapshot.len());
            let kept = (self.snapshot.len() + KEPT_BYTES).next_multiple_of(64 << 10);
            if top > kept {
                libc::madvise(self.base.as_ptr().add(kept).cast(), top.min(self.reserved) - kept, libc::MADV_DONTNEED);
            }
            self.total.give_back(charged.saturating_sub((*head).charged));
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: nothing has references into the mapping any more.
        unsafe {
            self.total.give_back((*self.head()).charged);
            libc::munmap(self.base.as_ptr().cast(), self.reserved);
        }
    }
}

/// The class of a block of `size` bytes with its header, and how large its blocks are.
fn class_of(size: usize) -> Option<(usize, usize)> {
    let size = size.max(SMALLEST);
    let doubling = (usize::BITS - 1 - (size - 1).leading_zeros()) as usize;
    // Blocks above 2^doubling, in quarters of it.
    let quarter = (1_usize << doubling) / 4;
    let quarters = (size - (1 << doubling)).div_ceil(quarter);
    let class = 4 * (doubling - 5) + quarters - 1;
    (class < CLASSES).then(|| (class, (1 << doubling) + quarters * quarter))
}

/// The size of a class's blocks.
fn size_of_class(class: usize) -> usize {
    let base = 1_usize << (class / 4 + 5);
    base + (class % 4 + 1) * base / 4
}

impl Head {
    fn exceed(&mut self, exceeded: Exceeded) -> *mut c_void {
        if self.exceeded == Exceeded::Nothing {
            self.exceeded = exceeded;
        }
        ptr::null_mut()
    }

    /// Moves the top up; false if a limit is met.
    fn raise(&mut self, bytes: usize) -> bool {
        let Some(top) = self.top.checked_add(bytes).filter(|top| *top <= self.reserved) else {
            self.exceed(Exceeded::Heap);
            return false;
        };
        if top > self.charged {
            let more = (top - self.charged).next_multiple_of(CHARGE_STEP);
            // A jump in between would leave bytes in the total that are never released.
            let is_taken = shield(|| {
                // SAFETY: the arena holds what all realms share.
                let is_taken = unsafe { (*self.total).take(more) };
                self.charged += if is_taken { more } else { 0 };
                is_taken
            });
            if !is_taken {
                self.exceed(Exceeded::Total);
                return false;
            }
        }
        self.top = top;
        true
    }
}

/// `malloc` of the engine.
///
/// # Safety
/// `opaque` is that of a living arena.
pub(crate) unsafe extern "C" fn allocate(opaque: *mut c_void, size: size_t) -> *mut c_void {
    let size = size as usize;
    // SAFETY: the caller says so; only the thread that runs the realm is here.
    let head = unsafe { &mut *opaque.cast::<Head>() };
    let Some((class, whole)) = size.checked_add(HEADER).and_then(class_of) else { return head.exceed(Exceeded::Heap) };
    if head.limit > 0 && head.live.saturating_add(whole) > head.limit {
        return head.exceed(Exceeded::Heap);
    }
    let base = opaque.cast::<u8>();
    let offset = match head.free[class] {
        0 => {
            let offset = head.top;
            if !head.raise(whole) {
                return ptr::null_mut();
            }
            offset
        }
        offset => {
            // SAFETY: a free block holds the offset of the next one behind its header.
            head.free[class] = unsafe { base.add(offset + HEADER).cast::<usize>().read() };
            offset
        }
    };
    head.live += whole;
    // SAFETY: `whole` bytes from `offset` are this block's alone.
    unsafe {
        base.add(offset).cast::<usize>().write(class);
        base.add(offset + HEADER).cast()
    }
}

/// `calloc` of the engine.
///
/// # Safety
/// As [`allocate`].
pub(crate) unsafe extern "C" fn allocate_zeroed(opaque: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
    let bytes = count.checked_mul(size).unwrap_or(size_t::MAX);
    // SAFETY: the caller says so, and the block has room for this many bytes.
    unsafe {
        let block = allocate(opaque, bytes);
        if !block.is_null() {
            ptr::write_bytes(block.cast::<u8>(), 0, bytes as usize);
        }
        block
    }
}

/// `free` of the engine.
///
/// # Safety
/// As [`allocate`]; `block` is one of it, or null.
pub(crate) unsafe extern "C" fn release(opaque: *mut c_void, block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the caller says so.
    unsafe {
        let head = &mut *opaque.cast::<Head>();
        let start = block.cast::<u8>().sub(HEADER);
        let offset = start.offset_from(opaque.cast::<u8>()) as usize;
        let class = start.cast::<usize>().read();
        let whole = size_of_class(class);
        head.live -= whole;
        if offset + whole == head.top {
            head.top = offset;
            return;
        }
        block.cast::<usize>().write(head.free[class]);
        head.free[class] = offset;
    }
}

/// `realloc` of the engine.
///
/// # Safety
/// As [`release`].
pub(crate) unsafe extern "C" fn reallocate(opaque: *mut c_void, block: *mut c_void, size: size_t) -> *mut c_void {
    // SAFETY: the caller says so.
    unsafe {
        if block.is_null() {
            return allocate(opaque, size);
        }
        let asked = size;
        let size = size as usize;
        let head = &mut *opaque.cast::<Head>();
        let start = block.cast::<u8>().sub(HEADER);
        let offset = start.offset_from(opaque.cast::<u8>()) as usize;
        let old_class = start.cast::<usize>().read();
        let old = size_of_class(old_class);
        let Some((class, whole)) = size.checked_add(HEADER).and_then(class_of) else {
            return head.exceed(Exceeded::Heap);
        };
        if class == old_class {
            return block;
        }
        // The topmost block grows in place, as arrays and texts do that are filled.
        if offset + old == head.top && whole > old {
            if head.limit > 0 && head.live.saturating_add(whole - old) > head.limit {
                return head.exceed(Exceeded::Heap);
            }
            if !head.raise(whole - old) {
                return ptr::null_mut();
            }
            head.live += whole - old;
            start.cast::<usize>().write(class);
            return block;
        }
        let moved = allocate(opaque, asked);
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block.cast::<u8>(), moved.cast::<u8>(), (old - HEADER).min(size));
            release(opaque, block);
        }
        moved
    }
}

/// `malloc_usable_size` of the engine.
///
/// # Safety
/// `block` is one of [`allocate`].
pub(crate) unsafe extern "C" fn usable(block: *const c_void) -> size_t {
    // SAFETY: the caller says so.
    unsafe { (size_of_class(block.cast::<u8>().sub(HEADER).cast::<usize>().read()) - HEADER) as size_t }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_are_asked_for() {
        for size in (1..5_000).chain([1 << 20, (1 << 20) + 1, 3 << 30, (1 << 35) - 1]) {
            let (class, whole) = class_of(size).unwrap();
            assert!(whole >= size && (size <= SMALLEST || whole - size <= size / 3), "{size} in {whole}");
            assert_eq!(size_of_class(class), whole, "{size}");
        }
        assert_eq!(class_of(usize::MAX / 2), None);
    }

    #[test]
    fn blocks_are_apart_and_come_back() {
        let total = Arc::new(TotalMemory::default());
        let arena = Arena::new(1 << 20, total.clone()).unwrap();
        let mut blocks: Vec<(*mut u8, usize)> = Vec::new();
        // SAFETY: blocks are used as the allocator allows.
        unsafe {
            for round in 0..2_000_usize {
                let size = 1 + round * 37 % 3_000;
                let block = allocate(arena.opaque(), size as size_t).cast::<u8>();
                ptr::write_bytes(block, round as u8, size);
                blocks.push((block, size));
                if round % 3 == 0 {
                    let (block, size) = blocks.swap_remove(round * 7 % blocks.len());
                    let first = block.read();
                    let moved = reallocate(arena.opaque(), block.cast(), (size * 2) as size_t).cast::<u8>();
                    assert!((0..size).all(|at| moved.add(at).read() == first));
                    release(arena.opaque(), moved.cast());
                }
            }
            for (block, size) in blocks {
                let first = block.read();
                assert!((0..size).all(|at| block.add(at).read() == first));
                release(arena.opaque(), block.cast());
            }
        }
        assert_eq!(arena.live(), 0);
        drop(arena);
        assert_eq!(total.used(), 0);
    }

    #[test]
    fn limits_are_met() {
        let total = Arc::new(TotalMemory::default());
        let mut arena = Arena::new(1 << 20, total.clone()).unwrap();
        arena.keep();
        arena.begin(1 << 20);
        // SAFETY: as above.
        unsafe {
            assert!(allocate(arena.opaque(), size_t::MAX).is_null());
            arena.restore();
            arena.begin(1 << 20);
            assert!(!allocate(arena.opaque(), 1 << 19).is_null());
            assert_eq!(arena.exceeded(), Exceeded::Nothing);
            assert!(allocate(arena.opaque(), 1 << 19).is_null());
            assert_eq!(arena.exceeded(), Exceeded::Heap);
            arena.restore();
            arena.begin(4 << 20);
            total.set_limit(1 << 20);
            assert!(!allocate(arena.opaque(), 1 << 18).is_null());
            assert!(allocate(arena.opaque(), 700 << 10).is_null());
            assert_eq!(arena.exceeded(), Exceeded::Total);
        }
    }
}
