//! Starts and stops a server.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use squall_front_end::{
    Address, ConnectionLimit, FrontEnd, FrontEndOptions, Listen, Listeners, StartError, resolve, resolve_one,
};
use squall_session::api::Backend;

use crate::options::ServerOptions;
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
        let addresses = addresses(options).map_err(StartError::Listen)?;
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

/// The addresses of ordinary clients, and that of the administrative interface.
type Addresses = (Vec<Address>, Option<SocketAddr>);

fn addresses(options: &ServerOptions) -> io::Result<Addresses> {
    let tcp = resolve(&options.bind_address, options.port)?.into_iter().map(Address::Tcp);
    let ordinary = tcp.chain(options.socket.clone().map(Address::Unix)).collect();
    let administrative = match &options.admin_address {
        Some(name) => Some(resolve_one("admin address", name, options.admin_port)?),
        None => None,
    };
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
    let Some(address) = administrative else { return Ok((tcp_addresses, None)) };
    let opened = listeners.open(Listen {
        name: ADMINISTRATIVE.to_owned(),
        addresses: vec![Address::Tcp(address)],
        protocol: protocol.clone(),
        limit: ConnectionLimit::Unlimited,
        administrative: true,
    })?;
    Ok((tcp_addresses, opened.first().copied()))
}
