//! `ST_Buffer` and the strategies for the shape of its results.

use super::arguments::{any_geometry, function, geometry, not_for, number};
use crate::library::support::{Args, Binding, Def, result};
use squall_registry::ExprType;
use squall_spatial::buffer::{self, End, Join, PointShape, Strategies};
use squall_spatial::{Geometry, parts};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("ST_Buffer", (2, 5), any_geometry, buffered),
    Def::new("ST_Buffer_Strategy", (1, 2), strategy_type, make_strategy),
];

fn strategy_type(_: &Binding<'_>) -> SqlResult<ExprType> {
    result::bytes_of_length(STRATEGY_BYTES as u32)
}

/// A strategy is its number and its parameter.
const STRATEGY_BYTES: usize = 12;
/// Most positions of a circle (MySQL's `max_points_in_geometry`).
const POSITIONS_MAX: f64 = 65_536.0;

/// The strategies, by their number from 1; whether one has a parameter.
const STRATEGIES: [(&str, bool); 6] = [
    ("end_round", true),
    ("end_flat", false),
    ("join_round", true),
    ("join_miter", true),
    ("point_circle", true),
    ("point_square", false),
];

fn make_strategy(args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0);
    let found = STRATEGIES.iter().position(|(known, _)| known.eq_ignore_ascii_case(&name));
    let Some(number) = found else { return Err(args.wrong_arguments()) };
    if STRATEGIES[number].1 != (args.len() == 2) {
        return Err(args.wrong_arguments());
    }
    let parameter = if args.len() == 2 { args.f64(1)? } else { 0.0 };
    if args.len() == 2 && (parameter.is_nan() || parameter <= 0.0) {
        return Err(args.wrong_arguments());
    }
    let is_circle = STRATEGIES[number].0 != "join_miter";
    if is_circle && parameter > POSITIONS_MAX {
        let most = POSITIONS_MAX as u64;
        return Err(SqlError::new(ErrorCode::GisTooManyPoints, &[&"points_per_circle", &most, &function(args)]));
    }
    let mut bytes = (number as u32 + 1).to_le_bytes().to_vec();
    bytes.extend(parameter.to_le_bytes());
    Ok(Value::Bytes(bytes))
}

/// A strategy's kind: what of a geometry it is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    End,
    Join,
    Point,
}

fn strategies(args: &Args<'_>) -> SqlResult<(Strategies, Vec<Of>)> {
    let mut strategies = Strategies::default();
    let mut given = Vec::new();
    for at in 2..args.len() {
        let bytes = args.encoded(at);
        let Some((number, parameter)) = bytes.split_first_chunk::<4>() else { return Err(args.wrong_arguments()) };
        let Ok(parameter) = <[u8; 8]>::try_from(parameter) else { return Err(args.wrong_arguments()) };
        let parameter = f64::from_le_bytes(parameter);
        if !(0.0..=f64::MAX).contains(&parameter) {
            return Err(args.wrong_arguments());
        }
        // No circle has fewer positions than a triangle.
        let positions = parameter.clamp(3.0, POSITIONS_MAX) as u32;
        let of = match u32::from_le_bytes(*number) {
            1 => {
                strategies.end = End::Round(positions);
                Of::End
            }
            2 => {
                strategies.end = End::Flat;
                Of::End
            }
            3 => {
                strategies.join = Join::Round(positions);
                Of::Join
            }
            4 => {
                strategies.join = Join::Miter(parameter);
                Of::Join
            }
            5 => {
                strategies.point = PointShape::Circle(positions);
                Of::Point
            }
            6 => {
                strategies.point = PointShape::Square;
                Of::Point
            }
            _ => return Err(args.wrong_arguments()),
        };
        if given.contains(&of) {
            return Err(args.wrong_arguments());
        }
        given.push(of);
    }
    Ok((strategies, given))
}

/// Whether a strategy is of any use to a geometry.
fn applies(of: Of, geometry: &Geometry<f64>) -> bool {
    match geometry {
        Geometry::Point(_) | Geometry::MultiPoint(_) => of == Of::Point,
        Geometry::LineString(_) | Geometry::MultiLineString(_) => of != Of::Point,
        Geometry::Polygon(_) | Geometry::MultiPolygon(_) => of == Of::Join,
        _ => true,
    }
}

fn buffered(args: &Args<'_>) -> SqlResult<Value> {
    let spatial = geometry(args, 0)?;
    let distance = number(args, 1, "Distance")?;
    let (strategies, given) = strategies(args)?;
    let plane = &spatial.value.geometry;
    if given.iter().any(|of| !applies(*of, plane)) {
        return Err(args.wrong_arguments());
    }
    if spatial.system.is_geographic() {
        let Geometry::Point(center) = plane else { return Err(not_for(args, &[&spatial])) };
        let PointShape::Circle(positions) = strategies.point else { return Err(args.wrong_arguments()) };
        if distance < 0.0 {
            return Err(args.wrong_arguments());
        }
        if distance == 0.0 {
            return Ok(args.value(0).clone());
        }
        return Ok(spatial.with(buffer::around_position(center.0, distance, positions)));
    }
    let is_area = matches!(plane, Geometry::Polygon(_) | Geometry::MultiPolygon(_));
    if distance < 0.0 && !is_area {
        return Err(args.wrong_arguments());
    }
    if distance == 0.0 || parts::is_empty(plane) {
        return Ok(args.value(0).clone());
    }
    let area = buffer::buffered(plane, distance, strategies, &function(args))?;
    Ok(spatial.with(area))
}
