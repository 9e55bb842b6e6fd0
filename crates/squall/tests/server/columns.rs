//! Column definitions of columns and expressions, by type. Drivers choose their classes by them.

use super::{connect, run, start};
use squall_client::{Client, Column, QueryResult};
use squall_wire::constants::{ColumnFlags, ColumnType};

fn columns(client: &mut Client, sql: &str) -> Vec<Column> {
    match client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).remove(0).0 {
        QueryResult::Rows(columns) => columns,
        QueryResult::Ok(_) => panic!("{sql}: no result set"),
    }
}

const NONE: ColumnFlags = ColumnFlags::EMPTY;
const BINARY: ColumnFlags = ColumnFlags::BINARY;
const UNSIGNED: ColumnFlags = ColumnFlags::UNSIGNED;
const BLOB: ColumnFlags = ColumnFlags::BLOB;

#[test]
fn columns_of_tables_by_type() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d");
    let types: Vec<(&str, ColumnType, u16, u32, ColumnFlags, u8)> = vec![
        ("TINYINT", ColumnType::Tiny, 63, 4, NONE, 0),
        ("TINYINT UNSIGNED", ColumnType::Tiny, 63, 3, UNSIGNED, 0),
        ("BOOL", ColumnType::Tiny, 63, 1, NONE, 0),
        ("SMALLINT", ColumnType::Short, 63, 6, NONE, 0),
        ("MEDIUMINT UNSIGNED", ColumnType::Int24, 63, 8, UNSIGNED, 0),
        ("INT", ColumnType::Long, 63, 11, NONE, 0),
        ("INT(6) ZEROFILL", ColumnType::Long, 63, 6, UNSIGNED.union(ColumnFlags::ZEROFILL), 0),
        ("BIGINT", ColumnType::LongLong, 63, 20, NONE, 0),
        ("BIGINT UNSIGNED", ColumnType::LongLong, 63, 20, UNSIGNED, 0),
        ("DECIMAL(10,3)", ColumnType::NewDecimal, 63, 12, NONE, 3),
        ("DECIMAL(65,30) UNSIGNED", ColumnType::NewDecimal, 63, 66, UNSIGNED, 30),
        ("FLOAT", ColumnType::Float, 63, 12, NONE, 31),
        ("DOUBLE", ColumnType::Double, 63, 22, NONE, 31),
        ("DOUBLE(8,2)", ColumnType::Double, 63, 8, NONE, 2),
        ("BIT(10)", ColumnType::Bit, 63, 10, UNSIGNED, 0),
        ("DATE", ColumnType::Date, 63, 10, BINARY, 0),
        ("TIME", ColumnType::Time, 63, 10, BINARY, 0),
        ("TIME(3)", ColumnType::Time, 63, 14, BINARY, 3),
        ("DATETIME", ColumnType::DateTime, 63, 19, BINARY, 0),
        ("DATETIME(6)", ColumnType::DateTime, 63, 26, BINARY, 6),
        ("TIMESTAMP NULL", ColumnType::Timestamp, 63, 19, BINARY, 0),
        ("YEAR", ColumnType::Year, 63, 4, UNSIGNED.union(ColumnFlags::ZEROFILL), 0),
        ("CHAR(10)", ColumnType::String, 255, 40, NONE, 0),
        ("VARCHAR(10)", ColumnType::VarString, 255, 40, NONE, 0),
        ("VARCHAR(10) CHARACTER SET latin1", ColumnType::VarString, 255, 40, NONE, 0),
        ("VARCHAR(10) COLLATE utf8mb4_bin", ColumnType::VarString, 255, 40, BINARY, 0),
        ("BINARY(5)", ColumnType::String, 63, 5, BINARY, 0),
        ("VARBINARY(5)", ColumnType::VarString, 63, 5, BINARY, 0),
        ("TINYTEXT", ColumnType::Blob, 255, 255 * 4, BLOB, 0),
        ("TEXT", ColumnType::Blob, 255, 65_535 * 4, BLOB, 0),
        ("MEDIUMTEXT", ColumnType::Blob, 255, 16_777_215 * 4, BLOB, 0),
        ("LONGTEXT", ColumnType::Blob, 255, u32::MAX, BLOB, 0),
        ("TINYBLOB", ColumnType::Blob, 63, 255, BLOB.union(BINARY), 0),
        ("BLOB", ColumnType::Blob, 63, 65_535, BLOB.union(BINARY), 0),
        ("LONGBLOB", ColumnType::Blob, 63, u32::MAX, BLOB.union(BINARY), 0),
        ("VECTOR(4)", ColumnType::Vector, 63, 16, BLOB.union(BINARY), 0),
        ("ENUM('a','bcd')", ColumnType::String, 255, 12, ColumnFlags::ENUM, 0),
        ("SET('a','bcd')", ColumnType::String, 255, 20, ColumnFlags::SET, 0),
        ("HEX(8)", ColumnType::String, 255, 8 * 4, NONE, 0),
        ("HEX(40)", ColumnType::String, 255, 40 * 4, NONE, 0),
        ("UUID", ColumnType::String, 255, 36 * 4, NONE, 0),
        ("JSON", ColumnType::Json, 63, u32::MAX, BLOB.union(BINARY), 0),
    ];
    let declared: Vec<String> = types.iter().enumerate().map(|(at, column)| format!("c{at} {}", column.0)).collect();
    run(&mut client, &format!("CREATE TABLE t ({})", declared.join(", ")));
    let sent = columns(&mut client, "SELECT x.* FROM t AS x");
    let prepared = client.prepare("SELECT x.* FROM t AS x").expect("a statement").columns;
    assert_eq!(sent, prepared, "preparing says what executing does");
    for ((name, column_type, collation, length, flags, decimals), column) in types.iter().zip(&sent) {
        let found = (column.column_type, column.collation, column.length, column.flags, column.decimals);
        assert_eq!(found, (*column_type, *collation, *length, *flags, *decimals), "{name}");
        assert_eq!(
            (column.schema.as_str(), column.table.as_str(), column.org_table.as_str()),
            ("d", "x", "t"),
            "{name}"
        );
        assert_eq!(column.name, column.org_name, "{name}");
    }
}

#[test]
fn keys_defaults_and_nullability_are_flags() {
    let server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, k INT NOT NULL DEFAULT 5, \
         n INT NOT NULL, ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, KEY (k, n))",
    );
    let part = ColumnFlags::PART_KEY;
    let not_null = ColumnFlags::NOT_NULL;
    let expected = [
        ("id", not_null | ColumnFlags::PRI_KEY | ColumnFlags::AUTO_INCREMENT | part),
        ("u", ColumnFlags::UNIQUE_KEY | part),
        ("k", not_null | ColumnFlags::MULTIPLE_KEY | part),
        ("n", not_null | ColumnFlags::NO_DEFAULT_VALUE | part),
        ("ts", not_null | ColumnFlags::TIMESTAMP | ColumnFlags::ON_UPDATE_NOW | BINARY),
    ];
    for (column, (name, flags)) in columns(&mut client, "SELECT * FROM t").iter().zip(expected) {
        assert_eq!((column.name.as_str(), column.flags), (name, flags));
    }
}

#[test]
fn names_of_expressions_views_and_derived_tables() {
    let server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (a INT, `gr ün` VARCHAR(5)); CREATE VIEW v AS SELECT a AS b FROM t",
    );
    let describe = |client: &mut Client, sql: &str| {
        columns(client, sql)
            .iter()
            .map(|it| [&it.schema, &it.table, &it.org_table, &it.name, &it.org_name].map(String::as_str).join("|"))
            .collect::<Vec<_>>()
    };
    assert_eq!(describe(&mut client, "SELECT a AS x, T.a FROM t AS T"), ["d|T|t|x|a", "d|T|t|a|a"]);
    assert_eq!(describe(&mut client, "SELECT `gr ün` FROM t"), ["d|t|t|gr ün|gr ün"]);
    assert_eq!(describe(&mut client, "SELECT a  +  1, 'it''s', NULL FROM t"), ["|||a  +  1|", "|||it's|", "|||NULL|"]);
    assert_eq!(describe(&mut client, "SELECT COUNT(*),MAX( a ) FROM t"), ["|||COUNT(*)|", "|||MAX( a )|"]);
    assert_eq!(describe(&mut client, "SELECT b FROM v"), ["d|v|v|b|b"]);
    assert_eq!(describe(&mut client, "SELECT y FROM (SELECT a AS y FROM t) AS s"), ["d|s|t|y|a"]);
}

#[test]
fn calculated_integers_are_bigint() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(5))");
    let longlong = [
        ("1", 2),
        ("LENGTH(s)", 21),
        ("COALESCE(n, 0)", 21),
        ("n = 1", 1),
        ("COUNT(*)", 21),
        ("n + 1", 21),
        ("CASE WHEN n > 1 THEN n ELSE 7 END", 21),
    ];
    for (expr, length) in longlong {
        let column = columns(&mut client, &format!("SELECT {expr} FROM t")).remove(0);
        assert_eq!((column.column_type, column.length), (ColumnType::LongLong, length), "{expr}");
    }
    for expr in ["n", "MIN(n)", "COALESCE(n, id)", "IF(n > 1, n, id)", "GREATEST(n, id)"] {
        let column = columns(&mut client, &format!("SELECT {expr} FROM t")).remove(0);
        assert_eq!(column.column_type, ColumnType::Long, "{expr}");
    }
    let kept = columns(&mut client, "SELECT 5").remove(0);
    assert_eq!((kept.column_type, kept.length), (ColumnType::LongLong, 2));
    let prepared = client.prepare("SELECT 5").expect("a statement").columns;
    assert_eq!(prepared[0].column_type, ColumnType::LongLong);
    // A table made of them has INT columns, as in MySQL.
    run(&mut client, "CREATE TABLE made AS SELECT 5 AS five, LENGTH('abc') AS three");
    for column in columns(&mut client, "SELECT * FROM made") {
        assert_eq!(column.column_type, ColumnType::Long, "{}", column.name);
    }
}
