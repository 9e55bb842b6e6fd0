//! `/1.0/db`: keys whose texts are not what they are compared with, and lists whose commas are encoded.

use super::Served;
use super::db::{code, items, link};

#[test]
fn a_new_row_is_shown_by_its_own_key() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (name VARCHAR(10) PRIMARY KEY, v INT)");
    served.run("INSERT INTO d.t VALUES ('01', 9)");
    for (body, path, shown) in [
        (r#"{"name":1,"v":5}"#, "1", r#"{"name":"1","v":5}"#),
        (r#"{"name":true,"v":6}"#, "", ""),
        (r#"{"name":1.50,"v":7}"#, "1.50", r#"{"name":"1.50","v":7}"#),
    ] {
        let answer = served.web().post("/1.0/db/d/t", body);
        if path.is_empty() {
            // It is '1', too.
            assert_eq!((answer.status, code(&answer)), (409, 1062), "{}", answer.text());
            continue;
        }
        assert_eq!((answer.status, answer.text().as_str()), (201, shown));
        assert_eq!(answer.header("location"), Some(&*format!("/1.0/db/d/t/{path}")));
        assert_eq!(served.db(&format!("/d/t/{path}")).text(), shown);
    }
    served.run("CREATE TABLE d.e (k ENUM('one','two') PRIMARY KEY, v INT)");
    let answer = served.web().post("/1.0/db/d/e", r#"{"k":2}"#);
    assert_eq!((answer.status, answer.header("location")), (201, Some("/1.0/db/d/e/two")), "{}", answer.text());
    assert_eq!(answer.text(), r#"{"k":"two","v":null}"#);
    let answer = served.web().post("/1.0/db/d/e", r#"{"k":"1"}"#);
    assert_eq!(
        (answer.header("location"), answer.text().as_str()),
        (Some("/1.0/db/d/e/one"), r#"{"k":"one","v":null}"#)
    );
}

#[test]
fn keys_with_zeros_before_them_have_paths() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.z (id INT(5) ZEROFILL PRIMARY KEY, y YEAR NOT NULL)");
    let answer = served.web().post("/1.0/db/d/z", r#"{"id":7,"y":2001}"#);
    assert_eq!(answer.header("location"), Some("/1.0/db/d/z/7"), "{}", answer.text());
    assert_eq!(served.db("/d/z/7").status, 200);
    served.run("INSERT INTO d.z VALUES (8, 2002)");
    let page = served.db("/d/z?limit=1");
    let next = link(&page, "next").expect("a page");
    assert_eq!(items(&served.web().get(&next)), r#"[{"id":8,"y":2002}]"#);
    served.run("CREATE TABLE d.y (y YEAR PRIMARY KEY)");
    served.run("INSERT INTO d.y VALUES (0), (1999)");
    let page = served.db("/d/y?limit=1");
    let next = link(&page, "next").expect("a page");
    assert_eq!(items(&served.web().get(&next)), r#"[{"y":1999}]"#, "{next}");
}

#[test]
fn commas_of_lists_may_be_encoded() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (a INT, `b c` VARCHAR(9), `x,y` INT, PRIMARY KEY (a, `b c`))");
    served.run("INSERT INTO d.t VALUES (1,'p q',3),(1,'r s',2),(2,'p',1)");
    assert_eq!(items(&served.db("/d/t?fields=a%2Cb+c&limit=1")), r#"[{"a":1,"b c":"p q"}]"#);
    assert_eq!(items(&served.db("/d/t?fields=x%2Cy&limit=1")), r#"[{"x,y":3}]"#);
    assert_eq!(items(&served.db("/d/t?fields=x%2Cy,a&limit=1")), r#"[{"x,y":3,"a":1}]"#);
    assert_eq!(items(&served.db("/d/t?fields=x%2Cy&order=-a%2Cb%20c")), r#"[{"x,y":1},{"x,y":3},{"x,y":2}]"#);
    assert_eq!(items(&served.db("/d/t?fields=a&order=-x%2Cy")), r#"[{"a":1},{"a":1},{"a":2}]"#);
    assert_eq!(served.db("/d/t?fields=a%2Cother").status, 400);
    assert_eq!(items(&served.db("/d/t?fields=x%2Cy&after=1%2Cp+q")), r#"[{"x,y":2},{"x,y":1}]"#);
    assert_eq!(items(&served.db("/d/t?fields=x%2Cy&after=1,r+s")), r#"[{"x,y":1}]"#);
    let row = served.db("/d/t/1%2Cp%20q");
    assert_eq!((row.status, row.text()), (200, served.db("/d/t/1,p%20q").text()));
}

#[test]
fn a_tag_knows_all_of_a_float() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, f FLOAT)");
    served.run("INSERT INTO d.t VALUES (1, 16777215)");
    let before = served.db("/d/t/1");
    served.run("UPDATE d.t SET f = 16777214");
    let after = served.db("/d/t/1");
    assert_ne!(before.header("etag"), after.header("etag"));
}
