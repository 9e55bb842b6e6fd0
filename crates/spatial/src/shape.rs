//! Geometries made from one geometry: hulls and simplified forms.

use crate::parts::{self, Parts};
use geo::{Area, Centroid, Coord, Distance, Euclidean, Geometry, Line, LineString, MapCoords, Point, Polygon};

/// The dimension of the largest part, 0 to 2; `None` for an empty geometry.
pub fn dimension(geometry: &Geometry<f64>) -> Option<i64> {
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => Some(0),
        Geometry::Line(_) | Geometry::LineString(_) | Geometry::MultiLineString(_) => Some(1),
        Geometry::Polygon(_) | Geometry::MultiPolygon(_) | Geometry::Rect(_) | Geometry::Triangle(_) => Some(2),
        Geometry::GeometryCollection(collection) => collection.0.iter().filter_map(dimension).max(),
    }
}

/// The rectangle with two opposite corners: a line or a point if it is that thin.
pub fn rectangle(low: Coord<f64>, high: Coord<f64>) -> Geometry<f64> {
    if low == high {
        return Geometry::Point(Point(low));
    }
    if low.x == high.x || low.y == high.y {
        return Geometry::LineString(LineString(vec![low, high]));
    }
    let ring = vec![low, Coord { x: high.x, y: low.y }, high, Coord { x: low.x, y: high.y }, low];
    Geometry::Polygon(Polygon::new(LineString(ring), Vec::new()))
}

/// The rectangle around a geometry.
pub fn envelope(geometry: &Geometry<f64>) -> Geometry<f64> {
    parts::bounds(geometry).map_or_else(parts::empty, |bounds| rectangle(bounds.min(), bounds.max()))
}

/// The middle of the parts of the highest dimension; `None` for an empty geometry.
pub fn centroid(geometry: &Geometry<f64>) -> Option<Geometry<f64>> {
    let parts = Parts::of(geometry);
    let has_area = parts.polygons.iter().any(|polygon| polygon.unsigned_area() > 0.0);
    let largest = match dimension(geometry)? {
        2 if has_area => Parts { polygons: parts.polygons, ..Parts::default() },
        1 => Parts { lines: parts.lines, ..Parts::default() },
        0 => Parts { points: parts.points, ..Parts::default() },
        _ => return geometry.centroid().map(Geometry::Point),
    };
    largest.assembled().centroid().map(Geometry::Point)
}

/// The smallest convex geometry around one, its ring to the left from the position with the least x.
pub fn convex_hull(geometry: &Geometry<f64>) -> Geometry<f64> {
    let mut coords: Vec<Coord<f64>> = parts::coords(geometry).map(|coord| coord + Coord { x: 0.0, y: 0.0 }).collect();
    coords.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    coords.dedup();
    match coords.as_slice() {
        [] => return parts::empty(),
        [only] => return Geometry::Point(Point(*only)),
        _ => {}
    }
    let mut ring = half_hull(coords.iter());
    let upper = half_hull(coords.iter().rev());
    if ring.len() == 2 && upper.len() == 2 {
        return Geometry::LineString(LineString(ring));
    }
    ring.extend(upper.into_iter().skip(1));
    Geometry::Polygon(Polygon::new(LineString(ring), Vec::new()))
}

/// The positions of a hull on one side, of positions in order: those at which it turns to the left.
fn half_hull<'a>(coords: impl Iterator<Item = &'a Coord<f64>>) -> Vec<Coord<f64>> {
    use geo::GeoNum;
    use geo::algorithm::kernels::{Kernel, Orientation};
    let mut hull: Vec<Coord<f64>> = Vec::new();
    for coord in coords {
        while let [.., before, last] = hull.as_slice()
            && <f64 as GeoNum>::Ker::orient2d(*before, *last, *coord) != Orientation::CounterClockwise
        {
            hull.pop();
        }
        hull.push(*coord);
    }
    hull
}

/// The geometry with the two coordinates of each position exchanged.
pub fn swapped(geometry: &Geometry<f64>) -> Geometry<f64> {
    geometry.map_coords(|coord| Coord { x: coord.y, y: coord.x })
}

/// Simplifies a geometry by Douglas and Peucker's algorithm: removes positions within a distance of the line between those that
/// stay. Parts that become too small for a line or an area are removed. `None` if nothing stays.
pub fn simplified(geometry: &Geometry<f64>, distance: f64) -> Option<Geometry<f64>> {
    let all = |geometries: Vec<Geometry<f64>>| {
        let mut found = Parts::default();
        for geometry in &geometries {
            let parts = Parts::of(geometry);
            found.points.extend(parts.points);
            found.lines.extend(parts.lines);
            found.polygons.extend(parts.polygons);
        }
        found
    };
    Some(match geometry {
        Geometry::LineString(line) => Geometry::LineString(LineString(simplified_coords(&line.0, distance))),
        Geometry::Polygon(polygon) => Geometry::Polygon(simplified_polygon(polygon, distance)?),
        Geometry::MultiLineString(lines) => {
            let lines = lines.0.iter().map(|line| LineString(simplified_coords(&line.0, distance)));
            Geometry::MultiLineString(geo::MultiLineString(lines.collect()))
        }
        Geometry::MultiPolygon(polygons) => {
            let kept: Vec<_> = polygons.0.iter().filter_map(|polygon| simplified_polygon(polygon, distance)).collect();
            (!kept.is_empty()).then_some(())?;
            Geometry::MultiPolygon(geo::MultiPolygon(kept))
        }
        Geometry::GeometryCollection(collection) => {
            let kept: Vec<_> = collection.0.iter().filter_map(|part| simplified(part, distance)).collect();
            (!kept.is_empty() || collection.0.is_empty()).then_some(())?;
            Geometry::GeometryCollection(geo::GeometryCollection(kept))
        }
        Geometry::Line(_) | Geometry::Rect(_) | Geometry::Triangle(_) => {
            return simplified(&all(vec![geometry.clone()]).assembled(), distance);
        }
        Geometry::Point(_) | Geometry::MultiPoint(_) => geometry.clone(),
    })
}

fn simplified_polygon(polygon: &Polygon<f64>, distance: f64) -> Option<Polygon<f64>> {
    let ring = |ring: &LineString<f64>| {
        let coords = simplified_coords(&ring.0, distance);
        (coords.len() >= 4).then_some(LineString(coords))
    };
    let exterior = ring(polygon.exterior())?;
    Some(Polygon::new(exterior, polygon.interiors().iter().filter_map(ring).collect()))
}

fn simplified_coords(coords: &[Coord<f64>], distance: f64) -> Vec<Coord<f64>> {
    let mut kept = vec![false; coords.len()];
    let Some(last) = coords.len().checked_sub(1) else { return Vec::new() };
    (kept[0], kept[last]) = (true, true);
    // A list of what is still to be looked at, as recursion would go as deep as the line is long.
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let base = Line::new(coords[from], coords[to]);
        let farthest = (from + 1..to)
            .map(|at| (at, Euclidean.distance(&Point(coords[at]), &base)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, away)) = farthest
            && away > distance
        {
            kept[at] = true;
            spans.extend([(from, at), (at, to)]);
        }
    }
    coords.iter().zip(kept).filter(|(_, kept)| *kept).map(|(coord, _)| *coord).collect()
}
