//! Union, intersection and differences of two geometries.
//!
//! The crate `geo` overlays areas, but not lines and points. This module does that by their positions, and leaves out parts that an
//! area or a line of the result already has.

use crate::parts::{Parts, SegmentIndex, bounds, coords, meeting_pairs};
use crate::relation::guarded;
use geo::bool_ops::unary_union;
use geo::coordinate_position::{CoordPos, CoordinatePosition};
use geo::line_intersection::{LineIntersection, line_intersection};
use geo::{
    BooleanOps, Coord, Distance, Euclidean, Geometry, Line, LineString, LinesIter, MultiLineString, MultiPolygon,
    OpType, Point, Polygon,
};
use rstar::RTree;
use rustc_hash::FxHashSet;
use squall_types::SqlResult;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What is in both.
    Intersection,
    /// What is in either.
    Union,
    /// What is in the first alone.
    Difference,
    /// What is in one of them alone.
    SymDifference,
}

/// How near two positions are that are one, as a part of how wide the geometries are: areas are overlaid on a grid of 2^30 lines.
const NEARNESS: f64 = 4e-9;

/// The overlay of two geometries of a plane.
///
/// # Errors
/// 1235, if their lines meet too often; 3035, if it cannot be made of invalid ones.
pub fn overlay(
    operation: Operation,
    first: &Geometry<f64>,
    second: &Geometry<f64>,
    function: &str,
) -> SqlResult<Geometry<f64>> {
    let reach = reach(first, second);
    let known = Known::of(first, second, reach)?;
    let (first, second) = (Parts::of(first), Parts::of(second));
    guarded(function, || {
        let (first, second) = (Side::of(first, reach), Side::of(second, reach));
        let mut result = match operation {
            Operation::Intersection => intersection(&first, &second)?,
            Operation::Union => union(&first, &second)?,
            Operation::Difference => difference(&first, &second)?,
            Operation::SymDifference => {
                let (mut here, there) = (difference(&first, &second)?, difference(&second, &first)?);
                here.polygons = areas(OpType::Xor, &first, &second);
                here.lines.extend(there.lines);
                here.points.extend(there.points);
                here
            }
        };
        result.polygons = result.polygons.iter().filter_map(|polygon| known.moved(polygon)).collect();
        result.lines = result.lines.iter().filter_map(|line| known.moved_line(line)).collect();
        Ok(result.assembled())
    })?
}

fn reach(first: &Geometry<f64>, second: &Geometry<f64>) -> f64 {
    let bounds = [bounds(first), bounds(second)];
    let all = || bounds.iter().flatten();
    let low = all().fold([f64::INFINITY; 2], |low, rect| [low[0].min(rect.min().x), low[1].min(rect.min().y)]);
    let high = all().fold([f64::NEG_INFINITY; 2], |high, rect| [high[0].max(rect.max().x), high[1].max(rect.max().y)]);
    let wide = (high[0] - low[0]).max(high[1] - low[1]) * NEARNESS;
    if wide.is_finite() { wide.max(0.0) } else { 0.0 }
}

/// The positions that a result can have: those of the two geometries, and where their lines meet. The grid of areas moves
/// positions a little; they are moved back.
struct Known {
    tree: RTree<[f64; 2]>,
    reach: f64,
}

impl Known {
    fn of(first: &Geometry<f64>, second: &Geometry<f64>, reach: f64) -> SqlResult<Known> {
        let mut positions: Vec<[f64; 2]> =
            coords(first).chain(coords(second)).map(|coord| [coord.x, coord.y]).collect();
        let met = shared(&Parts::of(first).segments(), &Parts::of(second).segments())?;
        positions.extend(met.positions.iter().map(|coord| [coord.x, coord.y]));
        Ok(Known { tree: RTree::bulk_load(positions), reach })
    }

    fn nearest(&self, coord: Coord<f64>) -> Coord<f64> {
        let found = self.tree.nearest_neighbor(&[coord.x, coord.y]).map(|[x, y]| Coord { x: *x, y: *y });
        let near =
            |found: &Coord<f64>| (found.x - coord.x).abs() <= self.reach && (found.y - coord.y).abs() <= self.reach;
        found.filter(near).unwrap_or(coord)
    }

    fn moved_line(&self, line: &LineString<f64>) -> Option<LineString<f64>> {
        let mut coords: Vec<Coord<f64>> = line.0.iter().map(|coord| self.nearest(*coord)).collect();
        coords.dedup();
        (coords.len() >= 2).then_some(LineString(coords))
    }

    fn moved(&self, polygon: &Polygon<f64>) -> Option<Polygon<f64>> {
        let ring = |ring: &LineString<f64>| self.moved_line(ring).filter(|ring| ring.0.len() >= 4);
        let exterior = ring(polygon.exterior())?;
        Some(Polygon::new(exterior, polygon.interiors().iter().filter_map(ring).collect()))
    }
}

/// One of the two geometries.
struct Side {
    parts: Parts,
    areas: MultiPolygon<f64>,
    /// How near positions are that are one.
    reach: f64,
}

impl Side {
    fn of(mut parts: Parts, reach: f64) -> Side {
        if parts.polygons.len() > 1 {
            // They may lie over each other.
            parts.polygons = unary_union(&parts.polygons).0;
        }
        let areas = MultiPolygon(parts.polygons.clone());
        Side { parts, areas, reach }
    }

    fn boundaries(&self) -> Vec<Line<f64>> {
        self.parts.boundaries().filter(|line| line.start != line.end).collect()
    }
}

fn areas(operation: OpType, first: &Side, second: &Side) -> Vec<Polygon<f64>> {
    let result = first.areas.boolean_op(&second.areas, operation).0;
    result.into_iter().filter(|polygon| polygon.exterior().0.len() >= 4).collect()
}

fn straight(lines: &[LineString<f64>]) -> Vec<Line<f64>> {
    lines.iter().flat_map(|line| line.lines()).filter(|line| line.start != line.end).collect()
}

/// Lines inside or outside of areas.
fn clipped(lines: &[LineString<f64>], areas: &MultiPolygon<f64>, outside: bool) -> Vec<LineString<f64>> {
    if lines.is_empty() || areas.0.is_empty() {
        return if outside { lines.to_vec() } else { Vec::new() };
    }
    let kept = areas.clip(&MultiLineString(lines.to_vec()), outside).0;
    kept.into_iter().filter(|line| line.0.windows(2).any(|pair| pair[0] != pair[1])).collect()
}

/// Positions that lie on what a result has already.
struct Covered<'a> {
    lines: Vec<Line<f64>>,
    index: SegmentIndex,
    areas: &'a MultiPolygon<f64>,
    reach: f64,
}

impl Covered<'_> {
    fn of(mut lines: Vec<Line<f64>>, areas: &MultiPolygon<f64>, reach: f64) -> Covered<'_> {
        lines.extend(areas.lines_iter());
        Covered { index: SegmentIndex::new(&lines), lines, areas, reach }
    }

    fn has(&self, position: Coord<f64>) -> bool {
        let place = Line::new(position, position);
        let near = |at: usize| Euclidean.distance(&Point(position), &self.lines[at]) <= self.reach;
        self.index.near(&place, self.reach).any(near)
            || (!self.areas.0.is_empty() && self.areas.coordinate_position(&position) != CoordPos::Outside)
    }

    fn has_line(&self, line: &Line<f64>) -> bool {
        let middle = line.start + (line.end - line.start) / 2.0;
        self.has(middle) && self.has(line.start) && self.has(line.end)
    }
}

/// The points that are not covered, each once.
fn uncovered(points: impl IntoIterator<Item = Coord<f64>>, covered: &Covered<'_>) -> Vec<Point<f64>> {
    let mut seen = FxHashSet::default();
    let fresh = points.into_iter().filter(|point| seen.insert([(point.x + 0.0).to_bits(), (point.y + 0.0).to_bits()]));
    fresh.filter(|point| !covered.has(*point)).map(Point).collect()
}

/// What two sets of lines have in common.
struct Shared {
    pieces: Vec<Line<f64>>,
    /// Single positions.
    positions: Vec<Coord<f64>>,
}

fn shared(first: &[Line<f64>], second: &[Line<f64>]) -> SqlResult<Shared> {
    let (mut pieces, mut positions) = (Vec::new(), Vec::new());
    for (at, other) in meeting_pairs(first, second)? {
        match line_intersection(first[at], second[other]) {
            Some(LineIntersection::Collinear { intersection }) if intersection.start != intersection.end => {
                pieces.push(intersection);
            }
            Some(LineIntersection::Collinear { intersection }) => positions.push(intersection.start),
            Some(LineIntersection::SinglePoint { intersection, .. }) => positions.push(intersection),
            None => {}
        }
    }
    Ok(Shared { pieces, positions })
}

/// Lines without the pieces that they have in common with others.
fn without(lines: &[LineString<f64>], others: &[Line<f64>]) -> SqlResult<Vec<LineString<f64>>> {
    let index = SegmentIndex::new(others);
    let mut kept: Vec<LineString<f64>> = Vec::new();
    for line in lines {
        let mut open = false;
        for piece in line.lines().filter(|piece| piece.start != piece.end) {
            let place = |position: Coord<f64>| {
                let along = piece.end - piece.start;
                let by_x = along.x.abs() >= along.y.abs();
                if by_x { (position.x - piece.start.x) / along.x } else { (position.y - piece.start.y) / along.y }
            };
            let mut taken: Vec<(f64, f64, Line<f64>)> = index
                .near(&piece, 0.0)
                .filter_map(|at| match line_intersection(piece, others[at]) {
                    Some(LineIntersection::Collinear { intersection }) => Some(intersection),
                    _ => None,
                })
                .map(|cut| if place(cut.start) <= place(cut.end) { cut } else { Line::new(cut.end, cut.start) })
                .map(|cut| (place(cut.start), place(cut.end), cut))
                .filter(|(from, to, _)| from < to)
                .collect();
            taken.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut reached, mut from) = (0.0, piece.start);
            for (start, end, cut) in taken {
                if start > reached {
                    push(&mut kept, &mut open, from, cut.start);
                }
                if end > reached {
                    (reached, from) = (end, cut.end);
                    open = false;
                }
            }
            if reached < 1.0 {
                push(&mut kept, &mut open, from, piece.end);
            }
        }
    }
    Ok(kept)
}

/// Appends a piece to the line that it goes on from, or as a line of its own.
fn push(lines: &mut Vec<LineString<f64>>, open: &mut bool, from: Coord<f64>, to: Coord<f64>) {
    match lines.last_mut() {
        Some(line) if *open && line.0.last() == Some(&from) => line.0.push(to),
        _ => lines.push(LineString(vec![from, to])),
    }
    *open = true;
}

/// Pieces as lines, those that follow each other as one.
fn joined(pieces: Vec<Line<f64>>) -> Vec<LineString<f64>> {
    let mut lines: Vec<LineString<f64>> = Vec::new();
    for piece in pieces {
        let mut open = true;
        push(&mut lines, &mut open, piece.start, piece.end);
    }
    lines
}

fn intersection(first: &Side, second: &Side) -> SqlResult<Parts> {
    let polygons = MultiPolygon(areas(OpType::Intersection, first, second));
    let Shared { pieces, mut positions } = shared(&first.parts.segments(), &second.parts.segments())?;
    let in_areas = Covered::of(Vec::new(), &polygons, first.reach);
    let pieces: Vec<Line<f64>> = pieces.into_iter().filter(|piece| !in_areas.has_line(piece)).collect();
    let mut lines = Vec::new();
    for piece in joined(pieces) {
        // A piece that two pairs have is one piece.
        lines.extend(without(&[piece], &straight(&lines))?);
    }
    for (own, other) in [(first, second), (second, first)] {
        let inside = clipped(&own.parts.lines, &other.areas, false);
        lines.extend(without(&inside, &straight(&lines))?);
    }
    for (own, other) in [(first, second), (second, first)] {
        let there = Covered::of(straight(&other.parts.lines), &other.areas, first.reach);
        let points: FxHashSet<[u64; 2]> = other.parts.points.iter().map(|point| bits(point.0)).collect();
        let own = own.parts.points.iter().map(|point| point.0);
        positions.extend(own.filter(|point| points.contains(&bits(*point)) || there.has(*point)));
    }
    let points = uncovered(positions, &Covered::of(straight(&lines), &polygons, first.reach));
    Ok(Parts { points, lines, polygons: polygons.0 })
}

fn bits(coord: Coord<f64>) -> [u64; 2] {
    [(coord.x + 0.0).to_bits(), (coord.y + 0.0).to_bits()]
}

fn union(first: &Side, second: &Side) -> SqlResult<Parts> {
    let polygons = MultiPolygon(areas(OpType::Union, first, second));
    let mut lines = without(&first.parts.lines, &[])?;
    let more = without(&second.parts.lines, &straight(&lines))?;
    lines.extend(more);
    let boundaries: Vec<Line<f64>> = polygons.lines_iter().collect();
    let lines = clipped(&without(&lines, &boundaries)?, &polygons, true);
    let all = first.parts.points.iter().chain(&second.parts.points).map(|point| point.0);
    let points = uncovered(all, &Covered::of(straight(&lines), &polygons, first.reach));
    Ok(Parts { points, lines, polygons: polygons.0 })
}

fn difference(first: &Side, second: &Side) -> SqlResult<Parts> {
    let polygons = if first.areas.0.is_empty() { Vec::new() } else { areas(OpType::Difference, first, second) };
    let mut others = straight(&second.parts.lines);
    others.extend(second.boundaries());
    let lines = clipped(&without(&first.parts.lines, &others)?, &second.areas, true);
    let there = Covered::of(straight(&second.parts.lines), &second.areas, first.reach);
    let theirs: FxHashSet<[u64; 2]> = second.parts.points.iter().map(|point| bits(point.0)).collect();
    let own = first.parts.points.iter().map(|point| point.0).filter(|point| !theirs.contains(&bits(*point)));
    let points = uncovered(own, &there);
    Ok(Parts { points, lines, polygons })
}
