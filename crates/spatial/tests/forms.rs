//! Geometries written in any form are read back equal, and no input causes a panic.

use geo::{
    Area, Coord, Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
};
use proptest::collection::vec;
use proptest::prelude::*;
use squall_spatial::geojson::{self, Reading, Writing};
use squall_spatial::overlay::{Operation, overlay};
use squall_spatial::plane::Plane;
use squall_spatial::relation::{Relation, relates};
use squall_spatial::{SpatialValue, buffer, cells, geohash, shape, valid, wkb, wkt};
use squall_types::geometry::geometry_of_bytes;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![(-1000i32..1000).prop_map(f64::from), any::<f64>().prop_filter("finite", |number| number.is_finite())]
}

fn coord() -> impl Strategy<Value = Coord<f64>> {
    (number(), number()).prop_map(|(x, y)| Coord { x, y })
}

fn line() -> impl Strategy<Value = LineString<f64>> {
    vec(coord(), 2..6).prop_map(LineString)
}

fn polygon() -> impl Strategy<Value = Polygon<f64>> {
    let ring = vec(coord(), 3..6).prop_map(|mut coords| {
        coords.push(coords[0]);
        LineString(coords)
    });
    vec(ring, 1..3).prop_map(|mut rings| Polygon::new(rings.remove(0), rings))
}

fn geometry() -> impl Strategy<Value = Geometry<f64>> {
    let leaf = prop_oneof![
        coord().prop_map(|coord| Geometry::Point(Point(coord))),
        line().prop_map(Geometry::LineString),
        polygon().prop_map(Geometry::Polygon),
        vec(coord().prop_map(Point), 1..4).prop_map(|points| Geometry::MultiPoint(MultiPoint(points))),
        vec(line(), 1..4).prop_map(|lines| Geometry::MultiLineString(MultiLineString(lines))),
        vec(polygon(), 1..3).prop_map(|polygons| Geometry::MultiPolygon(MultiPolygon(polygons))),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        vec(inner, 0..4).prop_map(|parts| Geometry::GeometryCollection(GeometryCollection(parts)))
    })
}

/// A triangle of small whole numbers, which has an area.
fn triangle() -> impl Strategy<Value = Geometry<f64>> {
    let corner = || (-20i32..20, -20i32..20).prop_map(|(x, y)| Coord { x: f64::from(x), y: f64::from(y) });
    (corner(), corner(), corner())
        .prop_map(|(a, b, c)| Polygon::new(LineString(vec![a, b, c, a]), Vec::new()))
        .prop_filter("an area", |polygon| polygon.unsigned_area() > 0.5)
        .prop_map(Geometry::Polygon)
}

proptest! {
    #[test]
    fn geometries_come_back_from_text_bytes_and_geojson(geometry in geometry(), srid in any::<u32>()) {
        let value = SpatialValue { srid, geometry };
        prop_assert_eq!(wkt::parse(&wkt::print(&value.geometry)), Some(value.geometry.clone()));
        let bytes = value.encode();
        prop_assert_eq!(geometry_of_bytes(&bytes), Some((srid, value.kind())));
        prop_assert_eq!(wkb::decode(&bytes[4..]), Some(value.geometry.clone()));
        let document = geojson::encode(&value.geometry, Writing { digits: 20, has_bounds: true, crs: None });
        let reading = Reading { strips_dimensions: false, srid: Some(srid), function: "f" };
        prop_assert_eq!(geojson::decode(&document, reading).ok(), Some(Some((srid, value.geometry.clone()))));
        prop_assert_eq!(SpatialValue::decode(&bytes), Some(value));
    }

    #[test]
    fn bytes_are_a_geometry_for_the_store_and_for_functions_alike(mut bytes in vec(any::<u8>(), 0..80), geometry in geometry(), at in any::<usize>(), byte in any::<u8>()) {
        prop_assert_eq!(SpatialValue::decode(&bytes).is_some(), geometry_of_bytes(&bytes).is_some());
        bytes = SpatialValue { srid: 0, geometry }.encode();
        let at = at % bytes.len();
        bytes[at] = byte;
        prop_assert_eq!(SpatialValue::decode(&bytes).is_some(), geometry_of_bytes(&bytes).is_some());
        bytes.truncate(at);
        prop_assert!(SpatialValue::decode(&bytes).is_none());
    }

    #[test]
    fn no_text_makes_a_panic(text in "[-A-Z0-9(),. eE]{0,60}", hash in "[0-9a-z]{0,20}") {
        wkt::parse(&text);
        wkt::parse(&format!("GEOMETRYCOLLECTION({text}"));
        geohash::decode(&hash);
    }

    #[test]
    fn anything_can_be_asked_of_any_geometry(first in geometry(), second in geometry()) {
        for geometry in [&first, &second] {
            shape::envelope(geometry);
            shape::centroid(geometry);
            shape::convex_hull(geometry);
            shape::simplified(geometry, 1.0);
            let _ = valid::is_valid(geometry, "f");
            let _ = valid::is_simple(geometry, "f");
        }
        let _ = relates(Relation::Intersects, &first, &second, "f");
    }

    #[test]
    fn areas_add_up(first in triangle(), second in triangle()) {
        let area = |operation| overlay(operation, &first, &second, "f").map(|result| result.unsigned_area());
        let (both, either) = (area(Operation::Intersection), area(Operation::Union));
        let (one, other) = (area(Operation::Difference), area(Operation::SymDifference));
        let (Ok(both), Ok(either), Ok(one), Ok(other)) = (both, either, one, other) else { panic!("an error") };
        prop_assert!((both + either - first.unsigned_area() - second.unsigned_area()).abs() < 1e-3);
        prop_assert!((one + both - first.unsigned_area()).abs() < 1e-3);
        prop_assert!((other + both - either).abs() < 1e-3);
        let wide = buffer::buffered(&first, 1.0, buffer::Strategies::default(), "f");
        prop_assert!(wide.is_ok_and(|wide| wide.unsigned_area() > first.unsigned_area()));
    }

    #[test]
    fn a_search_has_a_cell_of_each_geometry_that_its_rectangle_meets(first in geometry(), second in geometry(), small in triangle(), other in triangle()) {
        for (first, second) in [(first, second), (small, other)] {
            let meet = relates(Relation::Intersects, &shape::envelope(&first), &shape::envelope(&second), "f");
            let [first, second] = [first, second].map(|geometry| SpatialValue { srid: 0, geometry });
            let (filed, searched) = (cells::of_geometry(&first), cells::of_search(&second));
            prop_assert!(filed.len() <= 64 && searched.len() <= 200);
            if meet == Ok(true) {
                prop_assert!(filed.iter().any(|cell| searched.contains(cell)));
            }
        }
    }

    #[test]
    fn the_plane_gives_positions_back(longitude in -180.0f64..180.0, latitude in -89.0f64..89.0) {
        let point = Geometry::Point(Point::new(longitude, latitude));
        let mut plane = Plane::of(&[&point], "f").expect("one point fits");
        let flat = plane.project(&point);
        let Geometry::Point(back) = plane.unproject(&flat) else { panic!("no point") };
        prop_assert!((back.x() - longitude).abs() < 1e-9 && (back.y() - latitude).abs() < 1e-9);
        plane.remember(&point, &flat);
        prop_assert_eq!(plane.unproject(&flat), point);
    }
}
