//! The RSA key pair with which a client without TLS sends its password for full authentication.
//!
//! It is in `private_key.pem` and `public_key.pem` in the data directory. Making one takes up to a second, so a separate thread makes
//! it when the first client asks for it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rsa::pkcs1::DecodeRsaPrivateKey as _;
use rsa::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts as _;
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use tokio::sync::OnceCell;

use squall_types::durable_files::{Readers, replace_file};

const KEY_BITS: usize = 2048;

/// The key pair, once it exists.
#[derive(Debug)]
pub(crate) struct RsaKeyPair {
    private: RsaPrivateKey,
    /// The public key as it is sent to clients.
    pub(crate) public_pem: String,
}

impl RsaKeyPair {
    /// Length of everything that is encrypted with the key, bytes.
    pub(crate) fn encrypted_bytes(&self) -> usize {
        self.private.size()
    }

    /// Decrypts a password; `None` when it was not encrypted with our public key.
    pub(crate) fn decrypt(&self, encrypted: &[u8]) -> Option<Vec<u8>> {
        // Blinded, so that the time taken tells nothing about the key.
        self.private.decrypt_blinded(&mut OsRng, Oaep::new::<Sha1>(), encrypted).ok()
    }

    fn load_or_make(data_directory: &std::path::Path) -> io::Result<Self> {
        let private_path = data_directory.join("private_key.pem");
        let private = match fs::read_to_string(&private_path) {
            Ok(pem) => RsaPrivateKey::from_pkcs8_pem(&pem)
                .or_else(|_| RsaPrivateKey::from_pkcs1_pem(&pem))
                .map_err(|error| io::Error::other(format!("{}: {error}", private_path.display())))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let private = RsaPrivateKey::new(&mut OsRng, KEY_BITS).map_err(io::Error::other)?;
                let pem = private.to_pkcs8_pem(LineEnding::LF).map_err(io::Error::other)?;
                replace_file(&private_path, pem.as_bytes(), Readers::Owner)?;
                private
            }
            Err(error) => return Err(error),
        };
        let public_pem = RsaPublicKey::from(&private).to_public_key_pem(LineEnding::LF).map_err(io::Error::other)?;
        let public_path = data_directory.join("public_key.pem");
        if fs::read_to_string(&public_path).ok().as_ref() != Some(&public_pem) {
            replace_file(&public_path, public_pem.as_bytes(), Readers::Default)?;
        }
        Ok(Self { private, public_pem })
    }
}

/// The key pair of a data directory, made at the first need.
#[derive(Debug)]
pub(crate) struct LazyRsaKeyPair {
    data_directory: PathBuf,
    key: OnceCell<Arc<RsaKeyPair>>,
}

impl LazyRsaKeyPair {
    pub(crate) fn new(data_directory: PathBuf) -> Self {
        Self { data_directory, key: OnceCell::new() }
    }

    /// The key pair; the first caller waits while it is made, and others with it.
    pub(crate) async fn get(&self) -> io::Result<Arc<RsaKeyPair>> {
        let make = async || {
            let directory = self.data_directory.clone();
            tokio::task::spawn_blocking(move || RsaKeyPair::load_or_make(&directory).map(Arc::new))
                .await
                .map_err(io::Error::other)?
        };
        self.key.get_or_try_init(make).await.cloned()
    }
}
