//! The server's certificate: read from the data directory, made there at the first start.
//!
//! The files have MySQL's names: `ca.pem`, `ca-key.pem`, `server-cert.pem`, `server-key.pem`, and for a first client `client-cert.pem` and
//! `client-key.pem`. Users can put their own certificates there under those names. A client may show a certificate, which `ca.pem` must have
//! signed; what accounts REQUIRE of it is [`Applicant`](crate::Applicant)'s.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use squall_instrumentation::ClientCertificate;
use squall_types::durable_files::{Readers, name_new, new_path, write_new};
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Name};

/// The files that are made, in the order in which they get their names: the authority's key and certificate, a client's, and the server's.
const FILES: [&str; 6] =
    ["ca-key.pem", "ca.pem", "client-key.pem", "client-cert.pem", "server-key.pem", "server-cert.pem"];

/// Reads the certificate, making one first if there is none.
pub(crate) fn tls_config(data_directory: &Path) -> io::Result<Arc<ServerConfig>> {
    let certificate_path = data_directory.join("server-cert.pem");
    let key_path = data_directory.join("server-key.pem");
    let made = match (certificate_path.exists(), key_path.exists()) {
        (false, false) => make(data_directory),
        (true, true) => Ok(()),
        _ => finish_making(data_directory),
    };
    made.map_err(|error| named(error, "making a certificate"))?;
    let chain = certificates(&certificate_path)?;
    let key = PrivateKeyDer::from_pem_file(&key_path)
        .map_err(|error| named(io::Error::other(error), &key_path.display().to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = client_verifier(data_directory, &provider)?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, key))
        .map_err(|error| named(io::Error::other(error), "TLS"))?;
    Ok(Arc::new(config))
}

/// Clients may show a certificate if there is an authority that can have signed it.
fn client_verifier(data_directory: &Path, provider: &Arc<CryptoProvider>) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let path = data_directory.join("ca.pem");
    if !path.exists() {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let named = |error| named(error, &path.display().to_string());
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(&path)? {
        authorities.add(certificate).map_err(|error| named(io::Error::other(error)))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| named(io::Error::other(error)))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| named(io::Error::other(error), &path.display().to_string()))
}

/// The names of a client's certificate that has been verified; `None` if it cannot be read.
pub(crate) fn client_certificate(certificate: &CertificateDer<'_>) -> Option<ClientCertificate> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    Some(ClientCertificate { subject: one_line(certificate.subject()), issuer: one_line(certificate.issuer()) })
}

/// Short names of OpenSSL that `x509-parser` has not, or has others for: surname, given name, user id, and e-mail address.
const SHORT_NAMES: [(&str, &str); 4] = [
    ("2.5.4.4", "SN"),
    ("2.5.4.42", "GN"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A name in the form of OpenSSL's `X509_NAME_oneline`, which REQUIRE SUBJECT and ISSUER compare with: `/C=SE/O=Example/CN=client`, with bytes
/// outside of printable ASCII as `\xE9`.
fn one_line(name: &X509Name<'_>) -> String {
    let mut line = String::new();
    for attribute in name.iter_attributes() {
        let kind = attribute.attr_type();
        let id = kind.to_id_string();
        let short = SHORT_NAMES.iter().find(|(known, _)| *known == id).map(|(_, short)| *short);
        let short = short.or_else(|| oid2abbrev(kind, oid_registry()).ok());
        let _ = write!(line, "/{}=", short.unwrap_or(&id));
        for byte in attribute.attr_value().data {
            match byte {
                b' '..=b'~' => line.push(char::from(*byte)),
                other => {
                    let _ = write!(line, "\\x{other:02X}");
                }
            }
        }
    }
    line
}

fn named(error: io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Makes an authority of our own and a certificate that it signs.
fn make(data_directory: &Path) -> io::Result<()> {
    let generate = || KeyPair::generate().map_err(io::Error::other);

    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Squall_Auto_Generated_CA_Certificate");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2050, 1, 1));
    let authority = CertifiedIssuer::self_signed(params, generate()?).map_err(io::Error::other)?;

    let signed = |names: &[&str], name: &str, usage| {
        let names: Vec<String> = names.iter().copied().map(String::from).collect();
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2050, 1, 1));
        let key = generate()?;
        let certificate = params.signed_by(&key, &authority).map_err(io::Error::other)?;
        Ok::<_, io::Error>((key.serialize_pem(), certificate.pem()))
    };
    let server_names = ["localhost", "127.0.0.1", "::1"];
    let server_name = "Squall_Auto_Generated_Server_Certificate";
    let (server_key, server) = signed(&server_names, server_name, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client_name = "Squall_Auto_Generated_Client_Certificate";
    let (client_key, client) = signed(&[], client_name, ExtendedKeyUsagePurpose::ClientAuth)?;

    // A start that is cut short must not leave one of a pair: all are complete before any has its name.
    let contents = [
        (authority.key().serialize_pem(), Readers::Owner),
        (authority.pem(), Readers::Default),
        (client_key, Readers::Owner),
        (client, Readers::Default),
        (server_key, Readers::Owner),
        (server, Readers::Default),
    ];
    for (name, (contents, readers)) in FILES.into_iter().zip(contents) {
        write_new(&data_directory.join(name), contents.as_bytes(), readers)?;
    }
    FILES.into_iter().try_for_each(|name| name_new(&data_directory.join(name)))
}

/// Gives those files their names that a start was cut short before.
fn finish_making(data_directory: &Path) -> io::Result<()> {
    let paths = FILES.map(|name| data_directory.join(name));
    paths.iter().filter(|path| !path.exists() && new_path(path).exists()).try_for_each(|path| name_new(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_start_that_was_cut_short_goes_on() {
        let directory = tempfile::tempdir().expect("a directory");
        tls_config(directory.path()).expect("a certificate");
        for done in 0..FILES.len() {
            for name in &FILES[done..] {
                let path = directory.path().join(name);
                fs::rename(&path, new_path(&path)).expect("the name is taken away");
            }
            tls_config(directory.path()).expect("a certificate");
            assert!(FILES.iter().all(|name| directory.path().join(name).exists()), "{done} had their names");
        }
    }

    #[test]
    fn a_certificate_is_made_once() {
        let directory = tempfile::tempdir().expect("a directory");
        tls_config(directory.path()).expect("a certificate");
        let first = fs::read(directory.path().join("server-cert.pem")).expect("the certificate");
        tls_config(directory.path()).expect("the same certificate");
        assert_eq!(fs::read(directory.path().join("server-cert.pem")).expect("the certificate"), first);
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(directory.path().join("server-key.pem")).expect("the key").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_broken_certificate_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("server-cert.pem"), "nonsense").expect("a file");
        let error = tls_config(directory.path()).expect_err("nonsense");
        assert!(error.to_string().contains("server-"), "{error}");
    }
}
