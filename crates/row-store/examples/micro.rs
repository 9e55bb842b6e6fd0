//! Prints the cost of single operations, to find regressions: `cargo run --release -p squall-row-store --example micro [rows]
//! [directory]`.

use squall_catalog::{
    Catalog, ColumnDef, ColumnDefault, ColumnId, Database, DatabaseId, IndexDef, IndexId, IndexPart, TableDef,
    TableEntry, TableId,
};
use squall_row_store::{
    DdlChanges, Direction, Durability, IsolationLevel, LockMode, LockRequest, LockWait, OnDuplicate, RowStore,
    StoreOptions, Table, TransactionOptions, ValueRange,
};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;
use std::time::Instant;

const PAYLOAD: &str = "83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964";

fn main() -> SqlResult<()> {
    let mut args = std::env::args().skip(1);
    let rows: i64 = args.next().and_then(|rows| rows.parse().ok()).unwrap_or(200_000);
    let directory = args.next().map_or_else(|| std::env::temp_dir().join("squall-micro"), Into::into);
    if std::env::var_os("SQUALL_MICRO_REOPEN").is_none() {
        let _ = std::fs::remove_dir_all(&directory);
    }
    let started = Instant::now();
    let store = RowStore::open(&directory, StoreOptions::default())?;
    println!("open                      {:>10.2} ms", started.elapsed().as_secs_f64() * 1e3);
    if std::env::var_os("SQUALL_MICRO_REOPEN").is_some() {
        return store.close();
    }
    store.commit_ddl(&catalog(), &DdlChanges::default())?;
    let table = |name: &str| {
        let catalog = store.load_catalog();
        store.table(catalog.table("bench", name).expect("the table was made"))
    };
    let (plain, indexed, loaded) = (table("plain")?, table("indexed")?, table("loaded")?);

    per_op("insert, 1000 a commit, PK", rows, || insert(&store, &plain, 0..rows))?;
    per_op("insert, 1000 a commit, PK+k", rows, || insert(&store, &indexed, 0..rows))?;
    per_op("bulk load, PK+k", rows, || {
        let mut load = store.bulk_load(&loaded);
        for id in 0..rows {
            load.push(row(id))?;
        }
        load.finish(1, LockWait::default(), OnDuplicate::Fail)?;
        Ok(())
    })?;
    for (name, table) in [("memory", &indexed), ("files", &loaded)] {
        reads(&store, table, name, rows)?;
    }
    writes(&store, &indexed, rows)?;
    if std::env::var_os("SQUALL_MICRO_ABORT").is_some() {
        // Leaves the directory as a crash does; the next run with SQUALL_MICRO_REOPEN times the recovery.
        std::process::abort();
    }
    let started = Instant::now();
    drop((plain, indexed, loaded));
    store.close()?;
    drop(store);
    println!("close                     {:>10.2} ms", started.elapsed().as_secs_f64() * 1e3);
    let started = Instant::now();
    let store = RowStore::open(&directory, StoreOptions::default())?;
    println!("open, with data           {:>10.2} ms", started.elapsed().as_secs_f64() * 1e3);
    drop(store);
    let _ = std::fs::remove_dir_all(&directory);
    Ok(())
}

fn per_op(name: &str, operations: i64, run: impl FnOnce() -> SqlResult<()>) -> SqlResult<()> {
    let started = Instant::now();
    run()?;
    let micros = started.elapsed().as_secs_f64() * 1e6 / operations as f64;
    println!("{name:<28} {micros:>10.3} us/op {:>12.0} op/s", 1e6 / micros);
    Ok(())
}

fn row(id: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(id * 7919 % 1_000_003), Value::from(PAYLOAD), Value::from("pad-pad-pad")]
}

fn insert(store: &RowStore, table: &Table, ids: std::ops::Range<i64>) -> SqlResult<()> {
    let mut ids = ids.peekable();
    while ids.peek().is_some() {
        let options = TransactionOptions { durability: Durability::Os, ..TransactionOptions::autocommit() };
        let mut txn = store.begin_with(options, None);
        for id in ids.by_ref().take(1000) {
            txn.insert(table, &row(id))?;
        }
        txn.commit()?;
    }
    Ok(())
}

/// Numbers that look random and are the same each time.
fn scatter(number: i64, rows: i64) -> i64 {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 20).rem_euclid(rows)
}

fn reads(store: &RowStore, table: &Arc<Table>, name: &str, rows: i64) -> SqlResult<()> {
    let count = 200_000;
    let key = |id: i64| table.row_key(&[Value::Int(id)]);
    per_op(&format!("point get, {name}"), count, || {
        for number in 0..count {
            let row = store.get(table, &key(scatter(number, rows))?)?.expect("the row was inserted");
            assert!(row.view(table).get_i64(1)?.is_some());
        }
        Ok(())
    })?;
    per_op(&format!("point get, 2 threads, {name}"), count, || {
        std::thread::scope(|scope| {
            let reader = |from: i64| {
                move || -> SqlResult<()> {
                    for number in from..from + count / 2 {
                        store.get(table, &table.row_key(&[Value::Int(scatter(number, rows))])?)?;
                    }
                    Ok(())
                }
            };
            let threads = [scope.spawn(reader(0)), scope.spawn(reader(count / 2))];
            threads.into_iter().try_for_each(|thread| thread.join().expect("no reader panics"))
        })
    })?;
    per_op(&format!("begin, get, commit, {name}"), count, || {
        for number in 0..count {
            let mut txn = store.begin(IsolationLevel::RepeatableRead, true);
            txn.get(table, &key(scatter(number, rows))?)?;
            txn.commit()?;
        }
        Ok(())
    })?;
    per_op(&format!("range of 100, {name}"), 5_000, || {
        for number in 0..5_000 {
            let from = scatter(number, rows);
            let (start, end) = ([Value::Int(from)], [Value::Int(from + 99)]);
            let bounds = ValueRange { start: std::ops::Bound::Included(&start), end: std::ops::Bound::Included(&end) };
            let mut cursor = store.read_view().scan(table, &table.range(IndexId(0), bounds)?, Direction::Forward);
            let mut found = Vec::with_capacity(100);
            cursor.next_batch(1000, &mut found)?;
        }
        Ok(())
    })?;
    per_op(&format!("full scan, {name}"), rows, || {
        let mut cursor = store.read_view().scan(table, &table.range(IndexId(0), ValueRange::ALL)?, Direction::Forward);
        let mut sum = 0;
        while let Some(row) = cursor.next_row()? {
            sum += row.view(table).get_i64(1)?.unwrap_or(0);
        }
        assert!(sum > 0);
        Ok(())
    })?;
    per_op(&format!("scan through k, {name}"), rows, || {
        let mut cursor = store.read_view().scan(table, &table.range(IndexId(1), ValueRange::ALL)?, Direction::Forward);
        while cursor.next_row()?.is_some() {}
        Ok(())
    })
}

fn writes(store: &RowStore, table: &Arc<Table>, rows: i64) -> SqlResult<()> {
    for (name, durability) in [("lazy", Durability::Lazy), ("os", Durability::Os), ("full", Durability::Full)] {
        for threads in [1, 8] {
            let count: i64 = if durability == Durability::Full { 1_000 * threads } else { 50_000 };
            per_op(&format!("update+commit, {name}, {threads} thr"), count, || {
                std::thread::scope(|scope| {
                    let workers: Vec<_> = (0..threads)
                        .map(|worker| {
                            scope.spawn(move || {
                                (0..count / threads).try_for_each(|number| {
                                    update(store, table, scatter(number * threads + worker, rows), durability)
                                })
                            })
                        })
                        .collect();
                    workers.into_iter().try_for_each(|worker| worker.join().expect("no writer panics"))
                })
            })?;
        }
    }
    Ok(())
}

fn update(store: &RowStore, table: &Arc<Table>, id: i64, durability: Durability) -> SqlResult<()> {
    let mut txn = store.begin_with(TransactionOptions { durability, ..TransactionOptions::autocommit() }, None);
    let request = LockRequest { mode: LockMode::Exclusive, wait: LockWait::default() };
    if let Some(row) = txn.get_locked(table, &table.row_key(&[Value::Int(id)])?, request)? {
        let mut values = row.values(table)?;
        values[1] = Value::Int(row.view(table).get_i64(1)?.unwrap_or(0) + 1);
        txn.update(table, &row, &values)?;
    }
    txn.commit()
}

fn catalog() -> Catalog {
    let text = |length| SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI);
    let columns = [("id", SqlType::INT), ("k", SqlType::INT), ("c", text(120)), ("pad", text(60))];
    let columns: Vec<ColumnDef> = columns
        .into_iter()
        .zip(1..)
        .map(|((name, sql_type), id)| ColumnDef {
            id: ColumnId(id),
            name: name.into(),
            sql_type,
            nullable: false,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            invisible: false,
            comment: String::new(),
            value_for_older_rows: Value::Null,
        })
        .collect();
    let index = |id: u32, name: &str, column: u32| IndexDef {
        unique: id == 0,
        primary: id == 0,
        ..IndexDef::new(IndexId(id), name, vec![IndexPart::of(ColumnId(column))])
    };
    let table = |id: u32, name: &str, indexes: Vec<IndexDef>| TableDef {
        id: TableId(id),
        name: name.into(),
        version: 1,
        columns: columns.clone(),
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
        next_column_id: 5,
        next_index_id: 2,
        created_micros: 0,
        temporary: false,
    };
    let tables = [
        table(1, "plain", vec![index(0, "PRIMARY", 1)]),
        table(2, "indexed", vec![index(0, "PRIMARY", 1), index(1, "k", 2)]),
        table(3, "loaded", vec![index(0, "PRIMARY", 1), index(1, "k", 2)]),
    ];
    let entries = tables.into_iter().map(|table| (table.name.clone(), TableEntry::Table(Arc::new(table)))).collect();
    let database =
        Database { tables: entries, ..Database::new(DatabaseId(1), "bench", CollationId::UTF8MB4_0900_AI_CI) };
    let mut catalog = Catalog::new(1, 2, 4);
    catalog.put_database(database);
    catalog
}
