//! The properties of a connection after the handshake.

use squall_front_end::Peer;
use squall_front_end::connection_limit::Place;
use squall_wire::compression::Compression;
use squall_wire::constants::Capabilities;
use squall_wire::handshake::Nonce;

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
