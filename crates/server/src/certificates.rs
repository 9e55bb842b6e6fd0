//! The server's certificate: read from the data directory, made there at the first start.
//!
//! The files have MySQL's names: `ca.pem`, `ca-key.pem`, `server-cert.pem`, `server-key.pem`. Whoever has certificates of
//! their own puts them there under those names.

use std::fs;
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

/// Reads the certificate, making one first if there is none.
pub(crate) fn tls_config(data_directory: &Path) -> io::Result<Arc<ServerConfig>> {
    let certificate_path = data_directory.join("server-cert.pem");
    let key_path = data_directory.join("server-key.pem");
    if !certificate_path.exists() && !key_path.exists() {
        make(data_directory).map_err(|error| named(error, "making a certificate"))?;
    }
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

    // A start that is cut short must not leave one of a pair: both are complete before either has its name.
    let path = |name: &str| data_directory.join(name);
    write_secret(&path("ca-key.pem.new"), &authority.key().serialize_pem())?;
    fs::write(path("ca.pem.new"), authority.pem())?;
    write_secret(&path("server-key.pem.new"), &key.serialize_pem())?;
    fs::write(path("server-cert.pem.new"), certificate.pem())?;
    for name in ["ca-key.pem", "ca.pem", "server-key.pem", "server-cert.pem"] {
        fs::rename(path(&format!("{name}.new")), path(name))?;
    }
    Ok(())
}

/// Writes a file that only its owner may read.
pub(crate) fn write_secret(path: &Path, contents: &str) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(contents.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

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
