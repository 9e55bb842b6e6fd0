//! Servers with invalid certificates.

use super::{Lists, error, get, limits};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use squall_http_client::Client;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// What a certificate says, when it is one that is trusted.
fn of_localhost() -> CertificateParams {
    CertificateParams::new(vec!["localhost".to_string()]).unwrap()
}

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server that answers with a redirect to `http`; `authority` signs its certificate, or itself. Gives its port.
fn peer(params: CertificateParams, authority: Option<&Authority>) -> u16 {
    let key = KeyPair::generate().unwrap();
    let certificate = match authority {
        Some(authority) => params.signed_by(&key, authority).unwrap(),
        None => params.self_signed(&key).unwrap(),
    };
    serve(certificate.der().clone(), &key)
}

fn serve(certificate: CertificateDer<'static>, key: &KeyPair) -> u16 {
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key.into()).unwrap();
    let (listener, config) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(config));
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            let mut request = [0; 4096];
            if stream.read(&mut request).is_ok() {
                let answer = b"HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\nContent-Length: 0\r\n\r\n";
                let _ = stream.write_all(answer);
            }
        }
    });
    port
}

/// A client that trusts one authority alone.
fn trusting(authority: &Authority) -> Client {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth()));
    Client::new(Lists::new(&[&["127.0.0.1"]])).with_tls(tls)
}

#[test]
fn certificates_are_verified() {
    let (ours, other) = (authority(), authority());
    let url = |port: u16| format!("https://localhost:{port}/");
    let good = peer(of_localhost(), Some(&ours));
    // There is a way there, but none from https to http.
    assert_eq!(error(&trusting(&ours), &url(good), &limits(true)), "a redirect from https to http");
    let until = |year| {
        let mut params = of_localhost();
        params.not_after = date_time_ymd(year, 1, 1);
        params
    };
    let from = |year| {
        let mut params = of_localhost();
        params.not_before = date_time_ymd(year, 1, 1);
        params
    };
    let named = |name: &str| CertificateParams::new(vec![name.to_string()]).unwrap();
    for (what, port) in [
        ("expired", peer(until(2020), Some(&ours))),
        ("of the future", peer(from(4000), Some(&ours))),
        ("of another name", peer(named("other.example"), Some(&ours))),
        ("of a name that ends alike", peer(named("xlocalhost"), Some(&ours))),
        ("of the address alone", peer(named("127.0.0.1"), Some(&ours))),
        ("of an authority that is unknown", peer(of_localhost(), Some(&other))),
        ("signed by itself", peer(of_localhost(), None)),
    ] {
        let message = error(&trusting(&ours), &url(port), &limits(true));
        assert!(message.starts_with("TLS: "), "{what}: {message}");
    }
    // A good one is not good for other names of the same machine, nor for those who trust what the machine trusts.
    let message = error(&trusting(&ours), &format!("https://other.example:{good}/"), &limits(true));
    assert!(message.starts_with("TLS: "), "{message}");
    let message = error(&Client::new(Lists::new(&[&["127.0.0.1"]])), &url(good), &limits(true));
    assert!(message.starts_with("TLS: "), "{message}");
    // A server without TLS gets no request.
    let plain = squall_test_support::web_peer::WebPeer::start();
    assert!(get(&trusting(&ours), &url(plain.port()), &limits(true)).is_err());
    assert_eq!(plain.requests(), 0);
}
