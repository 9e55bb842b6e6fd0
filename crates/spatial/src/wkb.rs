//! Well-Known Binary.

use geo::{Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};
use squall_types::GeometryKind;
use squall_types::geometry::{COLLECTION_DEPTH_MAX, POINT_BYTES};

/// The geometry that all of the bytes are, in either byte order; `None` if they are none.
pub fn decode(bytes: &[u8]) -> Option<Geometry<f64>> {
    decode_all(bytes, false)
}

/// The same of bytes that a value holds, which are little endian.
pub fn decode_little_endian(bytes: &[u8]) -> Option<Geometry<f64>> {
    decode_all(bytes, true)
}

fn decode_all(bytes: &[u8], little_endian_only: bool) -> Option<Geometry<f64>> {
    let mut reader = Reader { rest: bytes, little_endian: true, little_endian_only };
    let geometry = reader.geometry(COLLECTION_DEPTH_MAX)?;
    reader.rest.is_empty().then_some(geometry)
}

struct Reader<'a> {
    rest: &'a [u8],
    little_endian: bool,
    little_endian_only: bool,
}

impl Reader<'_> {
    fn header(&mut self) -> Option<GeometryKind> {
        let (order, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.little_endian = *order == 1;
        (*order == 1 || (*order == 0 && !self.little_endian_only)).then_some(())?;
        GeometryKind::of_code(self.u32()?)
    }

    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(if self.little_endian { u32::from_le_bytes(*bytes) } else { u32::from_be_bytes(*bytes) })
    }

    fn f64(&mut self) -> Option<f64> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        let number = if self.little_endian { f64::from_le_bytes(*bytes) } else { f64::from_be_bytes(*bytes) };
        number.is_finite().then_some(number)
    }

    fn coord(&mut self) -> Option<Coord<f64>> {
        Some(Coord { x: self.f64()?, y: self.f64()? })
    }

    fn coords(&mut self, fewest: usize) -> Option<Vec<Coord<f64>>> {
        let count = self.u32()? as usize;
        // What is not there takes no memory.
        if count < fewest || self.rest.len() / POINT_BYTES < count {
            return None;
        }
        (0..count).map(|_| self.coord()).collect()
    }

    fn polygon(&mut self) -> Option<Polygon<f64>> {
        let mut rings = Vec::new();
        for _ in 0..self.u32()? {
            let ring = self.coords(4)?;
            (ring.first() == ring.last()).then_some(())?;
            rings.push(LineString(ring));
        }
        let mut rings = rings.into_iter();
        Some(Polygon::new(rings.next()?, rings.collect()))
    }

    /// The parts of a collection, each made by `part` from its kind.
    fn parts<T>(&mut self, fewest: u32, mut part: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (count >= fewest).then_some(())?;
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(part(self)?);
        }
        Some(parts)
    }

    fn part_of(&mut self, kind: GeometryKind) -> Option<()> {
        (self.header()? == kind).then_some(())
    }

    fn geometry(&mut self, depth: usize) -> Option<Geometry<f64>> {
        Some(match self.header()? {
            GeometryKind::Geometry => return None,
            GeometryKind::Point => Geometry::Point(Point(self.coord()?)),
            GeometryKind::LineString => Geometry::LineString(LineString(self.coords(2)?)),
            GeometryKind::Polygon => Geometry::Polygon(self.polygon()?),
            GeometryKind::MultiPoint => Geometry::MultiPoint(MultiPoint(self.parts(1, |reader| {
                reader.part_of(GeometryKind::Point)?;
                Some(Point(reader.coord()?))
            })?)),
            GeometryKind::MultiLineString => Geometry::MultiLineString(MultiLineString(self.parts(1, |reader| {
                reader.part_of(GeometryKind::LineString)?;
                Some(LineString(reader.coords(2)?))
            })?)),
            GeometryKind::MultiPolygon => Geometry::MultiPolygon(MultiPolygon(self.parts(1, |reader| {
                reader.part_of(GeometryKind::Polygon)?;
                reader.polygon()
            })?)),
            GeometryKind::GeometryCollection => {
                let depth = depth.checked_sub(1)?;
                Geometry::GeometryCollection(GeometryCollection(self.parts(0, |reader| reader.geometry(depth))?))
            }
        })
    }
}

/// Appends a geometry in little endian bytes.
pub fn encode(geometry: &Geometry<f64>, out: &mut Vec<u8>) {
    match geometry {
        Geometry::Point(point) => put_point(point, out),
        Geometry::Line(line) => put_line(&LineString(vec![line.start, line.end]), out),
        Geometry::LineString(line) => put_line(line, out),
        Geometry::Polygon(polygon) => put_polygon(polygon, out),
        Geometry::Rect(rect) => put_polygon(&rect.to_polygon(), out),
        Geometry::Triangle(triangle) => put_polygon(&triangle.to_polygon(), out),
        Geometry::MultiPoint(points) => put_all(GeometryKind::MultiPoint, &points.0, put_point, out),
        Geometry::MultiLineString(lines) => put_all(GeometryKind::MultiLineString, &lines.0, put_line, out),
        Geometry::MultiPolygon(polygons) => put_all(GeometryKind::MultiPolygon, &polygons.0, put_polygon, out),
        Geometry::GeometryCollection(parts) => put_all(GeometryKind::GeometryCollection, &parts.0, encode, out),
    }
}

fn put_u32(number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_header(kind: GeometryKind, out: &mut Vec<u8>) {
    out.push(1);
    put_u32(kind.code(), out);
}

fn put_coord(coord: Coord<f64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&coord.x.to_le_bytes());
    out.extend_from_slice(&coord.y.to_le_bytes());
}

fn put_point(point: &Point<f64>, out: &mut Vec<u8>) {
    put_header(GeometryKind::Point, out);
    put_coord(point.0, out);
}

fn put_coords(line: &LineString<f64>, out: &mut Vec<u8>) {
    put_u32(line.0.len() as u32, out);
    line.0.iter().for_each(|coord| put_coord(*coord, out));
}

fn put_line(line: &LineString<f64>, out: &mut Vec<u8>) {
    put_header(GeometryKind::LineString, out);
    put_coords(line, out);
}

fn put_polygon(polygon: &Polygon<f64>, out: &mut Vec<u8>) {
    put_header(GeometryKind::Polygon, out);
    put_u32(polygon.interiors().len() as u32 + 1, out);
    put_coords(polygon.exterior(), out);
    polygon.interiors().iter().for_each(|ring| put_coords(ring, out));
}

fn put_all<T>(kind: GeometryKind, parts: &[T], put: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    put_header(kind, out);
    put_u32(parts.len() as u32, out);
    parts.iter().for_each(|part| put(part, out));
}
