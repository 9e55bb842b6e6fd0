//! Well-Known Text.

use geo::{Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};
use squall_types::GeometryKind;
use squall_types::double_text::write_double;
use squall_types::geometry::COLLECTION_DEPTH_MAX;

/// The geometry that a text is; `None` if it is none.
pub fn parse(text: &str) -> Option<Geometry<f64>> {
    let mut parser = Parser { rest: text };
    let geometry = parser.geometry(COLLECTION_DEPTH_MAX)?;
    parser.skip_spaces();
    parser.rest.is_empty().then_some(geometry)
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(|character: char| character.is_ascii_whitespace());
    }

    fn word(&mut self) -> &'a str {
        self.skip_spaces();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.rest.bytes().take_while(|byte| is_word(byte)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.skip_spaces();
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, symbol: char) -> Option<()> {
        self.eat(symbol).then_some(())
    }

    fn number(&mut self) -> Option<f64> {
        self.skip_spaces();
        let bytes = self.rest.as_bytes();
        if !bytes.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+')) {
            return None;
        }
        let length = number_length(bytes);
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        number.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn coord(&mut self) -> Option<Coord<f64>> {
        Some(Coord { x: self.number()?, y: self.number()? })
    }

    /// `( item, item, … )`.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.expect('(')?;
        let mut items = vec![item(self)?];
        while self.eat(',') {
            items.push(item(self)?);
        }
        self.expect(')')?;
        Some(items)
    }

    fn line(&mut self) -> Option<LineString<f64>> {
        let coords = self.list(Parser::coord)?;
        (coords.len() >= 2).then_some(LineString(coords))
    }

    fn ring(&mut self) -> Option<LineString<f64>> {
        let coords = self.list(Parser::coord)?;
        (coords.len() >= 4 && coords.first() == coords.last()).then_some(LineString(coords))
    }

    fn polygon(&mut self) -> Option<Polygon<f64>> {
        let mut rings = self.list(Parser::ring)?.into_iter();
        Some(Polygon::new(rings.next()?, rings.collect()))
    }

    fn point_of_many(&mut self) -> Option<Point<f64>> {
        let in_parentheses = self.eat('(');
        let point = Point(self.coord()?);
        if in_parentheses {
            self.expect(')')?;
        }
        Some(point)
    }

    fn geometry(&mut self, depth: usize) -> Option<Geometry<f64>> {
        let word = self.word();
        Some(match kind_of_word(word)? {
            GeometryKind::Geometry => return None,
            GeometryKind::Point => {
                self.expect('(')?;
                let coord = self.coord()?;
                self.expect(')')?;
                Geometry::Point(Point(coord))
            }
            GeometryKind::LineString => Geometry::LineString(self.line()?),
            GeometryKind::Polygon => Geometry::Polygon(self.polygon()?),
            GeometryKind::MultiPoint => Geometry::MultiPoint(MultiPoint(self.list(Parser::point_of_many)?)),
            GeometryKind::MultiLineString => Geometry::MultiLineString(MultiLineString(self.list(Parser::line)?)),
            GeometryKind::MultiPolygon => Geometry::MultiPolygon(MultiPolygon(self.list(Parser::polygon)?)),
            GeometryKind::GeometryCollection => {
                let depth = depth.checked_sub(1)?;
                Geometry::GeometryCollection(GeometryCollection(self.collection(depth)?))
            }
        })
    }

    fn collection(&mut self, depth: usize) -> Option<Vec<Geometry<f64>>> {
        let before = self.rest;
        if self.word().eq_ignore_ascii_case("EMPTY") {
            return Some(Vec::new());
        }
        self.rest = before;
        self.expect('(')?;
        if self.eat(')') {
            return Some(Vec::new());
        }
        self.rest = before;
        self.list(|parser| parser.geometry(depth))
    }
}

fn kind_of_word(word: &str) -> Option<GeometryKind> {
    let codes = 1..=GeometryKind::GeometryCollection.code();
    codes
        .filter_map(GeometryKind::of_code)
        .find(|kind| word.eq_ignore_ascii_case(kind.word()) || word.eq_ignore_ascii_case(kind.type_name()))
}

/// Bytes of a decimal number with an optional exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    length += digits(length);
    if bytes.get(length) == Some(&b'.') {
        length += 1;
        length += digits(length);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'-' | b'+')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

/// The text of a geometry.
pub fn print(geometry: &Geometry<f64>) -> String {
    let mut out = Vec::new();
    put(geometry, &mut out);
    // Nothing but ASCII was written.
    String::from_utf8_lossy(&out).into_owned()
}

fn put(geometry: &Geometry<f64>, out: &mut Vec<u8>) {
    out.extend_from_slice(crate::value::kind_of(geometry).word().as_bytes());
    match geometry {
        Geometry::Point(point) => put_point(point, out),
        Geometry::Line(line) => put_line(&LineString(vec![line.start, line.end]), out),
        Geometry::LineString(line) => put_line(line, out),
        Geometry::Polygon(polygon) => put_polygon(polygon, out),
        Geometry::Rect(rect) => put_polygon(&rect.to_polygon(), out),
        Geometry::Triangle(triangle) => put_polygon(&triangle.to_polygon(), out),
        Geometry::MultiPoint(points) => put_list(&points.0, put_point, out),
        Geometry::MultiLineString(lines) => put_list(&lines.0, put_line, out),
        Geometry::MultiPolygon(polygons) => put_list(&polygons.0, put_polygon, out),
        Geometry::GeometryCollection(parts) if parts.0.is_empty() => out.extend_from_slice(b" EMPTY"),
        Geometry::GeometryCollection(parts) => put_list(&parts.0, put, out),
    }
}

fn put_list<T>(items: &[T], put_item: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'(');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_item(item, out);
    }
    out.push(b')');
}

fn put_coord(coord: &Coord<f64>, out: &mut Vec<u8>) {
    write_double(coord.x, out);
    out.push(b' ');
    write_double(coord.y, out);
}

fn put_point(point: &Point<f64>, out: &mut Vec<u8>) {
    out.push(b'(');
    put_coord(&point.0, out);
    out.push(b')');
}

fn put_line(line: &LineString<f64>, out: &mut Vec<u8>) {
    put_list(&line.0, put_coord, out);
}

fn put_polygon(polygon: &Polygon<f64>, out: &mut Vec<u8>) {
    let rings: Vec<&LineString<f64>> = std::iter::once(polygon.exterior()).chain(polygon.interiors()).collect();
    put_list(&rings, |ring, out| put_line(ring, out), out);
}
