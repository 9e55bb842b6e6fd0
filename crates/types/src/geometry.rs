//! The kinds of geometries, and their bytes in values: four bytes of SRID, then Well-Known Binary, all little-endian.
//!
//! Calculations with them are in the crate `spatial`; a store only checks whether bytes are a geometry.

/// The kind of a geometry, or the kinds that a spatial column accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GeometryKind {
    /// Any of the others.
    Geometry,
    /// One position.
    Point,
    /// Straight lines from position to position.
    LineString,
    /// An area with holes.
    Polygon,
    /// Points.
    MultiPoint,
    /// Lines.
    MultiLineString,
    /// Areas.
    MultiPolygon,
    /// Geometries of any kind.
    GeometryCollection,
}

/// Each kind, by its number in Well-Known Binary.
const KINDS: [(GeometryKind, &str, &str); 8] = [
    (GeometryKind::Geometry, "geometry", "GEOMETRY"),
    (GeometryKind::Point, "point", "POINT"),
    (GeometryKind::LineString, "linestring", "LINESTRING"),
    (GeometryKind::Polygon, "polygon", "POLYGON"),
    (GeometryKind::MultiPoint, "multipoint", "MULTIPOINT"),
    (GeometryKind::MultiLineString, "multilinestring", "MULTILINESTRING"),
    (GeometryKind::MultiPolygon, "multipolygon", "MULTIPOLYGON"),
    (GeometryKind::GeometryCollection, "geomcollection", "GEOMETRYCOLLECTION"),
];

impl GeometryKind {
    /// The number in Well-Known Binary; 0 for any geometry.
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The kind of a number.
    pub fn of_code(code: u32) -> Option<GeometryKind> {
        KINDS.get(code as usize).map(|(kind, ..)| *kind)
    }

    /// The type's name as `SHOW CREATE TABLE` writes it.
    pub fn type_name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind of a name of [`type_name`](Self::type_name).
    pub fn of_type_name(name: &str) -> Option<GeometryKind> {
        KINDS.iter().find(|(_, type_name, _)| *type_name == name).map(|(kind, ..)| *kind)
    }

    /// The kind's name as results and errors have it.
    pub fn name(self) -> String {
        self.type_name().to_ascii_uppercase()
    }

    /// The word in Well-Known Text.
    pub fn word(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether a column of this kind takes a geometry of another.
    pub fn takes(self, kind: GeometryKind) -> bool {
        use GeometryKind::{Geometry, GeometryCollection, MultiLineString, MultiPoint, MultiPolygon};
        match self {
            Geometry => true,
            GeometryCollection => {
                matches!(kind, GeometryCollection | MultiPoint | MultiLineString | MultiPolygon)
            }
            _ => self == kind,
        }
    }
}

/// What a spatial column's declaration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GeometryType {
    /// The kind of its values.
    pub kind: GeometryKind,
    /// `SRID n`: the only spatial reference system of its values.
    pub srid: Option<u32>,
}

/// Bytes of the SRID before the Well-Known Binary.
pub const SRID_BYTES: usize = 4;
/// Bytes of a point's two coordinates.
pub const POINT_BYTES: usize = 16;
/// How deep collections may lie in collections. What works on geometries calls itself that often.
pub const COLLECTION_DEPTH_MAX: usize = 64;

/// The SRID and the kind of a value's bytes, if all of them are a geometry.
pub fn geometry_of_bytes(bytes: &[u8]) -> Option<(u32, GeometryKind)> {
    let (srid, rest) = bytes.split_first_chunk::<SRID_BYTES>()?;
    let mut walk = Walk { rest };
    let kind = walk.geometry(None, COLLECTION_DEPTH_MAX)?;
    walk.rest.is_empty().then_some((u32::from_le_bytes(*srid), kind))
}

/// Goes over Well-Known Binary without keeping any of it.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    /// A geometry, of this kind if there is one to be.
    fn geometry(&mut self, expected: Option<GeometryKind>, depth: usize) -> Option<GeometryKind> {
        use GeometryKind::{
            Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
        };
        let (order, rest) = self.rest.split_first()?;
        self.rest = rest;
        let kind = GeometryKind::of_code(self.u32()?)?;
        if *order != 1 || expected.is_some_and(|expected| expected != kind) {
            return None;
        }
        match kind {
            Geometry => return None,
            Point => self.points(1)?,
            LineString => {
                let count = self.u32()?;
                (count >= 2).then_some(())?;
                self.points(count)?;
            }
            Polygon => self.polygon()?,
            MultiPoint => self.parts(Some(Point), 1, depth)?,
            MultiLineString => self.parts(Some(LineString), 1, depth)?,
            MultiPolygon => self.parts(Some(Polygon), 1, depth)?,
            GeometryCollection => self.parts(None, 0, depth)?,
        }
        Some(kind)
    }

    fn parts(&mut self, kind: Option<GeometryKind>, fewest: u32, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let count = self.u32()?;
        (count >= fewest).then_some(())?;
        for _ in 0..count {
            self.geometry(kind, depth)?;
        }
        Some(())
    }

    fn polygon(&mut self) -> Option<()> {
        let rings = self.u32()?;
        (rings >= 1).then_some(())?;
        for _ in 0..rings {
            let count = self.u32()?;
            (count >= 4).then_some(())?;
            let start = self.rest;
            self.points(count)?;
            let last = (count as usize - 1) * POINT_BYTES;
            // A ring ends where it began.
            if start.get(..POINT_BYTES)? != start.get(last..last + POINT_BYTES)? {
                return None;
            }
        }
        Some(())
    }

    fn points(&mut self, count: u32) -> Option<()> {
        let length = (count as usize).checked_mul(POINT_BYTES)?;
        let (points, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let finite = |bytes: &[u8]| bytes.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_finite());
        points.chunks_exact(8).all(finite).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(srid: u32) -> Vec<u8> {
        let mut bytes = srid.to_le_bytes().to_vec();
        bytes.extend([1, 1, 0, 0, 0]);
        bytes.extend([1.5f64.to_le_bytes(), 2f64.to_le_bytes()].concat());
        bytes
    }

    #[test]
    fn a_geometry_is_all_of_the_bytes_and_nothing_less() {
        let good = point(4326);
        assert_eq!(geometry_of_bytes(&good), Some((4326, GeometryKind::Point)));
        for length in 0..good.len() {
            assert_eq!(geometry_of_bytes(&good[..length]), None);
        }
        assert_eq!(geometry_of_bytes(&[good, vec![0]].concat()), None);
    }

    #[test]
    fn collections_are_not_endlessly_deep() {
        let nested = |depth: usize| {
            let mut bytes = vec![0; 4];
            for _ in 0..depth {
                bytes.extend([1, 7, 0, 0, 0, 1, 0, 0, 0]);
            }
            bytes.extend(&point(0)[4..]);
            bytes
        };
        assert!(geometry_of_bytes(&nested(COLLECTION_DEPTH_MAX)).is_some());
        assert!(geometry_of_bytes(&nested(COLLECTION_DEPTH_MAX + 1)).is_none());
        assert!(geometry_of_bytes(&nested(1_000_000)).is_none());
    }
}
