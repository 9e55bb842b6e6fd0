//! Errors of the client.

use std::fmt;
use std::io;

use squall_wire::bytes::DecodeError;
use squall_wire::framing::FrameError;
use squall_wire::response::ErrPacket;

/// An error that the server reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: [u8; 5],
    /// For people.
    pub message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sqlstate = String::from_utf8_lossy(&self.sqlstate);
        write!(f, "ERROR {} ({sqlstate}): {}", self.code, self.message)
    }
}

/// Why a call failed. After anything but [`ClientError::Server`] the connection is of no use any more.
#[derive(Debug)]
pub enum ClientError {
    /// The server refused.
    Server(ServerError),
    /// The socket failed, or the server closed it.
    Io(io::Error),
    /// What came was no packet, or not the packet that was due.
    Protocol(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::Io(error) => write!(f, "connection lost: {error}"),
            Self::Protocol(what) => write!(f, "the server does not keep to the protocol: {what}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for ClientError {
    fn from(error: DecodeError) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<FrameError> for ClientError {
    fn from(error: FrameError) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<ErrPacket<'_>> for ClientError {
    fn from(packet: ErrPacket<'_>) -> Self {
        Self::Server(ServerError {
            code: packet.code,
            sqlstate: packet.sqlstate,
            message: String::from_utf8_lossy(packet.message).into_owned(),
        })
    }
}

/// Why [`Client::load_local`](crate::Client::load_local) failed.
#[derive(Debug)]
pub enum LoadError {
    /// The text could not be read.
    Source(String),
    /// The server or the connection.
    Client(ClientError),
}

impl From<ClientError> for LoadError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Source(reason) => f.write_str(reason),
            Self::Client(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}
