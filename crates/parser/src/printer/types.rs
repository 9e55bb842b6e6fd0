//! Data types.

use super::*;

impl Printer {
    pub(super) fn data_type(&mut self, data_type: &DataType) {
        match data_type {
            DataType::Integer { kind, width, sign } => {
                self.put(match kind {
                    IntegerKind::TinyInt => "tinyint",
                    IntegerKind::SmallInt => "smallint",
                    IntegerKind::MediumInt => "mediumint",
                    IntegerKind::Int => "int",
                    IntegerKind::BigInt => "bigint",
                });
                self.length(*width);
                self.sign(*sign);
            }
            DataType::Boolean => self.put("boolean"),
            DataType::Serial => self.put("serial"),
            DataType::Decimal { precision, scale, sign } => self.numeric("decimal", *precision, *scale, *sign),
            DataType::Float { precision, scale, sign } => self.numeric("float", *precision, *scale, *sign),
            DataType::Double { precision, scale, sign } => self.numeric("double", *precision, *scale, *sign),
            DataType::Bit { width } => self.sized("bit", *width),
            DataType::Char { length, characters } => self.character_type("char", *length, characters),
            DataType::Varchar { length, characters } => self.character_type("varchar", Some(*length), characters),
            DataType::Text { size, length, characters } => {
                self.put(match size {
                    LobSize::Tiny => "tinytext",
                    LobSize::Plain => "text",
                    LobSize::Medium => "mediumtext",
                    LobSize::Long => "longtext",
                });
                self.length(*length);
                self.characters(characters);
            }
            DataType::Binary { length } => self.sized("binary", *length),
            DataType::Varbinary { length } => self.sized("varbinary", Some(*length)),
            DataType::Blob { size, length } => {
                self.put(match size {
                    LobSize::Tiny => "tinyblob",
                    LobSize::Plain => "blob",
                    LobSize::Medium => "mediumblob",
                    LobSize::Long => "longblob",
                });
                self.length(*length);
            }
            DataType::Enum { values, characters } => self.type_of_members("enum", values, characters),
            DataType::Set { values, characters } => self.type_of_members("set", values, characters),
            DataType::Date => self.put("date"),
            DataType::Time { fraction } => self.sized("time", *fraction),
            DataType::DateTime { fraction } => self.sized("datetime", *fraction),
            DataType::Timestamp { fraction } => self.sized("timestamp", *fraction),
            DataType::Year { width } => self.sized("year", *width),
            DataType::Json => self.put("json"),
            DataType::Geometry(kind) => self.put(geometry(*kind)),
            DataType::Vector { dimensions } => self.sized("vector", *dimensions),
            DataType::Named { name, parameters } => self.named_type(name, parameters),
        }
    }

    pub(super) fn cast_type(&mut self, target: &CastType) {
        match target {
            CastType::Signed => self.put("signed"),
            CastType::Unsigned => self.put("unsigned"),
            CastType::Char { length, characters } => self.character_type("char", *length, characters),
            CastType::Binary { length } => self.sized("binary", *length),
            CastType::Decimal { precision, scale } => {
                self.numeric("decimal", *precision, *scale, NumericSign::default());
            }
            CastType::Float { precision } => self.sized("float", *precision),
            CastType::Double => self.put("double"),
            CastType::Real => self.put("real"),
            CastType::Date => self.put("date"),
            CastType::Time { fraction } => self.sized("time", *fraction),
            CastType::DateTime { fraction } => self.sized("datetime", *fraction),
            CastType::Year => self.put("year"),
            CastType::Json => self.put("json"),
            CastType::Geometry(kind) => self.put(geometry(*kind)),
            CastType::Named { name, parameters } => self.named_type(name, parameters),
        }
    }

    /// A type with `(length)`, if there is one.
    fn sized(&mut self, name: &str, length: Option<impl std::fmt::Display>) {
        self.put(name);
        self.length(length);
    }

    fn character_type(&mut self, name: &str, length: Option<impl std::fmt::Display>, characters: &CharacterAttributes) {
        self.sized(name, length);
        self.characters(characters);
    }

    /// ENUM or SET.
    fn type_of_members(&mut self, name: &str, members: &[SqlString], characters: &CharacterAttributes) {
        self.put(name);
        self.paren_list(members, Self::sql_string);
        self.characters(characters);
    }

    /// `(length)` if there is one.
    fn length(&mut self, length: Option<impl std::fmt::Display>) {
        if let Some(length) = length {
            self.put("(");
            self.number(length);
            self.put(")");
        }
    }

    fn numeric(&mut self, name: &str, precision: Option<u32>, scale: Option<u32>, sign: NumericSign) {
        self.put(name);
        if let Some(precision) = precision {
            self.put("(");
            self.number(precision);
            if let Some(scale) = scale {
                self.put(",");
                self.number(scale);
            }
            self.put(")");
        }
        self.sign(sign);
    }

    fn sign(&mut self, sign: NumericSign) {
        self.put_if(sign.unsigned, " unsigned");
        self.put_if(sign.zerofill, " zerofill");
    }

    fn characters(&mut self, characters: &CharacterAttributes) {
        if let Some(charset) = &characters.charset {
            self.put(" character set ");
            self.name_or_string(charset);
        }
        self.put_if(characters.binary, " binary");
        if let Some(collation) = &characters.collation {
            self.put(" collate ");
            self.name_or_string(collation);
        }
    }

    fn named_type(&mut self, name: &Ident, parameters: &[u64]) {
        self.ident(name);
        if !parameters.is_empty() {
            self.paren_list(parameters, |printer, parameter| printer.number(parameter));
        }
    }
}

fn geometry(kind: GeometryKind) -> &'static str {
    match kind {
        GeometryKind::Geometry => "geometry",
        GeometryKind::Point => "point",
        GeometryKind::LineString => "linestring",
        GeometryKind::Polygon => "polygon",
        GeometryKind::MultiPoint => "multipoint",
        GeometryKind::MultiLineString => "multilinestring",
        GeometryKind::MultiPolygon => "multipolygon",
        GeometryKind::GeometryCollection => "geometrycollection",
    }
}
