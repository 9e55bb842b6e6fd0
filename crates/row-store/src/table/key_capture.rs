//! Captured keys: which rows of a table have changed while an index of them is built.

use crate::engine::Slice;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that the keys of a table may take, bytes.
const BYTES_MAX: usize = 256 << 20;
/// Memory of a key beside its bytes, roughly.
const OVERHEAD_BYTES: usize = 40;

/// Where a row lies.
pub(crate) type StorageKey = Box<[u8]>;

/// The keys of changed rows of a storage, while somebody wants them. All of it happens under the lock of the log, so that it is in step with
/// snapshots that are taken there.
#[derive(Default)]
pub(crate) struct KeyCapture {
    is_on: AtomicBool,
    captured: Mutex<Captured>,
}

#[derive(Default)]
struct Captured {
    keys: FxHashSet<StorageKey>,
    bytes: usize,
    /// There were changes whose keys are not here.
    is_lost: bool,
}

impl KeyCapture {
    /// Changes are captured from now on.
    pub fn begin(&self) {
        *self.captured.lock() = Captured::default();
        self.is_on.store(true, Ordering::Release);
    }

    /// Rows have changed; `None` if they are too many to be told.
    pub fn note(&self, keys: Option<&[Slice]>) {
        if !self.is_on.load(Ordering::Acquire) {
            return;
        }
        let captured = &mut *self.captured.lock();
        for key in keys.unwrap_or_default() {
            // A copy: the original may be a part of a block, which lives as long as any part of it.
            if captured.keys.insert((&**key).into()) {
                captured.bytes += key.len() + OVERHEAD_BYTES;
            }
        }
        if keys.is_none() || captured.bytes > BYTES_MAX {
            *captured = Captured { is_lost: true, ..Captured::default() };
            self.is_on.store(false, Ordering::Release);
        }
    }

    /// The keys since the last time, each once and in order; `None` if it is not known which they are.
    pub fn take(&self) -> Option<Vec<StorageKey>> {
        let captured = &mut *self.captured.lock();
        if captured.is_lost {
            return None;
        }
        let taken = std::mem::take(captured);
        let mut keys: Vec<StorageKey> = taken.keys.into_iter().collect();
        keys.sort_unstable();
        Some(keys)
    }

    /// Nobody wants them any more.
    pub fn end(&self) {
        self.is_on.store(false, Ordering::Release);
        *self.captured.lock() = Captured::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(capture: &KeyCapture) -> Option<Vec<String>> {
        let text = |key: StorageKey| String::from_utf8(key.into()).expect("text");
        capture.take().map(|keys| keys.into_iter().map(text).collect())
    }

    #[test]
    fn keys_are_captured_once_from_the_beginning_to_the_end() {
        let capture = KeyCapture::default();
        let note = |keys: &[&str]| {
            let keys: Vec<Slice> = keys.iter().map(|key| Slice::from(*key)).collect();
            capture.note(Some(&keys));
        };
        note(&["before"]);
        capture.begin();
        note(&["b", "a"]);
        note(&["b"]);
        assert_eq!(keys(&capture), Some(vec!["a".to_owned(), "b".to_owned()]));
        note(&["c"]);
        assert_eq!(keys(&capture), Some(vec!["c".to_owned()]));
        note(&["d"]);
        capture.end();
        note(&["after"]);
        assert_eq!(keys(&capture), Some(Vec::new()));
    }

    #[test]
    fn changes_without_keys_are_remembered() {
        let capture = KeyCapture::default();
        capture.begin();
        capture.note(None);
        capture.note(Some(&[Slice::from("a")]));
        assert_eq!(keys(&capture), None);
        capture.begin();
        assert_eq!(keys(&capture), Some(Vec::new()));
    }
}
