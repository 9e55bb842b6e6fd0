//! A database, as front ends see it.

use crate::api::{
    Account, Backend, CompressionAlgorithms, Connection, FrontEndContext, FrontEndSettings, HandshakeSettings,
    KillCallback, Listeners,
};
use crate::database::Database;
use crate::result::writer::ConnectionInfo;
use crate::session::{Session, client};
use squall_catalog::{AccountDef, AccountKey, LoginBlock};
use squall_logs::Client;
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_types::{CollationId, SqlError};
use std::net::IpAddr;
use std::time::Instant;

impl FrontEndContext for Database {
    fn front_end_settings(&self) -> FrontEndSettings {
        let values = self.0.globals.load_values();
        let values = Values(&values);
        FrontEndSettings {
            max_connections: values.number(ids::MAX_CONNECTIONS) as usize,
            connect_timeout_seconds: values.number(ids::CONNECT_TIMEOUT),
            net_write_timeout_seconds: values.number(ids::NET_WRITE_TIMEOUT),
            require_secure_transport: values.on(ids::REQUIRE_SECURE_TRANSPORT),
        }
    }

    fn account(&self, user: &str, address: Option<IpAddr>) -> Option<Account> {
        let accounts = self.0.accounts.load_full();
        accounts.find(user, address).map(|account| self.account_of(account))
    }

    fn count_login(&self, account: &Account, is_right: bool) -> Option<LoginBlock> {
        let accounts = self.0.accounts.load_full();
        let account = accounts.get(&AccountKey::new(account.user.clone(), account.host.clone()))?;
        self.0.accounts.failed_logins.count(account, is_right, Instant::now())
    }

    fn client_gone(&self, connection_id: u64) {
        if let Some(process) = self.0.processes.get(connection_id) {
            self.0.kill(&process, true);
        }
    }

    fn connection_aborted(&self, connection_id: u64) {
        if let Some(process) = self.0.processes.get(connection_id) {
            self.0.statistics.accounts.lost(&process);
        }
        self.0.processes.aborted_clients.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn connect_failed(&self) {
        self.0.processes.aborted_connects.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn connection_moved(&self) {
        self.0.processes.moved_connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn connection_refused(&self) {
        self.0.processes.refused_connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Database {
    /// An account as authentication needs it.
    fn account_of(&self, account: &AccountDef) -> Account {
        Account {
            user: account.user.clone(),
            host: account.host.clone(),
            plugin: account.plugin.clone(),
            authentication: account.authentication.clone(),
            second_authentication: account.second_authentication.clone(),
            password_changed_micros: account.password_changed_micros,
            locked: account.locked,
            password_expired: self.0.has_expired_password(account),
            tls: account.tls.clone(),
        }
    }
}

impl Backend for Database {
    fn handshake_settings(&self) -> HandshakeSettings {
        let values = self.0.globals.load_values();
        let values = Values(&values);
        HandshakeSettings {
            version: values.text(ids::VERSION).to_string(),
            collation: CollationId::named(values.text(ids::COLLATION_SERVER)).map_or(255, |id| id.0),
            compression: compression(values.text(ids::PROTOCOL_COMPRESSION_ALGORITHMS)),
        }
    }

    fn next_connection_id(&self) -> u64 {
        self.0.processes.next_id()
    }

    fn connect(
        &self,
        connection_id: u64,
        account: &Account,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> Result<Box<dyn Connection>, SqlError> {
        let key = AccountKey::new(account.user.clone(), account.host.clone());
        let session = Session::new(self.0.clone(), connection_id, key, info, on_kill)?;
        Ok(Box::new(session))
    }

    fn account_named(&self, user: &str, host: &str) -> Option<Account> {
        let accounts = self.0.accounts.load_full();
        accounts.get(&AccountKey::new(user.to_owned(), host.to_owned())).map(|account| self.account_of(account))
    }

    fn front_end_started(&self, listeners: &Listeners) {
        self.0.modules.iter().for_each(|module| module.front_end_started(listeners));
    }

    fn login_refused(&self, connection_id: u64, info: &ConnectionInfo, error: &SqlError) {
        let now = now_micros();
        if self.0.accounts.load_full().accounts.keys().any(|key| key.user == info.user) {
            self.0.statistics.refused_login(&info.user);
        }
        let host = info.address.map_or_else(|| "localhost".to_string(), |address| address.to_canonical().to_string());
        let client = Client { since_micros: now, ..client(connection_id, info, &host) }.described();
        let command = if info.changes_user { "Change user" } else { "Connect" };
        self.0.logs.write_refused(&client, command, error, now);
    }
}

/// The algorithms of `protocol_compression_algorithms`. An empty list excludes no client.
fn compression(list: &str) -> CompressionAlgorithms {
    let has = |name: &str| list.split(',').any(|algorithm| algorithm == name);
    CompressionAlgorithms { zlib: has("zlib"), zstd: has("zstd"), uncompressed: has("uncompressed") || list.is_empty() }
}
