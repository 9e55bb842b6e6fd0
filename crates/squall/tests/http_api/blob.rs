//! `/1.0/blob`: values as their bytes.

use super::Served;
use super::client::{Answer, Web, read_answer, read_head};
use super::db::encoded;
use mysql::prelude::Queryable as _;
use std::io::{BufReader, Read as _, Write as _};

/// Bytes of a value of several pieces, and of several chunks where it lies out of its row.
const LONG_BYTES: u64 = 1_000_003;

impl Served {
    fn blob(&self, rest: &str) -> Answer {
        self.web().get(&format!("/1.0/blob{rest}"))
    }
}

/// A table with values: in their rows, and with `blob_inline_limit` out of them.
fn with_values(limit: Option<u64>) -> Served {
    let mut served = Served::start();
    if let Some(limit) = limit {
        served.run(&format!("SET GLOBAL blob_inline_limit = {limit}"));
    }
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT, kind VARCHAR(100), n INT)");
    served.run("INSERT INTO d.t VALUES (1, 'Hello World', 'H\u{2603}', 'text/plain', 7), (2, NULL, NULL, NULL, 7), (3, '', '', '', 8)");
    served.run("SET SESSION group_concat_max_len = 4000000");
    let long =
        format!("SUBSTRING(REPEAT('0123456789abcdefghijklmnopqrstuvwxyz', {}), 1, {LONG_BYTES})", LONG_BYTES / 36 + 1);
    served.run(&format!("INSERT INTO d.t VALUES (4, {long}, {long}, 'text/html', 9)"));
    served
}

fn long() -> Vec<u8> {
    (0..LONG_BYTES).map(|at| b"0123456789abcdefghijklmnopqrstuvwxyz"[(at % 36) as usize]).collect()
}

#[test]
fn a_value_is_its_bytes() {
    for limit in [None, Some(1000)] {
        let mut served = with_values(limit);
        let answer = served.blob("/d/t/b/1");
        assert_eq!((answer.status, &*answer.text()), (200, "Hello World"));
        for (name, value) in [
            ("content-type", "application/octet-stream"),
            ("content-length", "11"),
            ("content-disposition", "attachment"),
            ("accept-ranges", "bytes"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "private, no-cache"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        assert!(answer.header("content-security-policy").is_some_and(|policy| policy.contains("sandbox")));
        assert_eq!(served.blob("/d/t/c/1").text(), "H\u{2603}");
        assert_eq!(served.blob("/d/t/kind/1").text(), "text/plain");
        // An empty value is one, and NULL is none.
        let empty = served.blob("/d/t/b/3");
        assert_eq!((empty.status, empty.header("content-length"), empty.body.len()), (200, Some("0"), 0));
        assert_eq!(served.blob("/d/t/b/2").status, 404);
        let whole = served.blob("/d/t/b/4");
        assert!(whole.is_whole && whole.body == long());
        // The first form of PBMS: by a condition.
        let by = |filter: &str| served.blob(&format!("/d/t/b?where={}", encoded(filter)));
        assert_eq!(by("{\"id\":1}").text(), "Hello World");
        assert_eq!((by("{\"n\":9}").body == long(), by("{\"n\":7}").status, by("{\"n\":1}").status), (true, 409, 404));
        assert_eq!((by("").status, by("{\"x\":1}").status, served.blob("/d/t/b").status), (400, 400, 400));
        for (path, status) in [
            ("/d/t/b/99", 404),
            ("/d/t/b/1x", 404),
            ("/d/t/b/1,2", 404),
            ("/d/t/missing/1", 400),
            ("/d/t/n/1", 400),
            ("/d/t/b/1?x=1", 400),
            ("/d/t/b/1?where=%7B%7D", 400),
            ("/d/missing/b/1", 404),
            ("/d/t/b/1/2", 404),
        ] {
            assert_eq!(served.blob(path).status, status, "{path}");
        }
        served.run("CREATE VIEW d.v AS SELECT id, b, UPPER(c) AS u FROM d.t");
        assert_eq!(served.blob("/d/v/b/1").status, 404);
        assert_eq!(served.blob(&format!("/d/v/b?where={}", encoded("{\"id\":1}"))).text(), "Hello World");
        assert_eq!(served.blob(&format!("/d/v/u?where={}", encoded("{\"id\":4}"))).body, long().to_ascii_uppercase());
    }
}

#[test]
fn ranges_and_conditions_are_those_of_http() {
    for limit in [None, Some(1000)] {
        let mut served = with_values(limit);
        let ask = |id: u32, headers: &[(&str, &str)]| {
            let web = headers.iter().fold(served.web(), |web, (name, value)| web.with(name, value));
            web.get(&format!("/1.0/blob/d/t/b/{id}"))
        };
        for (range, from, to) in [
            ("bytes=0-0", 0, 1),
            ("bytes=10-19", 10, 20),
            ("bytes=65530-65545", 65_530, 65_546),
            ("bytes=262100-262200", 262_100, 262_201),
            ("bytes=999990-", 999_990, LONG_BYTES),
            ("bytes=-5", LONG_BYTES - 5, LONG_BYTES),
            ("bytes=5-99999999", 5, LONG_BYTES),
        ] {
            let answer = ask(4, &[("Range", range)]);
            assert_eq!(answer.status, 206, "{range}");
            assert_eq!(answer.header("content-range"), Some(&*format!("bytes {from}-{}/{LONG_BYTES}", to - 1)));
            assert_eq!(answer.header("content-length"), Some(&*(to - from).to_string()));
            assert!(answer.is_whole && answer.body == long()[from as usize..to as usize], "{range}");
        }
        for range in ["bytes=1000003-", "bytes=-0", "bytes=0-9,5-6"] {
            let answer = ask(4, &[("Range", range)]);
            assert_eq!((answer.status, answer.body.len()), (416, 0), "{range}");
            assert_eq!(answer.header("content-range"), Some("bytes */1000003"));
        }
        assert_eq!(ask(3, &[("Range", "bytes=0-")]).status, 416);
        for ignored in ["rows=1-2", "bytes=x", "bytes=5-1"] {
            assert_eq!(ask(1, &[("Range", ignored)]).status, 200, "{ignored}");
        }
        let several = ask(1, &[("Range", "bytes=0-4, -5")]);
        let kind = several.header("content-type").expect("a type").to_owned();
        let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("a boundary");
        let part = |range: &str, text: &str| {
            format!(
                "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {range}/11\r\n\r\n{text}"
            )
        };
        let expected = format!("{}{}\r\n--{boundary}--\r\n", part("0-4", "Hello"), part("6-10", "World"));
        assert_eq!((several.status, several.text()), (206, expected));
        // Tags.
        let tag = ask(4, &[]).header("etag").expect("a tag").to_owned();
        assert_eq!(ask(4, &[]).header("etag"), Some(&*tag));
        assert_ne!(ask(1, &[]).header("etag"), Some(&*tag));
        let known = ask(4, &[("If-None-Match", &tag)]);
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(&*tag)));
        assert_eq!(ask(4, &[("If-None-Match", "\"x\"")]).status, 200);
        assert_eq!((ask(4, &[("If-Match", "\"x\"")]).status, ask(4, &[("If-Match", &tag)]).status), (412, 200));
        let if_range = |tag: &str| ask(4, &[("Range", "bytes=0-3"), ("If-Range", tag)]).status;
        let weak = format!("W/{tag}");
        assert_eq!([&*tag, &weak, "\"x\"", "Sun, 29 Nov 2026 10:00:00 GMT"].map(if_range), [206, 200, 200, 200]);
        let head = served.web().ask("HEAD", "/1.0/blob/d/t/b/4", None);
        assert_eq!(
            (head.status, head.header("content-length"), head.header("etag")),
            (200, Some("1000003"), Some(&*tag))
        );
        // Another value has another tag.
        served.run("UPDATE d.t SET b = CONCAT('x', SUBSTRING(b, 2)) WHERE id = 4");
        let changed = served.web().with("If-None-Match", &tag).get("/1.0/blob/d/t/b/4");
        assert_eq!((changed.status, changed.body[0]), (200, b'x'));
    }
}

#[test]
fn stored_pages_are_not_run() {
    let mut served = with_values(None);
    served.run("INSERT INTO d.t VALUES (5, '<script>alert(1)</script>', NULL, 'text/html', 1), (6, 'GIF89a', NULL, 'image/gif', 1), (7, '<svg/>', NULL, 'image/svg+xml', 1)");
    served.run("INSERT INTO d.t VALUES (8, 'x', NULL, 'text/plain\\r\\nSet-Cookie: a=b', 1), (9, 'x', NULL, NULL, 1)");
    let head = |id: u32, disposition: &str| {
        let answer = served.blob(&format!("/d/t/b/{id}?type_column=kind{disposition}"));
        assert_eq!((answer.status, answer.header("set-cookie")), (200, None));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("content-security-policy").is_some_and(|policy| policy.ends_with("sandbox")));
        let text = |name| answer.header(name).expect(name).to_owned();
        (text("content-type"), text("content-disposition"))
    };
    let pair = |kind: &str, disposition: &str| (kind.to_owned(), disposition.to_owned());
    let inline = "&disposition=inline";
    assert_eq!((head(5, ""), head(5, inline)), (pair("text/html", "attachment"), pair("text/html", "attachment")));
    assert_eq!((head(6, ""), head(6, inline)), (pair("image/gif", "attachment"), pair("image/gif", "inline")));
    assert_eq!(head(7, inline), pair("image/svg+xml", "attachment"));
    for id in [8, 9] {
        assert_eq!(head(id, inline), pair("application/octet-stream", "attachment"));
    }
    assert_eq!(served.blob("/d/t/b/1?disposition=both").status, 400);
    assert_eq!(served.blob("/d/t/b/1?type_column=missing").status, 400);
}

#[test]
fn a_value_is_stored_as_it_is_sent() {
    for limit in [None, Some(1000)] {
        let mut served = with_values(limit);
        let web = served.web();
        let put = |web: &Web, path: &str, body: &[u8]| web.ask("PUT", &format!("/1.0/blob{path}"), Some(body)).status;
        let bytes: Vec<u8> = (0..300_000u32).map(|at| (at * 7 % 251) as u8).collect();
        assert_eq!(put(&web, "/d/t/b/1", &bytes), 204);
        assert_eq!(served.blob("/d/t/b/1").body, bytes);
        assert_eq!((put(&web, "/d/t/b/2", b""), served.blob("/d/t/b/2").status), (204, 200));
        assert_eq!(
            (put(&web, "/d/t/c/1", "\u{2603}".as_bytes()), served.blob("/d/t/c/1").text()),
            (204, "\u{2603}".to_owned())
        );
        assert_eq!(put(&web, "/d/t/c/1", b"\xff"), 422);
        assert_eq!(put(&web, "/d/t/kind/1", &[b'x'; 101]), 422);
        assert_eq!(
            (put(&web, "/d/t/b/99", b"x"), put(&web, "/d/t/n/1", b"x"), put(&web, "/d/t/b", b"x")),
            (404, 400, 405)
        );
        assert_eq!(put(&web.clone().with("Content-Encoding", "gzip"), "/d/t/b/1", b"x"), 415);
        // The change and its condition are one.
        let tag = served.blob("/d/t/b/1").header("etag").expect("a tag").to_owned();
        let if_match = web.clone().with("If-Match", &tag);
        assert_eq!((put(&if_match, "/d/t/b/1", b"next"), put(&if_match, "/d/t/b/1", b"lost")), (204, 412));
        assert_eq!(served.blob("/d/t/b/1").text(), "next");
        assert_eq!(put(&web.clone().with("If-None-Match", "*"), "/d/t/b/1", b"lost"), 412);
        assert_eq!(web.ask("DELETE", "/1.0/blob/d/t/b/1", None).status, 204);
        assert_eq!(served.blob("/d/t/b/1").status, 404);
        assert_eq!(put(&web.clone().with("If-None-Match", "*"), "/d/t/b/1", b"first"), 204);
        assert_eq!(put(&if_match, "/d/t/b/99", b"x"), 404);
        // The other columns are as they were.
        let row: Option<(String, i32)> =
            served.root.query_first("SELECT kind, n FROM d.t WHERE id = 1").expect("a row");
        assert_eq!(row, Some(("text/plain".to_owned(), 7)));
        served.run("SET GLOBAL json_server_max_body = 1024");
        assert_eq!((put(&web, "/d/t/b/1", &[0; 1025]), served.blob("/d/t/b/1").text()), (413, "first".to_owned()));
        served.run("CREATE VIEW d.v AS SELECT id, b FROM d.t");
        assert_eq!(put(&web, "/d/v/b/1", b"x"), 405);
        served.run("CREATE TABLE d.s (id INT PRIMARY KEY, b BLOB NOT NULL)");
        served.run("INSERT INTO d.s VALUES (1, 'x')");
        assert_eq!(web.ask("DELETE", "/1.0/blob/d/s/b/1", None).status, 422);
    }
}

#[test]
fn an_upload_that_breaks_off_changes_nothing() {
    let served = with_values(None);
    let web = served.web();
    for _ in 0..3 {
        let mut stream = web.connect();
        let (user, host) = (super::client::base64(b"web:pw"), served.port);
        let head = format!(
            "PUT /1.0/blob/d/t/b/1 HTTP/1.1\r\nHost: 127.0.0.1:{host}\r\nAuthorization: Basic {user}\r\nContent-Length: 1000\r\n\r\nhalf"
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).expect("a request");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(served.blob("/d/t/b/1").text(), "Hello World");
    // No lock is left.
    assert_eq!(web.ask("PUT", "/1.0/blob/d/t/b/1", Some(b"whole")).status, 204);
}

#[test]
fn values_need_privileges() {
    let mut served = with_values(None);
    served.run("CREATE USER reader IDENTIFIED BY 'pw'");
    served.run("GRANT JSON_API ON *.* TO reader");
    let reader = Web::new(served.port).user("reader", "pw");
    let statuses = |reader: &Web| {
        let get = |column: &str| reader.get(&format!("/1.0/blob/d/t/{column}/1")).status;
        let put = reader.ask("PUT", "/1.0/blob/d/t/b/1", Some(b"x")).status;
        (get("b"), get("c"), put, reader.ask("DELETE", "/1.0/blob/d/t/c/1", None).status)
    };
    assert_eq!(Web::new(served.port).get("/1.0/blob/d/t/b/1").status, 401);
    assert_eq!(statuses(&reader), (403, 403, 403, 403));
    // Who may not see a table does not learn whether it is there.
    assert_eq!(reader.get("/1.0/blob/d/missing/b/1").status, 403);
    served.run("GRANT SELECT (id, b) ON d.t TO reader");
    assert_eq!(statuses(&reader), (200, 400, 403, 400));
    assert_eq!(reader.get("/1.0/blob/d/t/b/1?type_column=kind").status, 400);
    served.run("GRANT SELECT ON d.t TO reader");
    assert_eq!(statuses(&reader), (200, 200, 403, 403));
    served.run("GRANT UPDATE (b) ON d.t TO reader");
    assert_eq!(statuses(&reader), (200, 200, 204, 403));
    let (_, token) = served.token("CREATE API TOKEN FOR reader READ ONLY");
    let read_only = Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    assert_eq!(statuses(&read_only), (200, 200, 403, 403));
    served.run("REVOKE SELECT ON d.t FROM reader; REVOKE SELECT (id, b), UPDATE (b) ON d.t FROM reader");
    assert_eq!(reader.get("/1.0/blob/d/t/b/1").status, 403);
    for (method, allow) in [("POST", "GET, HEAD, PUT, DELETE"), ("PATCH", "GET, HEAD, PUT, DELETE")] {
        let answer = served.web().ask(method, "/1.0/blob/d/t/b/1", None);
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)));
    }
}

/// A client that has begun to read a value gets all of it, whatever happens to the row and the table.
#[test]
fn a_value_is_of_the_moment_at_which_it_was_asked_for() {
    const MEGABYTES: usize = 24;
    for limit in [None, Some(1000)] {
        for change in ["UPDATE d.t SET b = 'other' WHERE id = 10", "DELETE FROM d.t", "TRUNCATE d.t", "DROP TABLE d.t"]
        {
            let mut served = with_values(limit);
            served.run(&format!(
                "INSERT INTO d.t (id, b) VALUES (10, REPEAT(REPEAT('0123456789abcdef', 65536), {MEGABYTES}))"
            ));
            let web = served.web();
            let mut reader = BufReader::new(web.connect());
            web.send(reader.get_mut(), "GET", "/1.0/blob/d/t/b/10", None);
            let (status, _) = read_head(&mut reader).expect("a head");
            assert_eq!(status, 200);
            served.run(change);
            let mut bytes = vec![0; MEGABYTES << 20];
            reader.read_exact(&mut bytes).expect("all of it");
            assert!(bytes.chunks(16).all(|part| part == b"0123456789abcdef"), "{change}");
            // The connection goes on.
            web.send(reader.get_mut(), "GET", "/health", None);
            assert_eq!(read_answer(&mut reader, "GET").expect("an answer").status, 200);
        }
    }
}

#[test]
fn a_reader_that_is_killed_gets_no_more() {
    let mut served = with_values(Some(1000));
    served.run("INSERT INTO d.t (id, b) VALUES (10, REPEAT(REPEAT('0123456789abcdef', 65536), 48))");
    let web = served.web();
    let mut reader = BufReader::new(web.connect());
    web.send(reader.get_mut(), "GET", "/1.0/blob/d/t/b/10", None);
    assert_eq!(read_head(&mut reader).expect("a head").0, 200);
    let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'web'";
    let id: Option<u64> = served.root.query_first(sql).expect("a list");
    served.run(&format!("KILL {}", id.expect("a row")));
    let mut rest = Vec::new();
    let _broken = reader.read_to_end(&mut rest);
    assert!(rest.len() < 48 << 20, "{}", rest.len());
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'web'";
    squall_test_support::wait_until("the end", || served.root.query_first(count).expect("a list") == Some(0));
}

#[test]
fn a_put_is_of_a_whole_value_that_is_no_key() {
    let mut served = with_values(None);
    served.run("CREATE TABLE d.named (name VARCHAR(20) PRIMARY KEY, b BLOB); INSERT INTO d.named VALUES ('one', 'x')");
    let ranged = served.web().with("Content-Range", "bytes 0-1/11");
    assert_eq!(ranged.ask("PUT", "/1.0/blob/d/t/b/1", Some(b"He")).status, 400);
    let web = served.web();
    assert_eq!(web.ask("PUT", "/1.0/blob/d/named/name/one", Some(b"two")).status, 422);
    assert_eq!(web.ask("PUT", "/1.0/blob/d/named/b/one", Some(b"y")).status, 204);
    let found: Vec<(String, String)> = served.root.query("SELECT name, b FROM d.named").expect("a row");
    assert_eq!(found, [("one".to_owned(), "y".to_owned())]);
    assert_eq!(served.blob("/d/t/b/1").body, b"Hello World");
}

/// What was sent quickly is held no longer than `net_read_timeout` when nothing more comes.
#[test]
fn a_client_that_rests_in_a_long_body_is_given_up() {
    let mut served = with_values(None);
    served.run("SET GLOBAL net_read_timeout = 1");
    let web = served.web().with("Content-Length", "5000000");
    let mut connection = BufReader::new(web.connect());
    web.send(connection.get_mut(), "PUT", "/1.0/blob/d/t/b/1", None);
    connection.get_mut().write_all(&vec![b'x'; 4_000_000]).expect("most of the body");
    let started = std::time::Instant::now();
    assert_eq!(read_answer(&mut connection, "PUT").expect("an answer").status, 408);
    assert!(started.elapsed() < std::time::Duration::from_secs(60));
    assert_eq!(served.blob("/d/t/b/1").body, b"Hello World");
}

/// The URL that an account gets for a path.
fn signed(web: &Web, path: &str, seconds: u64) -> Answer {
    web.post("/1.0/blob/sign", &format!("{{\"path\":\"{path}\",\"expires_in\":{seconds}}}"))
}

fn url_of(answer: &Answer) -> String {
    let text = answer.text();
    assert_eq!(answer.status, 200, "{text}");
    text.split('"').nth(3).expect("a URL").to_owned()
}

#[test]
fn a_signed_url_is_for_one_value_and_a_while() {
    let mut served = with_values(None);
    let (web, anybody) = (served.web(), Web::new(served.port));
    let url = url_of(&signed(&web, "/1.0/blob/d/t/b/1?type_column=kind", 60));
    let answer = anybody.get(&url);
    assert_eq!(
        (answer.status, &*answer.text(), answer.header("content-type")),
        (200, "Hello World", Some("text/plain"))
    );
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert_eq!(anybody.ask("HEAD", &url, None).status, 200);
    assert_eq!(anybody.with("Range", "bytes=0-4").get(&url).text(), "Hello");
    let anybody = Web::new(served.port);
    for (method, body) in [("PUT", Some(&b"x"[..])), ("DELETE", None)] {
        // It has parameters that these do not take.
        assert_eq!(anybody.ask(method, &url, body).status, 400, "{method}");
    }
    // Another value, column, time or account, or more parameters.
    for (from, to) in [
        ("/b/1?", "/b/3?"),
        ("/b/", "/c/"),
        ("expires=", "expires=9"),
        ("user=web", "user=root"),
        ("?", "?disposition=inline&"),
    ] {
        assert_eq!(anybody.get(&url.replacen(from, to, 1)).status, 401, "{to}");
    }
    assert_eq!(anybody.get(&format!("{url}&disposition=inline")).status, 401);
    assert_eq!(anybody.get(&url.replace("/1.0/blob/d/t/b/1", "/1.0/db/d/t/1")).status, 400);
    let short = url_of(&signed(&web, "/1.0/blob/d/t/b/1", 1));
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(anybody.get(&short).status, 401);
    // Only what can be read is signed, and only for so long.
    for (path, seconds, status) in [
        ("/1.0/blob/d/t/b/1", 0, 400),
        ("/1.0/blob/d/t/b/1", 3601, 400),
        ("/1.0/blob/d/t/b?where=%7B%7D", 60, 400),
        ("/1.0/blob/d/t/b/1?x=1", 60, 400),
        ("/1.0/db/d/t/1", 60, 400),
        ("http://other/1.0/blob/d/t/b/1", 60, 400),
        ("/1.0/blob/d/t/n/1", 60, 400),
        ("/1.0/blob/d/t/b/x", 60, 404),
        ("/1.0/blob/mysql/user/authentication_string/a,b", 60, 404),
    ] {
        assert_eq!(signed(&web, path, seconds).status, status, "{path} {seconds}");
    }
    for body in [
        "",
        "[]",
        "{}",
        r#"{"path":"/1.0/blob/d/t/b/1"}"#,
        r#"{"path":"/1.0/blob/d/t/b/1","expires_in":5,"method":"PUT"}"#,
    ] {
        assert_eq!(web.post("/1.0/blob/sign", body).status, 400, "{body}");
    }
    assert_eq!(signed(&anybody, "/1.0/blob/d/t/b/1", 60).status, 401);
    let (_, token) = served.token("CREATE API TOKEN FOR web SCHEMAS (other)");
    let limited = Web::new(served.port).with("Authorization", &format!("Bearer {token}"));
    assert_eq!(signed(&limited, "/1.0/blob/d/t/b/1", 60).status, 403);
    // What the account may do is asked when the URL is used.
    served.run("REVOKE ALL ON d.* FROM web");
    assert_eq!(anybody.get(&url).status, 403);
    served.run("GRANT SELECT ON d.* TO web; REVOKE JSON_API ON *.* FROM web");
    assert_eq!(anybody.get(&url).status, 403);
    served.run("GRANT JSON_API ON *.* TO web");
    assert_eq!(anybody.get(&url).status, 200);
    served.run("SET GLOBAL blob_sign_max_seconds = 0");
    assert_eq!((anybody.get(&url).status, signed(&web, "/1.0/blob/d/t/b/1", 1).status), (401, 403));
    served.run("SET GLOBAL blob_sign_max_seconds = 60");
    assert_eq!(anybody.get(&url).status, 200);
    served.run("ALTER USER web ACCOUNT LOCK");
    assert_eq!(anybody.get(&url).status, 401);
    served.run("ALTER USER web IDENTIFIED BY 'new' ACCOUNT UNLOCK");
    assert_eq!(anybody.get(&url).status, 401);
}

/// A request whose body comes while its table gets another key, or gives its name to a view, changes nothing.
#[test]
fn a_change_by_key_is_one_of_the_table_that_it_came_for() {
    let requests: [(&str, &str, &[u8]); 3] = [
        ("PUT", "/1.0/blob/d/m/b/1", b"NEW"),
        ("PATCH", "/1.0/db/d/m/1", b"{\"b\":\"NEW\"}"),
        ("PUT", "/1.0/db/d/m/1", b"{\"b\":\"NEW\"}"),
    ];
    let definitions = [
        "ALTER TABLE d.m DROP PRIMARY KEY, ADD PRIMARY KEY (id, n); INSERT INTO d.m VALUES (1, 'two', 5)",
        "ALTER TABLE d.m DROP PRIMARY KEY; INSERT INTO d.m VALUES (1, 'two', 5)",
        "RENAME TABLE d.m TO d.m2; CREATE VIEW d.m AS SELECT 1 AS id, b, n FROM d.m2",
    ];
    for (method, path, body) in requests {
        for definition in definitions {
            let mut served = Served::start();
            served.run("CREATE TABLE d.m (id INT PRIMARY KEY, b VARCHAR(20), n INT DEFAULT 0); INSERT INTO d.m VALUES (1, 'one', 1)");
            let web = served.web().with("Content-Type", "application/json");
            let web = web.with("Content-Length", &body.len().to_string());
            let mut connection = BufReader::new(web.connect());
            web.send(connection.get_mut(), method, path, None);
            connection.get_mut().write_all(&body[..1]).expect("a byte");
            // The request is read as far as that.
            std::thread::sleep(std::time::Duration::from_millis(200));
            served.run(definition);
            connection.get_mut().write_all(&body[1..]).expect("the rest");
            let status = read_answer(&mut connection, method).expect("an answer").status;
            let table = if definition.contains("VIEW") { "d.m2" } else { "d.m" };
            let found: Vec<String> = served.root.query(format!("SELECT b FROM {table}")).expect("rows");
            assert!(!found.iter().any(|value| value == "NEW"), "{method} {path}, {definition}: {found:?}");
            assert!((400..500).contains(&status), "{method} {path}, {definition}: {status}");
        }
    }
}
