//! Checks a password in a conversation with the client.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use squall_front_end::Login;
use squall_passwords::{
    CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, SHA2_PASSWORD_BYTES_MAX, native_check, xor_with_nonce,
};
use squall_session::api::Account;
use squall_types::{ErrorCode, SqlError};
use squall_wire::caching_sha2;
use squall_wire::handshake::{AuthSwitch, Nonce, encode_auth_more_data};

use crate::packet_stream::{PacketStream, ReadError};
use crate::rsa_key::{LazyRsaKeyPair, RsaKeyPair};

/// A scramble of `caching_sha2_password`.
const SHA2_SCRAMBLE_BYTES: usize = 32;

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
    pub(crate) login: &'a Login,
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
        let plugin = Login::plugin(account);
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
        let is_its = |verifier: &[u8]| {
            std::str::from_utf8(verifier).is_ok_and(|verifier| native_check(verifier, response, self.nonce))
        };
        let right = match Login::has_password(account) {
            false => response.is_empty(),
            true => account.is_some_and(|account| account.verifiers().any(is_its)),
        };
        decide(right, response)
    }

    async fn caching_sha2(&mut self, account: Option<&Account>, response: &[u8]) -> Result<(), AuthError> {
        if !Login::has_password(account) || response.is_empty() {
            return decide(!Login::has_password(account) && response.is_empty(), response);
        }
        if response.len() != SHA2_SCRAMBLE_BYTES {
            return decide(false, response);
        }
        if self.login.is_confirmed(account, response, self.nonce) {
            self.io.writer.packet(|buf| encode_auth_more_data(buf, &[caching_sha2::FAST_AUTH_SUCCESS]));
            return Ok(());
        }
        let more = [caching_sha2::PERFORM_FULL_AUTHENTICATION];
        self.io.writer.packet(|buf| encode_auth_more_data(buf, &more));
        let password = self.read_password().await?;
        let Some(password) = password.filter(SentPassword::is_short) else {
            return decide(false, response);
        };
        let nonce = *self.nonce;
        let checked = self.login.check_sha2(account, self.address, move || password.read(&nonce));
        decide(checked.await.map_err(AuthError::Refused)?, response)
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
