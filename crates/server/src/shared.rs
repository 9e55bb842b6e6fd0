//! What all connections of MySQL's protocol share.

use std::sync::Arc;

use squall_session::api::Backend;

use crate::rsa_key::LazyRsaKeyPair;

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) rsa_key: LazyRsaKeyPair,
}
