//! Places along a line.

use crate::measure::Metric;
use geo::{Coord, Geodesic, InterpolatePoint, LineString, Point};

/// The place at a distance from a line's start; its end, if it is not as long.
pub fn place_at(line: &LineString<f64>, distance: f64, metric: Metric) -> Point<f64> {
    let mut gone = 0.0;
    for pair in line.0.windows(2) {
        let step = metric.between(pair[0], pair[1]);
        if gone + step >= distance && step > 0.0 {
            return Point(between(pair[0], pair[1], (distance - gone) / step, metric));
        }
        gone += step;
    }
    Point(line.0.last().copied().unwrap_or_default())
}

fn between(from: Coord<f64>, to: Coord<f64>, part: f64, metric: Metric) -> Coord<f64> {
    match metric {
        _ if part <= 0.0 => from,
        _ if part >= 1.0 => to,
        Metric::Plane => from + (to - from) * part,
        Metric::Ellipsoid => Geodesic.point_at_ratio_between(Point(from), Point(to), part).0,
    }
}

/// The places at each multiple of a part of a line's length.
pub fn places_at_parts(line: &LineString<f64>, part: f64, metric: Metric) -> Vec<Point<f64>> {
    let length = metric.length(line);
    // Of parts that add up to the whole, the last one is the line's end.
    let count = ((1.0 / part) + 1e-9).floor().max(1.0) as usize;
    let mut places = Vec::with_capacity(count);
    let step = length * part;
    let (mut gone, mut next) = (0.0, 1usize);
    for pair in line.0.windows(2) {
        let long = metric.between(pair[0], pair[1]);
        while next <= count && long > 0.0 && step * next as f64 <= gone + long {
            places.push(Point(between(pair[0], pair[1], (step * next as f64 - gone) / long, metric)));
            next += 1;
        }
        gone += long;
    }
    while next <= count {
        places.push(Point(line.0.last().copied().unwrap_or_default()));
        next += 1;
    }
    places
}
