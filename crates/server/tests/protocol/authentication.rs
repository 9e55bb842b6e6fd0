//! Authentication: the accepted and the refused clients.

use squall_client::{Client, ConnectOptions, QueryResult, TlsMode};

use crate::backend::{TestServer, code};

fn who_am_i(options: &ConnectOptions) -> String {
    let mut client = Client::connect(options).expect("a connection");
    let results = client.run("whoami").expect("an answer");
    let (QueryResult::Rows(_), rows) = &results[0] else {
        panic!("a result set was due");
    };
    String::from_utf8(rows[0][0].clone().expect("not NULL")).expect("text")
}

fn as_user(options: ConnectOptions, user: &str, password: &str) -> ConnectOptions {
    ConnectOptions { user: user.to_owned(), password: password.to_owned(), ..options }
}

#[test]
fn every_plugin_over_every_transport() {
    let server = TestServer::start();
    let plain = ConnectOptions { tls: TlsMode::Disabled, ..server.options() };
    let tls = ConnectOptions { tls: TlsMode::Required, ..server.options() };
    for user in ["sha2", "native"] {
        // Twice each: the second time goes the fast way.
        for _ in 0..2 {
            assert_eq!(who_am_i(&as_user(tls.clone(), user, "pw")), format!("{user}//TLSv1.3"));
            assert_eq!(who_am_i(&as_user(plain.clone(), user, "pw")), format!("{user}//plain"));
            assert_eq!(who_am_i(&as_user(server.socket_options(), user, "pw")), format!("{user}//plain"));
        }
    }
    assert_eq!(who_am_i(&plain), "root//plain");
}

#[test]
fn of_two_passwords_each_is_right() {
    let server = TestServer::start();
    let plain = ConnectOptions { tls: TlsMode::Disabled, ..server.options() };
    for user in ["two_sha2", "two_native"] {
        for password in ["new", "pw", "new", "pw"] {
            assert_eq!(who_am_i(&as_user(plain.clone(), user, password)), format!("{user}//plain"), "{password}");
        }
        for wrong in ["other", ""] {
            assert_eq!(code(Client::connect(&as_user(plain.clone(), user, wrong)).map(drop)), 1045, "{user}: {wrong}");
        }
    }
}

#[test]
fn full_authentication_without_tls_uses_rsa() {
    let server = TestServer::start();
    let plain = ConnectOptions { tls: TlsMode::Disabled, ..server.options() };
    assert_eq!(code(Client::connect(&as_user(plain.clone(), "sha2", "wrong")).map(drop)), 1045);
    assert_eq!(who_am_i(&as_user(plain, "sha2", "pw")), "sha2//plain");
    assert!(server.directory.path().join("private_key.pem").exists());
    assert!(server.directory.path().join("public_key.pem").exists());
}

#[test]
fn refusals_have_mysqls_codes_and_words() {
    let server = TestServer::start();
    let refused = |options: ConnectOptions| match Client::connect(&options) {
        Err(squall_client::ClientError::Server(error)) => (error.code, error.message),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("let in"),
    };
    for user in ["sha2", "native", "nobody"] {
        let (code, message) = refused(as_user(server.options(), user, "wrong"));
        assert_eq!(code, 1045);
        assert_eq!(message, format!("Access denied for user '{user}'@'localhost' (using password: YES)"));
        let (code, message) = refused(as_user(server.options(), user, ""));
        assert_eq!(code, 1045);
        assert_eq!(message, format!("Access denied for user '{user}'@'localhost' (using password: NO)"));
    }
    assert_eq!(refused(as_user(server.options(), "root", "surplus")).0, 1045);
    assert_eq!(refused(as_user(server.options(), "locked", "")).0, 3118);
    assert_eq!(refused(as_user(server.options(), "expired", "")).0, 1862);
    let plain = ConnectOptions { tls: TlsMode::Disabled, ..server.options() };
    assert_eq!(refused(as_user(plain, "secret_keeper", "")).0, 1045);
    assert_eq!(who_am_i(&as_user(server.options(), "secret_keeper", "")), "secret_keeper//TLSv1.3");
    assert_eq!(refused(ConnectOptions { database: "missing".to_owned(), ..server.options() }).0, 1049);
}

#[test]
fn attributes_and_database_reach_the_session() {
    let server = TestServer::start();
    let options = ConnectOptions {
        database: "shop".to_owned(),
        attributes: vec![("_client_name".to_owned(), "test".to_owned())],
        ..server.options()
    };
    assert_eq!(who_am_i(&options), "root/shop/TLSv1.3");
    let attributes = server.script.attributes.lock().expect("no panic").clone();
    assert_eq!(attributes, [("_client_name".to_owned(), "test".to_owned())]);
}

#[test]
fn change_user_makes_another_session() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.change_user("native", "pw", "shop").expect("another user");
    let results = client.run("whoami").expect("an answer");
    assert_eq!(results[0].1[0][0].as_deref(), Some(&b"native/shop/TLSv1.3"[..]));
    client.change_user("sha2", "pw", "").expect("another user");
    assert_eq!(code(client.change_user("sha2", "wrong", "")), 1873);
    assert!(client.ping().is_err(), "a failed change ends the connection");
}
