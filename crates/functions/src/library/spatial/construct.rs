//! Geometries made of numbers and geometries.

use super::arguments::{
    Spatial, any_geometry, collection, geometries, geometry, invalid, line, multi_line, multi_point, multi_polygon,
    not_for, number, point, polygon,
};
use crate::library::support::{Args, Def, MANY};
use squall_spatial::{Coord, Geometry, SpatialValue, shape};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("Point", (2, 2), point, make_point).proportional(),
    Def::new("LineString", (1, MANY), line, |args| gather(args, GeometryKind::LineString)).proportional(),
    Def::new("Polygon", (1, MANY), polygon, |args| gather(args, GeometryKind::Polygon)).proportional(),
    Def::new("MultiPoint", (1, MANY), multi_point, |args| gather(args, GeometryKind::MultiPoint)).proportional(),
    Def::new("MultiLineString", (1, MANY), multi_line, |args| gather(args, GeometryKind::MultiLineString))
        .proportional(),
    Def::new("MultiPolygon", (1, MANY), multi_polygon, |args| gather(args, GeometryKind::MultiPolygon)).proportional(),
    Def::new("GeometryCollection", (0, MANY), collection, |args| gather(args, GeometryKind::GeometryCollection))
        .proportional(),
    Def::new("GeomCollection", (0, MANY), collection, |args| gather(args, GeometryKind::GeometryCollection))
        .proportional(),
    Def::new("ST_MakeEnvelope", (2, 2), any_geometry, make_envelope).proportional(),
];

fn make_point(args: &Args<'_>) -> SqlResult<Value> {
    let coord = Coord { x: number(args, 0, "x")?, y: number(args, 1, "y")? };
    Ok(Value::Bytes(SpatialValue { srid: 0, geometry: Geometry::Point(coord.into()) }.encode()))
}

/// The kind that parts of a geometry have to be; `None` for any.
fn kind_of_parts(kind: GeometryKind) -> Option<GeometryKind> {
    match kind {
        GeometryKind::LineString | GeometryKind::MultiPoint => Some(GeometryKind::Point),
        GeometryKind::Polygon | GeometryKind::MultiLineString => Some(GeometryKind::LineString),
        GeometryKind::MultiPolygon => Some(GeometryKind::Polygon),
        _ => None,
    }
}

/// The bytes of a geometry are those of its parts, behind a header: what lines and polygons are made of has none.
fn gather(args: &Args<'_>, kind: GeometryKind) -> SqlResult<Value> {
    let mut parts: Vec<Spatial> = Vec::with_capacity(args.len());
    for at in 0..args.len() {
        let part = geometry(args, at)?;
        if kind_of_parts(kind).is_some_and(|expected| expected != part.kind()) {
            return Err(invalid(args));
        }
        if let Some(first) = parts.first().filter(|first| first.value.srid != part.value.srid) {
            let name = args.name.to_lowercase();
            return Err(SqlError::new(ErrorCode::GisDifferentSrids, &[&name, &first.value.srid, &part.value.srid]));
        }
        parts.push(part);
    }
    let srid = parts.first().map_or(0, |part| part.value.srid);
    let mut bytes = srid.to_le_bytes().to_vec();
    bytes.push(1);
    bytes.extend(kind.code().to_le_bytes());
    bytes.extend((parts.len() as u32).to_le_bytes());
    let without_header = matches!(kind, GeometryKind::LineString | GeometryKind::Polygon);
    for part in &parts {
        let encoded = part.value.encode();
        // SRID, then the byte order and the kind.
        bytes.extend_from_slice(&encoded[if without_header { 9 } else { 4 }..]);
    }
    // One point is no line, and a line that is not closed no ring.
    if SpatialValue::decode(&bytes).is_none() { Err(invalid(args)) } else { Ok(Value::Bytes(bytes)) }
}

fn make_envelope(args: &Args<'_>) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    if first.system.is_geographic() {
        return Err(not_for(args, &[&first, &second]));
    }
    let (Geometry::Point(from), Geometry::Point(to)) = (&first.value.geometry, &second.value.geometry) else {
        return Err(args.wrong_arguments());
    };
    let low = Coord { x: from.x().min(to.x()), y: from.y().min(to.y()) };
    let high = Coord { x: from.x().max(to.x()), y: from.y().max(to.y()) };
    Ok(first.with(shape::rectangle(low, high)))
}
