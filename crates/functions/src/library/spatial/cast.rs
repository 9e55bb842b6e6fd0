//! `CAST(geometry AS POINT)` and the like.

use crate::library::support::{Binding, Def};
use squall_registry::{Coercibility, ExprType};
use squall_spatial::srs::spatial_reference_system;
use squall_spatial::value::kind_of;
use squall_spatial::{Geometry, LineString, MultiLineString, MultiPoint, MultiPolygon, Polygon, SpatialValue, ring};
use squall_types::{ErrorCode, GeometryKind, SqlError, SqlResult, SqlType, Value};

/// The family: what the grammar makes of a CAST, with the kind's name behind the geometry.
pub const FUNCTIONS: &[Def] = &[Def::new("SPATIAL_CAST", (2, 2), cast_type, |args| {
    let target = kind(&args.text(1)).ok_or_else(|| args.wrong_arguments())?;
    let invalid =
        || SqlError::new(ErrorCode::GisInvalidData, &[&format_args!("cast_as_{}", target.word().to_lowercase())]);
    let value = SpatialValue::decode(&args.encoded(0)).ok_or_else(invalid)?;
    spatial_reference_system(value.srid)?;
    let geometry = Cast { from: value.kind(), to: target }.of(value.geometry)?;
    Ok(Value::Bytes(SpatialValue { srid: value.srid, geometry }.encode()))
})];

fn kind(name: &str) -> Option<GeometryKind> {
    GeometryKind::of_type_name(&name.to_ascii_lowercase()).filter(|kind| *kind != GeometryKind::Geometry)
}

fn cast_type(binding: &Binding<'_>) -> SqlResult<ExprType> {
    let target = match binding.literal(1) {
        Some(Value::String(name)) => kind(name),
        _ => None,
    };
    let target = target.ok_or_else(|| SqlError::new(ErrorCode::WrongArguments, &[&binding.name.to_lowercase()]))?;
    Ok(ExprType { sql_type: SqlType::geometry(target), nullable: true, coercibility: Coercibility::Implicit })
}

/// From what to what.
struct Cast {
    from: GeometryKind,
    to: GeometryKind,
}

impl Cast {
    fn invalid(&self) -> SqlError {
        SqlError::new(ErrorCode::InvalidGeometryCast, &[&self.from.name(), &self.to.name()])
    }

    fn of(&self, geometry: Geometry<f64>) -> SqlResult<Geometry<f64>> {
        if kind_of(&geometry) == self.to {
            return Ok(geometry);
        }
        match self.to {
            GeometryKind::Point => self.single(geometry),
            GeometryKind::LineString => match geometry {
                Geometry::Polygon(polygon) if polygon.interiors().is_empty() => {
                    Ok(Geometry::LineString(polygon.exterior().clone()))
                }
                Geometry::MultiPoint(points) if points.0.len() >= 2 => {
                    Ok(Geometry::LineString(LineString(points.0.iter().map(|point| point.0).collect())))
                }
                other => self.single(other),
            },
            GeometryKind::Polygon => match geometry {
                Geometry::LineString(line) => self.polygon(vec![line]).map(Geometry::Polygon),
                Geometry::MultiLineString(lines) => self.polygon(lines.0).map(Geometry::Polygon),
                other => self.single(other),
            },
            GeometryKind::MultiPoint => match geometry {
                Geometry::Point(point) => Ok(Geometry::MultiPoint(MultiPoint(vec![point]))),
                Geometry::LineString(line) => Ok(Geometry::MultiPoint(line.0.into())),
                other => self.collected(other),
            },
            GeometryKind::MultiLineString => match geometry {
                Geometry::LineString(line) => Ok(Geometry::MultiLineString(MultiLineString(vec![line]))),
                Geometry::Polygon(polygon) => {
                    let (exterior, interiors) = polygon.into_inner();
                    let rings = std::iter::once(exterior).chain(interiors).collect();
                    Ok(Geometry::MultiLineString(MultiLineString(rings)))
                }
                Geometry::MultiPolygon(polygons) if polygons.0.iter().all(|polygon| polygon.interiors().is_empty()) => {
                    let rings = polygons.0.into_iter().map(|polygon| polygon.into_inner().0).collect();
                    Ok(Geometry::MultiLineString(MultiLineString(rings)))
                }
                other => self.collected(other),
            },
            GeometryKind::MultiPolygon => match geometry {
                Geometry::Polygon(polygon) => Ok(Geometry::MultiPolygon(MultiPolygon(vec![polygon]))),
                Geometry::MultiLineString(lines) => {
                    let polygons =
                        lines.0.into_iter().map(|line| self.polygon(vec![line])).collect::<SqlResult<_>>()?;
                    Ok(Geometry::MultiPolygon(MultiPolygon(polygons)))
                }
                other => self.collected(other),
            },
            _ => {
                Ok(Geometry::GeometryCollection(super::property::collected(&geometry).unwrap_or(vec![geometry]).into()))
            }
        }
    }

    /// The only part of a collection, if it is of the kind.
    fn single(&self, geometry: Geometry<f64>) -> SqlResult<Geometry<f64>> {
        match super::property::collected(&geometry).as_deref() {
            Some([only]) if kind_of(only) == self.to => Ok(only.clone()),
            _ => Err(self.invalid()),
        }
    }

    /// The parts of a collection, which are all of the kind.
    fn collected(&self, geometry: Geometry<f64>) -> SqlResult<Geometry<f64>> {
        let Geometry::GeometryCollection(parts) = geometry else { return Err(self.invalid()) };
        let (mut points, mut lines, mut polygons) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts.0 {
            match (self.to, part) {
                (GeometryKind::MultiPoint, Geometry::Point(point)) => points.push(point),
                (GeometryKind::MultiLineString, Geometry::LineString(line)) => lines.push(line),
                (GeometryKind::MultiPolygon, Geometry::Polygon(polygon)) => polygons.push(polygon),
                _ => return Err(self.invalid()),
            }
        }
        Ok(match (points.is_empty(), lines.is_empty(), polygons.is_empty()) {
            (false, ..) => Geometry::MultiPoint(MultiPoint(points)),
            (_, false, _) => Geometry::MultiLineString(MultiLineString(lines)),
            (.., false) => Geometry::MultiPolygon(MultiPolygon(polygons)),
            _ => return Err(self.invalid()),
        })
    }

    /// The polygon of rings: the outer one to the left, holes to the right.
    fn polygon(&self, rings: Vec<LineString<f64>>) -> SqlResult<Polygon<f64>> {
        for (at, line) in rings.iter().enumerate() {
            match ring::turns_left(line) {
                None => return Err(self.invalid()),
                Some(left) if left != (at == 0) => {
                    let names = (self.from.name(), self.to.name());
                    return Err(SqlError::new(ErrorCode::InvalidCastRingDirection, &[&names.0, &names.1]));
                }
                Some(_) => {}
            }
        }
        let mut rings = rings.into_iter();
        let exterior = rings.next().ok_or_else(|| self.invalid())?;
        Ok(Polygon::new(exterior, rings.collect()))
    }
}
