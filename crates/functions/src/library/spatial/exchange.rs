//! GeoJSON and geohashes.

use super::arguments::{
    any_geometry, check_angle, check_angles, function, geometry, out_of_range, point, srid, unexpected,
};
use crate::library::support::{Args, Def, result};
use squall_spatial::geojson::{self, CrsName, Reading, Writing};
use squall_spatial::srs::{PLANE, WGS_84, spatial_reference_system};
use squall_spatial::{Coord, Geometry, SpatialValue, geohash};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, SqlType, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_AsGeoJSON", (1, 3), result::json, as_geojson),
    Def::new("ST_GeomFromGeoJSON", (1, 3), any_geometry, from_geojson),
    Def::new("ST_GeoHash", (2, 3), result::connection_text, make_geohash),
    Def::new("ST_LatFromGeoHash", (1, 1), result::nullable_double, |args| Ok(Value::Double(position(args)?.y))),
    Def::new("ST_LongFromGeoHash", (1, 1), result::nullable_double, |args| Ok(Value::Double(position(args)?.x))),
    Def::new("ST_PointFromGeoHash", (2, 2), point, |args| {
        let geometry = Geometry::Point(position(args)?.into());
        let srid = srid(args, 1)?;
        spatial_reference_system(srid)?;
        Ok(Value::Bytes(SpatialValue { srid, geometry }.encode()))
    })
    .proportional(),
];

/// What is added to a document: bits of `ST_AsGeoJSON`'s third argument.
const WITH_BOUNDS: i128 = 1;
const WITH_SHORT_CRS: i128 = 2;
const WITH_LONG_CRS: i128 = 4;

fn as_geojson(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let digits = if args.len() > 1 { args.integer(1)? } else { i128::from(i32::MAX) };
    let Some(digits) = u32::try_from(digits).ok().filter(|digits| *digits <= i32::MAX as u32) else {
        return Err(out_of_range(args, "max decimal digits"));
    };
    let options = if args.len() > 2 { args.integer(2)? } else { 0 };
    if !(0..=7).contains(&options) {
        return Err(out_of_range(args, "options"));
    }
    let srid = spatial.value.srid;
    let crs = match options {
        _ if srid == PLANE => None,
        _ if options & WITH_LONG_CRS != 0 => Some(CrsName::Long(srid)),
        _ if options & WITH_SHORT_CRS != 0 => Some(CrsName::Short(srid)),
        _ => None,
    };
    let writing = Writing { digits, has_bounds: options & WITH_BOUNDS != 0, crs };
    Ok(geojson::encode(&spatial.value.geometry, writing).to_value())
}

fn from_geojson(args: &Args<'_>) -> SqlResult<Value> {
    let name = function(args);
    if !matches!(args.ty(0), SqlType::Json | SqlType::String { .. }) || args.ty(0).is_binary_string() {
        return Err(SqlError::new(ErrorCode::IncorrectType, &[&"geojson", &name]));
    }
    let document = args.document(0).map_err(|error| {
        let is_text = error.is(ErrorCode::InvalidJsonTextInParam);
        if is_text { SqlError::new(ErrorCode::InvalidJsonData, &[&name, &"The document is not JSON."]) } else { error }
    })?;
    let options = if args.len() > 1 { args.integer(1)? } else { 1 };
    if !(1..=4).contains(&options) {
        return Err(SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&"options", &name]));
    }
    let given = if args.len() > 2 { Some(srid(args, 2)?) } else { None };
    let reading = Reading { strips_dimensions: options > 1, srid: given, function: &name };
    let Some((srid, geometry)) = geojson::decode(&document, reading)? else { return Ok(Value::Null) };
    if spatial_reference_system(srid)?.is_geographic() {
        check_angles(&geometry, (ErrorCode::LongitudeOutOfRange, ErrorCode::LatitudeOutOfRange), args)?;
    }
    Ok(Value::Bytes(SpatialValue { srid, geometry }.encode()))
}

fn make_geohash(args: &Args<'_>) -> SqlResult<Value> {
    let (coord, length) = if args.len() == 3 {
        (Coord { x: args.f64(0)?, y: args.f64(1)? }, args.integer(2)?)
    } else {
        let spatial = geometry(args, 0)?;
        let Geometry::Point(found) = &spatial.value.geometry else {
            return Err(unexpected(GeometryKind::Point, spatial.kind(), args));
        };
        if !matches!(spatial.value.srid, PLANE | WGS_84) {
            return Err(SqlError::new(ErrorCode::OnlyForSrid0And4326, &[&function(args)]));
        }
        (found.0, args.integer(1)?)
    };
    let length = usize::try_from(length).ok().filter(|length| (1..=geohash::LENGTH_MAX).contains(length));
    let Some(length) = length else { return Err(out_of_range(args, "max geohash length")) };
    if !(-180.0..=180.0).contains(&coord.x) {
        return Err(out_of_range(args, "longitude"));
    }
    check_angle(coord.y, false, ErrorCode::LatitudeOutOfRange, args).map_err(|_| out_of_range(args, "latitude"))?;
    Ok(args.string(geohash::encode(coord.x, coord.y, length)))
}

fn position(args: &Args<'_>) -> SqlResult<Coord<f64>> {
    let is_text = matches!(args.ty(0), SqlType::String { .. }) && !args.ty(0).is_binary_string();
    if !is_text {
        return Err(SqlError::new(ErrorCode::IncorrectType, &[&"geohash", &args.name.to_uppercase()]));
    }
    let hash = args.text(0);
    let wrong = || SqlError::new(ErrorCode::WrongValueForType, &[&"geohash", &hash, &args.name.to_uppercase()]);
    geohash::decode(&hash).map(|(x, y)| Coord { x, y }).ok_or_else(wrong)
}
