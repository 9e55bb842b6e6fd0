//! Rings of polygons.

use geo::LineString;
use geo::winding_order::{Winding, WindingOrder};

/// Whether a line goes around an area to the left; `None` if it is no ring.
pub fn turns_left(line: &LineString<f64>) -> Option<bool> {
    let is_ring = line.0.len() >= 4 && line.0.first() == line.0.last();
    is_ring.then(|| line.winding_order()).flatten().map(|order| order == WindingOrder::CounterClockwise)
}
