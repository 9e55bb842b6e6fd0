//! Geometries from Well-Known Text and Well-Known Binary, and back.

use super::arguments::{
    any_geometry, check_angles, collection, geometry, invalid, line, multi_line, multi_point, multi_polygon, point,
    polygon, srid, unexpected,
};
use super::options::AxisOrder;
use crate::library::support::{Args, Def, result};
use squall_spatial::srs::spatial_reference_system;
use squall_spatial::value::kind_of;
use squall_spatial::{Geometry, SpatialValue, wkb, wkt};
use squall_types::{ErrorCode, GeometryKind, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_GeomFromText", (1, 3), any_geometry, |args| from_text(args, GeometryKind::Geometry)).proportional(),
    Def::new("ST_GeometryFromText", (1, 3), any_geometry, |args| from_text(args, GeometryKind::Geometry))
        .proportional(),
    Def::new("ST_PointFromText", (1, 3), point, |args| from_text(args, GeometryKind::Point)).proportional(),
    Def::new("ST_LineFromText", (1, 3), line, |args| from_text(args, GeometryKind::LineString)).proportional(),
    Def::new("ST_LineStringFromText", (1, 3), line, |args| from_text(args, GeometryKind::LineString)).proportional(),
    Def::new("ST_PolyFromText", (1, 3), polygon, |args| from_text(args, GeometryKind::Polygon)).proportional(),
    Def::new("ST_PolygonFromText", (1, 3), polygon, |args| from_text(args, GeometryKind::Polygon)).proportional(),
    Def::new("ST_MPointFromText", (1, 3), multi_point, |args| from_text(args, GeometryKind::MultiPoint)).proportional(),
    Def::new("ST_MultiPointFromText", (1, 3), multi_point, |args| from_text(args, GeometryKind::MultiPoint))
        .proportional(),
    Def::new("ST_MLineFromText", (1, 3), multi_line, |args| from_text(args, GeometryKind::MultiLineString))
        .proportional(),
    Def::new("ST_MultiLineStringFromText", (1, 3), multi_line, |args| from_text(args, GeometryKind::MultiLineString))
        .proportional(),
    Def::new("ST_MPolyFromText", (1, 3), multi_polygon, |args| from_text(args, GeometryKind::MultiPolygon))
        .proportional(),
    Def::new("ST_MultiPolygonFromText", (1, 3), multi_polygon, |args| from_text(args, GeometryKind::MultiPolygon))
        .proportional(),
    Def::new("ST_GeomCollFromText", (1, 3), collection, |args| from_text(args, GeometryKind::GeometryCollection))
        .proportional(),
    Def::new("ST_GeomCollFromTxt", (1, 3), collection, |args| from_text(args, GeometryKind::GeometryCollection))
        .proportional(),
    Def::new("ST_GeometryCollectionFromText", (1, 3), collection, |args| {
        from_text(args, GeometryKind::GeometryCollection)
    })
    .proportional(),
    Def::new("ST_GeomFromWKB", (1, 3), any_geometry, |args| from_bytes(args, GeometryKind::Geometry)).proportional(),
    Def::new("ST_GeometryFromWKB", (1, 3), any_geometry, |args| from_bytes(args, GeometryKind::Geometry))
        .proportional(),
    Def::new("ST_PointFromWKB", (1, 3), point, |args| from_bytes(args, GeometryKind::Point)).proportional(),
    Def::new("ST_LineFromWKB", (1, 3), line, |args| from_bytes(args, GeometryKind::LineString)).proportional(),
    Def::new("ST_LineStringFromWKB", (1, 3), line, |args| from_bytes(args, GeometryKind::LineString)).proportional(),
    Def::new("ST_PolyFromWKB", (1, 3), polygon, |args| from_bytes(args, GeometryKind::Polygon)).proportional(),
    Def::new("ST_PolygonFromWKB", (1, 3), polygon, |args| from_bytes(args, GeometryKind::Polygon)).proportional(),
    Def::new("ST_MPointFromWKB", (1, 3), multi_point, |args| from_bytes(args, GeometryKind::MultiPoint)).proportional(),
    Def::new("ST_MultiPointFromWKB", (1, 3), multi_point, |args| from_bytes(args, GeometryKind::MultiPoint))
        .proportional(),
    Def::new("ST_MLineFromWKB", (1, 3), multi_line, |args| from_bytes(args, GeometryKind::MultiLineString))
        .proportional(),
    Def::new("ST_MultiLineStringFromWKB", (1, 3), multi_line, |args| from_bytes(args, GeometryKind::MultiLineString))
        .proportional(),
    Def::new("ST_MPolyFromWKB", (1, 3), multi_polygon, |args| from_bytes(args, GeometryKind::MultiPolygon))
        .proportional(),
    Def::new("ST_MultiPolygonFromWKB", (1, 3), multi_polygon, |args| from_bytes(args, GeometryKind::MultiPolygon))
        .proportional(),
    Def::new("ST_GeomCollFromWKB", (1, 3), collection, |args| from_bytes(args, GeometryKind::GeometryCollection))
        .proportional(),
    Def::new("ST_GeometryCollectionFromWKB", (1, 3), collection, |args| {
        from_bytes(args, GeometryKind::GeometryCollection)
    })
    .proportional(),
    Def::new("ST_AsText", (1, 2), result::utf8mb4_text, as_text),
    Def::new("ST_AsWKT", (1, 2), result::utf8mb4_text, as_text),
    Def::new("ST_AsBinary", (1, 2), result::bytes, as_bytes),
    Def::new("ST_AsWKB", (1, 2), result::bytes, as_bytes),
];

fn from_text(args: &Args<'_>, kind: GeometryKind) -> SqlResult<Value> {
    read(args, kind, wkt::parse(&args.text(0)))
}

fn from_bytes(args: &Args<'_>, kind: GeometryKind) -> SqlResult<Value> {
    // A geometry stands for its own bytes.
    if args.ty(0).geometry_type().is_some() {
        return Ok(args.value(0).clone());
    }
    read(args, kind, wkb::decode(&args.encoded(0)))
}

fn read(args: &Args<'_>, kind: GeometryKind, geometry: Option<Geometry<f64>>) -> SqlResult<Value> {
    let srid = if args.len() > 1 { srid(args, 1)? } else { 0 };
    let system = spatial_reference_system(srid)?;
    let order = AxisOrder::of(args, 2)?;
    let geometry = geometry.ok_or_else(|| invalid(args))?;
    let found = kind_of(&geometry);
    if kind != GeometryKind::Geometry && found != kind {
        return Err(unexpected(kind, found, args));
    }
    let geometry = order.exchanged(geometry, system);
    if system.is_geographic() {
        check_angles(&geometry, (ErrorCode::LongitudeOutOfRange, ErrorCode::LatitudeOutOfRange), args)?;
    }
    Ok(Value::Bytes(SpatialValue { srid, geometry }.encode()))
}

fn as_text(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let outside = AxisOrder::of(args, 1)?.exchanged(spatial.value.geometry, spatial.system);
    Ok(Value::String(wkt::print(&outside)))
}

fn as_bytes(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let outside = AxisOrder::of(args, 1)?.exchanged(spatial.value.geometry, spatial.system);
    let mut bytes = Vec::new();
    wkb::encode(&outside, &mut bytes);
    Ok(Value::Bytes(bytes))
}
