//! The server's certificate: read from the data directory, made there at the first start.
//!
//! The files have MySQL's names: `ca.pem`, `ca-key.pem`, `server-cert.pem`, `server-key.pem`. Users can put their own certificates
//! there under those names.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use squall_types::durable_files::{Readers, name_new, new_path, write_new};

/// The files that are made, in the order in which they get their names: the authority's key and certificate, and the
/// server's.
const FILES: [&str; 4] = ["ca-key.pem", "ca.pem", "server-key.pem", "server-cert.pem"];

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
    let chain = CertificateDer::pem_file_iter(&certificate_path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| named(io::Error::other(error), &certificate_path.display().to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&key_path)
        .map_err(|error| named(io::Error::other(error), &key_path.display().to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| named(io::Error::other(error), "TLS"))?;
    Ok(Arc::new(config))
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

    let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, "Squall_Auto_Generated_Server_Certificate");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2050, 1, 1));
    let key = generate()?;
    let certificate = params.signed_by(&key, &authority).map_err(io::Error::other)?;

    // A start that is cut short must not leave one of a pair: all are complete before any has its name.
    let contents = [
        (authority.key().serialize_pem(), Readers::Owner),
        (authority.pem(), Readers::Default),
        (key.serialize_pem(), Readers::Owner),
        (certificate.pem(), Readers::Default),
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
