//! Checks whether geometries are valid for their kind.

use crate::parts::{Parts, meeting_pairs};
use crate::relation::guarded;
use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{Coord, Geometry, Line, LineString, LinesIter, Validation};
use rustc_hash::FxHashSet;
use squall_types::SqlResult;

/// Whether a geometry is one by the rules: rings that do not cross, holes inside, polygons side by side.
///
/// # Errors
/// 1235, if its lines meet too often.
pub fn is_valid(geometry: &Geometry<f64>, function: &str) -> SqlResult<bool> {
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => Ok(true),
        // A line that is one position is none.
        Geometry::LineString(line) => Ok(has_length(line)),
        Geometry::MultiLineString(lines) => Ok(lines.0.iter().all(has_length)),
        Geometry::GeometryCollection(collection) => {
            for part in &collection.0 {
                if !is_valid(part, function)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => {
            let lines = Parts::of(geometry).segments();
            meeting_pairs(&lines, &lines)?;
            guarded(function, || geometry.is_valid())
        }
    }
}

fn has_length(line: &LineString<f64>) -> bool {
    line.0.iter().any(|coord| Some(coord) != line.0.first())
}

/// Whether a geometry has no position twice, but for the two ends of a ring.
///
/// # Errors
/// 1235, if its lines meet too often.
pub fn is_simple(geometry: &Geometry<f64>, function: &str) -> SqlResult<bool> {
    match geometry {
        Geometry::Point(_) => Ok(true),
        Geometry::MultiPoint(points) => {
            let mut seen = FxHashSet::default();
            Ok(points.0.iter().all(|point| seen.insert((point.x().to_bits(), point.y().to_bits()))))
        }
        Geometry::LineString(line) => lines_are_simple(std::slice::from_ref(line)),
        Geometry::MultiLineString(lines) => lines_are_simple(&lines.0),
        Geometry::GeometryCollection(collection) => {
            for part in &collection.0 {
                if !is_simple(part, function)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => is_valid(geometry, function),
    }
}

/// A straight line, and which one of which line it is.
struct Piece {
    line: Line<f64>,
    owner: usize,
    at: usize,
}

fn lines_are_simple(lines: &[LineString<f64>]) -> SqlResult<bool> {
    let mut pieces = Vec::new();
    let mut last = Vec::new();
    for (owner, line) in lines.iter().enumerate() {
        let straight = line.lines_iter().filter(|line| line.start != line.end).enumerate();
        let before = pieces.len();
        pieces.extend(straight.map(|(at, line)| Piece { line, owner, at }));
        last.push((pieces.len() - before).saturating_sub(1));
    }
    let straight: Vec<Line<f64>> = pieces.iter().map(|piece| piece.line).collect();
    for (first, second) in meeting_pairs(&straight, &straight)? {
        if first >= second {
            continue;
        }
        let (first, second) = (&pieces[first], &pieces[second]);
        let shared = match line_intersection(first.line, second.line) {
            None => continue,
            Some(LineIntersection::Collinear { intersection }) if intersection.start != intersection.end => {
                return Ok(false);
            }
            Some(LineIntersection::Collinear { intersection }) => intersection.start,
            Some(LineIntersection::SinglePoint { intersection, .. }) => intersection,
        };
        let allowed = if first.owner == second.owner {
            let neighbours = second.at == first.at + 1 && shared == first.line.end && shared == second.line.start;
            let ends = first.at == 0 && second.at == last[first.owner];
            neighbours || (ends && shared == first.line.start && shared == second.line.end)
        } else {
            is_end(&lines[first.owner], shared) && is_end(&lines[second.owner], shared)
        };
        if !allowed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a position is an end of a line that is no ring.
fn is_end(line: &LineString<f64>, position: Coord<f64>) -> bool {
    let ends = [line.0.first(), line.0.last()];
    ends[0] != ends[1] && ends.contains(&Some(&position))
}

/// A geometry with its rings turned as they should be (the outer one to the left, holes to the right), if it is valid.
///
/// # Errors
/// As [`is_valid`].
pub fn validated(geometry: Geometry<f64>, function: &str) -> SqlResult<Option<Geometry<f64>>> {
    Ok(if is_valid(&geometry, function)? { Some(oriented(geometry)) } else { None })
}

/// A geometry with its rings turned as they should be.
pub fn oriented(geometry: Geometry<f64>) -> Geometry<f64> {
    use geo::orient::{Direction, Orient};
    match geometry {
        Geometry::Polygon(polygon) => Geometry::Polygon(polygon.orient(Direction::Default)),
        Geometry::MultiPolygon(polygons) => Geometry::MultiPolygon(polygons.orient(Direction::Default)),
        Geometry::GeometryCollection(parts) => {
            Geometry::GeometryCollection(geo::GeometryCollection(parts.0.into_iter().map(oriented).collect()))
        }
        other => other,
    }
}
