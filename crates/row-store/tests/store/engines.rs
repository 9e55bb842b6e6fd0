//! Storage engines beside that of rows.

use crate::fixture::*;
use parking_lot::Mutex;
use squall_catalog::{EngineName, ROW_ENGINE, TableCompression, TableDef, TableId};
use squall_row_store::{
    EngineTraits, Engines, IsolationLevel, ReplacedEngine, RowStore, TableEngine, TableFeature, TablePart,
};
use squall_types::{ErrorCode, SqlResult};
use std::sync::Arc;

/// All that an engine is whose rows are the store's own. It tells which places of tables it was asked to keep.
#[derive(Default)]
struct Plain {
    known: Arc<Mutex<Vec<bool>>>,
}

impl TableEngine for Plain {
    fn name(&self) -> &'static str {
        "PLAIN"
    }

    fn other_names(&self) -> &'static [&'static str] {
        &["SIMPLE"]
    }

    fn replaces(&self) -> &'static [ReplacedEngine] {
        const { &[ReplacedEngine { name: "OTHER", is_small: true }] }
    }

    fn comment(&self) -> &'static str {
        "Rows, packed, in no temporary table"
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits { compression: TableCompression::Zstd, refuses: &[TableFeature::Temporary], ..EngineTraits::ROWS }
    }

    fn retain(&self, known: &dyn Fn(TableId, u64, TablePart) -> bool) -> SqlResult<()> {
        let places = [(1, 1), (2, 1), (2, 2), (3, 1)];
        *self.known.lock() =
            places.map(|(table, generation)| known(TableId(table), generation, TablePart::Rows)).to_vec();
        Ok(())
    }
}

/// Tables 1 of the engine of rows and 2 of [`Plain`].
fn defs() -> [TableDef; 2] {
    let mut plain = plain_def(2);
    plain.engine = EngineName::new("PLAIN");
    [plain_def(1), plain]
}

fn insert(store: &RowStore, def: &TableDef) {
    let table = store.table(&Arc::new(def.clone())).unwrap();
    let mut txn = store.begin(IsolationLevel::RepeatableRead, false);
    txn.insert(&table, &row(1, 2, "text", None)).unwrap();
    txn.commit().unwrap();
}

#[test]
fn an_engine_is_a_name_a_comment_and_traits() {
    let directory = tempfile::tempdir().unwrap();
    let [rows, plain] = defs();
    let engine = Plain::default();
    let known = engine.known.clone();
    let store = RowStore::open_with(directory.path(), options(), vec![Arc::new(engine)]).unwrap();
    assert_eq!(*known.lock(), [false; 4]);
    store.commit_ddl(&catalog_of(&[&rows, &plain]), &Default::default()).unwrap();
    insert(&store, &rows);
    insert(&store, &plain);
    store.close().unwrap();
    drop(store);

    // By a server that has the engine no more.
    let store = RowStore::open(directory.path(), options()).unwrap();
    let error = store.table(&Arc::new(plain.clone())).unwrap_err();
    assert!(error.is(ErrorCode::UnknownStorageEngine), "{error:?}");
    let table = store.table(&Arc::new(rows.clone())).unwrap();
    let mut txn = store.begin(IsolationLevel::RepeatableRead, false);
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 2, "text", None)));
    drop((txn, table));
    store.close().unwrap();
    drop(store);

    let engine = Plain::default();
    let known = engine.known.clone();
    let store = RowStore::open_with(directory.path(), options(), vec![Arc::new(engine)]).unwrap();
    // Its own table in the generation that it has.
    assert_eq!(*known.lock(), [false, true, false, false]);
    let table = store.table(&Arc::new(plain)).unwrap();
    assert_eq!(table.traits().compression, TableCompression::Zstd);
    let mut txn = store.begin(IsolationLevel::RepeatableRead, false);
    assert_eq!(get(&mut txn, &table, 1), Some(row(1, 2, "text", None)));
}

#[test]
fn engines_are_found_by_what_statements_call_them() {
    let engines = Engines::with(vec![Arc::new(Plain::default())]);
    let named = |name| engines.named(name).map(TableEngine::name);
    assert_eq!(named("innodb"), Some(ROW_ENGINE));
    assert_eq!((named("plain"), named("Simple")), (Some("PLAIN"), Some("PLAIN")));
    assert_eq!((named("other"), named("myisam")), (None, None));
    let in_place_of = |name, temporary| {
        engines.in_place_of(name, temporary).map(|(engine, replaced)| (engine.name(), replaced.is_small))
    };
    assert_eq!(in_place_of("other", false), Some(("PLAIN", true)));
    assert_eq!(in_place_of("OTHER", true), Some((ROW_ENGINE, true)));
    assert_eq!(in_place_of("MyISAM", false), Some((ROW_ENGINE, false)));
    assert_eq!(in_place_of("plain", false), None);
    // Definitions have names as they are, whatever statements call them.
    assert!(engines.get(&EngineName::new("PLAIN")).is_ok() && engines.get(&EngineName::new("plain")).is_err());
}
