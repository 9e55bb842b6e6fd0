//! Checks a password in a conversation with the client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use squall_session::api::Account;
use squall_types::{ErrorCode, SqlError};
use squall_wire::auth::{
    CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, SHA2_PASSWORD_BYTES_MAX, Sha2CacheEntry, caching_sha2, native_check,
    sha2_check, xor_with_nonce,
};
use squall_wire::handshake::{AuthSwitch, Nonce, encode_auth_more_data};

use crate::packet_stream::{PacketStream, ReadError};
use crate::password_checks::PasswordChecks;
use crate::rsa_key::{LazyRsaKeyPair, RsaKeyPair};

/// How many accounts the cache may hold before it starts anew.
const CACHE_ENTRIES_MAX: usize = 10_000;
/// A scramble of `caching_sha2_password`.
const SHA2_SCRAMBLE_BYTES: usize = 32;

/// A hash that is checked in place of an account that does not exist, so that the time taken tells nothing.
const NOBODY: &str = "$A$005$01234567890123456789...........................................";

/// Passwords that have been confirmed since the start, for the fast way of `caching_sha2_password`.
///
/// The key is the stored authentication string, whose salt makes it unique, so that a changed password needs no
/// invalidation.
#[derive(Debug, Default)]
pub(crate) struct PasswordCache {
    entries: Mutex<HashMap<Vec<u8>, Sha2CacheEntry>>,
}

impl PasswordCache {
    fn get(&self, auth_string: &[u8]) -> Option<Sha2CacheEntry> {
        self.entries.lock().get(auth_string).cloned()
    }

    fn insert(&self, auth_string: &[u8], entry: Sha2CacheEntry) {
        let mut entries = self.entries.lock();
        if entries.len() >= CACHE_ENTRIES_MAX {
            entries.clear();
        }
        entries.insert(auth_string.to_vec(), entry);
    }
}

/// Why a client was not let in.
#[derive(Debug)]
pub(crate) enum AuthError {
    /// Wrong user or password.
    Denied {
        /// Whether the client sent any password.
        using_password: bool,
    },
    /// Something else that the client should read.
    Refused(SqlError),
    /// The client is gone.
    Read(ReadError),
}

impl From<ReadError> for AuthError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// The client's first answer.
#[derive(Debug)]
pub(crate) struct FirstResponse {
    /// The plugin that made the response; empty if the client did not say.
    pub(crate) plugin: Vec<u8>,
    /// The response.
    pub(crate) response: Vec<u8>,
    /// Whether the client can switch plugins.
    pub(crate) can_switch: bool,
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Authenticator<'a> {
    pub(crate) io: &'a mut PacketStream,
    pub(crate) nonce: &'a Nonce,
    pub(crate) cache: &'a PasswordCache,
    pub(crate) checks: &'a PasswordChecks,
    /// Where the client is; `None` for a Unix socket.
    pub(crate) address: Option<IpAddr>,
    pub(crate) rsa_key: &'a LazyRsaKeyPair,
    pub(crate) net_timeouts: Duration,
}

impl Authenticator<'_> {
    /// Lets the client prove that it is `account`. A client without an account is asked as if it had one.
    pub(crate) async fn authenticate(
        &mut self,
        account: Option<&Account>,
        first: FirstResponse,
    ) -> Result<(), AuthError> {
        let plugin = account.map_or(CACHING_SHA2_PASSWORD, |account| account.plugin.as_str());
        let sent_plugin = if first.plugin.is_empty() { MYSQL_NATIVE_PASSWORD.as_bytes() } else { &first.plugin };
        let response = if sent_plugin == plugin.as_bytes() {
            first.response
        } else if first.can_switch {
            let switch = AuthSwitch { plugin: plugin.as_bytes(), data: self.nonce };
            self.io.writer.packet(|buf| switch.encode(buf));
            self.io.read_reply(self.net_timeouts).await?.to_vec()
        } else {
            return Err(AuthError::Refused(SqlError::new(ErrorCode::NotSupportedAuthMode, &[])));
        };
        // Clients send an empty password as nothing, or as a lone NUL.
        let response = if response == [0] { Vec::new() } else { response };
        match plugin {
            CACHING_SHA2_PASSWORD => self.caching_sha2(account, &response).await,
            MYSQL_NATIVE_PASSWORD => self.native(account, &response),
            other => Err(AuthError::Refused(SqlError::new(ErrorCode::PluginNotLoaded, &[&other]))),
        }
    }

    fn native(&self, account: Option<&Account>, response: &[u8]) -> Result<(), AuthError> {
        let auth_string = account.map_or(&b"*"[..], |account| &account.authentication);
        let right = match (auth_string.is_empty(), std::str::from_utf8(auth_string)) {
            (true, _) => response.is_empty(),
            (false, Ok(auth_string)) => native_check(auth_string, response, self.nonce),
            (false, Err(_)) => false,
        };
        decide(right && account.is_some(), response)
    }

    async fn caching_sha2(&mut self, account: Option<&Account>, response: &[u8]) -> Result<(), AuthError> {
        let auth_string = account.map_or(NOBODY.as_bytes(), |account| &account.authentication);
        if auth_string.is_empty() || response.is_empty() {
            return decide(auth_string.is_empty() && response.is_empty(), response);
        }
        if response.len() != SHA2_SCRAMBLE_BYTES {
            return decide(false, response);
        }
        if self.cache.get(auth_string).is_some_and(|entry| entry.check(response, self.nonce)) {
            self.io.writer.packet(|buf| encode_auth_more_data(buf, &[caching_sha2::FAST_AUTH_SUCCESS]));
            return Ok(());
        }
        let more = [caching_sha2::PERFORM_FULL_AUTHENTICATION];
        self.io.writer.packet(|buf| encode_auth_more_data(buf, &more));
        let password = self.read_password().await?;
        let Some(password) = password.filter(SentPassword::is_short) else {
            return decide(false, response);
        };
        let (stored, nonce) = (String::from_utf8_lossy(auth_string).into_owned(), *self.nonce);
        let checked = self.checks.run(self.address, move || {
            let password = password.read(&nonce).filter(|password| sha2_check(&stored, password))?;
            Some(Sha2CacheEntry::new(&password))
        });
        match (checked.await.map_err(AuthError::Refused)?, account) {
            (Some(entry), Some(_)) => {
                self.cache.insert(auth_string, entry);
                Ok(())
            }
            _ => decide(false, response),
        }
    }

    /// The password itself, if it came by a transport that cannot be read. `None` if the client sent something else.
    async fn read_password(&mut self) -> Result<Option<SentPassword>, AuthError> {
        let mut packet = self.io.read_reply(self.net_timeouts).await?;
        if self.io.transport.is_secure() {
            return Ok((packet.last() == Some(&0)).then(|| SentPassword::Plain(packet[..packet.len() - 1].to_vec())));
        }
        let key = self.rsa_key.get().await.map_err(|error| AuthError::Refused(SqlError::internal(error)))?;
        if *packet == [caching_sha2::REQUEST_PUBLIC_KEY] {
            self.io.writer.packet(|buf| encode_auth_more_data(buf, key.public_pem.as_bytes()));
            packet = self.io.read_reply(self.net_timeouts).await?;
        }
        Ok((packet.len() == key.encrypted_bytes()).then(|| SentPassword::Encrypted(packet.to_vec(), key)))
    }
}

/// A password as it came.
enum SentPassword {
    Plain(Vec<u8>),
    /// To be decrypted with the key, which takes about as long as to check it.
    Encrypted(Vec<u8>, Arc<RsaKeyPair>),
}

impl SentPassword {
    /// Whether it is not known to be too long.
    fn is_short(&self) -> bool {
        match self {
            Self::Plain(password) => password.len() <= SHA2_PASSWORD_BYTES_MAX,
            Self::Encrypted(..) => true,
        }
    }

    fn read(self, nonce: &Nonce) -> Option<Vec<u8>> {
        match self {
            Self::Plain(password) => Some(password),
            Self::Encrypted(encrypted, key) => {
                let mut password = key.decrypt(&encrypted)?;
                xor_with_nonce(&mut password, nonce);
                (password.pop() == Some(0)).then_some(password)
            }
        }
    }
}

fn decide(right: bool, response: &[u8]) -> Result<(), AuthError> {
    if right { Ok(()) } else { Err(AuthError::Denied { using_password: !response.is_empty() }) }
}
