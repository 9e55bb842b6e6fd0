//! Collation sort keys as key payloads.

use squall_types::CollationId;
use std::cell::RefCell;

thread_local! {
    /// Sort keys are made here before they get their end.
    static SORT_KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Appends the sort key of a text through `push`, which gives it an end.
pub(crate) fn append(collation: CollationId, text: &str, out: &mut Vec<u8>, push: fn(&[u8], &mut Vec<u8>)) {
    SORT_KEY.with_borrow_mut(|key| {
        key.clear();
        squall_types::collation::sort_key(collation, text, key);
        push(key, out);
    });
}
