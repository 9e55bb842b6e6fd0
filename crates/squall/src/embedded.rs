//! A database in this process, for one user who owns the files anyway.

use std::io;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use squall_server::{Server, ServerOptions};
use squall_session::api::{
    Account, Backend, Connection, ConnectionInfo, FrontEndContext, FrontEndSettings, HandshakeSettings, KillCallback,
    TlsRequirement,
};
use squall_session::{Database, OpenOptions};
use squall_types::SqlError;

/// How long statements may take to end when the shell does.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A database with a server that listens nowhere: clients come by socket pairs, so that the shell's results take the
/// same way as everybody's.
pub(crate) struct Embedded {
    database: Database,
    server: Server,
}

impl Embedded {
    /// Opens a directory.
    pub(crate) fn open(directory: &Path) -> Result<Self, String> {
        let database = Database::open(
            directory,
            OpenOptions {
                modules: squall_modules::all(),
                keep_freed_memory: Some(crate::keep_freed_memory),
                allocated_memory: Some(crate::allocated_memory),
                ..OpenOptions::default()
            },
        )
        .map_err(|error| error.message)?;
        let options = ServerOptions {
            data_directory: directory.to_owned(),
            bind_address: String::new(),
            port: 0,
            admin_address: None,
            admin_port: 0,
            socket: None,
            event_loops: NonZeroUsize::MIN,
            drain_timeout: DRAIN_TIMEOUT,
        };
        let server = Server::start(&options, Arc::new(Owner(database.clone()))).map_err(|error| error.to_string())?;
        Ok(Self { database, server })
    }

    /// The client's end of a new connection.
    pub(crate) fn attach(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        self.server.attach(theirs)?;
        Ok(ours)
    }

    /// Ends in order.
    pub(crate) fn close(self) -> Result<(), String> {
        self.server.shut_down().map_err(|error| error.to_string())?;
        self.database.close().map_err(|error| error.message)
    }
}

/// The database as the owner of its files sees it: `root` needs no password. So modules are told of no front end: no client may connect.
struct Owner(Database);

impl FrontEndContext for Owner {
    fn front_end_settings(&self) -> FrontEndSettings {
        FrontEndSettings { require_secure_transport: false, ..self.0.front_end_settings() }
    }

    fn account(&self, user: &str, address: Option<IpAddr>) -> Option<Account> {
        let account = self.0.account(user, address)?;
        Some(Account {
            plugin: squall_passwords::CACHING_SHA2_PASSWORD.to_owned(),
            authentication: Vec::new(),
            second_authentication: Vec::new(),
            locked: false,
            tls: TlsRequirement::None,
            ..account
        })
    }

    fn client_gone(&self, connection_id: u64) {
        self.0.client_gone(connection_id);
    }

    fn connection_aborted(&self, connection_id: u64) {
        self.0.connection_aborted(connection_id);
    }

    fn connect_failed(&self) {
        self.0.connect_failed();
    }

    fn connection_moved(&self) {
        self.0.connection_moved();
    }

    fn connection_refused(&self) {
        self.0.connection_refused();
    }
}

impl Backend for Owner {
    fn handshake_settings(&self) -> HandshakeSettings {
        self.0.handshake_settings()
    }

    fn next_connection_id(&self) -> u64 {
        self.0.next_connection_id()
    }

    fn connect(
        &self,
        connection_id: u64,
        account: &Account,
        info: ConnectionInfo,
        on_kill: KillCallback,
    ) -> Result<Box<dyn Connection>, SqlError> {
        Backend::connect(&self.0, connection_id, account, info, on_kill)
    }

    fn login_refused(&self, connection_id: u64, info: &ConnectionInfo, error: &SqlError) {
        self.0.login_refused(connection_id, info, error);
    }
}
