//! Splits geometries into parts, joins parts, and gives the lines that draw a geometry.

use geo::{
    BoundingRect, Coord, CoordsIter, Geometry, GeometryCollection, Line, LineString, LinesIter, MultiLineString,
    MultiPoint, MultiPolygon, Point, Polygon, Rect,
};
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};
use squall_types::{SqlError, SqlResult};

/// Most pairs of lines that are looked at for one answer: what meets more often takes more memory than a statement may have.
const PAIRS_MAX: usize = 4_000_000;

/// What a geometry consists of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Its points.
    pub points: Vec<Point<f64>>,
    /// Its lines.
    pub lines: Vec<LineString<f64>>,
    /// Its areas.
    pub polygons: Vec<Polygon<f64>>,
}

impl Parts {
    /// Takes a geometry apart.
    pub fn of(geometry: &Geometry<f64>) -> Parts {
        let mut parts = Parts::default();
        parts.add(geometry);
        parts
    }

    fn add(&mut self, geometry: &Geometry<f64>) {
        match geometry {
            Geometry::Point(point) => self.points.push(*point),
            Geometry::Line(line) => self.lines.push(LineString(vec![line.start, line.end])),
            Geometry::LineString(line) => self.lines.push(line.clone()),
            Geometry::Polygon(polygon) => self.polygons.push(polygon.clone()),
            Geometry::Rect(rect) => self.polygons.push(rect.to_polygon()),
            Geometry::Triangle(triangle) => self.polygons.push(triangle.to_polygon()),
            Geometry::MultiPoint(points) => self.points.extend(&points.0),
            Geometry::MultiLineString(lines) => self.lines.extend(lines.0.iter().cloned()),
            Geometry::MultiPolygon(polygons) => self.polygons.extend(polygons.0.iter().cloned()),
            Geometry::GeometryCollection(collection) => collection.0.iter().for_each(|part| self.add(part)),
        }
    }

    /// The simplest geometry of the parts: a part, parts of one kind, or a collection.
    pub fn assembled(mut self) -> Geometry<f64> {
        let kinds = [!self.points.is_empty(), !self.lines.is_empty(), !self.polygons.is_empty()];
        if kinds.iter().filter(|has| **has).count() != 1 {
            let polygons = self.polygons.into_iter().map(Geometry::Polygon);
            let lines = self.lines.into_iter().map(Geometry::LineString);
            let points = self.points.into_iter().map(Geometry::Point);
            return Geometry::GeometryCollection(GeometryCollection(polygons.chain(lines).chain(points).collect()));
        }
        if self.points.len() > 1 {
            return Geometry::MultiPoint(MultiPoint(self.points));
        }
        if self.lines.len() > 1 {
            return Geometry::MultiLineString(MultiLineString(self.lines));
        }
        if self.polygons.len() > 1 {
            return Geometry::MultiPolygon(MultiPolygon(self.polygons));
        }
        match (self.points.pop(), self.lines.pop(), self.polygons.pop()) {
            (Some(point), ..) => Geometry::Point(point),
            (_, Some(line), _) => Geometry::LineString(line),
            (.., Some(polygon)) => Geometry::Polygon(polygon),
            (None, None, None) => Geometry::GeometryCollection(GeometryCollection(Vec::new())),
        }
    }

    /// The lines that are lines themselves and those around areas, each as straight ones.
    pub fn segments(&self) -> Vec<Line<f64>> {
        let lines = self.lines.iter().flat_map(|line| line.lines());
        lines.chain(self.boundaries()).filter(|line| line.start != line.end).collect()
    }

    /// The lines around areas.
    pub fn boundaries(&self) -> impl Iterator<Item = Line<f64>> {
        self.polygons.iter().flat_map(LinesIter::lines_iter)
    }
}

/// The geometry without any position.
pub fn empty() -> Geometry<f64> {
    Parts::default().assembled()
}

/// Whether a geometry has no position.
pub fn is_empty(geometry: &Geometry<f64>) -> bool {
    geometry.coords_count() == 0
}

/// Every position that a geometry names.
pub fn coords(geometry: &Geometry<f64>) -> impl Iterator<Item = Coord<f64>> {
    geometry.coords_iter()
}

/// The smallest rectangle around a geometry; `None` if it is empty.
pub fn bounds(geometry: &Geometry<f64>) -> Option<Rect<f64>> {
    geometry.bounding_rect()
}

type Indexed = GeomWithData<Rectangle<[f64; 2]>, usize>;

/// Straight lines, found by where they are.
pub struct SegmentIndex {
    tree: RTree<Indexed>,
}

fn rectangle(line: &Line<f64>) -> Rectangle<[f64; 2]> {
    Rectangle::from_corners([line.start.x, line.start.y], [line.end.x, line.end.y])
}

impl SegmentIndex {
    /// An index of these.
    pub fn new(lines: &[Line<f64>]) -> SegmentIndex {
        let entries = lines.iter().enumerate().map(|(at, line)| GeomWithData::new(rectangle(line), at)).collect();
        SegmentIndex { tree: RTree::bulk_load(entries) }
    }

    /// The positions of lines whose rectangle is at most `reach` from that of a line.
    pub fn near(&self, line: &Line<f64>, reach: f64) -> impl Iterator<Item = usize> {
        let (start, end) = (line.start, line.end);
        let low = [start.x.min(end.x) - reach, start.y.min(end.y) - reach];
        let high = [start.x.max(end.x) + reach, start.y.max(end.y) + reach];
        self.tree.locate_in_envelope_intersecting(&AABB::from_corners(low, high)).map(|entry| entry.data)
    }
}

/// Each pair of lines of the two whose rectangles meet, by their places.
///
/// # Errors
/// 1235, if there are more than an answer may take memory for.
pub fn meeting_pairs(first: &[Line<f64>], second: &[Line<f64>]) -> SqlResult<Vec<(usize, usize)>> {
    let index = SegmentIndex::new(second);
    let mut pairs = Vec::new();
    for (at, line) in first.iter().enumerate() {
        pairs.extend(index.near(line, 0.0).map(|other| (at, other)));
        if pairs.len() > PAIRS_MAX {
            return Err(SqlError::unsupported(format_args!(
                "geometries whose lines meet more than {PAIRS_MAX} times; use ST_Simplify or smaller parts"
            )));
        }
    }
    Ok(pairs)
}
