//! Properties of geometries: coordinates, parts, kinds.

use super::arguments::{
    any_geometry, check_angle, check_angles, geometry, kind_name, line, number, point, srid, unexpected,
};
use crate::library::support::{Args, Binding, Def, result};
use squall_registry::ExprType;
use squall_spatial::srs::{SrsKind, spatial_reference_system};
use squall_spatial::{Coord, Geometry, SpatialValue, parts, shape, valid};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_X", (1, 2), coordinate_type, |args| coordinate(args, Axis::First)),
    Def::new("ST_Y", (1, 2), coordinate_type, |args| coordinate(args, Axis::Second)),
    Def::new("ST_Latitude", (1, 2), coordinate_type, |args| coordinate(args, Axis::Latitude)),
    Def::new("ST_Longitude", (1, 2), coordinate_type, |args| coordinate(args, Axis::Longitude)),
    Def::new("ST_SRID", (1, 2), srid_type, srid_of).proportional(),
    Def::new("ST_Dimension", (1, 1), result::nullable_bigint, |args| {
        Ok(shape::dimension(&geometry(args, 0)?.value.geometry).map_or(Value::Null, Value::Int))
    }),
    Def::new("ST_GeometryType", (1, 1), result::short_text, |args| {
        Ok(args.string(kind_name(&geometry(args, 0)?.value.geometry)))
    }),
    Def::new("ST_IsEmpty", (1, 1), result::nullable_boolean, |args| {
        Ok(Value::from(parts::is_empty(&geometry(args, 0)?.value.geometry)))
    }),
    Def::new("ST_IsSimple", (1, 1), result::nullable_boolean, |args| {
        valid::is_simple(&geometry(args, 0)?.value.geometry, "st_issimple").map(Value::from)
    }),
    Def::new("ST_IsValid", (1, 1), result::nullable_boolean, |args| {
        valid::is_valid(&geometry(args, 0)?.value.geometry, "st_isvalid").map(Value::from)
    }),
    Def::new("ST_Validate", (1, 1), any_geometry, |args| {
        let spatial = geometry(args, 0)?;
        let validated = valid::validated(spatial.value.geometry.clone(), "st_validate")?;
        Ok(validated.map_or(Value::Null, |geometry| spatial.with(geometry)))
    }),
    Def::new("ST_IsClosed", (1, 1), result::nullable_boolean, is_closed),
    Def::new("ST_StartPoint", (1, 1), point, |args| position(args, |coords| coords.first().copied())),
    Def::new("ST_EndPoint", (1, 1), point, |args| position(args, |coords| coords.last().copied())),
    Def::new("ST_PointN", (2, 2), point, |args| {
        let wanted = usize::try_from(args.integer(1)?).unwrap_or(0);
        position(args, |coords| coords.get(wanted.checked_sub(1)?).copied())
    }),
    Def::new("ST_NumPoints", (1, 1), result::nullable_bigint, |args| match &geometry(args, 0)?.value.geometry {
        Geometry::LineString(line) => Ok(Value::Int(line.0.len() as i64)),
        _ => Ok(Value::Null),
    }),
    Def::new("ST_ExteriorRing", (1, 1), line, |args| ring(args, Some(0))),
    Def::new("ST_InteriorRingN", (2, 2), line, |args| {
        let wanted = usize::try_from(args.integer(1)?).ok().filter(|wanted| *wanted > 0);
        ring(args, wanted)
    }),
    Def::new("ST_NumInteriorRing", (1, 1), result::nullable_bigint, interior_rings),
    Def::new("ST_NumInteriorRings", (1, 1), result::nullable_bigint, interior_rings),
    Def::new("ST_GeometryN", (2, 2), any_geometry, geometry_at),
    Def::new("ST_NumGeometries", (1, 1), result::nullable_bigint, |args| {
        let parts = collected(&geometry(args, 0)?.value.geometry);
        Ok(parts.map_or(Value::Null, |parts| Value::Int(parts.len() as i64)))
    }),
];

fn coordinate_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if binding.arguments.len() > 1 { point(binding) } else { result::nullable_double(binding) }
}

fn srid_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    if binding.arguments.len() > 1 { any_geometry(binding) } else { result::nullable_bigint(binding) }
}

/// One of a position's two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    First,
    Second,
    Latitude,
    Longitude,
}

fn coordinate(args: &Args<'_>, axis: Axis) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let is_geographic = spatial.system.is_geographic();
    if matches!(axis, Axis::Latitude | Axis::Longitude) && !is_geographic {
        spatial.expect(GeometryKind::Point, args)?;
        return Err(SqlError::new(ErrorCode::SrsNotGeographic, &[&args.name.to_lowercase(), &spatial.value.srid]));
    }
    let Geometry::Point(found) = &spatial.value.geometry else {
        return Err(unexpected(GeometryKind::Point, spatial.kind(), args));
    };
    // The latitude is a geographic system's first axis, and the second number of what values hold.
    let is_held_first = match axis {
        Axis::First => !is_geographic,
        Axis::Second => is_geographic,
        Axis::Latitude => false,
        Axis::Longitude => true,
    };
    if args.len() == 1 {
        return Ok(Value::Double(if is_held_first { found.x() } else { found.y() }));
    }
    let new = number(args, 1, "coordinate")?;
    if is_geographic {
        let code = if is_held_first { ErrorCode::LongitudeOutOfRange } else { ErrorCode::LatitudeOutOfRange };
        check_angle(new, is_held_first, code, args)?;
    }
    let changed = if is_held_first { Coord { x: new, y: found.y() } } else { Coord { x: found.x(), y: new } };
    Ok(spatial.with(Geometry::Point(changed.into())))
}

fn srid_of(args: &Args<'_>) -> SqlResult<Value> {
    let Some(value) = SpatialValue::decode(&args.encoded(0)) else {
        return Err(super::arguments::invalid(args));
    };
    if args.len() == 1 {
        return Ok(Value::Int(i64::from(value.srid)));
    }
    let srid = srid(args, 1)?;
    if spatial_reference_system(srid)?.kind == SrsKind::Geographic {
        check_angles(
            &value.geometry,
            (ErrorCode::GeometryLongitudeOutOfRange, ErrorCode::GeometryLatitudeOutOfRange),
            args,
        )?;
    }
    Ok(Value::Bytes(SpatialValue { srid, ..value }.encode()))
}

fn is_closed(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    match &spatial.value.geometry {
        Geometry::LineString(line) => Ok(Value::from(line.is_closed())),
        Geometry::MultiLineString(lines) => Ok(Value::from(lines.0.iter().all(|line| line.is_closed()))),
        _ => Ok(Value::Null),
    }
}

fn position(args: &Args<'_>, choose: impl Fn(&[Coord<f64>]) -> Option<Coord<f64>>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let Geometry::LineString(line) = &spatial.value.geometry else { return Ok(Value::Null) };
    Ok(choose(&line.0).map_or(Value::Null, |coord| spatial.with(Geometry::Point(coord.into()))))
}

/// A ring of a polygon, of which the outer one is 0.
fn ring(args: &Args<'_>, wanted: Option<usize>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let Geometry::Polygon(polygon) = &spatial.value.geometry else { return Ok(Value::Null) };
    let found = match wanted {
        Some(0) => Some(polygon.exterior()),
        Some(at) => polygon.interiors().get(at - 1),
        None => None,
    };
    Ok(found.map_or(Value::Null, |ring| spatial.with(Geometry::LineString(ring.clone()))))
}

fn interior_rings(args: &Args<'_>) -> SqlResult<Value> {
    match &geometry(args, 0)?.value.geometry {
        Geometry::Polygon(polygon) => Ok(Value::Int(polygon.interiors().len() as i64)),
        _ => Ok(Value::Null),
    }
}

/// What a collection consists of; `None` of what is none.
pub fn collected(geometry: &Geometry<f64>) -> Option<Vec<Geometry<f64>>> {
    Some(match geometry {
        Geometry::MultiPoint(points) => points.0.iter().map(|point| Geometry::Point(*point)).collect(),
        Geometry::MultiLineString(lines) => lines.0.iter().cloned().map(Geometry::LineString).collect(),
        Geometry::MultiPolygon(polygons) => polygons.0.iter().cloned().map(Geometry::Polygon).collect(),
        Geometry::GeometryCollection(parts) => parts.0.clone(),
        _ => return None,
    })
}

fn geometry_at(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let wanted = args.integer(1)?;
    let Some(parts) = collected(&spatial.value.geometry) else { return Ok(Value::Null) };
    let at = usize::try_from(wanted).ok().and_then(|wanted| wanted.checked_sub(1));
    let part = at.and_then(|at| parts.into_iter().nth(at));
    Ok(part.map_or(Value::Null, |part| spatial.with(part)))
}
