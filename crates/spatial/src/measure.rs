//! Distances and sizes, in the plane and on the ellipsoid.

use crate::ellipsoid;
use crate::parts::{self, Parts};
use crate::plane::Plane;
use crate::relation::{Relation, relates};
use geo::{Area, Coord, CoordsIter, Distance, Euclidean, Geometry, Length, Line, LineString, Point};
use squall_types::SqlResult;

/// Asked in long work whether it has to end.
pub type Check<'a> = &'a dyn Fn() -> SqlResult<()>;

/// How the distance of two positions is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// In a plane.
    Plane,
    /// In metres on the ellipsoid.
    Ellipsoid,
}

impl Metric {
    /// The distance of two positions.
    pub fn between(self, from: Coord<f64>, to: Coord<f64>) -> f64 {
        match self {
            Metric::Plane => Euclidean.distance(Point(from), Point(to)),
            Metric::Ellipsoid => ellipsoid::distance(from, to),
        }
    }

    /// The length of a line.
    pub fn length(self, line: &LineString<f64>) -> f64 {
        match self {
            Metric::Plane => Euclidean.length(line),
            Metric::Ellipsoid => ellipsoid::length(line),
        }
    }
}

/// The length of a line or of lines; `None` of what is neither.
pub fn length(geometry: &Geometry<f64>, metric: Metric) -> Option<f64> {
    match geometry {
        Geometry::LineString(line) => Some(metric.length(line)),
        Geometry::MultiLineString(lines) => Some(lines.0.iter().map(|line| metric.length(line)).sum()),
        _ => None,
    }
}

/// The area of a polygon or of polygons; `None` of what is neither.
pub fn area(geometry: &Geometry<f64>, metric: Metric) -> Option<f64> {
    if !matches!(geometry, Geometry::Polygon(_) | Geometry::MultiPolygon(_)) {
        return None;
    }
    let parts = Parts::of(geometry);
    Some(match metric {
        Metric::Plane => parts.polygons.iter().map(Area::unsigned_area).sum(),
        Metric::Ellipsoid => parts.polygons.iter().map(ellipsoid::area).sum(),
    })
}

/// The shortest distance of two geometries; `None` if one is empty.
///
/// # Errors
/// What `check` has, and 1235 for geometries of the ellipsoid that do not fit on a half of it.
pub fn distance(
    first: &Geometry<f64>,
    second: &Geometry<f64>,
    metric: Metric,
    function: &str,
    check: Check<'_>,
) -> SqlResult<Option<f64>> {
    if parts::is_empty(first) || parts::is_empty(second) {
        return Ok(None);
    }
    match metric {
        Metric::Plane => distance_in_plane(first, second, check).map(Some),
        Metric::Ellipsoid => distance_on_ellipsoid(first, second, function, check).map(Some),
    }
}

fn distance_in_plane(first: &Geometry<f64>, second: &Geometry<f64>, check: Check<'_>) -> SqlResult<f64> {
    let (first, second) = (Parts::of(first), Parts::of(second));
    let mut shortest = f64::INFINITY;
    // Part by part, so that a long answer can be stopped.
    for one in singles(&first) {
        for other in singles(&second) {
            check()?;
            shortest = shortest.min(Euclidean.distance(&one, &other));
        }
    }
    Ok(shortest)
}

/// Each part as a geometry of its own.
fn singles(parts: &Parts) -> Vec<Geometry<f64>> {
    let points = parts.points.iter().map(|point| Geometry::Point(*point));
    let lines = parts.lines.iter().map(|line| Geometry::LineString(line.clone()));
    let polygons = parts.polygons.iter().map(|polygon| Geometry::Polygon(polygon.clone()));
    points.chain(lines).chain(polygons).collect()
}

fn distance_on_ellipsoid(
    first: &Geometry<f64>,
    second: &Geometry<f64>,
    function: &str,
    check: Check<'_>,
) -> SqlResult<f64> {
    let is_points = |geometry: &Geometry<f64>| matches!(geometry, Geometry::Point(_) | Geometry::MultiPoint(_));
    let mut shortest = f64::INFINITY;
    if is_points(first) && is_points(second) {
        for from in parts::coords(first) {
            check()?;
            for to in parts::coords(second) {
                shortest = shortest.min(ellipsoid::distance(from, to));
            }
        }
        return Ok(shortest);
    }
    let plane = Plane::of(&[first, second], function)?;
    let (flat_first, flat_second) = (plane.project(first), plane.project(second));
    if relates(Relation::Intersects, &flat_first, &flat_second, function)? {
        return Ok(0.0);
    }
    for (points, lines) in [(first, &flat_second), (second, &flat_first)] {
        shortest = shortest.min(from_points_to_lines(points, lines, &plane, shortest, check)?);
    }
    Ok(shortest)
}

/// The shortest way from a position of one geometry to the lines and points of another, which is given in the plane.
fn from_points_to_lines(
    points: &Geometry<f64>,
    flat: &Geometry<f64>,
    plane: &Plane,
    mut shortest: f64,
    check: Check<'_>,
) -> SqlResult<f64> {
    let place = |coord: Coord<f64>| plane.unproject(&Geometry::Point(Point(coord)));
    let on_earth = |coord: Coord<f64>| place(coord).coords_iter().next().unwrap_or(coord);
    let parts = Parts::of(flat);
    let lone = parts.points.iter().map(|point| Line::new(point.0, point.0));
    let lines: Vec<(Line<f64>, Coord<f64>, f64)> = lone
        .chain(parts.segments())
        .map(|line| {
            let (start, end) = (on_earth(line.start), on_earth(line.end));
            (line, start, ellipsoid::distance(start, end))
        })
        .collect();
    for point in parts::coords(points) {
        check()?;
        for (line, start, length) in &lines {
            // No place on the line is nearer than this.
            if ellipsoid::distance(point, *start) - length > shortest * 1.01 {
                continue;
            }
            shortest = shortest.min(to_line(point, line, *length, &on_earth));
        }
    }
    Ok(shortest)
}

/// The distance to the nearest place of a line, which is found by narrowing it down.
fn to_line(point: Coord<f64>, line: &Line<f64>, length: f64, on_earth: &dyn Fn(Coord<f64>) -> Coord<f64>) -> f64 {
    let at = |part: f64| ellipsoid::distance(point, on_earth(line.start + (line.end - line.start) * part));
    let (mut low, mut high) = (0.0, 1.0);
    if length == 0.0 {
        return at(0.0);
    }
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) { high -= third } else { low += third }
    }
    at(0.0).min(at(1.0)).min(at((low + high) / 2.0))
}

/// How far the position of the first geometry that is farthest from all positions of the second is from the nearest of them.
///
/// # Errors
/// What `check` has.
pub fn hausdorff(first: &Geometry<f64>, second: &Geometry<f64>, metric: Metric, check: Check<'_>) -> SqlResult<f64> {
    let others: Vec<Coord<f64>> = parts::coords(second).collect();
    let mut farthest: f64 = 0.0;
    for from in parts::coords(first) {
        check()?;
        let nearest = others.iter().map(|to| metric.between(from, *to)).fold(f64::INFINITY, f64::min);
        farthest = farthest.max(nearest);
    }
    Ok(farthest)
}

/// The shortest leash for two that walk along the positions of two lines.
///
/// # Errors
/// What `check` has.
pub fn frechet(first: &LineString<f64>, second: &LineString<f64>, metric: Metric, check: Check<'_>) -> SqlResult<f64> {
    // One row of the table of all pairs of positions at a time.
    let mut row: Vec<f64> = Vec::new();
    for (at, from) in first.0.iter().enumerate() {
        check()?;
        let mut next: Vec<f64> = Vec::with_capacity(second.0.len());
        for (other, to) in second.0.iter().enumerate() {
            let here = metric.between(*from, *to);
            let before = match (at, other) {
                (0, 0) => here,
                (0, _) => next[other - 1],
                (_, 0) => row[0],
                _ => row[other].min(row[other - 1]).min(next[other - 1]),
            };
            next.push(here.max(before));
        }
        row = next;
    }
    Ok(row.last().copied().unwrap_or(0.0))
}
