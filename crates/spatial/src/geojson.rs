//! GeoJSON.

use geo::{
    Coord, Geometry, GeometryCollection, LineString, MapCoords, MultiLineString, MultiPoint, MultiPolygon, Point,
    Polygon,
};
use squall_types::geometry::COLLECTION_DEPTH_MAX;
use squall_types::json::Object;
use squall_types::{ErrorCode, Json, SqlError, SqlResult};

use crate::parts;

/// The SRID of a document that names none.
const DEFAULT_SRID: u32 = crate::srs::WGS_84;

/// What a document is read by.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Whether positions may have more than two coordinates, which are left out.
    pub strips_dimensions: bool,
    /// The SRID, whatever the document says.
    pub srid: Option<u32>,
    /// The function, for errors.
    pub function: &'a str,
}

/// The geometry of a document, with its SRID; `None` for a feature without a geometry.
///
/// # Errors
/// 3070 to 3073 and 3672, of documents that are not GeoJSON.
pub fn decode(document: &Json, reading: Reading<'_>) -> SqlResult<Option<(u32, Geometry<f64>)>> {
    let object = reading.object(document, "geometry")?;
    let named = match object.get("crs") {
        None | Some(Json::Null) => None,
        Some(crs) => Some(reading.srid_of(crs)?),
    };
    let geometry = reading.any(object, 0)?;
    Ok(geometry.map(|geometry| (reading.srid.or(named).unwrap_or(DEFAULT_SRID), geometry)))
}

impl Reading<'_> {
    fn object<'j>(&self, document: &'j Json, member: &str) -> SqlResult<&'j Object> {
        match document {
            Json::Object(object) => Ok(object),
            _ => Err(self.wrong_type(member, "object")),
        }
    }

    fn wrong_type(&self, member: &str, expected: &str) -> SqlError {
        SqlError::new(ErrorCode::GeoJsonWrongType, &[&self.function, &member, &expected])
    }

    fn unspecified(&self) -> SqlError {
        SqlError::new(ErrorCode::GeoJsonUnspecified, &[&self.function])
    }

    fn member<'j>(&self, object: &'j Object, name: &str) -> SqlResult<&'j Json> {
        object.get(name).ok_or_else(|| SqlError::new(ErrorCode::GeoJsonMissingMember, &[&self.function, &name]))
    }

    fn text<'j>(&self, object: &'j Object, name: &str) -> SqlResult<&'j str> {
        match self.member(object, name)? {
            Json::String(text) => Ok(text),
            _ => Err(self.wrong_type(name, "string")),
        }
    }

    fn array<'j>(&self, object: &'j Object, name: &str) -> SqlResult<&'j [Json]> {
        match self.member(object, name)? {
            Json::Array(items) => Ok(items),
            _ => Err(self.wrong_type(name, "array")),
        }
    }

    fn srid_of(&self, crs: &Json) -> SqlResult<u32> {
        let crs = self.object(crs, "crs")?;
        if self.text(crs, "type")? != "name" {
            return Err(self.unspecified());
        }
        let properties = self.object(self.member(crs, "properties")?, "properties")?;
        let name = self.text(properties, "name")?;
        if name == "urn:ogc:def:crs:OGC:1.3:CRS84" {
            return Ok(DEFAULT_SRID);
        }
        let number = name.strip_prefix("urn:ogc:def:crs:EPSG::").or_else(|| name.strip_prefix("EPSG:"));
        number.and_then(|number| number.parse().ok()).ok_or_else(|| self.unspecified())
    }

    /// A geometry, a feature or a collection of features.
    fn any(&self, object: &Object, depth: usize) -> SqlResult<Option<Geometry<f64>>> {
        if depth > COLLECTION_DEPTH_MAX {
            return Err(self.unspecified());
        }
        if depth > 0 && object.get("crs").is_some() {
            return Err(SqlError::new(ErrorCode::GeoJsonCrsNotTopLevel, &[&self.function]));
        }
        let kind = self.text(object, "type")?;
        match kind.to_ascii_lowercase().as_str() {
            "feature" => {
                if !matches!(self.member(object, "properties")?, Json::Object(_) | Json::Null) {
                    return Err(self.wrong_type("properties", "object"));
                }
                match self.member(object, "geometry")? {
                    Json::Null => Ok(None),
                    geometry => self.any(self.object(geometry, "geometry")?, depth + 1),
                }
            }
            "featurecollection" => {
                let mut parts = Vec::new();
                for feature in self.array(object, "features")? {
                    parts.extend(self.any(self.object(feature, "features")?, depth + 1)?);
                }
                Ok(Some(Geometry::GeometryCollection(GeometryCollection(parts))))
            }
            "geometrycollection" => {
                let mut parts = Vec::new();
                for part in self.array(object, "geometries")? {
                    parts.extend(self.any(self.object(part, "geometries")?, depth + 1)?);
                }
                Ok(Some(Geometry::GeometryCollection(GeometryCollection(parts))))
            }
            kind => self.geometry(kind, self.array(object, "coordinates")?).map(Some),
        }
    }

    fn geometry(&self, kind: &str, coordinates: &[Json]) -> SqlResult<Geometry<f64>> {
        Ok(match kind {
            "point" => Geometry::Point(Point(self.position(coordinates)?)),
            "linestring" => Geometry::LineString(self.line(coordinates)?),
            "polygon" => Geometry::Polygon(self.polygon(coordinates)?),
            "multipoint" => {
                Geometry::MultiPoint(MultiPoint(self.each(coordinates, |items| self.position(items).map(Point))?))
            }
            "multilinestring" => {
                Geometry::MultiLineString(MultiLineString(self.each(coordinates, |items| self.line(items))?))
            }
            "multipolygon" => {
                Geometry::MultiPolygon(MultiPolygon(self.each(coordinates, |items| self.polygon(items))?))
            }
            _ => return Err(self.unspecified()),
        })
    }

    /// What each item, an array, is; there is at least one.
    fn each<T>(&self, items: &[Json], each: impl Fn(&[Json]) -> SqlResult<T>) -> SqlResult<Vec<T>> {
        if items.is_empty() {
            return Err(self.unspecified());
        }
        let as_array = |item: &Json| match item {
            Json::Array(items) => each(items),
            _ => Err(self.wrong_type("coordinates", "array")),
        };
        items.iter().map(as_array).collect()
    }

    fn position(&self, coordinates: &[Json]) -> SqlResult<Coord<f64>> {
        let number = |item: &Json| match item {
            Json::Int(number) => Ok(*number as f64),
            Json::UInt(number) => Ok(*number as f64),
            Json::Double(number) => Ok(*number),
            Json::Decimal(number) => Ok(number.to_f64()),
            _ => Err(self.wrong_type("coordinates", "array of numbers")),
        };
        let [x, y, more @ ..] = coordinates else { return Err(self.unspecified()) };
        if !more.is_empty() && !self.strips_dimensions {
            return Err(SqlError::new(ErrorCode::DimensionUnsupported, &[&self.function, &coordinates.len(), &2]));
        }
        more.iter().try_for_each(|item| number(item).map(drop))?;
        Ok(Coord { x: number(x)?, y: number(y)? })
    }

    fn line(&self, coordinates: &[Json]) -> SqlResult<LineString<f64>> {
        let line = self.each(coordinates, |items| self.position(items))?;
        if line.len() < 2 { Err(self.unspecified()) } else { Ok(LineString(line)) }
    }

    fn polygon(&self, coordinates: &[Json]) -> SqlResult<Polygon<f64>> {
        let mut rings = self.each(coordinates, |items| self.line(items))?.into_iter();
        if rings.clone().any(|ring| ring.0.len() < 4 || ring.0.first() != ring.0.last()) {
            return Err(self.unspecified());
        }
        let exterior = rings.next().ok_or_else(|| self.unspecified())?;
        Ok(Polygon::new(exterior, rings.collect()))
    }
}

/// How a geometry is written.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// Digits behind the point.
    pub digits: u32,
    /// Whether the rectangle around it is written beside it.
    pub has_bounds: bool,
    /// The name of its spatial reference system.
    pub crs: Option<CrsName>,
}

/// How a spatial reference system is named.
#[derive(Clone, Copy, Debug)]
pub enum CrsName {
    /// `EPSG:4326`.
    Short(u32),
    /// `urn:ogc:def:crs:EPSG::4326`.
    Long(u32),
}

/// The document of a geometry.
pub fn encode(geometry: &Geometry<f64>, writing: Writing) -> Json {
    let rounded =
        geometry.map_coords(|coord| Coord { x: round(coord.x, writing.digits), y: round(coord.y, writing.digits) });
    object_of(&rounded, writing.has_bounds, writing.crs)
}

/// Digits of a DOUBLE beyond which nothing is rounded.
const DIGITS_MAX: u32 = 17;

fn round(number: f64, digits: u32) -> f64 {
    if digits >= DIGITS_MAX {
        return number;
    }
    let scale = 10f64.powi(digits as i32);
    let scaled = number * scale;
    if scaled.is_finite() { scaled.round() / scale } else { number }
}

fn position(coord: &Coord<f64>) -> Json {
    Json::Array(vec![Json::Double(coord.x), Json::Double(coord.y)])
}

fn line(line: &LineString<f64>) -> Json {
    Json::Array(line.0.iter().map(position).collect())
}

fn rings(polygon: &Polygon<f64>) -> Json {
    Json::Array(std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(line).collect())
}

fn object_of(geometry: &Geometry<f64>, has_bounds: bool, crs: Option<CrsName>) -> Json {
    let (kind, coordinates) = match geometry {
        Geometry::Point(point) => ("Point", position(&point.0)),
        Geometry::Line(straight) => ("LineString", line(&LineString(vec![straight.start, straight.end]))),
        Geometry::LineString(coords) => ("LineString", line(coords)),
        Geometry::Polygon(polygon) => ("Polygon", rings(polygon)),
        Geometry::Rect(rect) => ("Polygon", rings(&rect.to_polygon())),
        Geometry::Triangle(triangle) => ("Polygon", rings(&triangle.to_polygon())),
        Geometry::MultiPoint(points) => {
            ("MultiPoint", Json::Array(points.0.iter().map(|point| position(&point.0)).collect()))
        }
        Geometry::MultiLineString(lines) => ("MultiLineString", Json::Array(lines.0.iter().map(line).collect())),
        Geometry::MultiPolygon(polygons) => ("MultiPolygon", Json::Array(polygons.0.iter().map(rings).collect())),
        Geometry::GeometryCollection(collection) => {
            let parts = collection.0.iter().map(|part| object_of(part, has_bounds, None));
            ("GeometryCollection", Json::Array(parts.collect()))
        }
    };
    let name = if matches!(geometry, Geometry::GeometryCollection(_)) { "geometries" } else { "coordinates" };
    let text = |text: &str| Json::String(text.to_string());
    let mut members = vec![("type".to_string(), text(kind)), (name.to_string(), coordinates)];
    if let Some(crs) = crs {
        let name = match crs {
            CrsName::Short(srid) => format!("EPSG:{srid}"),
            CrsName::Long(srid) => format!("urn:ogc:def:crs:EPSG::{srid}"),
        };
        let properties = Object::from_members(vec![("name".to_string(), Json::String(name))]);
        let crs = vec![("type".to_string(), text("name")), ("properties".to_string(), Json::Object(properties))];
        members.push(("crs".to_string(), Json::Object(Object::from_members(crs))));
    }
    if let Some(bounds) = parts::bounds(geometry).filter(|_| has_bounds) {
        let numbers = [bounds.min().x, bounds.min().y, bounds.max().x, bounds.max().y];
        members.push(("bbox".to_string(), Json::Array(numbers.map(Json::Double).to_vec())));
    }
    Json::Object(Object::from_members(members))
}
