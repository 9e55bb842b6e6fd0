//! Partitions as a part of their table's record.

use crate::bytes::{Malformed, Reader, Writer};
use crate::value_codec::{read_value, write_value};
use squall_catalog::{
    ColumnId, PartitionBound, PartitionDef, PartitionScheme, PartitionStorage, PartitionValues, Partitioning, TableId,
};

type Decoded<T> = Result<T, Malformed>;

pub(crate) fn write_partitioning(out: &mut Writer, partitioning: &Partitioning) {
    write_scheme(out, &partitioning.scheme);
    out.option(partitioning.subpartition.as_ref(), write_scheme);
    out.list(&partitioning.partitions, |out, partition| {
        out.str(&partition.name);
        write_values(out, &partition.values);
        out.str(&partition.comment);
        out.list(&partition.storages, |out, storage| {
            out.uint(u64::from(storage.id.0));
            out.str(&storage.name);
            out.str(&storage.comment);
        });
    });
    out.bool(partitioning.is_counted);
    out.bool(partitioning.is_subpartition_counted);
}

pub(crate) fn read_partitioning(reader: &mut Reader<'_>) -> Decoded<Partitioning> {
    Ok(Partitioning {
        scheme: read_scheme(reader)?,
        subpartition: reader.option(read_scheme)?,
        partitions: reader.list(|reader| {
            Ok(PartitionDef {
                name: reader.string()?,
                values: read_values(reader)?,
                comment: reader.string()?,
                storages: reader.list(|reader| {
                    Ok(PartitionStorage {
                        id: TableId(reader.u32()?),
                        name: reader.string()?,
                        comment: reader.string()?,
                    })
                })?,
            })
        })?,
        is_counted: reader.bool()?,
        is_subpartition_counted: reader.bool()?,
    })
}

fn write_columns(out: &mut Writer, columns: &[ColumnId]) {
    out.list(columns, |out, column| out.uint(u64::from(column.0)));
}

fn read_columns(reader: &mut Reader<'_>) -> Decoded<Vec<ColumnId>> {
    reader.list(|reader| Ok(ColumnId(reader.u32()?)))
}

fn write_scheme(out: &mut Writer, scheme: &PartitionScheme) {
    match scheme {
        PartitionScheme::Hash { linear, expression } => {
            out.u8(0);
            out.bool(*linear);
            out.str(expression);
        }
        PartitionScheme::Key { linear, algorithm, columns, is_given } => {
            out.u8(1);
            out.bool(*linear);
            out.u8(algorithm.unwrap_or(0));
            write_columns(out, columns);
            out.bool(*is_given);
        }
        PartitionScheme::Range(expression) => {
            out.u8(2);
            out.str(expression);
        }
        PartitionScheme::RangeColumns(columns) => {
            out.u8(3);
            write_columns(out, columns);
        }
        PartitionScheme::List(expression) => {
            out.u8(4);
            out.str(expression);
        }
        PartitionScheme::ListColumns(columns) => {
            out.u8(5);
            write_columns(out, columns);
        }
    }
}

fn read_scheme(reader: &mut Reader<'_>) -> Decoded<PartitionScheme> {
    Ok(match reader.u8()? {
        0 => PartitionScheme::Hash { linear: reader.bool()?, expression: reader.string()? },
        1 => PartitionScheme::Key {
            linear: reader.bool()?,
            algorithm: Some(reader.u8()?).filter(|algorithm| *algorithm != 0),
            columns: read_columns(reader)?,
            is_given: reader.bool()?,
        },
        2 => PartitionScheme::Range(reader.string()?),
        3 => PartitionScheme::RangeColumns(read_columns(reader)?),
        4 => PartitionScheme::List(reader.string()?),
        5 => PartitionScheme::ListColumns(read_columns(reader)?),
        _ => return Err(Malformed),
    })
}

fn write_values(out: &mut Writer, values: &PartitionValues) {
    match values {
        PartitionValues::ByNumber => out.u8(0),
        PartitionValues::LessThan(bounds) => {
            out.u8(1);
            out.list(bounds, |out, bound| match bound {
                PartitionBound::MaxValue => out.u8(0),
                PartitionBound::Value(value) => {
                    out.u8(1);
                    write_value(out, value);
                }
            });
        }
        PartitionValues::In(rows) => {
            out.u8(2);
            out.list(rows, |out, row| out.list(row, write_value));
        }
    }
}

fn read_values(reader: &mut Reader<'_>) -> Decoded<PartitionValues> {
    Ok(match reader.u8()? {
        0 => PartitionValues::ByNumber,
        1 => PartitionValues::LessThan(reader.list(|reader| {
            Ok(match reader.u8()? {
                0 => PartitionBound::MaxValue,
                1 => PartitionBound::Value(read_value(reader)?),
                _ => return Err(Malformed),
            })
        })?),
        2 => PartitionValues::In(reader.list(|reader| reader.list(read_value))?),
        _ => return Err(Malformed),
    })
}
