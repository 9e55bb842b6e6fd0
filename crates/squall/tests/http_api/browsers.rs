//! Pages: logins by cookie, other origins, and the console.

use super::Served;
use super::client::Web;

const ONE: &str = r#"{"sql":"SELECT CURRENT_USER()"}"#;

fn member(text: &str, name: &str) -> String {
    let start = text.find(&format!("\"{name}\":\"")).expect(name) + name.len() + 4;
    text[start..].split('"').next().expect("a value").to_owned()
}

#[test]
fn a_page_logs_in_and_out() {
    let mut served = Served::start();
    let login = served.web().ask("POST", "/1.0/session", None);
    assert_eq!(login.status, 201, "{}", login.text());
    let cookie = login.header("set-cookie").expect("a cookie").to_owned();
    for property in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(property), "{cookie}");
    }
    assert!(login.text().contains("\"account\":\"web@%\""), "{}", login.text());
    let cookie = cookie.split(';').next().expect("a value");
    let csrf = member(&login.text(), "csrf_token");
    let page = Web::new(served.port).with("Cookie", cookie);
    // A page of another origin can make a browser send the cookie, but does not know the token.
    assert_eq!(page.post("/1.0/sql", ONE).status, 403);
    assert_eq!(page.clone().with("X-CSRF-Token", "wrong").post("/1.0/sql", ONE).status, 403);
    let with_token = page.clone().with("X-CSRF-Token", &csrf);
    assert!(with_token.post("/1.0/sql", ONE).text().contains("web@%"));
    // Loaded again.
    let again = page.get("/1.0/session");
    assert_eq!((again.status, member(&again.text(), "csrf_token")), (200, csrf));
    assert_eq!(page.ask("DELETE", "/1.0/session", None).status, 403);
    assert_eq!(with_token.ask("DELETE", "/1.0/session", None).status, 204);
    assert_eq!(with_token.post("/1.0/sql", ONE).status, 401);
    assert_eq!(page.get("/1.0/session").status, 401);
    assert_eq!(Web::new(served.port).with("Cookie", "squall_session=x").get("/1.0/session").status, 401);
    assert_eq!(Web::new(served.port).ask("POST", "/1.0/session", None).status, 401);

    // Another password ends the logins with the one before.
    let login = served.web().ask("POST", "/1.0/session", None);
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned();
    let page = Web::new(served.port).with("Cookie", &cookie).with("X-CSRF-Token", &member(&login.text(), "csrf_token"));
    assert_eq!(page.post("/1.0/sql", ONE).status, 200);
    served.run("ALTER USER web IDENTIFIED BY 'other'");
    assert_eq!(page.post("/1.0/sql", ONE).status, 401);
}

impl Served {
    /// Logs a page in: its answer, and a client with its cookie and token.
    fn page(&self, with: Web) -> (u16, Web) {
        let login = with.ask("POST", "/1.0/session", None);
        let cookie = login.header("set-cookie").and_then(|cookie| cookie.split(';').next()).unwrap_or_default();
        let page = Web::new(self.port).with("Cookie", cookie);
        match login.status {
            201 => (201, page.with("X-CSRF-Token", &member(&login.text(), "csrf_token"))),
            status => (status, page),
        }
    }
}

#[test]
fn logins_of_pages_end_with_anything_that_proved_them() {
    let mut served = Served::start();
    let status = |page: &Web| page.post("/1.0/sql", ONE).status;
    // A new login in the same browser ends the one before.
    let (_, first) = served.page(served.web());
    let login = served.web().ask("POST", "/1.0/session", None);
    let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned();
    let second =
        Web::new(served.port).with("Cookie", &cookie).with("X-CSRF-Token", &member(&login.text(), "csrf_token"));
    assert_eq!((status(&first), status(&second)), (200, 200));
    let (_, third) = served.page(served.web().with("Cookie", &cookie));
    assert_eq!((status(&first), status(&second), status(&third)), (200, 401, 200));
    // Also a login that cannot be used now can be ended.
    served.run("ALTER USER web ACCOUNT LOCK");
    assert_eq!(third.ask("DELETE", "/1.0/session", None).status, 204);
    served.run("ALTER USER web ACCOUNT UNLOCK");
    assert_eq!((status(&first), status(&third)), (200, 401));
    // A password beside the one before.
    served.run("ALTER USER web IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD");
    assert_eq!(status(&first), 401);
    let (_, both) = served.page(served.web());
    assert_eq!(status(&both), 200);
    served.run("ALTER USER web DISCARD OLD PASSWORD");
    assert_eq!(status(&both), 401);
    // Another account of the same name.
    served.run("CREATE USER bare");
    served.run("GRANT JSON_API ON *.* TO bare");
    let (_, bare) = served.page(Web::new(served.port).user("bare", ""));
    assert_eq!(status(&bare), 200);
    served.run("DROP USER bare");
    served.run("CREATE USER bare");
    served.run("GRANT JSON_API ON *.* TO bare");
    assert_eq!(status(&bare), 401);
}

#[test]
fn logins_of_pages_are_enough() {
    let mut served = Served::start();
    served.run("SET GLOBAL json_server_auth = 'session'");
    let (status, page) = served.page(served.web());
    assert_eq!(status, 201);
    assert_eq!(page.post("/1.0/sql", ONE).status, 200);
    assert_eq!(served.sql(ONE).status, 401);
    assert_eq!(served.page(served.web().user("web", "wrong")).0, 401);
    served.run("SET GLOBAL json_server_auth = 'bearer'");
    assert_eq!(served.page(served.web()).0, 403);
}

#[test]
fn pages_of_others_are_refused() {
    let mut served = Served::start();
    let port = served.port;
    let own = format!("http://127.0.0.1:{port}");
    let status = |web: Web| web.post("/1.0/sql", ONE).status;
    assert_eq!(status(served.web().with("Origin", &own)), 200);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"] {
        assert_eq!(status(served.web().with("Origin", origin)), 403, "{origin}");
    }
    for host in ["evil.example", "evil.example:8086", "127.0.0.1.evil.example"] {
        assert_eq!(status(served.web().with("Host", host)), 403, "{host}");
        assert_eq!(served.web().with("Host", host).get("/").status, 403, "{host}");
    }
    for host in ["localhost", "[::1]:8086", "192.0.2.7"] {
        assert_eq!(status(served.web().with("Host", host)), 200, "{host}");
    }
    // What a form of a page can send without being asked.
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(status(served.web().with("Content-Type", media_type)), 415, "{media_type}");
    }
    served.run("SET GLOBAL json_server_cors_origins = 'https://app.example.com, https://b.example'");
    served.run("SET GLOBAL json_server_hosts = 'db.example.com'");
    assert_eq!(status(served.web().with("Host", "db.example.com:8086")), 200);
    let app = served.web().with("Origin", "https://app.example.com");
    let answer = app.post("/1.0/sql", ONE);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(answer.header("vary"), Some("Origin"));
    let asked = app.with("Authorization", "").with("Access-Control-Request-Method", "POST");
    let asked = asked.ask("OPTIONS", "/1.0/sql", None);
    assert_eq!(asked.status, 204);
    assert!(asked.header("access-control-allow-headers").expect("headers").contains("Authorization"));
    assert_eq!(status(served.web().with("Origin", "https://c.example")), 403);
}

#[test]
fn the_page_is_safe_and_answers_have_headers_for_browsers() {
    let mut served = Served::start();
    let web = Web::new(served.port);
    let page = web.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").expect("a policy").starts_with("default-src 'self'; "));
    // The policy allows no text of scripts in the page.
    let text = page.text();
    assert!(!text.contains("<script>") && !text.contains("style=") && !text.contains("onclick"), "{text}");
    for path in ["/app.js", "/app.css"] {
        let file = web.get(path);
        assert_eq!(file.status, 200, "{path}");
        let tag = file.header("etag").expect("a tag").to_owned();
        assert_eq!(web.clone().with("If-None-Match", &tag).get(path).status, 304, "{path}");
    }
    for answer in [page, web.get("/health"), web.get("/missing"), served.sql(ONE)] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert!(answer.header("content-security-policy").is_some());
    }
    for path in ["/../../etc/passwd", "/%2e%2e/etc/passwd", "/app.js/../../x", "//app.js", "/console/index.html"] {
        assert_eq!(web.get(path).status, 404, "{path}");
    }
    let wrong = served.web().get("/1.0/sql");
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
    served.run("SET GLOBAL json_server_console = OFF");
    assert_eq!(web.get("/").status, 404);
    // Names and values of a page's making stay texts.
    let answer = served.sql(r#"{"sql":"SELECT '<script>alert(1)</script>' AS `<b>`"}"#);
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert!(answer.text().contains("<script>"), "{}", answer.text());
}
