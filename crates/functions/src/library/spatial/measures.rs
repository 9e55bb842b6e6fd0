//! Lengths, areas and distances.

use super::arguments::{
    Spatial, check, finite, function, geometries, geometry, multi_point, not_for, number, out_of_range, point,
    unexpected,
};
use crate::library::support::{Args, Def, result};
use squall_spatial::measure::{self, Metric};
use squall_spatial::srs::{PLANE, WGS_84, metres_of_unit};
use squall_spatial::{Geometry, LineString, ellipsoid, line, parts};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_Length", (1, 2), result::nullable_double, length),
    Def::new("ST_Area", (1, 1), result::nullable_double, area),
    Def::new("ST_Distance", (2, 3), result::nullable_double, distance),
    Def::new("ST_Distance_Sphere", (2, 3), result::nullable_double, distance_sphere),
    Def::new("ST_HausdorffDistance", (2, 3), result::nullable_double, hausdorff),
    Def::new("ST_FrechetDistance", (2, 3), result::nullable_double, frechet),
    Def::new("ST_LineInterpolatePoint", (2, 2), point, interpolate_point),
    Def::new("ST_LineInterpolatePoints", (2, 2), multi_point, interpolate_points),
    Def::new("ST_PointAtDistance", (2, 2), point, point_at_distance),
];

/// The length in the unit that an argument names.
fn in_unit(args: &Args<'_>, at: usize, spatial: &Spatial, length: f64) -> SqlResult<f64> {
    if args.len() <= at {
        return Ok(length);
    }
    let unit = args.text(at);
    let metres = metres_of_unit(&unit)?;
    if spatial.value.srid == PLANE {
        return Err(SqlError::new(ErrorCode::UnknownLengthUnit, &[&function(args), &unit]));
    }
    Ok(length / metres)
}

fn length(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let Some(length) = measure::length(&spatial.value.geometry, spatial.metric()) else { return Ok(Value::Null) };
    finite(args, in_unit(args, 1, &spatial, length)?, "Length")
}

fn area(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    match measure::area(&spatial.value.geometry, spatial.metric()) {
        Some(area) => finite(args, area, "Result"),
        None => {
            let expected = "POLYGON/MULTIPOLYGON";
            let found = spatial.kind().name();
            Err(SqlError::new(ErrorCode::UnexpectedGeometryType, &[&expected, &found, &function(args)]))
        }
    }
}

fn distance(args: &Args<'_>) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    let (one, other) = (&first.value.geometry, &second.value.geometry);
    match measure::distance(one, other, first.metric(), &function(args), &check(args))? {
        Some(distance) => finite(args, in_unit(args, 2, &first, distance)?, "Distance"),
        None => Ok(Value::Null),
    }
}

/// The radius of the earth where none is given, in metres.
const EARTH_RADIUS: f64 = 6_370_986.0;

fn distance_sphere(args: &Args<'_>) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    if !matches!(first.value.srid, PLANE | WGS_84) {
        return Err(SqlError::new(ErrorCode::OnlyForSrid0And4326, &[&function(args)]));
    }
    let is_point = |spatial: &Spatial| matches!(spatial.kind(), GeometryKind::Point | GeometryKind::MultiPoint);
    if !is_point(&first) || !is_point(&second) {
        return Err(not_for(args, &[&first, &second]));
    }
    let codes = (ErrorCode::GeometryLongitudeOutOfRange, ErrorCode::GeometryLatitudeOutOfRange);
    super::arguments::check_angles(&first.value.geometry, codes, args)?;
    super::arguments::check_angles(&second.value.geometry, codes, args)?;
    let radius = if args.len() > 2 { args.f64(2)? } else { EARTH_RADIUS };
    if radius <= 0.0 {
        return Err(SqlError::new(ErrorCode::NonpositiveRadius, &[&function(args)]));
    }
    let mut shortest = f64::INFINITY;
    for from in parts::coords(&first.value.geometry) {
        args.context.kill.check()?;
        for to in parts::coords(&second.value.geometry) {
            shortest = shortest.min(ellipsoid::distance_on_sphere(from, to, radius));
        }
    }
    finite(args, shortest, "Distance")
}

fn hausdorff(args: &Args<'_>) -> SqlResult<Value> {
    use GeometryKind::{LineString, MultiLineString, MultiPoint, Point};
    let (first, second) = geometries(args)?;
    let is_known = matches!(
        (first.kind(), second.kind()),
        (LineString, LineString | MultiLineString)
            | (MultiLineString, LineString | MultiLineString)
            | (Point, MultiPoint)
            | (MultiPoint, Point | MultiPoint)
    );
    if !is_known {
        return Err(not_for(args, &[&first, &second]));
    }
    let (one, other) = (&first.value.geometry, &second.value.geometry);
    let distance = measure::hausdorff(one, other, first.metric(), &check(args))?;
    finite(args, in_unit(args, 2, &first, distance)?, "Hausdorff_distance")
}

fn frechet(args: &Args<'_>) -> SqlResult<Value> {
    let (first, second) = geometries(args)?;
    let (Geometry::LineString(one), Geometry::LineString(other)) = (&first.value.geometry, &second.value.geometry)
    else {
        return Err(not_for(args, &[&first, &second]));
    };
    let distance = measure::frechet(one, other, first.metric(), &check(args))?;
    finite(args, in_unit(args, 2, &first, distance)?, "Frechet_distance")
}

/// A line, what it is a value of, and how lengths are measured.
fn line_argument(args: &Args<'_>) -> SqlResult<(LineString<f64>, Spatial, Metric)> {
    let spatial = geometry(args, 0)?;
    let metric = spatial.metric();
    let Geometry::LineString(line) = &spatial.value.geometry else {
        return Err(unexpected(GeometryKind::LineString, spatial.kind(), args));
    };
    let line = line.clone();
    if metric.length(&line).is_finite() {
        return Ok((line, spatial, metric));
    }
    Err(SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&"Length", &"st_length"]))
}

fn interpolate_point(args: &Args<'_>) -> SqlResult<Value> {
    let (line, spatial, metric) = line_argument(args)?;
    let part = number(args, 1, "Fraction")?;
    if !(0.0..=1.0).contains(&part) {
        return Err(out_of_range(args, "Fraction"));
    }
    let place = line::place_at(&line, metric.length(&line) * part, metric);
    Ok(spatial.with(Geometry::Point(place)))
}

fn interpolate_points(args: &Args<'_>) -> SqlResult<Value> {
    /// Bytes of a point in a collection.
    const POINT_BYTES: f64 = 21.0;
    let (line, spatial, metric) = line_argument(args)?;
    let part = number(args, 1, "Fraction")?;
    if !(part > 0.0 && part <= 1.0) {
        return Err(out_of_range(args, "Fraction"));
    }
    if POINT_BYTES / part > args.context.settings.max_allowed_packet as f64 {
        let most = args.context.settings.max_allowed_packet / POINT_BYTES as u64;
        return Err(SqlError::new(ErrorCode::GisTooManyPoints, &[&"fraction", &most, &function(args)]));
    }
    let places = line::places_at_parts(&line, part, metric);
    Ok(spatial.with(Geometry::MultiPoint(places.into())))
}

fn point_at_distance(args: &Args<'_>) -> SqlResult<Value> {
    let (line, spatial, metric) = line_argument(args)?;
    let distance = number(args, 1, "Distance")?;
    if distance < 0.0 || distance > metric.length(&line) {
        return Err(out_of_range(args, "Distance"));
    }
    Ok(spatial.with(Geometry::Point(line::place_at(&line, distance, metric))))
}
