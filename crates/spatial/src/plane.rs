//! Projects from the ellipsoid to a plane, in which lines along the ellipsoid are straight, and back.
//!
//! The plane touches the ellipsoid at the equator, and rays from the middle of the earth project positions to it. A line between two
//! positions on the ellipsoid is in a plane through the middle, so its projection is straight. So answers in the plane are true on the
//! ellipsoid. Positions of one longitude stay exactly on one line.

use geo::{Coord, Geometry, MapCoords};
use rustc_hash::FxHashMap;
use squall_types::{SqlError, SqlResult};

/// What the squares of the two axes are to each other: what makes a latitude an angle at the middle of the earth.
const AXES_SQUARED: f64 = (1.0 - 1.0 / 298.257_223_563) * (1.0 - 1.0 / 298.257_223_563);
/// The widest that geometries may be, in degrees of longitude.
const WIDTH_MAX: f64 = 170.0;
/// The farthest from the equator that they may reach, in degrees of latitude.
const LATITUDE_MAX: f64 = 89.9;

/// A plane for certain geometries.
pub struct Plane {
    /// The longitude of its middle.
    middle: f64,
    /// Where positions came from, so that they go back to the very same ones.
    origins: FxHashMap<[u64; 2], Coord<f64>>,
}

fn bits(coord: Coord<f64>) -> [u64; 2] {
    [coord.x.to_bits(), coord.y.to_bits()]
}

/// The narrowest range of longitudes that has all positions of a geometry: where it begins, and how wide it is.
fn longitudes(geometries: &[&Geometry<f64>]) -> Option<(f64, f64)> {
    let coords = geometries.iter().flat_map(|geometry| crate::parts::coords(geometry));
    let mut longitudes: Vec<f64> = coords.map(|coord| coord.x).collect();
    longitudes.sort_by(f64::total_cmp);
    longitudes.dedup();
    let (first, last) = (*longitudes.first()?, *longitudes.last()?);
    // The widest gap between longitudes is where the geometries are not.
    let gaps = longitudes.windows(2).map(|pair| (pair[1] - pair[0], pair[1]));
    let (gap, low) =
        gaps.fold((first + 360.0 - last, first), |widest, gap| if gap.0 > widest.0 { gap } else { widest });
    Some((low, 360.0 - gap))
}

fn is_at_pole(geometry: &Geometry<f64>) -> bool {
    crate::parts::coords(geometry).any(|coord| coord.y.abs() > LATITUDE_MAX)
}

/// Whether two geometries are known to share nothing, as they have no longitude in common.
pub fn are_apart(first: &Geometry<f64>, second: &Geometry<f64>) -> bool {
    if is_at_pole(first) || is_at_pole(second) {
        return false;
    }
    match (longitudes(&[first]), longitudes(&[second])) {
        (Some((low, width)), Some((other, other_width))) if width <= WIDTH_MAX && other_width <= WIDTH_MAX => {
            (other - low).rem_euclid(360.0) > width && (low - other).rem_euclid(360.0) > other_width
        }
        _ => false,
    }
}

impl Plane {
    /// The plane in which geometries are seen by a function.
    ///
    /// # Errors
    /// 1235, if they do not fit on one half of the earth.
    pub fn of(geometries: &[&Geometry<f64>], function: &str) -> SqlResult<Plane> {
        let (low, width) = longitudes(geometries).unwrap_or_default();
        if width > WIDTH_MAX || geometries.iter().any(|geometry| is_at_pole(geometry)) {
            return Err(SqlError::unsupported(format_args!(
                "{function} of geometries at a pole or wider than {WIDTH_MAX} degrees; use smaller ones"
            )));
        }
        let middle = low + width / 2.0;
        Ok(Plane { middle, origins: FxHashMap::default() })
    }

    /// A geometry in the plane.
    pub fn project(&self, geometry: &Geometry<f64>) -> Geometry<f64> {
        geometry.map_coords(|coord| {
            let turned = (coord.x - self.middle + 540.0).rem_euclid(360.0) - 180.0;
            let (sin, cos) = turned.to_radians().sin_cos();
            Coord { x: sin / cos, y: AXES_SQUARED * coord.y.to_radians().tan() / cos }
        })
    }

    /// Keeps where the positions of a geometry came from, for a geometry that is made of them.
    pub fn remember(&mut self, geometry: &Geometry<f64>, projected: &Geometry<f64>) {
        let positions = crate::parts::coords(projected).zip(crate::parts::coords(geometry));
        self.origins.extend(positions.map(|(there, here)| (bits(there), here)));
    }

    /// A geometry on the ellipsoid again.
    pub fn unproject(&self, geometry: &Geometry<f64>) -> Geometry<f64> {
        geometry.map_coords(|coord| {
            if let Some(origin) = self.origins.get(&bits(coord)) {
                return *origin;
            }
            let longitude = coord.x.atan();
            let latitude = (coord.y * longitude.cos() / AXES_SQUARED).atan().to_degrees();
            let turned = (longitude.to_degrees() + self.middle + 540.0).rem_euclid(360.0) - 180.0;
            Coord { x: if turned == -180.0 { 180.0 } else { turned }, y: latitude }
        })
    }
}
