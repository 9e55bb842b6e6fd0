//! The socket server: listeners, TLS, authentication, event loops, shutdown.
//!
//! A connection goes down this list once:
//! - `acceptor`: accepts sockets on one thread and hands them to event loops;
//! - `event_loop`: one thread with one single-threaded runtime per core; `neighbours`: its connections;
//! - `steering`: moves a connection to the best event loop;
//! - `handshake` and `authentication`: greeting, TLS, password, session;
//! - `command_loop`: reads each command and lets the session answer it, until the connection ends;
//! - `result_writer`: writes a session's answers as packets;
//! - `packet_stream`: packets on a socket, with timeouts and back-pressure.
//!
//! The crate knows the protocol and the traits of [`squall_session::api`], and must not know what a statement is.

mod acceptor;
mod authentication;
mod busy_poll;
mod certificates;
mod charset;
mod column_metadata;
mod command_loop;
mod connection_limit;
mod conversation;
mod established;
mod event_loop;
mod handshake;
mod neighbours;
mod options;
mod packet_stream;
mod password_checks;
mod prepared;
mod result_writer;
mod rsa_key;
mod server;
mod shared;
mod steering;
mod transport;

pub use options::ServerOptions;
pub use server::{Server, StartError};
