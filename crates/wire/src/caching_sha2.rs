//! Bytes of the `caching_sha2_password` conversation.

/// Client: send me the public key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;
/// Server: the scramble was right.
pub const FAST_AUTH_SUCCESS: u8 = 3;
/// Server: send the password itself, over TLS or encrypted.
pub const PERFORM_FULL_AUTHENTICATION: u8 = 4;
