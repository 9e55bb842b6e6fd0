//! Relations of geometries.

use super::arguments::{function, geometries};
use crate::library::support::{Args, Def, result};
use squall_spatial::plane::{Plane, are_apart};
use squall_spatial::relation::{Relation, rectangles_relate, relates};
use squall_spatial::{Geometry, parts};
use squall_types::{SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_Contains", (2, 2), result::nullable_boolean, |args| related(args, Relation::Contains)),
    Def::new("ST_Crosses", (2, 2), result::nullable_boolean, |args| related(args, Relation::Crosses)),
    Def::new("ST_Disjoint", (2, 2), result::nullable_boolean, |args| related(args, Relation::Disjoint)),
    Def::new("ST_Equals", (2, 2), result::nullable_boolean, |args| related(args, Relation::Equals)),
    Def::new("ST_Intersects", (2, 2), result::nullable_boolean, |args| related(args, Relation::Intersects)),
    Def::new("ST_Overlaps", (2, 2), result::nullable_boolean, |args| related(args, Relation::Overlaps)),
    Def::new("ST_Touches", (2, 2), result::nullable_boolean, |args| related(args, Relation::Touches)),
    Def::new("ST_Within", (2, 2), result::nullable_boolean, |args| related(args, Relation::Within)),
    Def::new("MBRContains", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Contains)),
    Def::new("MBRCoveredBy", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::CoveredBy)),
    Def::new("MBRCovers", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Covers)),
    Def::new("MBRDisjoint", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Disjoint)),
    Def::new("MBREquals", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Equals)),
    Def::new("MBRIntersects", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Intersects)),
    Def::new("MBROverlaps", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Overlaps)),
    Def::new("MBRTouches", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Touches)),
    Def::new("MBRWithin", (2, 2), result::nullable_boolean, |args| rectangles(args, Relation::Within)),
];

fn is_point(geometry: &Geometry<f64>) -> bool {
    matches!(geometry, Geometry::Point(_) | Geometry::MultiPoint(_))
}

fn is_area(geometry: &Geometry<f64>) -> bool {
    matches!(geometry, Geometry::Polygon(_) | Geometry::MultiPolygon(_))
}

fn related(args: &Args<'_>, relation: Relation) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    let (one, other) = (&first.value.geometry, &second.value.geometry);
    let has_no_answer = match relation {
        // Of an area, or with a point, nothing can cross.
        Relation::Crosses => is_area(one) || is_point(other),
        // Points have no borders to touch at.
        Relation::Touches => is_point(one) && is_point(other),
        _ => false,
    };
    if has_no_answer || parts::is_empty(one) || parts::is_empty(other) {
        return Ok(Value::Null);
    }
    let name = function(args);
    let answer = if first.system.is_geographic() {
        if let (Geometry::Point(one), Geometry::Point(other)) = (one, other) {
            // Two points are the same or apart, wherever they are.
            let (one, other) = (Geometry::Point(*one), Geometry::Point(*other));
            return relates(relation, &one, &other, &name).map(Value::from);
        }
        if are_apart(one, other) {
            return Ok(Value::from(relation == Relation::Disjoint));
        }
        let plane = Plane::of(&[one, other], &name)?;
        relates(relation, &plane.project(one), &plane.project(other), &name)?
    } else {
        relates(relation, one, other, &name)?
    };
    Ok(Value::from(answer))
}

fn rectangles(args: &Args<'_>, relation: Relation) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    let (one, other) = (&first.value.geometry, &second.value.geometry);
    if parts::is_empty(one) || parts::is_empty(other) {
        return Ok(Value::Null);
    }
    rectangles_relate(relation, one, other, &function(args)).map(Value::from)
}
