//! The description of the paths and tables.

use super::Served;
use super::client::Web;
use mysql::prelude::Queryable;
use serde_json::Value as Json;

/// The description that a client gets.
fn described(web: &Web, query: &str) -> Json {
    let answer = web.get(&format!("/1.0/openapi.json{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.is_whole);
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// The tables of a description.
fn tables(description: &Json) -> Vec<&str> {
    let schemas = description["components"]["schemas"].as_object().expect("schemas");
    schemas.keys().filter(|name| name.contains('.') && !name.ends_with(".new")).map(String::as_str).collect()
}

#[test]
fn an_account_is_told_of_what_it_sees() {
    let mut served = Served::start();
    for sql in [
        "CREATE TABLE d.items (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50) NOT NULL, secret INT)",
        "CREATE VIEW d.names AS SELECT name FROM d.items",
        "CREATE DATABASE other",
        "CREATE TABLE other.t (a INT)",
        "CREATE USER reader IDENTIFIED BY 'pw'",
        "GRANT JSON_API ON *.* TO reader",
        "GRANT SELECT (id, name) ON d.items TO reader",
    ] {
        served.run(sql);
    }
    let all = described(&served.web(), "");
    assert_eq!(all["openapi"], "3.1.0");
    assert_eq!(tables(&all), ["d.items", "d.names"]);
    let items = &all["components"]["schemas"]["d.items"];
    assert_eq!(items["x-primary-key"], serde_json::json!(["id"]));
    assert_eq!(items["properties"]["secret"]["type"], serde_json::json!(["integer", "null"]));
    assert_eq!(all["components"]["schemas"]["d.items.new"]["required"], serde_json::json!(["name"]));
    // Columns and tables are those that the account may use.
    let few = described(&Web::new(served.port).user("reader", "pw"), "");
    assert_eq!(tables(&few), ["d.items"]);
    let columns = few["components"]["schemas"]["d.items"]["properties"].as_object().expect("columns");
    assert_eq!(columns.keys().collect::<Vec<_>>(), ["id", "name"]);
    // So are those of a token.
    served.run("GRANT ALL ON other.* TO web");
    assert_eq!(tables(&described(&served.web(), "")).len(), 3);
    let token: (String, String) =
        served.root.query_first("CREATE API TOKEN FOR web SCHEMAS (other)").expect("a token").expect("a row");
    let bearer = Web::new(served.port).with("Authorization", &format!("Bearer {}", token.1));
    assert_eq!(tables(&described(&bearer, "")), ["other.t"]);
    // A part of it.
    assert_eq!(tables(&described(&served.web(), "?schema=d&table=names")), ["d.names"]);
    assert!(tables(&described(&served.web(), "?schema=d%27%20OR%201%3D1--")).is_empty());
    assert!(!tables(&described(&served.web(), "?schema=information_schema&table=TABLES")).is_empty());
    assert_eq!(served.web().get("/1.0/openapi.json?table=names").status, 400);
    assert_eq!(Web::new(served.port).get("/1.0/openapi.json").status, 401);
    assert_eq!(served.web().post("/1.0/openapi.json", "{}").status, 405);
}

#[test]
fn a_description_has_a_bound() {
    let mut served = Served::start();
    let columns: Vec<String> = (0..1000).map(|at| format!("c{at} INT")).collect();
    for table in 0..11 {
        served.run(&format!("CREATE TABLE d.t{table} ({})", columns.join(", ")));
    }
    let refused = served.web().get("/1.0/openapi.json");
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert!(refused.text().contains("?schema="), "{}", refused.text());
    assert_eq!(tables(&described(&served.web(), "?schema=d&table=t7")), ["d.t7"]);
}

#[test]
fn a_description_of_long_columns_has_a_bound() {
    let mut served = Served::start();
    // Few columns, with half a megabyte of members each.
    let members: Vec<String> = (0..2000).map(|at| format!("'{at:0>250}'")).collect();
    let column = |at| format!("c{at} ENUM({})", members.join(","));
    served.run(&format!("CREATE TABLE d.t0 ({})", (0..8).map(column).collect::<Vec<_>>().join(", ")));
    for table in 1..5 {
        served.run(&format!("CREATE TABLE d.t{table} LIKE d.t0"));
    }
    let refused = served.web().get("/1.0/openapi.json");
    assert_eq!(refused.status, 413, "{}", &refused.text()[..refused.text().len().min(200)]);
    assert!(refused.text().contains("?schema="), "{}", refused.text());
    assert_eq!(tables(&described(&served.web(), "?schema=d&table=t1")), ["d.t1"]);
}

#[test]
fn values_of_a_key_are_a_list() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.one (id INT PRIMARY KEY)");
    served.run("CREATE TABLE d.two (a INT, b INT, PRIMARY KEY (a, b))");
    let description = described(&served.web(), "?schema=d");
    let key = |table: &str| description["paths"][format!("/1.0/db/d/{table}/{{key}}")]["parameters"][0].clone();
    assert_eq!(
        (key("one")["schema"]["type"].as_str(), key("two")["schema"]["type"].as_str()),
        (Some("string"), Some("array"))
    );
    assert_eq!(key("two")["style"], "simple");
    let after = &description["components"]["parameters"]["After"];
    assert_eq!((after["schema"]["type"].as_str(), after["explode"].as_bool()), (Some("array"), Some(false)));
}
