//! Arguments of spatial functions, and types of their results.

use crate::library::support::{Args, Binding};
use squall_registry::{Coercibility, ExprType};
use squall_spatial::measure::Metric;
use squall_spatial::srs::{SpatialReferenceSystem, spatial_reference_system};
use squall_spatial::value::kind_of;
use squall_spatial::{Geometry, SpatialValue, parts};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, SqlType, Value};

/// The name of a function in errors.
pub fn function(args: &Args<'_>) -> String {
    args.name.to_lowercase()
}

/// Error 3037.
pub fn invalid(args: &Args<'_>) -> SqlError {
    SqlError::new(ErrorCode::GisInvalidData, &[&function(args)])
}

/// Error 1690.
pub fn out_of_range(args: &Args<'_>, what: &str) -> SqlError {
    SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&what, &function(args)])
}

/// A geometry with its spatial reference system.
pub struct Spatial {
    /// The geometry.
    pub value: SpatialValue,
    /// Its system.
    pub system: &'static SpatialReferenceSystem,
}

impl Spatial {
    /// The geometry's kind.
    pub fn kind(&self) -> GeometryKind {
        self.value.kind()
    }

    /// How lengths are measured.
    pub fn metric(&self) -> Metric {
        if self.system.is_geographic() { Metric::Ellipsoid } else { Metric::Plane }
    }

    /// Another geometry of the same system, as a value.
    pub fn with(&self, geometry: Geometry<f64>) -> Value {
        Value::Bytes(SpatialValue { srid: self.value.srid, geometry }.encode())
    }

    /// The geometry, if it is in a plane; error 3618 otherwise.
    pub fn in_plane(&self, args: &Args<'_>) -> SqlResult<&Geometry<f64>> {
        if self.system.is_geographic() { Err(not_for(args, &[self])) } else { Ok(&self.value.geometry) }
    }

    /// Error 3516, if the geometry is of another kind.
    pub fn expect(&self, kind: GeometryKind, args: &Args<'_>) -> SqlResult<()> {
        if self.kind() == kind { Ok(()) } else { Err(unexpected(kind, self.kind(), args)) }
    }
}

/// Error 3516.
pub fn unexpected(expected: GeometryKind, found: GeometryKind, args: &Args<'_>) -> SqlError {
    SqlError::new(ErrorCode::UnexpectedGeometryType, &[&expected.name(), &found.name(), &function(args)])
}

/// Error 3618 or 3704: a function that is not there for geometries of these kinds.
pub fn not_for(args: &Args<'_>, geometries: &[&Spatial]) -> SqlError {
    let kinds: Vec<String> = geometries.iter().map(|geometry| geometry.kind().name()).collect();
    let is_geographic = geometries.iter().any(|geometry| geometry.system.is_geographic());
    let code = if is_geographic {
        ErrorCode::NotImplementedForGeographicSrs
    } else {
        ErrorCode::NotImplementedForCartesianSrs
    };
    SqlError::new(code, &[&function(args), &kinds.join(", ")])
}

/// An argument as a geometry: error 3037 if it is none, 3548 if its system is unknown, 3731 and 3732 for angles beyond the globe.
pub fn geometry(args: &Args<'_>, at: usize) -> SqlResult<Spatial> {
    let value = SpatialValue::decode(&args.encoded(at)).ok_or_else(|| invalid(args))?;
    let system = spatial_reference_system(value.srid)?;
    if system.is_geographic() {
        let codes = (ErrorCode::GeometryLongitudeOutOfRange, ErrorCode::GeometryLatitudeOutOfRange);
        check_angles(&value.geometry, codes, args)?;
    }
    Ok(Spatial { value, system })
}

/// Two arguments as geometries of one system; error 3033 if they are of two.
pub fn geometries(args: &Args<'_>) -> SqlResult<(Spatial, Spatial)> {
    let (first, second) = (geometry(args, 0)?, geometry(args, 1)?);
    let (srid, other) = (first.value.srid, second.value.srid);
    if srid == other {
        return Ok((first, second));
    }
    Err(SqlError::new(ErrorCode::GisDifferentSrids, &[&function(args), &srid, &other]))
}

/// An error for longitudes and latitudes beyond the globe.
pub fn check_angles(
    geometry: &Geometry<f64>,
    (longitude, latitude): (ErrorCode, ErrorCode),
    args: &Args<'_>,
) -> SqlResult<()> {
    for coord in parts::coords(geometry) {
        check_angle(coord.x, true, longitude, args)?;
        check_angle(coord.y, false, latitude, args)?;
    }
    Ok(())
}

/// The same of one angle.
pub fn check_angle(angle: f64, is_longitude: bool, code: ErrorCode, args: &Args<'_>) -> SqlResult<()> {
    let fits = if is_longitude { angle > -180.0 && angle <= 180.0 } else { (-90.0..=90.0).contains(&angle) };
    if fits {
        return Ok(());
    }
    // The position of the angle in the message depends on the error.
    let (angle, name) = (format!("{angle:.6}"), function(args));
    let is_of_geometry = matches!(code, ErrorCode::GeometryLongitudeOutOfRange | ErrorCode::GeometryLatitudeOutOfRange);
    Err(if is_of_geometry { SqlError::new(code, &[&name, &angle]) } else { SqlError::new(code, &[&angle, &name]) })
}

/// An argument as the number of a spatial reference system; 1690 if no number could be one.
pub fn srid(args: &Args<'_>, at: usize) -> SqlResult<u32> {
    u32::try_from(args.integer(at)?).map_err(|_| out_of_range(args, "SRID"))
}

/// A finite number.
pub fn number(args: &Args<'_>, at: usize, what: &str) -> SqlResult<f64> {
    let number = args.f64(at)?;
    if number.is_finite() { Ok(number) } else { Err(out_of_range(args, what)) }
}

/// Whether the statement has to end.
pub fn check<'a>(args: &'a Args<'_>) -> impl Fn() -> SqlResult<()> + 'a {
    || args.context.kill.check()
}

/// A number as a result; 1690 if it is beyond numbers.
pub fn finite(args: &Args<'_>, number: f64, what: &str) -> SqlResult<Value> {
    if number.is_finite() { Ok(Value::Double(number)) } else { Err(out_of_range(args, what)) }
}

/// The kind of a result, from a geometry that it is a part of.
pub fn kind_name(geometry: &Geometry<f64>) -> String {
    kind_of(geometry).name()
}

fn spatial(kind: GeometryKind) -> SqlResult<ExprType> {
    Ok(ExprType { sql_type: SqlType::geometry(kind), nullable: true, coercibility: Coercibility::Implicit })
}

/// Any geometry.
pub fn any_geometry(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::Geometry)
}

/// A point.
pub fn point(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::Point)
}

/// A line.
pub fn line(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::LineString)
}

/// An area.
pub fn polygon(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::Polygon)
}

/// Points.
pub fn multi_point(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::MultiPoint)
}

/// Lines.
pub fn multi_line(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::MultiLineString)
}

/// Areas.
pub fn multi_polygon(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::MultiPolygon)
}

/// Any geometries.
pub fn collection(_: &Binding<'_>) -> SqlResult<ExprType> {
    spatial(GeometryKind::GeometryCollection)
}
