//! Distances, lengths and areas on the ellipsoid of WGS 84, in metres. Positions are longitude and latitude in degrees.

use geo::{Coord, Destination, Geodesic, GeodesicArea, LineString, Point, Polygon};

/// Half of the longest axis, in metres.
const SEMI_MAJOR: f64 = 6_378_137.0;
/// How much shorter the axis from pole to pole is.
const FLATTENING: f64 = 1.0 / 298.257_223_563;

/// The distance between two positions by the formula of Andoyer and Lambert, which is what MySQL has: exact to some metres in a
/// thousand kilometres.
pub fn distance(from: Coord<f64>, to: Coord<f64>) -> f64 {
    if from == to {
        return 0.0;
    }
    let (latitude_1, latitude_2) = (from.y.to_radians(), to.y.to_radians());
    let longitudes = to.x.to_radians() - from.x.to_radians();
    let (sin_1, cos_1) = latitude_1.sin_cos();
    let (sin_2, cos_2) = latitude_2.sin_cos();
    let cos_angle = (sin_1 * sin_2 + cos_1 * cos_2 * longitudes.cos()).clamp(-1.0, 1.0);
    let angle = cos_angle.acos();
    let sin_angle = angle.sin();
    let (away, along) = (1.0 - cos_angle, 1.0 + cos_angle);
    let h = if away == 0.0 { 0.0 } else { (angle + 3.0 * sin_angle) / away };
    let g = if along == 0.0 { 0.0 } else { (angle - 3.0 * sin_angle) / along };
    let (k, l) = ((sin_1 - sin_2).powi(2), (sin_1 + sin_2).powi(2));
    SEMI_MAJOR * (angle - FLATTENING / 4.0 * (h * k + g * l))
}

/// The length of a line.
pub fn length(line: &LineString<f64>) -> f64 {
    line.0.windows(2).map(|pair| distance(pair[0], pair[1])).sum()
}

/// The area of a polygon in square metres, whichever way round its rings go.
pub fn area(polygon: &Polygon<f64>) -> f64 {
    let ring = |ring: &LineString<f64>| Polygon::new(ring.clone(), Vec::new()).geodesic_area_signed().abs();
    polygon.interiors().iter().fold(ring(polygon.exterior()), |area, hole| area - ring(hole))
}

/// The position at a distance in a direction, in degrees from the north.
pub fn destination(from: Coord<f64>, direction: f64, metres: f64) -> Coord<f64> {
    Geodesic.destination(Point(from), direction, metres).0
}

/// The distance of two positions on a sphere.
pub fn distance_on_sphere(from: Coord<f64>, to: Coord<f64>, radius: f64) -> f64 {
    let half = |a: f64, b: f64| ((b.to_radians() - a.to_radians()) / 2.0).sin().powi(2);
    let chord = half(from.y, to.y) + from.y.to_radians().cos() * to.y.to_radians().cos() * half(from.x, to.x);
    2.0 * chord.sqrt().min(1.0).asin() * radius
}
