//! MySQL's protocol on the front end, and the server that speaks it.
//!
//! The front end (`squall_front_end`) accepts a connection and gives it to `protocol`. Then it goes down this list once:
//! - `handshake` and `authentication`: greeting, TLS, password, session;
//! - `command_loop`: reads each command and lets the session answer it, until the connection ends;
//! - `result_writer`: writes a session's answers as packets;
//! - `packet_stream`: packets on a socket, with timeouts and back-pressure.
//!
//! The crate knows the protocol and the traits of [`squall_session::api`], and must not know statements.

mod authentication;
mod charset;
mod column_metadata;
mod command_loop;
mod conversation;
mod established;
mod handshake;
mod options;
mod packet_stream;
mod prepared;
mod protocol;
mod result_writer;
mod rsa_key;
mod server;
mod shared;

pub use options::{PassedSockets, ServerOptions};
pub use protocol::MysqlProtocol;
pub use server::Server;
pub use squall_front_end::{PassedSocket, Pulse, StartError};
