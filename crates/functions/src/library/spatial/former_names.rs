//! Names of spatial functions before MySQL 8.0 and in MariaDB. They are not reserved: a stored function may have one, and goes first.
//!
//! Names with different results in MySQL 5.7 and MariaDB are left out (Contains, Equals, Overlaps, Within).

/// Former name and today's, in upper case and sorted by the former.
const FORMER: &[(&str, &str)] = &[
    ("AREA", "ST_AREA"),
    ("ASBINARY", "ST_ASBINARY"),
    ("ASTEXT", "ST_ASTEXT"),
    ("ASWKB", "ST_ASWKB"),
    ("ASWKT", "ST_ASWKT"),
    ("BUFFER", "ST_BUFFER"),
    ("CENTROID", "ST_CENTROID"),
    ("CONVEXHULL", "ST_CONVEXHULL"),
    ("CROSSES", "ST_CROSSES"),
    ("DIMENSION", "ST_DIMENSION"),
    ("DISJOINT", "MBRDISJOINT"),
    ("ENDPOINT", "ST_ENDPOINT"),
    ("ENVELOPE", "ST_ENVELOPE"),
    ("EXTERIORRING", "ST_EXTERIORRING"),
    ("GEOMCOLLFROMTEXT", "ST_GEOMCOLLFROMTEXT"),
    ("GEOMCOLLFROMWKB", "ST_GEOMCOLLFROMWKB"),
    ("GEOMETRYCOLLECTIONFROMTEXT", "ST_GEOMETRYCOLLECTIONFROMTEXT"),
    ("GEOMETRYCOLLECTIONFROMWKB", "ST_GEOMETRYCOLLECTIONFROMWKB"),
    ("GEOMETRYFROMTEXT", "ST_GEOMETRYFROMTEXT"),
    ("GEOMETRYFROMWKB", "ST_GEOMETRYFROMWKB"),
    ("GEOMETRYN", "ST_GEOMETRYN"),
    ("GEOMETRYTYPE", "ST_GEOMETRYTYPE"),
    ("GEOMFROMTEXT", "ST_GEOMFROMTEXT"),
    ("GEOMFROMWKB", "ST_GEOMFROMWKB"),
    ("GLENGTH", "ST_LENGTH"),
    ("INTERIORRINGN", "ST_INTERIORRINGN"),
    ("INTERSECTS", "MBRINTERSECTS"),
    ("ISCLOSED", "ST_ISCLOSED"),
    ("ISEMPTY", "ST_ISEMPTY"),
    ("ISSIMPLE", "ST_ISSIMPLE"),
    ("LINEFROMTEXT", "ST_LINEFROMTEXT"),
    ("LINEFROMWKB", "ST_LINEFROMWKB"),
    ("LINESTRINGFROMTEXT", "ST_LINESTRINGFROMTEXT"),
    ("LINESTRINGFROMWKB", "ST_LINESTRINGFROMWKB"),
    ("MBREQUAL", "MBREQUALS"),
    ("MLINEFROMTEXT", "ST_MLINEFROMTEXT"),
    ("MLINEFROMWKB", "ST_MLINEFROMWKB"),
    ("MPOINTFROMTEXT", "ST_MPOINTFROMTEXT"),
    ("MPOINTFROMWKB", "ST_MPOINTFROMWKB"),
    ("MPOLYFROMTEXT", "ST_MPOLYFROMTEXT"),
    ("MPOLYFROMWKB", "ST_MPOLYFROMWKB"),
    ("MULTILINESTRINGFROMTEXT", "ST_MULTILINESTRINGFROMTEXT"),
    ("MULTILINESTRINGFROMWKB", "ST_MULTILINESTRINGFROMWKB"),
    ("MULTIPOINTFROMTEXT", "ST_MULTIPOINTFROMTEXT"),
    ("MULTIPOINTFROMWKB", "ST_MULTIPOINTFROMWKB"),
    ("MULTIPOLYGONFROMTEXT", "ST_MULTIPOLYGONFROMTEXT"),
    ("MULTIPOLYGONFROMWKB", "ST_MULTIPOLYGONFROMWKB"),
    ("NUMGEOMETRIES", "ST_NUMGEOMETRIES"),
    ("NUMINTERIORRINGS", "ST_NUMINTERIORRINGS"),
    ("NUMPOINTS", "ST_NUMPOINTS"),
    ("POINTFROMTEXT", "ST_POINTFROMTEXT"),
    ("POINTFROMWKB", "ST_POINTFROMWKB"),
    ("POINTN", "ST_POINTN"),
    ("POLYFROMTEXT", "ST_POLYFROMTEXT"),
    ("POLYFROMWKB", "ST_POLYFROMWKB"),
    ("POLYGONFROMTEXT", "ST_POLYGONFROMTEXT"),
    ("POLYGONFROMWKB", "ST_POLYGONFROMWKB"),
    ("SRID", "ST_SRID"),
    ("STARTPOINT", "ST_STARTPOINT"),
    ("TOUCHES", "ST_TOUCHES"),
    ("X", "ST_X"),
    ("Y", "ST_Y"),
];

/// Today's name of a spatial function by its former one, both in upper case.
pub fn current_name(former: &str) -> Option<&'static str> {
    FORMER.binary_search_by(|(name, _)| (*name).cmp(former)).ok().map(|at| FORMER[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_are_sorted() {
        assert!(FORMER.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(current_name("GLENGTH"), Some("ST_LENGTH"));
        assert_eq!(current_name("CONTAINS"), None);
    }
}
