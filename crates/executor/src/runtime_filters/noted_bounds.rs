//! The least and the greatest value of a column that one operator reads. A scan that begins later uses them as bounds.

use parking_lot::Mutex;
use squall_types::Value;

/// The least and the greatest value of a column, once all of its rows have been seen.
#[derive(Debug, Default)]
pub(crate) struct NotedBounds(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// How many are looking at rows now.
    looking: usize,
    /// Whether an operator has seen all rows.
    is_complete: bool,
    bounds: Option<(Value, Value)>,
}

impl NotedBounds {
    pub(crate) fn begin(&self) {
        let mut noted = self.0.lock();
        if noted.looking == 0 {
            *noted = Noted::default();
        }
        noted.looking += 1;
    }

    pub(crate) fn end(&self) {
        let mut noted = self.0.lock();
        noted.looking = noted.looking.saturating_sub(1);
        noted.is_complete = true;
    }

    pub(crate) fn note(&self, value: Value) {
        let mut noted = self.0.lock();
        let bounds = match noted.bounds.take() {
            None => (value.clone(), value),
            Some((least, greatest)) if value.total_cmp(&least).is_lt() => (value, greatest),
            Some((least, greatest)) if value.total_cmp(&greatest).is_gt() => (least, value),
            Some(bounds) => bounds,
        };
        noted.bounds = Some(bounds);
    }

    /// The bounds, if all is known: `Some(None)` if there is no value.
    pub(crate) fn known(&self) -> Option<Option<(Value, Value)>> {
        let noted = self.0.lock();
        (noted.is_complete && noted.looking == 0).then(|| noted.bounds.clone())
    }
}
