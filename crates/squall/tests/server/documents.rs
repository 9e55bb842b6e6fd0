//! Documents: queries give the same answers with and without an index, whatever happens to the rows; documents of any size.

use super::{connect, run, start, value};
use squall_client::Client;
use squall_test_support::random::Random;

/// A document over few names and values, so that conditions meet them.
fn document(random: &mut Random, depth: u64) -> String {
    match random.number() % if depth == 0 { 9 } else { 12 } {
        0 => "null".into(),
        1 => "true".into(),
        2 => "false".into(),
        3 => "\"x y\"".into(),
        4 => "\"X \"".into(),
        5 => format!("\"{}\"", random.number() % 3),
        6 => format!("{}.5", random.number() % 3),
        7 | 8 => (random.number() % 4).to_string(),
        9 | 10 => {
            let members: Vec<String> = (0..random.number() % 4)
                .map(|_| format!("\"{}\": {}", name(random), document(random, depth - 1)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        _ => {
            let elements: Vec<String> = (0..random.number() % 4).map(|_| document(random, depth - 1)).collect();
            format!("[{}]", elements.join(", "))
        }
    }
}

fn name(random: &mut Random) -> &'static str {
    ["a", "b", "A"][(random.number() % 3) as usize]
}

fn path(random: &mut Random) -> String {
    let legs: Vec<String> = (0..1 + random.number() % 2)
        .map(|_| {
            let place = ["", "", "", "[0]", "[*]", "[last]"][(random.number() % 6) as usize];
            format!(".{}{place}", name(random))
        })
        .collect();
    format!("${}", legs.concat())
}

fn condition(random: &mut Random, depth: u64) -> String {
    let scalar = |random: &mut Random| match random.number() % 8 {
        6 => "DATE'2020-01-01'".to_string(),
        7 => "'2020-01-01'".to_string(),
        0 => "'x y'".to_string(),
        1 => "TRUE".to_string(),
        2 => "'X'".to_string(),
        3 => "'1'".to_string(),
        4 => "1.5".to_string(),
        _ => (random.number() % 4).to_string(),
    };
    let at = path(random);
    match random.number() % if depth == 0 { 12 } else { 15 } {
        0 | 1 => format!("doc->'{at}' = {}", scalar(random)),
        2 => format!("doc->'{at}' {} {}", ["<", "<=", ">", ">="][(random.number() % 4) as usize], random.number() % 4),
        3 => format!("doc->'{at}' BETWEEN {} AND {}", random.number() % 3, random.number() % 4),
        4 => format!(
            "doc->>'{at}' = {}",
            ["'X '", "'x y'", "'1'", "'true'", "'null'", "'[]'"][(random.number() % 6) as usize]
        ),
        5 => format!("JSON_CONTAINS(doc, '{}')", document(random, 2)),
        6 => format!("JSON_CONTAINS(doc, '{}', '$.{}')", document(random, 1), name(random)),
        7 => format!("{} MEMBER OF (doc->'{at}')", scalar(random)),
        8 => format!("JSON_OVERLAPS(doc->'{at}', '{}')", document(random, 1)),
        9 => format!("JSON_CONTAINS_PATH(doc, '{}', '{at}', '$.b')", ["one", "all"][(random.number() % 2) as usize]),
        10 => {
            let lines = ["a=x", "a=1", "b=null a=2", "A=X", "b=1.5", "a=true", "a", "=1"];
            format!("MATCH (doc) AGAINST ('{}')", lines[(random.number() % 8) as usize])
        }
        11 => {
            let searches = ["+a=1 -b=1", "\"a=x y\"", "a=x*", "+(a=1 a=2) +b=2", "-a=1", "+a=X >b=0", "\"a=1", "*"];
            format!("MATCH (doc) AGAINST ('{}' IN BOOLEAN MODE)", searches[(random.number() % 8) as usize])
        }
        12 => format!("({} AND {})", condition(random, depth - 1), condition(random, depth - 1)),
        13 => format!("({} OR {})", condition(random, depth - 1), condition(random, depth - 1)),
        _ => format!("NOT ({})", condition(random, depth - 1)),
    }
}

fn change(random: &mut Random) -> String {
    match random.number() % 5 {
        0 | 1 => {
            let rows: Vec<String> =
                (0..1 + random.number() % 4).map(|_| format!("('{}')", document(random, 3))).collect();
            format!("INSERT INTO t (doc) VALUES {}", rows.join(", "))
        }
        2 => format!(
            "UPDATE t SET doc = JSON_SET(doc, '$.{}', {}) WHERE {} LIMIT 3",
            name(random),
            new_value(random),
            condition(random, 1)
        ),
        3 => format!("DELETE FROM t WHERE {} LIMIT 2", condition(random, 0)),
        _ => format!("UPDATE t SET id = id + 100000 WHERE id < 100000 AND {} LIMIT 1", condition(random, 0)),
    }
}

/// Of any type, also of those that JSON text has no words for.
fn new_value(random: &mut Random) -> String {
    match random.number() % 8 {
        0 => "DATE'2020-01-01'".to_string(),
        1 => "JSON_ARRAY(TIME'10:00:00', 2.50, x'00')".to_string(),
        2 => "1.50".to_string(),
        3 => "JSON_OBJECT('a', 0.1234567890123456789, 'b', TIMESTAMP'2020-01-01 10:00:00')".to_string(),
        _ => format!("CAST('{}' AS JSON)", document(random, 2)),
    }
}

/// Puts values of all types into documents.
fn retype(client: &mut Client, random: &mut Random) {
    for remainder in 0..7 {
        let sql = format!(
            "UPDATE t SET doc = JSON_SET(doc, '$.{}', {}) WHERE id % 7 = {remainder}",
            name(random),
            new_value(random)
        );
        run(client, &sql);
    }
}

#[test]
fn an_index_of_documents_says_what_none_says() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; SET sql_mode = ''");
    run(&mut client, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, doc JSON, FULLTEXT KEY k (doc))");
    let mut random = Random::of_run("an_index_of_documents_says_what_none_says");
    for _ in 0..30 {
        let rows: Vec<String> = (0..4).map(|_| format!("('{}')", document(&mut random, 3))).collect();
        run(&mut client, &format!("INSERT INTO t (doc) VALUES {}", rows.join(", ")));
    }
    retype(&mut client, &mut random);
    for round in 0..60 {
        let in_transaction = random.number().is_multiple_of(2);
        if in_transaction {
            run(&mut client, "BEGIN");
        }
        run(&mut client, &change(&mut random));
        compare(&mut client, &mut random, round);
        if in_transaction {
            run(&mut client, ["COMMIT", "ROLLBACK"][(random.number() % 2) as usize]);
            compare(&mut client, &mut random, round);
        }
        if round == 30 {
            run(&mut client, "ALTER TABLE t DROP KEY k, ADD FULLTEXT KEY k (doc)");
        }
    }
}

/// What is asked of one place of all documents.
fn aggregate(random: &mut Random) -> String {
    let name = name(random);
    let at =
        [format!("$.{name}"), format!("$.a.{name}"), format!("$.{name}.b.A")][(random.number() % 3) as usize].clone();
    let list = format!("JSON_EXTRACT_ALL(doc, '{name}')");
    match random.number() % 9 {
        0 => format!("SUM(doc->'{at}'), AVG(doc->'{at}')"),
        1 => format!("AVG(doc->'{at}' * 2 + 1)"),
        2 => format!("COUNT(doc->'{at}'), COUNT(DISTINCT doc->'{at}')"),
        3 => format!("MIN(doc->'{at}'), MAX(doc->'{at}'), SUM(doc->'{at}')"),
        4 => format!("SUM(CAST(doc->>'{at}' AS DECIMAL(10, 2)))"),
        5 => format!("SUM(JSUM({list})), SUM(JCOUNT({list}))"),
        6 => format!("MIN(JMIN({list})), MAX(JMAX({list}))"),
        7 => format!("JSON_SUM_ALL(doc, '{name}'), JSON_AVG_ALL(doc, '{name}'), JSON_COUNT_ALL(doc, '{name}')"),
        _ => format!("JSON_MIN_ALL(doc, '{name}'), JSON_MAX_ALL(doc, 'A')"),
    }
}

/// Whether two lists of numbers are equal, up to the last digits of doubles, which depend on the order in which they are added.
fn are_equal(one: &str, other: &str) -> bool {
    let is_near = |one: &str, other: &str| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
        _ => false,
    };
    let (ones, others): (Vec<&str>, Vec<&str>) = (one.split('|').collect(), other.split('|').collect());
    ones.len() == others.len() && ones.iter().zip(&others).all(|(one, other)| one == other || is_near(one, other))
}

#[test]
fn sums_by_an_index_are_those_of_the_documents() {
    // Fewer rows are not planned, but read one by one.
    const DOCUMENTS: u64 = 1500;
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; SET sql_mode = ''");
    run(&mut client, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, doc JSON, FULLTEXT KEY k (doc))");
    let mut random = Random::of_run("sums_by_an_index_are_those_of_the_documents");
    for _ in 0..DOCUMENTS / 100 {
        let rows: Vec<String> = (0..100).map(|_| format!("('{}')", document(&mut random, 4))).collect();
        run(&mut client, &format!("INSERT INTO t (doc) VALUES {}", rows.join(", ")));
    }
    retype(&mut client, &mut random);
    let plan = value(&mut client, "EXPLAIN FORMAT=TREE SELECT SUM(doc->'$.a') FROM t FORCE INDEX (k)");
    assert!(plan.contains("Covering index scan"), "{plan}");
    for round in 0..20 {
        let in_transaction = random.number().is_multiple_of(2);
        if in_transaction {
            run(&mut client, "BEGIN");
        }
        run(&mut client, &change(&mut random));
        for _ in 0..6 {
            let aggregate = aggregate(&mut random);
            let found = |client: &mut Client, hint: &str| {
                value(client, &format!("SELECT CONCAT_WS('|', {aggregate}) FROM t {hint} INDEX (k)"))
            };
            let (forced, ignored) = (found(&mut client, "FORCE"), found(&mut client, "IGNORE"));
            assert!(are_equal(&forced, &ignored), "round {round}: {aggregate}: {forced}, {ignored}");
        }
        if in_transaction {
            run(&mut client, ["COMMIT", "ROLLBACK"][(random.number() % 2) as usize]);
        }
    }
}

fn compare(client: &mut Client, random: &mut Random, round: u64) {
    for _ in 0..4 {
        let condition = condition(random, 2);
        let found = |client: &mut Client, hint: &str| {
            let sql =
                format!("SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM t {hint} INDEX (k) WHERE {condition}");
            value(client, &sql)
        };
        assert_eq!(found(client, "FORCE"), found(client, "IGNORE"), "round {round}: {condition}");
    }
}

#[test]
fn documents_of_any_size() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; SET GLOBAL max_allowed_packet = 1073741824");
    let mut client = connect(&server);
    run(&mut client, "USE d; CREATE TABLE big (id INT PRIMARY KEY, doc JSON, FULLTEXT KEY k (doc))");
    // A long string, a long name, many values. SQUALL_DOCUMENT_MEGABYTES=100 makes the long run.
    let megabytes: usize =
        std::env::var("SQUALL_DOCUMENT_MEGABYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let (text, name) = (megabytes << 20, megabytes << 18);
    run(
        &mut client,
        &format!("INSERT INTO big VALUES (1, CONCAT('{{\"k\": \"', REPEAT('x', {text}), '\", \"n\": 1}}'))"),
    );
    run(&mut client, &format!("INSERT INTO big VALUES (2, CONCAT('{{\"', REPEAT('y', {name}), '\": 2, \"n\": 2}}'))"));
    run(&mut client, "INSERT INTO big VALUES (3, CONCAT('{\"v\": [', REPEAT('7,', 500000), '8], \"n\": 3}'))");
    assert_eq!(value(&mut client, "SELECT id FROM big WHERE doc->'$.n' = 1"), "1");
    assert_eq!(value(&mut client, "SELECT LENGTH(doc) FROM big WHERE doc->'$.n' = 1"), (text + 17).to_string());
    assert_eq!(value(&mut client, "SELECT id FROM big FORCE INDEX (k) WHERE 8 MEMBER OF (doc->'$.v')"), "3");
    assert_eq!(value(&mut client, "SELECT JSON_LENGTH(doc, '$.v') FROM big WHERE id = 3"), "500001");
    let at = format!("JSON_CONTAINS_PATH(doc, 'one', CONCAT('$.', REPEAT('y', {name})))");
    assert_eq!(value(&mut client, &format!("SELECT id FROM big WHERE {at}")), "2");
    assert_eq!(
        value(
            &mut client,
            "SELECT JSON_OVERLAPS(CONCAT('[', REPEAT('1,', 30000), '2]'), CONCAT('[', REPEAT('3,', 30000), '4]'))"
        ),
        "0"
    );
    // Many ellipses lead to each value once.
    let nested = "CONCAT(REPEAT('{\"a\": ', 100), '\"x\"', REPEAT('}', 100))";
    let ellipses = "$**.a**.a**.a**.a**.a**.a**.a";
    assert_eq!(value(&mut client, &format!("SELECT JSON_LENGTH(JSON_EXTRACT({nested}, '{ellipses}'))")), "94");
    let search = format!("SELECT JSON_SEARCH({nested}, 'all', 'x', NULL, '{ellipses}') IS NOT NULL");
    assert_eq!(value(&mut client, &search), "1");
    run(&mut client, "DELETE FROM big");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM big WHERE doc->'$.n' > 0"), "0");
}
