//! `/1.0/call`.

use super::Served;
use super::db::code;

#[test]
fn procedures_answer_with_results_and_what_comes_out() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(20))");
    served.run("INSERT INTO d.t VALUES (1,'a'),(2,'b'),(3,'c')");
    served.run(
        "CREATE PROCEDURE d.p(IN least INT, OUT n BIGINT, INOUT doc JSON, OUT day DATE, OUT b VARBINARY(5)) BEGIN \
         SELECT id, a FROM d.t WHERE id >= least ORDER BY id; SELECT 'second' AS s; \
         SET n = 9007199254740993; SET doc = JSON_SET(doc, '$.x', least); SET day = '2026-01-02'; SET b = x'00ff'; END",
    );
    let answer = served.web().post("/1.0/call/d/p", r#"{"least":2,"DOC":{"k":[1]}}"#);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.timeless();
    assert!(text.contains(r#""rows":[[2,"b"],[3,"c"]],"#) && text.contains(r#""rows":[["second"]],"#), "{text}");
    let out = r#","out":{"n":"9007199254740993","doc":{"k": [1], "x": 2},"day":"2026-01-02","b":"AP8="}}"#;
    assert!(text.ends_with(out), "{text}");
    let exact = served.web().post("/1.0/call/d/P?numbers=exact", r#"{"least":9,"doc":null}"#);
    assert!(exact.timeless().contains(r#""out":{"n":9007199254740993,"doc":null,"#), "{}", exact.text());
    for (body, status, detail) in [
        ("{}", 400, "the parameter 'least' is missing"),
        (r#"{"least":1,"doc":null,"n":1}"#, 400, "the parameter 'n' is OUT"),
        (r#"{"least":1,"doc":null,"z":1}"#, 400, "no parameter 'z'"),
        (r#"{"least":[],"doc":null}"#, 422, "at least: "),
        ("[]", 400, "not a JSON object"),
        ("", 400, "not a JSON object"),
        (r#"{"least":"x","doc":null}"#, 422, "1366"),
    ] {
        let answer = served.web().post("/1.0/call/d/p", body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.text().contains(detail), "{body}: {}", answer.text());
    }
    served.run("CREATE PROCEDURE d.fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END");
    let answer = served.web().post("/1.0/call/d/fails", "{}");
    assert_eq!((answer.status, code(&answer)), (422, 1644), "{}", answer.text());
    // Values are never a part of the statement.
    served.run("CREATE PROCEDURE d.echo(v TEXT) SELECT v");
    let answer = served.web().post("/1.0/call/d/echo", r#"{"v":"'); DROP TABLE d.t; -- \u2603\ud834\udd22"}"#);
    assert!(answer.text().contains("[[\"'); DROP TABLE d.t; -- \u{2603}\u{1d122}\"]]"), "{}", answer.text());
    assert_eq!(served.db("/d/t").status, 200);
}

#[test]
fn functions_answer_with_a_value() {
    let mut served = Served::start();
    served.run("CREATE FUNCTION d.f(a INT, b JSON) RETURNS JSON DETERMINISTIC RETURN JSON_ARRAY(a, b)");
    let answer = served.web().post("/1.0/call/d/f", r#"{"b":{"k":1},"a":5}"#);
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"value":[5, {"k": 1}]}"#));
    served.run("CREATE FUNCTION d.`f;\u{2603}`() RETURNS DECIMAL(5,2) DETERMINISTIC RETURN 1.5");
    assert_eq!(served.web().post("/1.0/call/d/f%3B%E2%98%83", "{}").text(), r#"{"value":"1.50"}"#);
    assert_eq!(served.web().post("/1.0/call/d/f%3B%E2%98%83?numbers=exact", "{}").text(), r#"{"value":1.50}"#);
    // A procedure of the same name goes before it.
    served.run("CREATE PROCEDURE d.f() SELECT 'procedure'");
    assert!(served.web().post("/1.0/call/d/f", "{}").text().contains("procedure"));
    assert!(served.web().post("/1.0/call/d/f?kind=function", r#"{"a":1,"b":null}"#).text().contains("\"value\""));
    assert_eq!(served.web().post("/1.0/call/d/f?kind=x", "{}").status, 400);
    assert_eq!((served.web().post("/1.0/call/d/missing", "{}").status), 404);
}

#[test]
fn routines_need_their_privilege() {
    let mut served = Served::start();
    served.run("CREATE DATABASE e");
    served.run("CREATE TABLE e.t (a INT)");
    served.run("CREATE PROCEDURE e.p(v INT) INSERT INTO e.t VALUES (v)");
    served.run("CREATE FUNCTION e.f() RETURNS INT DETERMINISTIC RETURN 7");
    for path in ["/1.0/call/e/p", "/1.0/call/e/f", "/1.0/call/e/missing"] {
        let answer = served.web().post(path, "{}");
        assert_eq!((answer.status, code(&answer)), (403, 1370), "{path}: {}", answer.text());
    }
    served.run("GRANT EXECUTE ON FUNCTION e.f TO web");
    assert_eq!(served.web().post("/1.0/call/e/f", "{}").text(), r#"{"value":7}"#);
    served.run("GRANT EXECUTE ON PROCEDURE e.p TO web");
    assert_eq!(served.web().post("/1.0/call/e/p", r#"{"v":1}"#).status, 200);
    // A token that may only read does not change anything by them.
    let (_, token) = served.token("CREATE API TOKEN FOR web READ ONLY");
    let web = super::Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    let answer = web.post("/1.0/call/e/p", r#"{"v":2}"#);
    assert_eq!((answer.status, code(&answer)), (403, 1792), "{}", answer.text());
    assert_eq!(web.post("/1.0/call/e/f", "{}").status, 200);
    // It is the second of a connection's requests, and none of them sees what another has left.
    served.run("CREATE PROCEDURE d.leaves() BEGIN SET @x = 1; SELECT GET_LOCK('l', 0); START TRANSACTION; END");
    served.run("CREATE PROCEDURE d.looks() SELECT @x, IS_USED_LOCK('l')");
    assert_eq!(served.web().post("/1.0/call/d/leaves", "{}").status, 200);
    let looked = served.web().post("/1.0/call/d/looks", "{}");
    assert!(looked.text().contains("[[null,null]]"), "{}", looked.text());
}
