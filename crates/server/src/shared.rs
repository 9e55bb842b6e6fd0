//! The state that all connections of a server share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use squall_session::api::Backend;
use tokio_rustls::TlsAcceptor;

use crate::authentication::PasswordCache;
use crate::conversation::Accepted;
use crate::password_checks::PasswordChecks;
use crate::rsa_key::LazyRsaKeyPair;
use crate::steering::Loops;

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) tls: TlsAcceptor,
    pub(crate) passwords: PasswordCache,
    pub(crate) password_checks: PasswordChecks,
    pub(crate) rsa_key: LazyRsaKeyPair,
    pub(crate) drain_timeout: Duration,
    /// Connections that `max_connections` limits.
    pub(crate) connection_count: Arc<AtomicUsize>,
    pub(crate) loops: Loops<Accepted>,
}
