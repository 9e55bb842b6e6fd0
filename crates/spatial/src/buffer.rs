//! All places within a distance of a geometry.

use crate::ellipsoid;
use crate::parts::{Parts, meeting_pairs};
use crate::relation::guarded;
use geo::algorithm::buffer::{Buffer, BufferStyle, LineCap, LineJoin};
use geo::bool_ops::unary_union;
use geo::{Coord, Geometry, LineString, Polygon};
use squall_types::SqlResult;
use std::f64::consts::TAU;

/// How the ends of lines look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Round, a full circle of this many positions.
    Round(u32),
    /// Cut off at the line's end.
    Flat,
}

/// How the corners look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// Round, a full circle of this many positions.
    Round(u32),
    /// Prolonged to a point, at most this many distances away.
    Miter(f64),
}

/// How points look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointShape {
    /// A circle of this many positions.
    Circle(u32),
    /// A square.
    Square,
}

/// What a buffer looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strategies {
    /// Of lines.
    pub end: End,
    /// Of lines and areas.
    pub join: Join,
    /// Of points.
    pub point: PointShape,
}

/// Positions of a circle where nothing else is asked for.
pub const CIRCLE_POSITIONS: u32 = 32;

impl Default for Strategies {
    fn default() -> Self {
        Strategies {
            end: End::Round(CIRCLE_POSITIONS),
            join: Join::Round(CIRCLE_POSITIONS),
            point: PointShape::Circle(CIRCLE_POSITIONS),
        }
    }
}

/// The places within a distance of a geometry of a plane; a negative distance is what is left of areas.
///
/// # Errors
/// 1235, if its lines meet too often; 3035, if it cannot be made of an invalid one.
pub fn buffered(
    geometry: &Geometry<f64>,
    distance: f64,
    strategies: Strategies,
    function: &str,
) -> SqlResult<Geometry<f64>> {
    let mut parts = Parts::of(geometry);
    let lines = parts.segments();
    meeting_pairs(&lines, &lines)?;
    guarded(function, || {
        let mut areas: Vec<Polygon<f64>> = Vec::new();
        let points = std::mem::take(&mut parts.points);
        areas.extend(points.iter().map(|point| around_point(point.0, distance, strategies.point)));
        let join = |distance: f64| {
            BufferStyle::new(distance).line_join(match strategies.join {
                Join::Round(positions) => LineJoin::Round(TAU / f64::from(positions)),
                // A limit on the length is one on the angle between the two sides.
                Join::Miter(limit) => LineJoin::Miter(2.0 * (1.0 / limit.max(1.0)).asin()),
            })
        };
        for line in &parts.lines {
            let style = join(distance).line_cap(match strategies.end {
                End::Round(positions) => LineCap::Round(TAU / f64::from(positions)),
                End::Flat => LineCap::Butt,
            });
            areas.extend(line.buffer_with_style(style).0);
        }
        for polygon in &parts.polygons {
            areas.extend(polygon.buffer_with_style(join(distance)).0);
        }
        let polygons = if areas.len() > 1 { unary_union(&areas).0 } else { areas };
        Parts { polygons, ..Parts::default() }.assembled()
    })
}

fn around_point(center: Coord<f64>, distance: f64, shape: PointShape) -> Polygon<f64> {
    match shape {
        PointShape::Square => {
            let (low, high) = (-distance, distance);
            let corners = [(low, low), (high, low), (high, high), (low, high), (low, low)];
            let ring = corners.map(|(x, y)| center + Coord { x, y });
            Polygon::new(LineString(ring.to_vec()), Vec::new())
        }
        PointShape::Circle(positions) => {
            let mut ring: Vec<Coord<f64>> = (0..positions)
                .map(|at| {
                    let (sin, cos) = (TAU * f64::from(at) / f64::from(positions)).sin_cos();
                    center + Coord { x: distance * cos, y: distance * sin }
                })
                .collect();
            ring.extend(ring.first().copied());
            Polygon::new(LineString(ring), Vec::new())
        }
    }
}

/// Where a circle on the ellipsoid begins, in degrees from the north: a thousandth of a radian, as in MySQL.
const FIRST_DIRECTION: f64 = 0.057_295_779_513_082_32;

/// The places within this many metres of a position on the ellipsoid.
pub fn around_position(center: Coord<f64>, metres: f64, positions: u32) -> Geometry<f64> {
    let mut ring: Vec<Coord<f64>> = (0..positions)
        .map(|at| FIRST_DIRECTION - 360.0 * f64::from(at) / f64::from(positions))
        .map(|direction| ellipsoid::destination(center, direction, metres))
        .collect();
    ring.extend(ring.first().copied());
    Geometry::Polygon(Polygon::new(LineString(ring), Vec::new()))
}
