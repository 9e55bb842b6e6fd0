//! Tables and stores for tests.

use crate::segment_level::RowsInTheList;
use lsm_tree::{AbstractTree, AnyTree};
use squall_catalog::{
    Catalog, ColumnDef, ColumnDefault, ColumnId, Database, DatabaseId, IndexDef, IndexId, IndexPart, TableDef,
    TableEntry, TableId,
};
use squall_row_store::{
    DdlChanges, Direction, Durability, LockMode, LockRequest, LockWait, Row, RowStore, StoreOptions, Table,
    Transaction, ValueRange,
};
use squall_types::{CollationId, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `SQUALL_INLINE_VALUE_BYTES_MAX` lets all tests of the store be run with values that lie out of their rows.
pub fn options() -> StoreOptions {
    let options = StoreOptions { durability: Durability::Os, cache_bytes: 8 << 20, ..StoreOptions::default() };
    match std::env::var("SQUALL_INLINE_VALUE_BYTES_MAX").ok().and_then(|bytes| bytes.parse().ok()) {
        Some(inline_value_bytes_max) => StoreOptions { inline_value_bytes_max, ..options },
        None => options,
    }
}

/// With these values of more than two bytes lie out of their rows, in chunks of 64 bytes.
pub fn large_value_options() -> StoreOptions {
    StoreOptions { inline_value_bytes_max: 2, ..options() }
}

/// With these every write of a transaction leaves memory at once, and commits go by files.
pub fn spilling_options() -> StoreOptions {
    StoreOptions { transaction_buffer_bytes: 300, ..options() }
}

pub fn column(id: u32, name: &str, sql_type: SqlType, nullable: bool) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        sql_type,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        generated: None,
        invisible: false,
        comment: String::new(),
        value_for_older_rows: Value::Null,
    }
}

pub fn index(id: u32, name: &str, columns: &[u32], unique: bool) -> IndexDef {
    let parts = columns.iter().map(|column| IndexPart::of(ColumnId(*column))).collect();
    IndexDef { unique, primary: name == "PRIMARY", ..IndexDef::new(IndexId(id), name, parts) }
}

pub fn table_def(id: u32, name: &str, columns: Vec<ColumnDef>, indexes: Vec<IndexDef>) -> TableDef {
    TableDef {
        id: TableId(id),
        name: name.into(),
        version: 1,
        next_column_id: columns.len() as u32 + 1,
        next_index_id: indexes.len() as u32 + 1,
        columns,
        indexes,
        checks: vec![],
        foreign_keys: vec![],
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: String::new(),
        engine: squall_catalog::EngineName::ROWS,
        auto_increment_start: 1,
        options: vec![],
        created_micros: 0,
        temporary: false,
    }
}

/// `t (id INT PRIMARY KEY, k INT, v TEXT, u INT NULL UNIQUE, KEY k (k))`
pub fn plain_def(id: u32) -> TableDef {
    let text = SqlType::longtext(CollationId::UTF8MB4_BIN);
    table_def(
        id,
        &format!("t{id}"),
        vec![
            column(1, "id", SqlType::INT, false),
            column(2, "k", SqlType::INT, false),
            column(3, "v", text, true),
            column(4, "u", SqlType::INT, true),
        ],
        vec![index(0, "PRIMARY", &[1], false), index(1, "k", &[2], false), index(2, "u", &[4], true)],
    )
}

/// The same without a primary or unique key: rows of a load lie in the order in which they come.
pub fn heap_def(id: u32) -> TableDef {
    let mut def = plain_def(id);
    def.indexes = vec![index(1, "k", &[2], false), index(2, "v", &[3], false)];
    def
}

pub fn catalog_of(tables: &[&TableDef]) -> Catalog {
    let mut entries = BTreeMap::new();
    for table in tables {
        entries.insert(table.name.clone(), TableEntry::Table(Arc::new((*table).clone())));
    }
    let database = Database { tables: entries, ..Database::new(DatabaseId(1), "d", CollationId::UTF8MB4_0900_AI_CI) };
    let mut catalog = Catalog::new(1, 2, 100);
    catalog.put_database(database);
    catalog
}

/// The store is closed before its directory is removed.
pub struct Fixture {
    pub store: RowStore,
    pub directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Fixture {
        Fixture::with(options())
    }

    pub fn with(options: StoreOptions) -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let store = RowStore::open_with(directory.path(), options, vec![Arc::new(RowsInTheList)]).unwrap();
        Fixture { directory, store }
    }

    /// With the table of [`plain_def`].
    pub fn plain() -> (Fixture, Arc<Table>) {
        Fixture::plain_with(options())
    }

    pub fn plain_with(options: StoreOptions) -> (Fixture, Arc<Table>) {
        let fixture = Fixture::with(options);
        let def = plain_def(1);
        fixture.store.commit_ddl(&catalog_of(&[&def]), &DdlChanges::default()).unwrap();
        let table = fixture.table("t1");
        (fixture, table)
    }

    pub fn table(&self, name: &str) -> Arc<Table> {
        let catalog = self.store.load_catalog();
        self.store.table(catalog.table("d", name).unwrap()).unwrap()
    }

    pub fn reopen(self) -> Fixture {
        let Fixture { directory, store } = self;
        let options = store.options().clone();
        store.close().unwrap();
        drop(store);
        let store = RowStore::open_with(directory.path(), options, vec![Arc::new(RowsInTheList)]).unwrap();
        Fixture { directory, store }
    }
}

pub fn row(id: i64, k: i64, v: &str, u: Option<i64>) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(k), Value::from(v), u.map_or(Value::Null, Value::Int)]
}

pub fn key(table: &Table, id: i64) -> Vec<u8> {
    table.row_key(&[Value::Int(id)]).unwrap()
}

pub const FOR_UPDATE: LockRequest = LockRequest { mode: LockMode::Exclusive, wait: LockWait::Nowait };

pub fn get(txn: &mut Transaction, table: &Table, id: i64) -> Option<Vec<Value>> {
    txn.get(table, &key(table, id)).unwrap().map(|row| row.values(table).unwrap())
}

pub fn lock(txn: &mut Transaction, table: &Table, id: i64) -> Row {
    txn.get_locked(table, &key(table, id), FOR_UPDATE).unwrap().unwrap()
}

/// All rows through an index.
pub fn all(txn: &mut Transaction, table: &Arc<Table>, index: u32, direction: Direction) -> Vec<Vec<Value>> {
    let range = table.range(IndexId(index), ValueRange::ALL).unwrap();
    let mut cursor = txn.scan(table, &range, direction);
    let mut rows = Vec::new();
    while let Some(row) = cursor.next_row().unwrap() {
        rows.push(row.values(table).unwrap());
    }
    rows
}

/// The ids of all rows.
pub fn ids(txn: &mut Transaction, table: &Arc<Table>) -> Vec<i64> {
    all(txn, table, 0, Direction::Forward)
        .iter()
        .map(|row| match row[0] {
            Value::Int(id) => id,
            _ => panic!("id is an integer"),
        })
        .collect()
}

/// The column `k` of a row of [`plain_def`].
pub fn k_of(values: &[Value]) -> i64 {
    match values[1] {
        Value::Int(k) => k,
        _ => panic!("k is an integer"),
    }
}

/// A keyspace of a store that is closed.
pub fn tree_of(store: &std::path::Path, folder: u64) -> AnyTree {
    let path = store.join("rows/keyspaces").join(folder.to_string());
    lsm_tree::Config::new(path, Default::default(), Default::default()).open().unwrap()
}

/// Changes a value in its files.
pub fn put_into_files(tree: &AnyTree, key: &[u8], value: &[u8]) {
    tree.insert(key, value, tree.get_highest_persisted_seqno().unwrap() + 1);
    tree.flush_active_memtable(0).unwrap();
}
