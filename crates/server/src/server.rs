//! Starts and stops a server.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use squall_front_end::{
    Address, ConnectionLimit, FrontEnd, FrontEndOptions, Listen, Listeners, PassedSocket, Pulse, StartError, resolve,
    resolve_one,
};
use squall_session::api::Backend;

use crate::options::{PassedSockets, ServerOptions};
use crate::protocol::MysqlProtocol;

/// The listener of `bind_address` and of the Unix socket.
const ORDINARY: &str = "mysql";
/// The administrative interface.
const ADMINISTRATIVE: &str = "mysql administrative";

/// A running server: a front end with listeners of MySQL's protocol, and those that modules open.
#[derive(Debug)]
pub struct Server {
    front_end: FrontEnd,
    protocol: Arc<MysqlProtocol>,
    tcp_addresses: Vec<SocketAddr>,
    admin_address: Option<SocketAddr>,
}

impl Server {
    /// Listens, and serves clients from then on.
    ///
    /// # Errors
    /// When it cannot listen; then nothing of it goes on.
    pub fn start(options: &ServerOptions, backend: Arc<dyn Backend>) -> Result<Self, StartError> {
        Self::start_on(options, &PassedSockets::default(), backend)
    }

    /// As [`Server::start`], on sockets that a service manager has opened, if there are any.
    ///
    /// # Errors
    /// When it cannot listen; then nothing of it goes on.
    pub fn start_on(
        options: &ServerOptions,
        passed: &PassedSockets,
        backend: Arc<dyn Backend>,
    ) -> Result<Self, StartError> {
        let addresses = addresses(options, passed).map_err(StartError::Listen)?;
        let front_end = FrontEnd::start(
            &FrontEndOptions {
                data_directory: options.data_directory.clone(),
                event_loops: options.event_loops,
                drain_timeout: options.drain_timeout,
            },
            backend.clone(),
        )?;
        let protocol = Arc::new(MysqlProtocol::new(backend.clone(), &options.data_directory));
        let opened = open(front_end.listeners(), addresses, &protocol);
        let (tcp_addresses, admin_address) = match opened {
            Ok(both) => both,
            Err(error) => {
                // Why it cannot listen says more than what else is wrong.
                let _ = front_end.shut_down();
                return Err(StartError::Listen(error));
            }
        };
        backend.front_end_started(front_end.listeners());
        Ok(Self { front_end, protocol, tcp_addresses, admin_address })
    }

    /// The TCP addresses listened on, with their ports.
    pub fn tcp_addresses(&self) -> &[SocketAddr] {
        &self.tcp_addresses
    }

    /// The address of the administrative interface, with its port.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// What listens where; other protocols' listeners may be opened beside MySQL's.
    pub fn listeners(&self) -> &Listeners {
        self.front_end.listeners()
    }

    /// What tells whether the server's event loops run.
    pub fn pulse(&self) -> Pulse {
        self.front_end.pulse()
    }

    /// Serves a client at the other end of a socket pair, as if it had come by the Unix socket.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn attach(&self, socket: UnixStream) -> io::Result<()> {
        self.front_end.attach(self.protocol.clone(), socket)
    }

    /// Accepts no more, tells idle clients goodbye, lets running statements end, and returns when all is quiet.
    ///
    /// # Errors
    /// When a thread has panicked, or the file of a Unix socket cannot be removed.
    pub fn shut_down(self) -> io::Result<()> {
        self.front_end.shut_down()
    }
}

/// The addresses of ordinary clients, and those of the administrative interface.
type Addresses = (Vec<Address>, Vec<Address>);

/// Sockets that were passed stand for the addresses of the options.
fn addresses(options: &ServerOptions, passed: &PassedSockets) -> io::Result<Addresses> {
    let given = |sockets: &[PassedSocket]| sockets.iter().cloned().map(Address::Passed).collect::<Vec<_>>();
    let mut ordinary = given(&passed.ordinary);
    if ordinary.is_empty() {
        ordinary.extend(resolve(&options.bind_address, options.port)?.into_iter().map(Address::Tcp));
        ordinary.extend(options.socket.clone().map(Address::Unix));
    }
    let mut administrative = given(&passed.administrative);
    if administrative.is_empty()
        && let Some(name) = &options.admin_address
    {
        administrative.push(Address::Tcp(resolve_one("admin address", name, options.admin_port)?));
    }
    Ok((ordinary, administrative))
}

/// Opens the listeners of MySQL's protocol. Their TCP addresses, with their ports.
fn open(
    listeners: &Listeners,
    (ordinary, administrative): Addresses,
    protocol: &Arc<MysqlProtocol>,
) -> io::Result<(Vec<SocketAddr>, Option<SocketAddr>)> {
    let tcp_addresses = listeners.open(Listen {
        name: ORDINARY.to_owned(),
        addresses: ordinary,
        protocol: protocol.clone(),
        limit: ConnectionLimit::Server,
        administrative: false,
    })?;
    if administrative.is_empty() {
        return Ok((tcp_addresses, None));
    }
    let opened = listeners.open(Listen {
        name: ADMINISTRATIVE.to_owned(),
        addresses: administrative,
        protocol: protocol.clone(),
        limit: ConnectionLimit::Unlimited,
        administrative: true,
    })?;
    Ok((tcp_addresses, opened.first().copied()))
}
