//! Records of catalog objects: every field is read back, old records are read, and damage is an error.

use super::*;
use arrow_buffer::i256;
use squall_catalog::{
    AccountKey, PartitionBound, PartitionDef, PartitionScheme, PartitionStorage, PartitionValues, Partitioning,
    TriggerDef, TriggerEvent, TriggerTime,
};
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, Time, Value};

fn column(id: u32, sql_type: SqlType) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: format!("Spalte ü {id}"),
        sql_type,
        nullable: id.is_multiple_of(2),
        default: ColumnDefault::None,
        on_update_now: id == 3,
        auto_increment: id == 1,
        generated: None,
        invisible: id == 2,
        comment: "a comment".into(),
        value_for_older_rows: Value::Null,
    }
}

fn trigger(time: TriggerTime, event: TriggerEvent) -> TriggerDef {
    TriggerDef {
        name: "trü".into(),
        time,
        event,
        body: "SET NEW.a = 1".into(),
        definer: AccountKey::new("u", "%"),
        sql_mode: u64::MAX,
        client_charset: "utf8mb4".into(),
        connection_collation: "utf8mb4_bin".into(),
        database_collation: "latin1_swedish_ci".into(),
        created_micros: -1,
    }
}

/// Every type.
fn every_type() -> Vec<SqlType> {
    let members: Arc<[String]> = vec!["a".to_string(), "b,c".to_string()].into();
    let collation = CollationId::UTF8MB4_0900_AI_CI;
    let widths = [IntWidth::Tiny, IntWidth::Small, IntWidth::Medium, IntWidth::Int, IntWidth::Big];
    let mut types: Vec<SqlType> = widths
        .into_iter()
        .map(|width| SqlType::Int { width, unsigned: true, zerofill: true, display_width: Some(5) })
        .collect();
    let kinds = [
        StringKind::Char,
        StringKind::Varchar,
        StringKind::Text(TextSize::Tiny),
        StringKind::Text(TextSize::Normal),
        StringKind::Text(TextSize::Medium),
        StringKind::Text(TextSize::Long),
    ];
    types.extend(kinds.map(|kind| SqlType::String { kind, length: u32::MAX, collation }));
    types.extend([
        SqlType::Null,
        SqlType::Decimal { precision: 65, scale: 30, unsigned: true, zerofill: false },
        SqlType::Float { unsigned: false, zerofill: true, digits: Some((7, 2)) },
        SqlType::Double { unsigned: true, zerofill: false, digits: None },
        SqlType::Bit { width: 64 },
        SqlType::Year,
        SqlType::Date,
        SqlType::Time { fsp: 1 },
        SqlType::DateTime { fsp: 2 },
        SqlType::Timestamp { fsp: 6 },
        SqlType::Enum { members: members.clone(), collation },
        SqlType::Set { members, collation: CollationId::BINARY },
        SqlType::Json,
        SqlType::vector(16_383),
        SqlType::geometry(GeometryKind::Geometry),
        SqlType::of_geometry(GeometryType { kind: GeometryKind::Point, srid: Some(4326) }),
    ]);
    types
}

/// A column of each type, with every kind of default and generated column.
fn every_column() -> Vec<ColumnDef> {
    let types = every_type();
    let mut columns: Vec<ColumnDef> = types.into_iter().zip(1..).map(|(sql_type, id)| column(id, sql_type)).collect();
    let values = [
        Value::Int(-5),
        Value::UInt(u64::MAX),
        Value::Double(-0.5),
        Value::Decimal(Decimal::new(i256::MIN, 30)),
        Value::String("ü".into()),
        Value::Bytes(vec![0, 255]),
        Value::Date(Date::from_packed(77)),
        Value::DateTime(DateTime::from_packed(1 << 50)),
        Value::Time(Time::from_micros(-7).unwrap()),
        Value::Json(Document::from_stored("{}")),
    ];
    for (column, value) in columns.iter_mut().zip(values) {
        column.value_for_older_rows = value.clone();
        column.default = ColumnDefault::Literal(value);
    }
    columns[0].default = ColumnDefault::Now;
    columns[1].default = ColumnDefault::Expression("(1 + 1)".into());
    columns[2].generated = Some(GeneratedKind { expression: "`a` + 1".into(), stored: true, key_part: None });
    let of_key = |part| Some(GeneratedKind { expression: "`a` + 2".into(), stored: true, key_part: Some(part) });
    columns[3].generated = of_key(FunctionalPart::Value(CollationId::UTF8MB4_0900_AI_CI));
    columns[4].generated = of_key(FunctionalPart::Elements(SqlType::Time { fsp: 3 }));
    columns[5].generated = of_key(FunctionalPart::Cells(ColumnId(3)));
    columns
}

/// A definition with every kind of everything.
fn full_table() -> TableDef {
    let part = |column: u32, prefix: Option<u32>| IndexPart { column: ColumnId(column), prefix, descending: true };
    let index = IndexDef {
        id: IndexId(300),
        name: "PRIMARY".into(),
        parts: vec![part(1, None), part(6, Some(10))],
        unique: true,
        primary: true,
        invisible: true,
        comment: "c".into(),
        index_type: IndexType::Hash,
        generated: true,
    };
    let actions = [
        ReferentialAction::Restrict,
        ReferentialAction::NoAction,
        ReferentialAction::Cascade,
        ReferentialAction::SetNull,
    ];
    TableDef {
        id: TableId(u32::MAX),
        name: "t".into(),
        version: 1 << 40,
        columns: every_column(),
        indexes: vec![index],
        checks: vec![ConstraintCheck { name: "c".into(), expression: "`a` > 0".into(), enforced: false }],
        foreign_keys: actions
            .map(|action| ForeignKey {
                name: "f".into(),
                columns: vec![ColumnId(1), ColumnId(2)],
                parent_database: "d".into(),
                parent_table: "p".into(),
                parent_columns: match action {
                    ReferentialAction::Cascade => ReferencedColumns::Names(vec!["x".into(), "y".into()]),
                    _ => ReferencedColumns::Ids(vec![ColumnId(3), ColumnId(u32::MAX)]),
                },
                on_delete: action,
                on_update: ReferentialAction::Cascade,
            })
            .to_vec(),
        triggers: vec![
            trigger(TriggerTime::Before, TriggerEvent::Insert),
            trigger(TriggerTime::After, TriggerEvent::Update),
            trigger(TriggerTime::After, TriggerEvent::Delete),
        ],
        partitioning: Some(Box::new(partitioning())),
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: "table".into(),
        engine: Default::default(),
        auto_increment_start: 7,
        options: vec![("ROW_FORMAT".into(), "DYNAMIC".into())],
        next_column_id: 100,
        next_index_id: 301,
        created_micros: -1,
        temporary: false,
    }
}

#[test]
fn every_field_comes_back() {
    let table = full_table();
    let record = encode_table(DatabaseId(9), &table);
    let (database, decoded) = decode_table(&record).unwrap();
    assert_eq!((database, decoded), (DatabaseId(9), table));
    let view = ViewDef {
        name: "v".into(),
        query: "select 1".into(),
        columns: vec!["1".into()],
        algorithm: "MERGE".into(),
        definer: "root@localhost".into(),
        security_invoker: true,
        check_option: "LOCAL".into(),
        sql_mode: u64::MAX,
    };
    assert_eq!(decode_view(&encode_view(&view)).unwrap(), view);
    let (name, collation) = decode_database(&encode_database("d", CollationId::BINARY)).unwrap();
    assert_eq!((name.as_str(), collation), ("d", CollationId::BINARY));
}

#[test]
fn damaged_records_are_errors() {
    let record = encode_table(DatabaseId(1), &full_table());
    for end in 0..record.len() {
        assert!(decode_table(&record[..end]).is_err(), "cut at {end}");
    }
    // Any byte may be anything; what matters is that nothing panics or reserves without bound.
    for at in 0..record.len() {
        for byte in [0, 1, 0x7F, 0xFF] {
            let mut damaged = record.clone();
            damaged[at] = byte;
            let _ = decode_table(&damaged);
        }
    }
    assert!(decode_table(&[TABLE_VERSION + 1]).is_err(), "another version");
}

#[test]
fn records_with_names_of_referenced_columns_are_read() {
    let mut table = full_table();
    table.foreign_keys.truncate(1);
    table.foreign_keys[0].parent_columns = ReferencedColumns::Names(vec!["x".into(), "y".into()]);
    let mut record = without_generated(&mut table);
    // As version 1 had them: without what says that they are names.
    let names = record.windows(5).position(|bytes| bytes == [2, 1, b'x', 1, b'y']).unwrap();
    assert_eq!(record.remove(names - 1), REFERENCED_NAMES);
    record[0] = 1;
    assert_eq!(decode_table(&record).unwrap(), (DatabaseId(9), table));
}

#[test]
fn records_without_generated_keys_are_read() {
    let mut table = full_table();
    let record = without_generated(&mut table);
    assert_eq!(decode_table(&record).unwrap(), (DatabaseId(9), table));
}

fn partitioning() -> Partitioning {
    let partition = |name: &str, values, id| PartitionDef {
        name: name.to_string(),
        values,
        comment: "all".to_string(),
        storages: (id..id + 2)
            .map(|id| PartitionStorage { id: TableId(id), name: format!("{name}sp{id}"), comment: String::new() })
            .collect(),
    };
    let bound = |value| PartitionBound::Value(Value::Int(value));
    Partitioning {
        scheme: PartitionScheme::RangeColumns(vec![ColumnId(1), ColumnId(2)]),
        subpartition: Some(PartitionScheme::Key {
            linear: true,
            algorithm: Some(2),
            columns: vec![ColumnId(1)],
            is_given: false,
        }),
        partitions: vec![
            partition("p0", PartitionValues::LessThan(vec![bound(3), PartitionBound::MaxValue]), 70),
            partition("p1", PartitionValues::In(vec![vec![Value::Null], vec![Value::String("x".into())]]), 80),
            partition("p2", PartitionValues::ByNumber, 90),
        ],
        is_counted: false,
        is_subpartition_counted: true,
    }
}

#[test]
fn records_without_partitions_are_read() {
    let mut table = full_table();
    table.partitioning = None;
    let mut record = encode_table(DatabaseId(9), &table);
    assert_eq!(record.pop(), Some(0));
    record[0] = 4;
    assert_eq!(decode_table(&record).unwrap(), (DatabaseId(9), table));
}

#[test]
fn records_without_triggers_are_read() {
    let mut table = full_table();
    let record = without_triggers(&mut table);
    assert_eq!(decode_table(&record).unwrap(), (DatabaseId(9), table));
}

/// The record of a table as version 3 had it, which had no triggers.
fn without_triggers(table: &mut TableDef) -> Vec<u8> {
    table.triggers.clear();
    table.partitioning = None;
    let mut record = encode_table(DatabaseId(9), table);
    assert_eq!([record.pop(), record.pop()], [Some(0); 2]);
    record[0] = 3;
    record
}

/// The record of a table as version 2 had it, which did not say what keys were generated.
fn without_generated(table: &mut TableDef) -> Vec<u8> {
    let mut record = without_triggers(table);
    let index_type = record.windows(5).position(|bytes| bytes == b"\x04HASH").unwrap();
    assert_eq!(record.remove(index_type + 5), 1);
    record[0] = 2;
    table.indexes[0].generated = false;
    record
}
