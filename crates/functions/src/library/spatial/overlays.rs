//! Overlays of geometries: intersection, union and differences.

use super::arguments::{Spatial, any_geometry, check_angles, function, geometries, geometry, not_for, number, srid};
use crate::library::support::{Args, Def};
use squall_spatial::overlay::{Operation, overlay};
use squall_spatial::plane::Plane;
use squall_spatial::srs::{SrsKind, spatial_reference_system};
use squall_spatial::{SpatialValue, mercator, parts, shape};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_Intersection", (2, 2), any_geometry, |args| overlaid(args, Operation::Intersection)),
    Def::new("ST_Union", (2, 2), any_geometry, |args| overlaid(args, Operation::Union)),
    Def::new("ST_Difference", (2, 2), any_geometry, |args| overlaid(args, Operation::Difference)),
    Def::new("ST_SymDifference", (2, 2), any_geometry, |args| overlaid(args, Operation::SymDifference)),
    Def::new("ST_Envelope", (1, 1), any_geometry, |args| {
        let spatial = geometry(args, 0)?;
        let envelope = shape::envelope(spatial.in_plane(args)?);
        Ok(spatial.with(envelope))
    })
    .proportional(),
    Def::new("ST_Centroid", (1, 1), any_geometry, |args| {
        let spatial = geometry(args, 0)?;
        let centroid = shape::centroid(spatial.in_plane(args)?);
        Ok(centroid.map_or(Value::Null, |centroid| spatial.with(centroid)))
    }),
    Def::new("ST_ConvexHull", (1, 1), any_geometry, |args| {
        let spatial = geometry(args, 0)?;
        let plane = spatial.in_plane(args)?;
        let hull = (!parts::is_empty(plane)).then(|| shape::convex_hull(plane));
        Ok(hull.map_or(Value::Null, |hull| spatial.with(hull)))
    }),
    Def::new("ST_Simplify", (2, 2), any_geometry, |args| {
        let spatial = geometry(args, 0)?;
        let distance = number(args, 1, "Distance")?;
        if distance <= 0.0 {
            return Err(args.wrong_arguments());
        }
        let simplified = shape::simplified(spatial.in_plane(args)?, distance);
        Ok(simplified.map_or(Value::Null, |geometry| spatial.with(geometry)))
    }),
    Def::new("ST_SwapXY", (1, 1), any_geometry, swap).proportional(),
    Def::new("ST_Transform", (2, 2), any_geometry, transform).proportional(),
];

fn overlaid(args: &Args<'_>, operation: Operation) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    let (one, other) = (&first.value.geometry, &second.value.geometry);
    let name = function(args);
    if !first.system.is_geographic() {
        return overlay(operation, one, other, &name).map(|result| first.with(result));
    }
    let mut plane = Plane::of(&[one, other], &name)?;
    let flat = (plane.project(one), plane.project(other));
    plane.remember(one, &flat.0);
    plane.remember(other, &flat.1);
    let result = overlay(operation, &flat.0, &flat.1, &name)?;
    Ok(first.with(plane.unproject(&result)))
}

fn swap(args: &Args<'_>) -> SqlResult<Value> {
    let value = SpatialValue::decode(&args.encoded(0)).ok_or_else(|| super::arguments::invalid(args))?;
    let system = spatial_reference_system(value.srid)?;
    let geometry = shape::swapped(&value.geometry);
    if system.is_geographic() {
        let codes = (ErrorCode::GeometryLongitudeOutOfRange, ErrorCode::GeometryLatitudeOutOfRange);
        check_angles(&geometry, codes, args)?;
    }
    Ok(Spatial { value, system }.with(geometry))
}

fn transform(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let target = srid(args, 1)?;
    let system = spatial_reference_system(target)?;
    let source = spatial.value.srid;
    let geometry = match (spatial.system.kind, system.kind) {
        _ if source == target => spatial.value.geometry,
        (SrsKind::Cartesian, _) => {
            return Err(SqlError::new(ErrorCode::TransformSourceNotSupported, &[&source]));
        }
        (_, SrsKind::Cartesian) => {
            return Err(SqlError::new(ErrorCode::TransformTargetNotSupported, &[&target]));
        }
        (SrsKind::Geographic, SrsKind::Projected) => mercator::projected(&spatial.value.geometry),
        (SrsKind::Projected, SrsKind::Geographic) => mercator::unprojected(&spatial.value.geometry),
        _ => return Err(not_for(args, &[&spatial])),
    };
    if parts::coords(&geometry).any(|coord| !coord.x.is_finite() || !coord.y.is_finite()) {
        return Err(super::arguments::out_of_range(args, "Coordinate"));
    }
    Ok(Value::Bytes(SpatialValue { srid: target, geometry }.encode()))
}
