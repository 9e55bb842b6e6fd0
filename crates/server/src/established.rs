//! The properties of a connection after the handshake.

use std::net::SocketAddr;

use squall_wire::compression::Compression;
use squall_wire::constants::Capabilities;
use squall_wire::handshake::Nonce;

use crate::connection_limit::Place;

/// The client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// `None` for a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// It came by the administrative interface.
    pub(crate) administrative: bool,
}

impl Peer {
    /// The host as accounts and messages name it.
    pub(crate) fn host(&self) -> String {
        match self.address {
            None => "localhost".to_owned(),
            Some(address) if address.ip().to_canonical().is_loopback() => "localhost".to_owned(),
            Some(address) => address.ip().to_canonical().to_string(),
        }
    }
}

/// The properties of a connection that never change.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) connection_id: u64,
    pub(crate) nonce: Nonce,
    pub(crate) peer: Peer,
    /// Kept for as long as the connection lives.
    pub(crate) place: Place,
    /// The capabilities of both client and server.
    pub(crate) capabilities: Capabilities,
    /// How packets are compressed once the client has logged in.
    pub(crate) compression: Option<Compression>,
}
