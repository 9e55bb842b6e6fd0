//! Data types.

use super::*;

impl Parser<'_> {
    pub(crate) fn data_type(&mut self) -> Result<DataType> {
        if let Some(kind) = integer_kind(self.keyword()) {
            self.advance();
            let width = self.optional_width()?;
            return Ok(DataType::Integer { kind, width, sign: self.numeric_sign() });
        }
        let token = self.current;
        let keyword = token.keyword;
        if token.kind == TokenKind::QuotedIdent || keyword == K::None {
            return self.named_type().map(|(name, parameters)| DataType::Named { name, parameters });
        }
        self.advance();
        Ok(match keyword {
            K::Bool | K::Boolean => DataType::Boolean,
            K::Serial => DataType::Serial,
            K::Decimal | K::Numeric | K::Dec | K::Fixed => {
                let (precision, scale) = self.precision()?;
                DataType::Decimal { precision, scale, sign: self.numeric_sign() }
            }
            K::Float | K::Float4 => {
                let (precision, scale) = self.precision()?;
                DataType::Float { precision, scale, sign: self.numeric_sign() }
            }
            K::Double | K::Float8 | K::Real => self.double_type(keyword)?,
            K::Bit => DataType::Bit { width: self.optional_width()? },
            K::Char | K::Character => {
                if self.accept(K::Varying) {
                    self.varchar(None)?
                } else {
                    self.char(None)?
                }
            }
            K::Varchar | K::Varcharacter => self.varchar(None)?,
            K::Nchar | K::Nvarchar | K::National => self.national_type(keyword)?,
            K::Tinytext => self.text_type(LobSize::Tiny)?,
            K::Text => self.text_type(LobSize::Plain)?,
            K::Mediumtext => self.text_type(LobSize::Medium)?,
            K::Longtext => self.text_type(LobSize::Long)?,
            K::Long => self.long_type()?,
            K::Binary => DataType::Binary { length: self.optional_length()? },
            K::Varbinary => DataType::Varbinary { length: self.parenthesized_number()? },
            K::Tinyblob => DataType::Blob { size: LobSize::Tiny, length: None },
            K::Blob => DataType::Blob { size: LobSize::Plain, length: self.optional_length()? },
            K::Mediumblob => DataType::Blob { size: LobSize::Medium, length: None },
            K::Longblob => DataType::Blob { size: LobSize::Long, length: None },
            K::Enum => {
                let values = self.parenthesized_list(Self::sql_string)?;
                DataType::Enum { values, characters: self.character_attributes()? }
            }
            K::Set => {
                let values = self.parenthesized_list(Self::sql_string)?;
                DataType::Set { values, characters: self.character_attributes()? }
            }
            K::Date => DataType::Date,
            K::Time => DataType::Time { fraction: self.optional_width()? },
            K::Datetime => DataType::DateTime { fraction: self.optional_width()? },
            K::Timestamp => DataType::Timestamp { fraction: self.optional_width()? },
            K::Year => {
                let width = self.optional_width()?;
                self.numeric_sign();
                DataType::Year { width }
            }
            K::Json => DataType::Json,
            K::Vector => DataType::Vector { dimensions: self.optional_width()? },
            _ => match geometry_kind(keyword) {
                Some(kind) => DataType::Geometry(kind),
                None if !keyword.is_reserved() => {
                    let name = self.ident_of(token)?;
                    DataType::Named { name, parameters: self.type_parameters()? }
                }
                None => return Err(self.syntax_error(token.start)),
            },
        })
    }

    /// The part behind NCHAR, NVARCHAR and NATIONAL: types whose character set is utf8mb3.
    fn national_type(&mut self, keyword: K) -> Result<DataType> {
        let varies = match keyword {
            K::Nchar => self.accept(K::Varchar) || self.accept(K::Varying),
            K::Nvarchar => true,
            _ => match self.expect_any(&[K::Char, K::Character, K::Varchar, K::Varcharacter])? {
                K::Char | K::Character => self.accept(K::Varying),
                _ => true,
            },
        };
        if varies { self.varchar(Some("utf8mb3")) } else { self.char(Some("utf8mb3")) }
    }

    /// The part behind DOUBLE, FLOAT8 and REAL.
    fn double_type(&mut self, keyword: K) -> Result<DataType> {
        if keyword == K::Double {
            self.accept(K::Precision);
        }
        let (precision, scale) = self.precision()?;
        let sign = self.numeric_sign();
        let is_float = keyword == K::Real && self.options.real_as_float;
        Ok(match is_float {
            true => DataType::Float { precision, scale, sign },
            false => DataType::Double { precision, scale, sign },
        })
    }

    /// The part behind LONG, which stands for types of medium size.
    fn long_type(&mut self) -> Result<DataType> {
        if self.accept(K::Varbinary) {
            return Ok(DataType::Blob { size: LobSize::Medium, length: None });
        }
        if self.accept(K::Char) || self.accept(K::Character) {
            self.expect(K::Varying)?;
        } else {
            let _ = self.accept(K::Varchar) || self.accept(K::Varcharacter);
        }
        let characters = self.character_attributes()?;
        Ok(DataType::Text { size: LobSize::Medium, length: None, characters })
    }

    /// A type known by name only, with numbers in parentheses.
    fn named_type(&mut self) -> Result<(Ident, Vec<u64>)> {
        let name = self.ident()?;
        Ok((name, self.type_parameters()?))
    }

    fn type_parameters(&mut self) -> Result<Vec<u64>> {
        if self.at_kind(TokenKind::LeftParen) { self.parenthesized_list(Self::unsigned) } else { Ok(Vec::new()) }
    }

    /// `UNSIGNED`, `SIGNED` and `ZEROFILL`, in any order.
    fn numeric_sign(&mut self) -> NumericSign {
        let mut sign = NumericSign::default();
        loop {
            if self.accept(K::Unsigned) {
                sign.unsigned = true;
            } else if self.accept(K::Zerofill) {
                sign.unsigned = true;
                sign.zerofill = true;
            } else if !self.accept(K::Signed) {
                return sign;
            }
        }
    }

    /// `(precision[, scale])` or nothing.
    fn precision(&mut self) -> Result<(Option<u32>, Option<u32>)> {
        if !self.accept_kind(TokenKind::LeftParen) {
            return Ok((None, None));
        }
        let precision = self.unsigned32()?;
        let scale = if self.accept_kind(TokenKind::Comma) { Some(self.unsigned32()?) } else { None };
        self.expect_kind(TokenKind::RightParen)?;
        Ok((Some(precision), scale))
    }

    fn char(&mut self, charset: Option<&str>) -> Result<DataType> {
        let length = self.optional_length()?;
        Ok(DataType::Char { length, characters: self.national_attributes(charset)? })
    }

    fn varchar(&mut self, charset: Option<&str>) -> Result<DataType> {
        let length = self.parenthesized_number()?;
        Ok(DataType::Varchar { length, characters: self.national_attributes(charset)? })
    }

    fn text_type(&mut self, size: LobSize) -> Result<DataType> {
        let length = if size == LobSize::Plain { self.optional_length()? } else { None };
        Ok(DataType::Text { size, length, characters: self.character_attributes()? })
    }

    fn national_attributes(&mut self, charset: Option<&str>) -> Result<CharacterAttributes> {
        let mut characters = self.character_attributes()?;
        if let Some(charset) = charset {
            characters.charset = Some(charset.into());
        }
        Ok(characters)
    }

    /// Whether `CHARACTER SET`, `CHAR SET` or `CHARSET` is here; passes it.
    pub(super) fn accept_charset_words(&mut self) -> Result<bool> {
        if self.accept(K::Charset) {
            return Ok(true);
        }
        if self.at_any(&[K::Character, K::Char]) && self.peek_is(1, K::Set) {
            self.advance();
            self.advance();
            return Ok(true);
        }
        Ok(false)
    }

    /// The attributes behind a character type. COLLATE is taken by the column's attributes as well.
    pub(super) fn character_attributes(&mut self) -> Result<CharacterAttributes> {
        let mut characters = CharacterAttributes::default();
        loop {
            if self.accept_charset_words()? {
                characters.charset = Some(self.charset_name()?);
            } else if self.accept(K::Binary) {
                characters.binary = true;
            } else if self.accept(K::Ascii) {
                characters.charset = Some("latin1".into());
            } else if self.accept(K::Unicode) {
                characters.charset = Some("ucs2".into());
            } else if self.accept(K::Byte) {
                characters.charset = Some("binary".into());
            } else if self.accept(K::Collate) {
                characters.collation = Some(self.collation_name()?);
            } else {
                return Ok(characters);
            }
        }
    }

    /// The target of CAST and CONVERT.
    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        let token = self.current;
        let keyword = token.keyword;
        if token.kind == TokenKind::QuotedIdent || keyword == K::None {
            return self.named_type().map(|(name, parameters)| CastType::Named { name, parameters });
        }
        self.advance();
        Ok(match keyword {
            K::Signed | K::Unsigned => {
                let _ = self.accept(K::Integer) || self.accept(K::Int);
                if keyword == K::Signed { CastType::Signed } else { CastType::Unsigned }
            }
            // MariaDB's names for the same.
            K::Int | K::Integer => CastType::Signed,
            K::Char | K::Character | K::Varchar => {
                let length = self.optional_length()?;
                CastType::Char { length, characters: self.character_attributes()? }
            }
            K::Nchar | K::National => {
                if keyword == K::National {
                    self.expect(K::Char)?;
                }
                let length = self.optional_length()?;
                CastType::Char { length, characters: self.national_attributes(Some("utf8mb3"))? }
            }
            K::Binary => CastType::Binary { length: self.optional_length()? },
            K::Decimal | K::Dec | K::Numeric => {
                let (precision, scale) = self.precision()?;
                CastType::Decimal { precision, scale }
            }
            K::Float => CastType::Float { precision: self.optional_width()? },
            K::Double => {
                self.accept(K::Precision);
                CastType::Double
            }
            K::Real => CastType::Real,
            K::Date => CastType::Date,
            K::Time => CastType::Time { fraction: self.optional_width()? },
            K::Datetime => CastType::DateTime { fraction: self.optional_width()? },
            K::Year => CastType::Year,
            K::Json => CastType::Json,
            _ => match geometry_kind(keyword) {
                Some(kind) => CastType::Geometry(kind),
                None if !keyword.is_reserved() => {
                    let name = self.ident_of(token)?;
                    CastType::Named { name, parameters: self.type_parameters()? }
                }
                None => return Err(self.syntax_error(token.start)),
            },
        })
    }
}

fn geometry_kind(keyword: K) -> Option<GeometryKind> {
    Some(match keyword {
        K::Geometry => GeometryKind::Geometry,
        K::Point => GeometryKind::Point,
        K::Linestring => GeometryKind::LineString,
        K::Polygon => GeometryKind::Polygon,
        K::Multipoint => GeometryKind::MultiPoint,
        K::Multilinestring => GeometryKind::MultiLineString,
        K::Multipolygon => GeometryKind::MultiPolygon,
        K::Geometrycollection | K::Geomcollection => GeometryKind::GeometryCollection,
        _ => return None,
    })
}

fn integer_kind(keyword: K) -> Option<IntegerKind> {
    Some(match keyword {
        K::Tinyint | K::Int1 => IntegerKind::TinyInt,
        K::Smallint | K::Int2 => IntegerKind::SmallInt,
        K::Mediumint | K::Middleint | K::Int3 => IntegerKind::MediumInt,
        K::Int | K::Integer | K::Int4 => IntegerKind::Int,
        K::Bigint | K::Int8 => IntegerKind::BigInt,
        _ => return None,
    })
}
