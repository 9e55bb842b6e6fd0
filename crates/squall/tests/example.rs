//! Runs the module of `examples/` in a server, and uses it as a client.

#[path = "../../../examples/greeter.rs"]
mod greeter;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

fn one(client: &mut Conn, sql: &str) -> String {
    client.query_first::<String, _>(sql).expect(sql).expect("a row")
}

fn error(client: &mut Conn, sql: &str) -> u16 {
    match client.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_module_brings_all_of_its_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, server) = greeter::serve(folder.path(), 0).expect("a server");
    let port = server.tcp_addresses()[0].port();
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("root"));
    let mut client = Conn::new(options.clone()).expect("a client");
    assert_eq!(one(&mut client, "SELECT GREETING('Ada')"), "Hello, Ada!");
    assert_eq!(error(&mut client, "SELECT GREETING()"), 1582);

    // A function that comes while the server runs, and becomes another one: also in prepared statements.
    assert_eq!(error(&mut client, "SELECT SALUT('Ada')"), 1305);
    client.query_drop("CALL greeter.define('salut', 'Salut, % !')").expect("CALL");
    for _ in 0..3 {
        assert_eq!(one(&mut client, "SELECT SALUT('Ada')"), "Salut, Ada !");
    }
    let prepared = client.prep("SELECT SALUT(?)").expect("PREPARE");
    assert_eq!(client.exec_first::<String, _, _>(&prepared, ("Eve",)).unwrap().unwrap(), "Salut, Eve !");
    client.query_drop("CREATE DATABASE d; ").expect("a database");
    client.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20))").expect("a table");
    client.query_drop("INSERT INTO d.t VALUES (1, 'Ada'), (2, 'Eve'), (3, NULL)").expect("rows");
    let small = "SELECT COALESCE(SALUT(name), '-') FROM d.t WHERE id = 2";
    for _ in 0..3 {
        assert_eq!(one(&mut client, small), "Salut, Eve !");
    }
    client.query_drop("CALL greeter.define('SALUT', 'Bonjour, %')").expect("CALL");
    assert_eq!(one(&mut client, "SELECT SALUT('Ada')"), "Bonjour, Ada");
    assert_eq!(one(&mut client, small), "Bonjour, Eve");
    assert_eq!(client.exec_first::<String, _, _>(&prepared, ("Eve",)).unwrap().unwrap(), "Bonjour, Eve");

    // What may be gone when a row is written is in no definition.
    for (sql, code) in [
        ("CREATE TABLE d.a (x INT, y TEXT AS (SALUT(x)))", 3763),
        ("CREATE TABLE d.b (x INT, CHECK (SALUT(x) <> ''))", 3814),
        ("CREATE TABLE d.c (x VARCHAR(20) DEFAULT (SALUT('Ada')))", 3770),
        ("CREATE INDEX i ON d.t ((LEFT(SALUT(name), 20)))", 3758),
    ] {
        assert_eq!(error(&mut client, sql), code, "{sql}");
    }

    // A privilege and an error of its own.
    assert_eq!(error(&mut client, "CALL greeter.define('CIAO', 'Ciao')"), 50_001);
    for sql in ["CREATE USER ada", "GRANT EXECUTE ON *.* TO ada"] {
        client.query_drop(sql).expect(sql);
    }
    let mut ada = Conn::new(options.clone().user(Some("ada"))).expect("a client");
    assert_eq!(error(&mut ada, "CALL greeter.define('CIAO', 'Ciao, %')"), 1227);
    client.query_drop("GRANT GREETER_ADMIN ON *.* TO ada").expect("GRANT");
    ada.query_drop("CALL greeter.define('CIAO', 'Ciao, %')").expect("CALL");
    assert_eq!(one(&mut client, "SELECT CIAO('Ada')"), "Ciao, Ada");
    client.query_drop("REVOKE GREETER_ADMIN ON *.* FROM ada").expect("REVOKE");
    assert_eq!(error(&mut ada, "CALL greeter.define('CIAO', 'Ciao, %')"), 1227);

    let counted: u64 = one(&mut client, "SELECT statements FROM greeter.statements_by_user WHERE user LIKE 'root%'")
        .parse()
        .expect("a number");
    assert!(counted > 15, "{counted}");
    drop((client, prepared, ada));
    server.shut_down().expect("the end of the server");
    database.close().expect("the end of the database");
}
