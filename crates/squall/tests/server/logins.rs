//! What accounts demand of logins: certificates, no more than some wrong passwords, passwords that are not too old.

use std::path::PathBuf;
use std::process::Command;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use squall_client::{Client, ClientCertificate, ClientError, ConnectOptions, TlsMode};
use squall_test_support::server::TestServer;
use squall_test_support::skip;

use super::{connect, options, run, start, value};

/// Connects, and asks who one is; or the error.
fn log_in(options: &ConnectOptions) -> Result<String, String> {
    match Client::connect(options) {
        Ok(mut client) => Ok(value(&mut client, "SELECT CURRENT_USER()")),
        Err(ClientError::Server(error)) => Err(error.to_string()),
        Err(error) => Err(format!("not by the server: {error}")),
    }
}

/// As a user, by TLS, with a certificate or without one.
fn with_certificate(server: &TestServer, user: &str, certificate: Option<&str>) -> ConnectOptions {
    let file = |name: String| server.data_directory().join(name);
    let certificate = certificate.map(|name| ClientCertificate {
        certificate: file(format!("{name}-cert.pem")),
        key: file(format!("{name}-key.pem")),
    });
    ConnectOptions { user: user.to_owned(), tls: TlsMode::Required, certificate, ..options(server) }
}

/// Makes `NAME-cert.pem` and `NAME-key.pem` in the data directory, signed by the server's authority or by another.
fn make_certificate(server: &TestServer, name: &str, names: &[(DnType, &str)], signed_by_server: bool) {
    let file = |name: String| server.data_directory().join(name);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, text) in names {
        params.distinguished_name.push(kind.clone(), *text);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().expect("a key");
    let certificate = if signed_by_server {
        let read = |name: &str| std::fs::read_to_string(file(name.to_owned())).expect("the authority's file");
        let authority_key = KeyPair::from_pem(&read("ca-key.pem")).expect("the authority's key");
        let mut authority = CertificateParams::default();
        authority.distinguished_name.push(DnType::CommonName, "Squall_Auto_Generated_CA_Certificate");
        params.signed_by(&key, &Issuer::new(authority, authority_key))
    } else {
        params.self_signed(&key)
    };
    let certificate = certificate.expect("a certificate");
    std::fs::write(file(format!("{name}-cert.pem")), certificate.pem()).expect("the certificate's file");
    std::fs::write(file(format!("{name}-key.pem")), key.serialize_pem()).expect("the key's file");
}

fn denied(user: &str) -> Result<String, String> {
    Err(format!("ERROR 1045 (28000): Access denied for user '{user}'@'localhost' (using password: NO)"))
}

#[test]
fn accounts_may_require_certificates() {
    let mut server = start();
    let mut root = connect(&server);
    let (subject, issuer) =
        ("/CN=Squall_Auto_Generated_Client_Certificate", "/CN=Squall_Auto_Generated_CA_Certificate");
    run(&mut root, "CREATE USER free; CREATE USER encrypted REQUIRE SSL; CREATE USER certified REQUIRE X509");
    run(&mut root, &format!("CREATE USER subject REQUIRE SUBJECT '{subject}'"));
    run(&mut root, &format!("CREATE USER together REQUIRE ISSUER '{issuer}' AND SUBJECT '{subject}'"));
    run(&mut root, &format!("CREATE USER elsewhere REQUIRE ISSUER '{issuer}x' SUBJECT '{subject}'"));
    run(&mut root, "CREATE USER cipher REQUIRE CIPHER 'TLS_AES_256_GCM_SHA384'");
    run(&mut root, "CREATE USER other_cipher REQUIRE CIPHER 'AES128-SHA'");

    // Without TLS, by TLS, and with the certificate that the server has made for a client.
    let ways = |user: &str| {
        let plain = ConnectOptions { user: user.to_owned(), tls: TlsMode::Disabled, ..options(&server) };
        [plain, with_certificate(&server, user, None), with_certificate(&server, user, Some("client"))]
            .map(|options| log_in(&options))
    };
    let let_in = |user: &str| Ok(format!("{user}@%"));
    assert_eq!(ways("free"), [let_in("free"), let_in("free"), let_in("free")]);
    assert_eq!(ways("encrypted"), [denied("encrypted"), let_in("encrypted"), let_in("encrypted")]);
    for user in ["certified", "subject", "together"] {
        assert_eq!(ways(user), [denied(user), denied(user), let_in(user)]);
    }
    assert_eq!(ways("elsewhere"), [denied("elsewhere"), denied("elsewhere"), denied("elsewhere")]);
    assert_eq!(ways("cipher"), [denied("cipher"), let_in("cipher"), let_in("cipher")]);
    assert_eq!(ways("other_cipher"), [denied("other_cipher"), denied("other_cipher"), denied("other_cipher")]);

    // One's own certificates of the same authority, with names of several parts.
    let names =
        [(DnType::CountryName, "SE"), (DnType::OrganizationName, "Exämple/Co"), (DnType::CommonName, "one client")];
    make_certificate(&server, "mine", &names, true);
    run(&mut root, r"CREATE USER mine REQUIRE SUBJECT '/C=SE/O=Ex\\xC3\\xA4mple/Co/CN=one client'");
    assert_eq!(log_in(&with_certificate(&server, "mine", Some("mine"))), let_in("mine"));
    assert_eq!(log_in(&with_certificate(&server, "mine", Some("client"))), denied("mine"));
    // Another authority's certificate ends the handshake, whoever the user is.
    make_certificate(&server, "foreign", &[(DnType::CommonName, "Squall_Auto_Generated_Client_Certificate")], false);
    for user in ["free", "certified"] {
        let refused = log_in(&with_certificate(&server, user, Some("foreign"))).expect_err("no such authority");
        assert!(refused.starts_with("not by the server"), "{refused}");
    }

    // All of it holds after a restart, and for the shell.
    drop(root);
    server.terminate();
    server.restart();
    assert_eq!(log_in(&with_certificate(&server, "together", Some("client"))), let_in("together"));
    assert_eq!(log_in(&with_certificate(&server, "together", None)), denied("together"));
    let shell = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.args(["sql", "-u", "together", "-P", &server.port().to_string(), "-e", "SELECT CURRENT_USER()"]);
        let output = command.args(arguments).current_dir(server.data_directory()).output().expect("the shell");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let shown = shell(&["--ssl-cert", "client-cert.pem", "--ssl-key", "client-key.pem"]);
    assert!(shown.contains("together@%"), "{shown}");
    let missing = shell(&["--ssl-cert", "missing.pem", "--ssl-key", "client-key.pem"]);
    assert!(missing.contains("missing.pem"), "{missing}");
    assert!(shell(&[]).contains("1045"));
}

/// MariaDB's client, which has OpenSSL's or GnuTLS's way of showing certificates.
#[test]
fn mariadbs_client_shows_its_certificate() {
    if Command::new("mariadb").arg("--version").output().is_err() {
        return skip("mariadbs_client_shows_its_certificate", "MariaDB's client");
    }
    let server = start();
    run(&mut connect(&server), "CREATE USER certified REQUIRE X509");
    let folder = server.data_directory();
    let file = |name: &str| -> PathBuf { folder.join(name) };
    let client = |arguments: &[String]| {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "-h", "127.0.0.1", "-u", "certified", "-P", &server.port().to_string()]);
        command.args(arguments).args(["-N", "-e", "SELECT CURRENT_USER()"]);
        let output = command.output().expect("the client");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let option = |name: &str, value: PathBuf| format!("--ssl-{name}={}", value.display());
    let ca = option("ca", file("ca.pem"));
    let shown = client(&[
        ca.clone(),
        option("cert", file("client-cert.pem")),
        option("key", file("client-key.pem")),
        "--ssl-verify-server-cert".to_owned(),
    ]);
    assert_eq!(shown, "certified@%\n");
    assert!(client(&[ca]).contains("ERROR 1045"));
}

#[test]
fn wrong_passwords_lock_accounts() {
    let server = start();
    let mut root = connect(&server);
    run(&mut root, "CREATE USER u IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3");
    run(&mut root, "CREATE USER other IDENTIFIED BY 'right'");
    let log_in_with = |user: &str, password: &str| {
        log_in(&ConnectOptions { user: user.to_owned(), password: password.to_owned(), ..options(&server) })
    };
    let wrong = || {
        let message = "ERROR 1045 (28000): Access denied for user 'u'@'localhost' (using password: YES)";
        Err(message.to_owned())
    };
    let blocked = |days: &str, failures: u32| {
        Err(format!(
            "ERROR 3955 (HY000): Access denied for user 'u'@'localhost'. Account is blocked for {days} day(s) ({days} day(s) remaining) due \
             to {failures} consecutive failed logins."
        ))
    };
    let let_in = || Ok("u@%".to_owned());
    // A right one between them begins anew.
    assert_eq!([log_in_with("u", "x"), log_in_with("u", "right"), log_in_with("u", "x")], [wrong(), let_in(), wrong()]);
    assert_eq!([log_in_with("u", "x"), log_in_with("u", "right")], [blocked("3", 2), blocked("3", 2)]);
    assert_eq!(log_in_with("other", "right"), Ok("other@%".to_owned()));
    // COM_CHANGE_USER is a login too.
    let refused = connect(&server).change_user("u", "right", "").expect_err("locked").to_string();
    assert!(refused.starts_with("ERROR 3955"), "{refused}");
    run(&mut root, "ALTER USER u ACCOUNT UNLOCK");
    assert_eq!([log_in_with("u", "x"), log_in_with("u", "right")], [wrong(), let_in()]);
    run(&mut root, "ALTER USER u FAILED_LOGIN_ATTEMPTS 1 PASSWORD_LOCK_TIME UNBOUNDED");
    assert_eq!([log_in_with("u", "x"), log_in_with("u", "right")], [blocked("unlimited", 1), blocked("unlimited", 1)]);
    run(&mut root, "FLUSH PRIVILEGES");
    assert_eq!([log_in_with("u", "right"), log_in_with("u", "")].map(|login| login.is_ok()), [true, false]);
    run(&mut root, "ALTER USER u PASSWORD_LOCK_TIME 0");
    assert_eq!([log_in_with("u", "x"), log_in_with("u", "x"), log_in_with("u", "right")], [wrong(), wrong(), let_in()]);
}
