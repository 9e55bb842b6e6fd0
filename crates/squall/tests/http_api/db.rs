//! `/1.0/db`: reading.

use super::Served;
use super::client::{Answer, Web};

impl Served {
    /// Asks `/1.0/db` and the rest of a path.
    pub fn db(&self, rest: &str) -> Answer {
        self.web().get(&format!("/1.0/db{rest}"))
    }
}

/// The part of a page that is its rows.
pub fn items(answer: &Answer) -> String {
    let text = answer.text();
    let end = text.find(",\"limit\":").unwrap_or_else(|| panic!("{text}"));
    text["{\"items\":".len()..end].to_owned()
}

/// The path of a link of a page.
pub fn link(answer: &Answer, rel: &str) -> Option<String> {
    let text = answer.text();
    let start = text.find(&format!("{{\"rel\":\"{rel}\",\"href\":\""))?;
    let rest = text[start..].split("\"href\":\"").nth(1)?;
    Some(rest.split('"').next()?.to_owned())
}

/// Percent-encodes all of a text.
pub fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The number of a problem's error.
pub fn code(answer: &Answer) -> u16 {
    let text = answer.text();
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{text}");
    let number = text.split("\"error_code\":").nth(1).and_then(|rest| rest.split(',').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn databases_and_tables_are_listed() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("CREATE VIEW d.v AS SELECT id FROM d.t");
    served.run("CREATE DATABASE hidden");
    let text = served.db("").text();
    assert!(text.contains(r#"{"name":"d","links":[{"rel":"self","href":"/1.0/db/d"}]}"#), "{text}");
    assert!(!text.contains("hidden"), "{text}");
    let expected = concat!(
        r#"{"items":[{"name":"t","type":"table","links":[{"rel":"self","href":"/1.0/db/d/t"}]},"#,
        r#"{"name":"v","type":"view","links":[{"rel":"self","href":"/1.0/db/d/v"}]}],"count":2,"#,
        r#""links":[{"rel":"self","href":"/1.0/db/d"}]}"#
    );
    assert_eq!(served.db("/d").text(), expected);
    // Who may see nothing of a database does not learn whether there is one.
    assert_eq!((served.db("/hidden").status, served.db("/missing").status), (403, 403));
    served.run("GRANT SELECT ON *.* TO web");
    assert_eq!((served.db("/hidden").status, served.db("/missing").status), (200, 404));
    assert_eq!(Web::new(served.port).get("/1.0/db").status, 401);
    for (method, path, allow) in [
        ("POST", "/1.0/db", "GET, HEAD"),
        ("DELETE", "/1.0/db/d", "GET, HEAD"),
        ("PUT", "/1.0/db/d/t", "GET, HEAD, POST"),
        ("POST", "/1.0/db/d/t/1", "GET, HEAD, PUT, PATCH, DELETE"),
        ("GET", "/1.0/call/d/p", "POST"),
    ] {
        let answer = served.web().ask(method, path, None);
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{path}");
    }
    assert_eq!(served.db("/d/t/1/2").status, 404);
}

#[test]
fn pages_are_told_by_keys_or_offsets() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(10), n INT)");
    served.run("INSERT INTO d.t VALUES (1,'a',3),(2,'b',3),(3,'c',2),(4,'d',1),(5,NULL,NULL)");
    let page = served.db("/d/t?limit=2");
    let expected = concat!(
        r#"{"items":[{"id":1,"a":"a","n":3},{"id":2,"a":"b","n":3}],"limit":2,"offset":0,"hasMore":true,"count":2,"#,
        r#""links":[{"rel":"self","href":"/1.0/db/d/t?limit=2"},{"rel":"next","href":"/1.0/db/d/t?limit=2&after=2"},"#,
        r#"{"rel":"first","href":"/1.0/db/d/t?limit=2"}]}"#
    );
    assert_eq!((page.status, page.text().as_str()), (200, expected));
    // Pages follow each other to the end, also without the key among the fields.
    let (mut path, mut all) = (Some("/1.0/db/d/t?limit=2&fields=a".to_owned()), Vec::new());
    while let Some(next) = path {
        let page = served.web().get(&next);
        all.push(items(&page));
        path = link(&page, "next");
    }
    assert_eq!(all, [r#"[{"a":"a"},{"a":"b"}]"#, r#"[{"a":"c"},{"a":"d"}]"#, r#"[{"a":null}]"#]);
    assert_eq!(items(&served.db("/d/t?order=-id&limit=2&fields=id")), r#"[{"id":5},{"id":4}]"#);
    assert_eq!(items(&served.db("/d/t?order=-id&limit=2&fields=id&after=4")), r#"[{"id":3},{"id":2}]"#);
    // By other columns pages are told by offsets, and the key decides between equals.
    let page = served.db("/d/t?order=-n&fields=id,n&limit=3&offset=0");
    assert_eq!(items(&page), r#"[{"id":1,"n":3},{"id":2,"n":3},{"id":3,"n":2}]"#);
    let next = link(&page, "next").expect("a page");
    assert_eq!(next, "/1.0/db/d/t?order=-n&fields=id,n&limit=3&offset=3");
    assert_eq!(items(&served.web().get(&next)), r#"[{"id":4,"n":1},{"id":5,"n":null}]"#);
    let page = served.db("/d/t?limit=1&total=true&where=%7B%22n%22:3%7D");
    assert!(page.text().contains(r#""hasMore":true,"count":1,"total":2,"#), "{}", page.text());
    assert_eq!(items(&served.db("/d/t?after=9")), "[]");
    for (query, status) in [
        ("limit=0", 400),
        ("limit=10001", 400),
        ("limit=x", 400),
        ("offset=-1", 400),
        ("after=1&offset=1", 400),
        ("after=x", 400),
        ("after=1,2", 400),
        ("order=n&after=1", 400),
        ("order=id,id", 400),
        ("order=x", 400),
        ("fields=x", 400),
        ("fields=id,id", 400),
        ("total=1", 400),
        ("numbers=x", 400),
        ("other=1", 400),
        ("limit=1&limit=2", 400),
    ] {
        let answer = served.db(&format!("/d/t?{query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    assert_eq!(code(&served.db("/d/t?fields=x")), 1054);
    assert_eq!(served.db("/d/missing").status, 404);
}

#[test]
fn filters_say_which_rows() {
    let mut served = Served::start();
    served
        .run("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20), age INT, doc JSON, big BIGINT, b VARBINARY(5))");
    served.run(
        "INSERT INTO d.t VALUES (1,'Ada',36,'{\"a\": 1}',9007199254740993,x'00ff'),(2,'bob',5,NULL,1,NULL),\
         (3,'c%d',NULL,'[1]',NULL,x'00'),(4,'1abc',70,NULL,0,NULL)",
    );
    for (filter, expected) in [
        (r#"{}"#, "[1,2,3,4]"),
        (r#"{"age":{"$gt":5}}"#, "[1,4]"),
        (r#"{"age":{"$gte":5,"$lt":70}}"#, "[1,2]"),
        (r#"{"age":36}"#, "[1]"),
        (r#"{"age":{"$ne":36}}"#, "[2,4]"),
        (r#"{"age":null}"#, "[3]"),
        (r#"{"age":{"$null":false}}"#, "[1,2,4]"),
        (r#"{"age":{"$not":{"$gt":5}}}"#, "[2]"),
        (r#"{"$or":[{"id":1},{"name":{"$like":"c\\%%"}}]}"#, "[1,3]"),
        (r#"{"$and":[{"id":{"$gt":1}},{"$not":{"id":4}}]}"#, "[2,3]"),
        (r#"{"id":{"$in":[1,"3",9]}}"#, "[1,3]"),
        (r#"{"id":{"$in":[]}}"#, "[]"),
        (r#"{"big":"9007199254740993"}"#, "[1]"),
        (r#"{"b":"AP8="}"#, "[1]"),
        (r#"{"doc":{"$eq":{"a":1}}}"#, "[1]"),
        // A text is no number that it begins with, and nothing of it is SQL.
        (r#"{"name":"1"}"#, "[]"),
        (r#"{"name":"' OR 1=1 -- "}"#, "[]"),
    ] {
        let answer = served.db(&format!("/d/t?fields=id&where={}", encoded(filter)));
        assert_eq!(answer.status, 200, "{filter}: {}", answer.text());
        let ids: String = items(&answer).replace("{\"id\":", "").replace('}', "");
        assert_eq!(ids, expected, "{filter}");
    }
    for (filter, detail) in [
        ("", "where: EOF"),
        ("[]", "where: an object is needed"),
        (r#"{"x":1}"#, "where: at x: there is no such column"),
        (r#"{"age":{"$gt":"x"}}"#, "where: at age.$gt: a number is needed"),
        (r#"{"$or":[{"id":1},{"name":7}]}"#, "where: at $or[1].name: a string is needed"),
        (r#"{"age":{"$regex":"x"}}"#, "where: at age.$regex: there is no such operator"),
    ] {
        let answer = served.db(&format!("/d/t?where={}", encoded(filter)));
        assert!(answer.status == 400 && answer.text().contains(detail), "{filter}: {}", answer.text());
    }
}

#[test]
fn values_have_their_forms_in_rows() {
    let mut served = Served::start();
    served.run(
        "CREATE TABLE d.t (id BIGINT UNSIGNED PRIMARY KEY, p DECIMAL(6,2), x DOUBLE, d DATE, ts DATETIME(3), tm TIME, \
         b BLOB, j JSON, bits BIT(10), e ENUM('a','b'), y YEAR, g INT AS (id MOD 10), hidden INT INVISIBLE DEFAULT 7)",
    );
    served.run(
        "INSERT INTO d.t (id,p,x,d,ts,tm,b,j,bits,e,y) VALUES (18446744073709551615,-1.5,0.25,'2026-01-02',\
         '2026-01-02 03:04:05.678','-10:00:00',x'00ff','{\"k\": [1, null]}',b'1000000001','b',2026)",
    );
    let rest = concat!(
        r#""d":"2026-01-02","ts":"2026-01-02 03:04:05.678","tm":"-10:00:00","b":"AP8=","#,
        r#""j":{"k": [1, null]},"bits":513,"e":"b","y":2026,"g":5}"#
    );
    let plain = format!(r#"{{"id":"18446744073709551615","p":"-1.50","x":0.25,{rest}"#);
    let exact = format!(r#"{{"id":18446744073709551615,"p":-1.50,"x":0.25,{rest}"#);
    let row = served.db("/d/t/18446744073709551615");
    assert_eq!(row.text(), plain);
    let exactly = served.db("/d/t/18446744073709551615?numbers=exact");
    assert_eq!((exactly.text(), exactly.header("etag")), (exact.clone(), row.header("etag")));
    assert_eq!(items(&served.db("/d/t")), format!("[{plain}]"));
    assert_eq!(items(&served.db("/d/t?numbers=exact")), format!("[{exact}]"));
    assert_eq!(items(&served.db("/d/t?fields=hidden")), r#"[{"hidden":7}]"#);
}

#[test]
fn rows_are_found_by_keys_of_any_type() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.c (a INT, b VARCHAR(20), v INT, PRIMARY KEY (b, a))");
    served.run("INSERT INTO d.c VALUES (1,'x,y',10),(2,'',20),(3,'\u{2603}/?',30)");
    // The values are in the order of the key.
    for (key, value) in [("x%2Cy,1", 10), (",2", 20), ("%E2%98%83%2F%3F,3", 30)] {
        let answer = served.db(&format!("/d/c/{key}"));
        assert!(answer.text().ends_with(&format!("\"v\":{value}}}")), "{key}: {}", answer.text());
    }
    for key in ["x%2Cy", "x,y,1", "x%2Cy,2", "x%2Cy,1a", "x%2Cy,"] {
        assert_eq!(served.db(&format!("/d/c/{key}")).status, 404, "{key}");
    }
    let page = served.db("/d/c?limit=2");
    assert_eq!(link(&page, "next").as_deref(), Some("/1.0/db/d/c?limit=2&after=%E2%98%83%2F%3F,3"));
    assert!(items(&served.db("/d/c?limit=2&after=%E2%98%83%2F%3F,3")).contains("\"v\":10"));
    served.run("CREATE TABLE d.k (b VARBINARY(5) PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.k VALUES (x'00ff',1)");
    assert_eq!(served.db("/d/k/AP8=").text(), r#"{"b":"AP8=","v":1}"#);
    served.run("CREATE TABLE d.w (d DATE PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.w VALUES ('2026-01-02',1)");
    assert_eq!(served.db("/d/w/2026-01-02").text(), r#"{"d":"2026-01-02","v":1}"#);
    // A text that begins with a number is not that number.
    served.run("CREATE TABLE d.n (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.n VALUES (0),(1)");
    for key in ["abc", "1abc", "1.0x", "01", "+1", " 1", "", "1;"] {
        assert_eq!(served.db(&format!("/d/n/{}", encoded(key))).status, 404, "{key}");
    }
    // Without a key there are pages, but no single rows.
    served.run("CREATE TABLE d.heap (a INT)");
    served.run("INSERT INTO d.heap VALUES (1),(2),(3)");
    served.run("CREATE VIEW d.v AS SELECT id, id + 1 AS next FROM d.n");
    assert_eq!(served.db("/d/heap/1").status, 404);
    let page = served.db("/d/heap?limit=2");
    assert_eq!(link(&page, "next").as_deref(), Some("/1.0/db/d/heap?limit=2&offset=2"));
    assert_eq!(
        items(&served.db("/d/v?order=-next&where=%7B%22next%22:%7B%22$gt%22:1%7D%7D")),
        r#"[{"id":1,"next":2}]"#
    );
    let posted = served.web().post("/1.0/db/d/v", "{\"id\":5}");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
    served.run("CREATE TABLE d.cols (id INT PRIMARY KEY, a INT) ENGINE = COLUMN");
    served.run("INSERT INTO d.cols VALUES (1,2),(3,4)");
    assert_eq!(served.db("/d/cols/3").text(), r#"{"id":3,"a":4}"#);
    assert_eq!(items(&served.db("/d/cols?limit=1")), r#"[{"id":1,"a":2}]"#);
    assert!(
        served.db("/information_schema/TABLES?limit=1").text().starts_with("{\"items\":[{\"TABLE_CATALOG\":\"def\"")
    );
}

#[test]
fn names_and_values_of_any_script_are_only_names_and_values() {
    let mut served = Served::start();
    let (table, column) = ("t'\";-- `\u{2603}/%,?", "c`'\",\u{1d122}#$");
    served.run("SET NAMES utf8mb4");
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let table_path = format!("/1.0/db/d/{}", encoded(table));
    served.run("CREATE TABLE d.other (id INT)");
    // A name with a character beyond the first plane is refused by SQL; it is only a name that there is not here.
    let column = &column.replace('\u{1d122}', "\u{fd}");
    served.run(&format!(
        "CREATE TABLE d.{} ({} VARCHAR(200) PRIMARY KEY, v VARCHAR(200))",
        quoted(table),
        quoted(column)
    ));
    let value = "'); DROP TABLE d.other; -- ` \" \\ ; \u{2603} \u{1d122} \0 /,%";
    let json = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\0', "\\u0000");
        format!("\"{escaped}\"")
    };
    let body = format!("{{{}:{},\"v\":{}}}", json(column), json(value), json(value));
    let posted = served.web().post(&table_path, &body);
    assert_eq!((posted.status, posted.text().as_str()), (201, body.as_str()));
    let location = posted.header("location").expect("a path").to_owned();
    assert_eq!(served.web().get(&location).text(), body);
    assert_eq!(served.web().get(&format!("{table_path}/{}", encoded(value))).text(), body);
    let filter = format!("{{{}:{}}}", json(column), json(value));
    let page = format!("{table_path}?where={}&order=-{}&fields=v", encoded(&filter), encoded(column));
    assert_eq!(items(&served.web().get(&page)), format!("[{{\"v\":{}}}]", json(value)));
    let next = served.web().get(&format!("{table_path}?after={}", encoded("'")));
    assert_eq!(next.status, 200, "{}", next.text());
    assert_eq!(served.web().ask("DELETE", &location, None).status, 204);
    assert_eq!(served.web().get(&location).status, 404);
    for path in ["/d/t%00", "/d/%F0%9D%84%A2", "/%00/t", "//t", "/d//1", "/d/%60;DROP%20TABLE%20other"] {
        let status = served.db(path).status;
        assert!([403, 404].contains(&status), "{path}: {status}");
    }
    assert_eq!(served.db("/d/%ff").status, 400);
    assert_eq!(served.db("/d/other").status, 200);
}

#[test]
fn an_account_sees_the_columns_that_it_may_read() {
    let mut served = Served::start();
    served.run("CREATE DATABASE e");
    served.run("CREATE TABLE e.t (id INT PRIMARY KEY, open INT, secret INT)");
    served.run("INSERT INTO e.t VALUES (1,2,3),(4,5,6)");
    assert_eq!(code(&served.db("/e/t")), 1142);
    assert_eq!((served.db("/e/t").status, served.db("/e/missing").status, served.db("/e/t/1").status), (403, 403, 403));
    served.run("GRANT SELECT (id, open) ON e.t TO web");
    assert_eq!(served.db("/e/t/1").text(), r#"{"id":1,"open":2}"#);
    assert_eq!(items(&served.db("/e/t")), r#"[{"id":1,"open":2},{"id":4,"open":5}]"#);
    // What it may not see is neither shown, nor asked for, nor ordered by.
    for query in ["fields=secret", "order=secret", "where=%7B%22secret%22:3%7D"] {
        assert_eq!(served.db(&format!("/e/t?{query}")).status, 400, "{query}");
    }
    // The tag is of what it sees.
    let before = served.db("/e/t/1").header("etag").map(str::to_owned);
    served.run("UPDATE e.t SET secret = 9");
    assert_eq!(served.db("/e/t/1").header("etag").map(str::to_owned), before);
    for method in ["PUT", "PATCH", "DELETE"] {
        let answer = served.web().ask(method, "/1.0/db/e/t/1", Some(b"{\"open\":7}"));
        assert_eq!(answer.status, 403, "{method}: {}", answer.text());
    }
    assert_eq!(served.web().post("/1.0/db/e/t", "{\"id\":7}").status, 403);
    served.run("GRANT UPDATE (open) ON e.t TO web");
    let patched = served.web().ask("PATCH", "/1.0/db/e/t/1", Some(b"{\"open\":7}"));
    assert_eq!((patched.status, patched.text().as_str()), (200, r#"{"id":1,"open":7}"#));
    // It may store rows that it cannot read.
    served.run("REVOKE SELECT (id, open), UPDATE (open) ON e.t FROM web");
    served.run("GRANT INSERT ON e.t TO web");
    let posted = served.web().post("/1.0/db/e/t", "{\"id\":7}");
    assert_eq!((posted.status, posted.body.len(), posted.header("location")), (201, 0, Some("/1.0/db/e/t/7")));
    served.run("REVOKE JSON_API ON *.* FROM web");
    assert_eq!(served.db("/d/t").status, 403);
}
