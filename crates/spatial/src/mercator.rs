//! The Web Mercator projection, which treats the earth as a sphere with the radius of the equator.

use geo::{Coord, Geometry, MapCoords};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// Radius of the sphere, in metres.
const RADIUS: f64 = 6_378_137.0;

/// Longitudes and latitudes in metres; those at a pole are infinitely far.
pub fn projected(geometry: &Geometry<f64>) -> Geometry<f64> {
    geometry.map_coords(|coord| {
        let latitude = coord.y.to_radians();
        let y = if coord.y.abs() >= 90.0 { f64::INFINITY } else { (FRAC_PI_4 + latitude / 2.0).tan().ln() };
        Coord { x: RADIUS * coord.x.to_radians(), y: RADIUS * if coord.y == 0.0 { 0.0 } else { y } }
    })
}

/// Metres as longitudes and latitudes.
pub fn unprojected(geometry: &Geometry<f64>) -> Geometry<f64> {
    geometry.map_coords(|coord| {
        let latitude = FRAC_PI_2 - 2.0 * (-coord.y / RADIUS).exp().atan();
        let longitude = (coord.x / RADIUS).to_degrees();
        let turned = (longitude + 540.0).rem_euclid(360.0) - 180.0;
        let x = if longitude > -180.0 && longitude <= 180.0 {
            longitude
        } else if turned == -180.0 {
            180.0
        } else {
            turned
        };
        Coord { x, y: latitude.to_degrees() }
    })
}
