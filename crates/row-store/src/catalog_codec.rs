//! Catalog objects as records. Every record begins with its version; decoding never panics.

use crate::bytes::{Malformed, Reader, Writer};
use crate::partition_codec::{read_partitioning, write_partitioning};
use crate::trigger_codec::{read_trigger, write_trigger};
use crate::value_codec::{read_value, write_value};
use squall_catalog::{
    ColumnDef, ColumnDefault, ColumnId, ConstraintCheck, DatabaseId, EngineName, ForeignKey, FunctionalPart,
    GeneratedKind, IndexDef, IndexId, IndexPart, IndexType, ReferencedColumns, ReferentialAction, TableDef, TableId,
    VectorGraph, ViewDef,
};
use squall_types::hex::HEX_DIGITS_MAX;
use squall_types::vector::Metric;
use squall_types::{CollationId, GeometryKind, GeometryType, IntWidth, SqlType, StringKind, TextSize};
use std::sync::Arc;

const VERSION: u8 = 1;

/// Records of tables. Version 1 has the referenced columns of foreign keys by name, version 2 does not say which keys were generated,
/// version 3 has no triggers, version 4 no partitions.
const TABLE_VERSION: u8 = 5;

/// How a foreign key has its referenced columns.
const REFERENCED_NAMES: u8 = 0;
const REFERENCED_IDS: u8 = 1;

/// What stands in place of a generated column's STORED for the hidden columns of functional key parts.
const FUNCTIONAL_VALUE: u8 = 2;
const FUNCTIONAL_ELEMENTS: u8 = 3;
const FUNCTIONAL_CELLS: u8 = 4;

type Decoded<T> = Result<T, Malformed>;

fn versioned(record: &[u8]) -> Decoded<Reader<'_>> {
    let mut reader = Reader::new(record);
    if reader.u8()? == VERSION { Ok(reader) } else { Err(Malformed) }
}

/// Catalog version and the next ids.
pub(crate) struct Counters {
    pub version: u64,
    pub next_database_id: u32,
    pub next_table_id: u32,
}

impl Counters {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new(VERSION);
        out.uint(self.version);
        out.uint(u64::from(self.next_database_id));
        out.uint(u64::from(self.next_table_id));
        out.finish()
    }

    pub fn decode(record: &[u8]) -> Decoded<Counters> {
        let mut reader = versioned(record)?;
        Ok(Counters { version: reader.uint()?, next_database_id: reader.u32()?, next_table_id: reader.u32()? })
    }
}

pub(crate) fn encode_database(name: &str, collation: CollationId) -> Vec<u8> {
    let mut out = Writer::new(VERSION);
    out.str(name);
    out.uint(u64::from(collation.0));
    out.finish()
}

pub(crate) fn decode_database(record: &[u8]) -> Decoded<(String, CollationId)> {
    let mut reader = versioned(record)?;
    Ok((reader.string()?, collation(&mut reader)?))
}

pub(crate) fn encode_view(view: &ViewDef) -> Vec<u8> {
    let mut out = Writer::new(VERSION);
    out.str(&view.name);
    out.str(&view.query);
    out.list(&view.columns, |out, column| out.str(column));
    out.str(&view.algorithm);
    out.str(&view.definer);
    out.bool(view.security_invoker);
    out.str(&view.check_option);
    out.uint(view.sql_mode);
    out.finish()
}

pub(crate) fn decode_view(record: &[u8]) -> Decoded<ViewDef> {
    let mut reader = versioned(record)?;
    Ok(ViewDef {
        name: reader.string()?,
        query: reader.string()?,
        columns: reader.list(Reader::string)?,
        algorithm: reader.string()?,
        definer: reader.string()?,
        security_invoker: reader.bool()?,
        check_option: reader.string()?,
        sql_mode: reader.uint()?,
    })
}

pub(crate) fn encode_table(database: DatabaseId, table: &TableDef) -> Vec<u8> {
    let mut out = Writer::new(TABLE_VERSION);
    out.uint(u64::from(database.0));
    out.uint(u64::from(table.id.0));
    out.str(&table.name);
    out.uint(table.version);
    out.list(&table.columns, write_column);
    out.list(&table.indexes, write_index);
    out.list(&table.checks, |out, check| {
        out.str(&check.name);
        out.str(&check.expression);
        out.bool(check.enforced);
    });
    out.list(&table.foreign_keys, write_foreign_key);
    out.uint(u64::from(table.collation.0));
    out.str(&table.comment);
    out.str(table.engine.as_str());
    out.uint(table.auto_increment_start);
    out.list(&table.options, |out, (name, value)| {
        out.str(name);
        out.str(value);
    });
    out.uint(u64::from(table.next_column_id));
    out.uint(u64::from(table.next_index_id));
    out.i64(table.created_micros);
    out.bool(table.temporary);
    out.list(&table.triggers, write_trigger);
    out.option(table.partitioning.as_deref(), write_partitioning);
    out.finish()
}

pub(crate) fn decode_table(record: &[u8]) -> Decoded<(DatabaseId, TableDef)> {
    let reader = &mut Reader::new(record);
    let version = reader.u8()?;
    if !(1..=TABLE_VERSION).contains(&version) {
        return Err(Malformed);
    }
    let database = DatabaseId(reader.u32()?);
    let mut table = TableDef {
        id: TableId(reader.u32()?),
        name: reader.string()?,
        version: reader.uint()?,
        columns: reader.list(read_column)?,
        indexes: reader.list(|reader| read_index(reader, version))?,
        checks: reader.list(|reader| {
            Ok(ConstraintCheck { name: reader.string()?, expression: reader.string()?, enforced: reader.bool()? })
        })?,
        foreign_keys: reader.list(|reader| read_foreign_key(reader, version))?,
        triggers: Vec::new(),
        partitioning: None,
        collation: collation(reader)?,
        comment: reader.string()?,
        engine: EngineName::from(reader.string()?),
        auto_increment_start: reader.uint()?,
        options: reader.list(|reader| Ok((reader.string()?, reader.string()?)))?,
        next_column_id: reader.u32()?,
        next_index_id: reader.u32()?,
        created_micros: reader.i64()?,
        temporary: reader.bool()?,
    };
    if version >= 4 {
        table.triggers = reader.list(read_trigger)?;
    }
    if version >= 5 {
        table.partitioning = reader.option(read_partitioning)?.map(Box::new);
    }
    Ok((database, table))
}

fn write_column(out: &mut Writer, column: &ColumnDef) {
    out.uint(u64::from(column.id.0));
    out.str(&column.name);
    write_type(out, &column.sql_type);
    out.bool(column.nullable);
    match &column.default {
        ColumnDefault::None => out.u8(0),
        ColumnDefault::Literal(value) => {
            out.u8(1);
            write_value(out, value);
        }
        ColumnDefault::Now => out.u8(2),
        ColumnDefault::Expression(text) => {
            out.u8(3);
            out.str(text);
        }
    }
    out.bool(column.on_update_now);
    out.bool(column.auto_increment);
    out.option(column.generated.as_ref(), |out, generated| {
        out.str(&generated.expression);
        match &generated.key_part {
            None => out.bool(generated.stored),
            Some(FunctionalPart::Value(collation)) => {
                out.u8(FUNCTIONAL_VALUE);
                out.uint(u64::from(collation.0));
            }
            Some(FunctionalPart::Elements(element)) => {
                out.u8(FUNCTIONAL_ELEMENTS);
                write_type(out, element);
            }
            Some(FunctionalPart::Cells(column)) => {
                out.u8(FUNCTIONAL_CELLS);
                out.uint(u64::from(column.0));
            }
        }
    });
    out.bool(column.invisible);
    out.str(&column.comment);
    write_value(out, &column.value_for_older_rows);
}

fn read_column(reader: &mut Reader<'_>) -> Decoded<ColumnDef> {
    Ok(ColumnDef {
        id: ColumnId(reader.u32()?),
        name: reader.string()?,
        sql_type: read_type(reader)?,
        nullable: reader.bool()?,
        default: match reader.u8()? {
            0 => ColumnDefault::None,
            1 => ColumnDefault::Literal(read_value(reader)?),
            2 => ColumnDefault::Now,
            3 => ColumnDefault::Expression(reader.string()?),
            _ => return Err(Malformed),
        },
        on_update_now: reader.bool()?,
        auto_increment: reader.bool()?,
        generated: reader.option(read_generated)?,
        invisible: reader.bool()?,
        comment: reader.string()?,
        value_for_older_rows: read_value(reader)?,
    })
}

fn read_generated(reader: &mut Reader<'_>) -> Decoded<GeneratedKind> {
    let expression = reader.string()?;
    let (stored, key_part) = match reader.u8()? {
        stored @ (0 | 1) => (stored == 1, None),
        FUNCTIONAL_VALUE => (true, Some(FunctionalPart::Value(collation(reader)?))),
        FUNCTIONAL_ELEMENTS => (true, Some(FunctionalPart::Elements(read_type(reader)?))),
        FUNCTIONAL_CELLS => (true, Some(FunctionalPart::Cells(ColumnId(reader.u32()?)))),
        _ => return Err(Malformed),
    };
    Ok(GeneratedKind { expression, stored, key_part })
}

fn write_index(out: &mut Writer, index: &IndexDef) {
    out.uint(u64::from(index.id.0));
    out.str(&index.name);
    out.list(&index.parts, |out, part| {
        out.uint(u64::from(part.column.0));
        out.option(part.prefix, |out, prefix| out.uint(u64::from(prefix)));
        out.bool(part.descending);
    });
    out.bool(index.unique);
    out.bool(index.primary);
    out.bool(index.invisible);
    out.str(&index.comment);
    out.str(index.index_type.name());
    if let Some(graph) = index.vector_graph() {
        out.str(graph.metric.name());
        out.u8(graph.links);
    }
    out.bool(index.generated);
}

fn read_index(reader: &mut Reader<'_>, version: u8) -> Decoded<IndexDef> {
    Ok(IndexDef {
        id: IndexId(reader.u32()?),
        name: reader.string()?,
        parts: reader.list(|reader| {
            Ok(IndexPart {
                column: ColumnId(reader.u32()?),
                prefix: reader.option(Reader::u32)?,
                descending: reader.bool()?,
            })
        })?,
        unique: reader.bool()?,
        primary: reader.bool()?,
        invisible: reader.bool()?,
        comment: reader.string()?,
        index_type: index_type(reader)?,
        generated: version >= 3 && reader.bool()?,
    })
}

fn index_type(reader: &mut Reader<'_>) -> Decoded<IndexType> {
    match IndexType::of_name(&reader.string()?).ok_or(Malformed)? {
        IndexType::Vector(_) => {
            let metric = Metric::of_name(&reader.string()?).ok_or(Malformed)?;
            Ok(IndexType::Vector(VectorGraph { metric, links: reader.u8()? }))
        }
        index_type => Ok(index_type),
    }
}

fn write_foreign_key(out: &mut Writer, key: &ForeignKey) {
    out.str(&key.name);
    out.list(&key.columns, |out, column| out.uint(u64::from(column.0)));
    out.str(&key.parent_database);
    out.str(&key.parent_table);
    match &key.parent_columns {
        ReferencedColumns::Names(names) => {
            out.u8(REFERENCED_NAMES);
            out.list(names, |out, column| out.str(column));
        }
        ReferencedColumns::Ids(ids) => {
            out.u8(REFERENCED_IDS);
            out.list(ids, |out, column| out.uint(u64::from(column.0)));
        }
    }
    for action in [key.on_delete, key.on_update] {
        out.u8(match action {
            ReferentialAction::Restrict => 0,
            ReferentialAction::NoAction => 1,
            ReferentialAction::Cascade => 2,
            ReferentialAction::SetNull => 3,
        });
    }
}

fn read_foreign_key(reader: &mut Reader<'_>, version: u8) -> Decoded<ForeignKey> {
    fn action(reader: &mut Reader<'_>) -> Decoded<ReferentialAction> {
        Ok(match reader.u8()? {
            0 => ReferentialAction::Restrict,
            1 => ReferentialAction::NoAction,
            2 => ReferentialAction::Cascade,
            3 => ReferentialAction::SetNull,
            _ => return Err(Malformed),
        })
    }
    Ok(ForeignKey {
        name: reader.string()?,
        columns: reader.list(|reader| Ok(ColumnId(reader.u32()?)))?,
        parent_database: reader.string()?,
        parent_table: reader.string()?,
        parent_columns: read_referenced_columns(reader, version)?,
        on_delete: action(reader)?,
        on_update: action(reader)?,
    })
}

fn read_referenced_columns(reader: &mut Reader<'_>, version: u8) -> Decoded<ReferencedColumns> {
    let kind = if version == 1 { REFERENCED_NAMES } else { reader.u8()? };
    Ok(match kind {
        REFERENCED_NAMES => ReferencedColumns::Names(reader.list(Reader::string)?),
        REFERENCED_IDS => ReferencedColumns::Ids(reader.list(|reader| Ok(ColumnId(reader.u32()?)))?),
        _ => return Err(Malformed),
    })
}

fn collation(reader: &mut Reader<'_>) -> Decoded<CollationId> {
    u16::try_from(reader.uint()?).map(CollationId).map_err(|_| Malformed)
}

fn write_digits(out: &mut Writer, digits: Option<(u8, u8)>) {
    out.option(digits, |out, (precision, scale)| {
        out.u8(precision);
        out.u8(scale);
    });
}

fn read_digits(reader: &mut Reader<'_>) -> Decoded<Option<(u8, u8)>> {
    reader.option(|reader| Ok((reader.u8()?, reader.u8()?)))
}

/// Appends a type.
pub fn write_type(out: &mut Writer, sql_type: &SqlType) {
    match sql_type {
        SqlType::Null => out.u8(0),
        SqlType::Int { width, unsigned, zerofill, display_width } => {
            out.u8(1);
            out.u8(code_of_width(*width));
            out.bool(*unsigned);
            out.bool(*zerofill);
            out.option(*display_width, Writer::u8);
        }
        SqlType::Decimal { precision, scale, unsigned, zerofill } => {
            out.u8(2);
            out.u8(*precision);
            out.u8(*scale);
            out.bool(*unsigned);
            out.bool(*zerofill);
        }
        SqlType::Float { unsigned, zerofill, digits } => {
            out.u8(3);
            out.bool(*unsigned);
            out.bool(*zerofill);
            write_digits(out, *digits);
        }
        SqlType::Double { unsigned, zerofill, digits } => {
            out.u8(4);
            out.bool(*unsigned);
            out.bool(*zerofill);
            write_digits(out, *digits);
        }
        SqlType::Bit { width } => {
            out.u8(5);
            out.u8(*width);
        }
        SqlType::Year => out.u8(6),
        SqlType::Date => out.u8(7),
        SqlType::Time { fsp } => {
            out.u8(8);
            out.u8(*fsp);
        }
        SqlType::DateTime { fsp } => {
            out.u8(9);
            out.u8(*fsp);
        }
        SqlType::Timestamp { fsp } => {
            out.u8(10);
            out.u8(*fsp);
        }
        SqlType::String { kind: StringKind::Geometry(geometry), .. } => {
            out.u8(17);
            out.u8(geometry.kind.code() as u8);
            out.option(geometry.srid.as_ref(), |out, srid| out.uint(u64::from(*srid)));
        }
        SqlType::String { kind, length, collation } => {
            out.u8(11);
            out.u8(code_of_string(*kind));
            out.uint(u64::from(*length));
            out.uint(u64::from(collation.0));
        }
        SqlType::Enum { members, collation } => {
            out.u8(12);
            out.list(members, |out, member| out.str(member));
            out.uint(u64::from(collation.0));
        }
        SqlType::Set { members, collation } => {
            out.u8(13);
            out.list(members, |out, member| out.str(member));
            out.uint(u64::from(collation.0));
        }
        SqlType::Json => out.u8(14),
        SqlType::Hex { digits } => {
            out.u8(15);
            out.uint(u64::from(*digits));
        }
        SqlType::Uuid => out.u8(16),
    }
}

fn code_of_width(width: IntWidth) -> u8 {
    match width {
        IntWidth::Tiny => 1,
        IntWidth::Small => 2,
        IntWidth::Medium => 3,
        IntWidth::Int => 4,
        IntWidth::Big => 8,
    }
}

fn code_of_string(kind: StringKind) -> u8 {
    match kind {
        StringKind::Char => 0,
        StringKind::Varchar => 1,
        StringKind::Text(TextSize::Tiny) => 2,
        StringKind::Text(TextSize::Normal) => 3,
        StringKind::Text(TextSize::Medium) => 4,
        // A spatial type has a number of its own, above.
        StringKind::Text(TextSize::Long) | StringKind::Geometry(_) => 5,
        StringKind::Vector => 6,
    }
}

/// Takes a type off.
///
/// # Errors
/// When there is none.
pub fn read_type(reader: &mut Reader<'_>) -> Decoded<SqlType> {
    fn members(reader: &mut Reader<'_>) -> Decoded<Arc<[String]>> {
        Ok(reader.list(Reader::string)?.into())
    }
    Ok(match reader.u8()? {
        0 => SqlType::Null,
        1 => SqlType::Int {
            width: match reader.u8()? {
                1 => IntWidth::Tiny,
                2 => IntWidth::Small,
                3 => IntWidth::Medium,
                4 => IntWidth::Int,
                8 => IntWidth::Big,
                _ => return Err(Malformed),
            },
            unsigned: reader.bool()?,
            zerofill: reader.bool()?,
            display_width: reader.option(Reader::u8)?,
        },
        2 => SqlType::Decimal {
            precision: reader.u8()?,
            scale: reader.u8()?,
            unsigned: reader.bool()?,
            zerofill: reader.bool()?,
        },
        3 => SqlType::Float { unsigned: reader.bool()?, zerofill: reader.bool()?, digits: read_digits(reader)? },
        4 => SqlType::Double { unsigned: reader.bool()?, zerofill: reader.bool()?, digits: read_digits(reader)? },
        5 => SqlType::Bit { width: reader.u8()? },
        6 => SqlType::Year,
        7 => SqlType::Date,
        8 => SqlType::Time { fsp: reader.u8()? },
        9 => SqlType::DateTime { fsp: reader.u8()? },
        10 => SqlType::Timestamp { fsp: reader.u8()? },
        11 => SqlType::String {
            kind: match reader.u8()? {
                0 => StringKind::Char,
                1 => StringKind::Varchar,
                2 => StringKind::Text(TextSize::Tiny),
                3 => StringKind::Text(TextSize::Normal),
                4 => StringKind::Text(TextSize::Medium),
                5 => StringKind::Text(TextSize::Long),
                6 => StringKind::Vector,
                _ => return Err(Malformed),
            },
            length: reader.u32()?,
            collation: collation(reader)?,
        },
        12 => SqlType::Enum { members: members(reader)?, collation: collation(reader)? },
        13 => SqlType::Set { members: members(reader)?, collation: collation(reader)? },
        14 => SqlType::Json,
        15 => {
            let digits = u16::try_from(reader.u32()?).ok();
            SqlType::Hex { digits: digits.filter(|digits| *digits <= HEX_DIGITS_MAX).ok_or(Malformed)? }
        }
        16 => SqlType::Uuid,
        17 => SqlType::of_geometry(GeometryType {
            kind: GeometryKind::of_code(u32::from(reader.u8()?)).ok_or(Malformed)?,
            srid: reader.option(Reader::u32)?,
        }),
        _ => return Err(Malformed),
    })
}

#[cfg(test)]
#[path = "catalog_codec_tests.rs"]
mod tests;
