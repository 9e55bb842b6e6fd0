//! Relations of two geometries.

use crate::parts::{self, Parts, meeting_pairs};
use crate::shape;
use geo::coordinate_position::{CoordPos, CoordinatePosition};
use geo::{Geometry, Relate};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A question about two geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// No position of the second is outside of the first, and they share some of their insides.
    Contains,
    /// No position of the second is outside of the first.
    Covers,
    /// No position of the first is outside of the second.
    CoveredBy,
    /// They share some of their insides, but neither all of them nor as much as they could.
    Crosses,
    /// They share nothing.
    Disjoint,
    /// They are the same positions.
    Equals,
    /// They share something.
    Intersects,
    /// They share some of their insides, of their own dimension, and each has more.
    Overlaps,
    /// They share borders alone.
    Touches,
    /// No position of the first is outside of the second, and they share some of their insides.
    Within,
}

/// Turns a panic of an algorithm into an error: invalid geometries (a polygon whose rings cross) fail only their statement.
pub(crate) fn guarded<T>(function: &str, work: impl FnOnce() -> T) -> SqlResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| SqlError::new(ErrorCode::GisUnknownError, &[&function]))
}

/// Whether two geometries of a plane lie to each other so; neither is empty.
///
/// # Errors
/// 1235, if their lines meet too often; 3035, if that cannot be said of invalid ones.
pub fn relates(relation: Relation, first: &Geometry<f64>, second: &Geometry<f64>, function: &str) -> SqlResult<bool> {
    let (Some(bounds), Some(others)) = (parts::bounds(first), parts::bounds(second)) else { return Ok(false) };
    let apart = bounds.min().x > others.max().x
        || bounds.max().x < others.min().x
        || bounds.min().y > others.max().y
        || bounds.max().y < others.min().y;
    if apart {
        return Ok(relation == Relation::Disjoint);
    }
    match (first, second) {
        (other, Geometry::Point(point)) if is_area(other) => {
            return Ok(of_position(relation, other.coordinate_position(&point.0), false));
        }
        (Geometry::Point(point), other) if is_area(other) => {
            return Ok(of_position(relation, other.coordinate_position(&point.0), true));
        }
        _ => {}
    }
    // What is looked at below takes memory for each pair.
    meeting_pairs(&Parts::of(first).segments(), &Parts::of(second).segments())?;
    let matrix = guarded(function, || first.relate(second))?;
    Ok(match relation {
        Relation::Contains => matrix.is_contains(),
        Relation::Covers => matrix.is_covers(),
        Relation::CoveredBy => matrix.is_coveredby(),
        Relation::Crosses => matrix.is_crosses(),
        Relation::Disjoint => matrix.is_disjoint(),
        Relation::Equals => matrix.is_equal_topo(),
        Relation::Intersects => matrix.is_intersects(),
        Relation::Overlaps => matrix.is_overlaps(),
        Relation::Touches => matrix.is_touches(),
        Relation::Within => matrix.is_within(),
    })
}

fn is_area(geometry: &Geometry<f64>) -> bool {
    matches!(geometry, Geometry::Polygon(_))
}

/// The answer for an area and a point, without a look at what else they could share.
fn of_position(relation: Relation, position: CoordPos, point_is_first: bool) -> bool {
    match relation {
        Relation::Contains => !point_is_first && position == CoordPos::Inside,
        Relation::Within => point_is_first && position == CoordPos::Inside,
        Relation::Covers => !point_is_first && position != CoordPos::Outside,
        Relation::CoveredBy => point_is_first && position != CoordPos::Outside,
        Relation::Disjoint => position == CoordPos::Outside,
        Relation::Intersects => position != CoordPos::Outside,
        Relation::Touches => position == CoordPos::OnBoundary,
        // A point has no more of it than is shared.
        Relation::Crosses | Relation::Equals | Relation::Overlaps => false,
    }
}

/// Whether the rectangles around two geometries lie to each other so; neither is empty.
///
/// # Errors
/// As [`relates`].
pub fn rectangles_relate(
    relation: Relation,
    first: &Geometry<f64>,
    second: &Geometry<f64>,
    function: &str,
) -> SqlResult<bool> {
    relates(relation, &shape::envelope(first), &shape::envelope(second), function)
}
