//! The cells of a spatial key, by which it finds geometries.
//!
//! The plane is divided into cells of a few sizes, each an eighth of the next larger one. The *own cells* of a geometry have the
//! smallest size of which a few cells cover its rectangle. It has entries for these, and for the larger cells around them. A search
//! also takes the smallest size of which a few cells cover its rectangle. For these cells, and the larger ones around them, it finds
//! the geometries whose own cells they are. For its own size it also finds geometries with smaller own cells, inside. So one list of
//! cells finds large and small geometries.

use crate::SpatialValue;
use crate::parts;
use crate::srs::WGS_84;

/// How many times finer a size is than the one before: as a power of two.
const STEP: u32 = 3;
/// Most cells of a geometry's own along each axis.
const OWN_MAX: u64 = 2;
/// Most cells of a search along each axis.
const SEARCH_MAX: u64 = 3;
/// Bits of a cell's number along each axis: what is beyond is left out, so that cells far apart may be one.
const AXIS_BITS: u32 = 29;

/// How a plane is cut.
struct Cut {
    /// Where the cells begin, along both axes; what is before is in the first cell.
    start: f64,
    /// The largest cell's size, as a power of two.
    largest: u32,
    /// How many sizes there are.
    sizes: u32,
}

/// Angles: from 512 degrees to some metres.
const ANGLES: Cut = Cut { start: -256.0, largest: 9, sizes: 9 };
/// Lengths: from all numbers of 32 bits to a thousandth.
const LENGTHS: Cut = Cut { start: -2_147_483_648.0, largest: 32, sizes: 15 };

/// The cells of one size that cover a rectangle.
#[derive(Clone, Copy)]
struct Cover {
    size: u32,
    low: [u64; 2],
    high: [u64; 2],
}

impl Cover {
    fn is_at_most(&self, cells: u64) -> bool {
        (0..2).all(|axis| self.high[axis] - self.low[axis] < cells)
    }

    fn push(&self, is_own: bool, cells: &mut Vec<u64>) {
        for x in self.low[0]..=self.high[0] {
            for y in self.low[1]..=self.high[1] {
                cells.push(number(is_own, self.size, x, y));
            }
        }
    }
}

/// A cell's number: those of one size stand together, and near to each other what is near.
fn number(is_own: bool, size: u32, x: u64, y: u64) -> u64 {
    let near =
        (0..AXIS_BITS).fold(0, |number, bit| number | (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1));
    u64::from(is_own) << 62 | u64::from(size) << (2 * AXIS_BITS) | near
}

impl Cut {
    fn of(value: &SpatialValue) -> &'static Cut {
        if value.srid == WGS_84 { &ANGLES } else { &LENGTHS }
    }

    fn cover(&self, size: u32, bounds: &[[f64; 2]; 2]) -> Cover {
        let length = f64::from(self.largest as i32 - (STEP * size) as i32).exp2();
        let last = (1u64 << (STEP * size)) - 1;
        // Numbers beyond the cells, and NaN, belong to the first or the last cell.
        let place = |number: f64| (((number - self.start) / length) as u64).min(last);
        let corner = |at: usize| [place(bounds[at][0]), place(bounds[at][1])];
        Cover { size, low: corner(0), high: corner(1) }
    }

    /// The cover of the finest size that has few cells along each axis.
    fn finest(&self, bounds: &[[f64; 2]; 2], cells: u64) -> Cover {
        let covers = (0..self.sizes).rev().map(|size| self.cover(size, bounds));
        covers.into_iter().find(|cover| cover.is_at_most(cells)).unwrap_or_else(|| self.cover(0, bounds))
    }
}

/// The rectangle around a geometry, with all that its lines go through.
fn bounds(value: &SpatialValue) -> Option<[[f64; 2]; 2]> {
    let bounds = parts::bounds(&value.geometry)?;
    let (mut low, mut high) = ([bounds.min().x, bounds.min().y], [bounds.max().x, bounds.max().y]);
    if value.srid != WGS_84 {
        return Some([low, high]);
    }
    let width = high[0] - low[0];
    if width > 170.0 {
        // Its lines may go around the other side of the earth, or over a pole.
        return Some([[-180.0, -90.0], [180.0, 90.0]]);
    }
    // The shortest way between two positions of one latitude goes nearer to the pole.
    let nearer = |latitude: f64| (latitude.to_radians().tan() / (width / 2.0).to_radians().cos()).atan().to_degrees();
    low[1] = low[1].min(nearer(low[1])).max(-90.0);
    high[1] = high[1].max(nearer(high[1])).min(90.0);
    Some([low, high])
}

/// The cells that a geometry is filed under; none of an empty one.
pub fn of_geometry(value: &SpatialValue) -> Vec<u64> {
    let Some(bounds) = bounds(value) else { return Vec::new() };
    let cut = Cut::of(value);
    let own = cut.finest(&bounds, OWN_MAX);
    let mut cells = Vec::new();
    own.push(true, &mut cells);
    (0..own.size).for_each(|size| cut.cover(size, &bounds).push(false, &mut cells));
    cells
}

/// The cells under which all geometries are filed whose rectangle has something in common with that of this one.
pub fn of_search(value: &SpatialValue) -> Vec<u64> {
    let Some(bounds) = bounds(value) else { return Vec::new() };
    let cut = Cut::of(value);
    let finest = cut.finest(&bounds, SEARCH_MAX);
    let mut cells = Vec::new();
    finest.push(false, &mut cells);
    (0..=finest.size).for_each(|size| cut.cover(size, &bounds).push(true, &mut cells));
    cells
}
