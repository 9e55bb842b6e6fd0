//! The front end: sockets, TLS, logins and event loops, for any protocol.
//!
//! A connection goes down this list once:
//! - [`listeners`]: the listening addresses, which may change while the server runs; `acceptor`: accepts sockets on one thread
//!   and hands them to event loops;
//! - `event_loop`: one thread with one single-threaded runtime per core; [`neighbours`]: its connections;
//! - [`protocol`]: the interface of a protocol, and its input;
//! - [`socket`] and `certificates`: the bytes, plain or encrypted; [`connection_limit`]: the number of connections;
//! - [`login`]: the accounts that a client may use, for all protocols; `password_checks`: the order of checks;
//! - `pulse`: whether the event loops run; `sockets`: listening sockets that a service manager has opened;
//! - [`steering`] and [`busy_poll`]: the best event loop for a connection, and its sleep;
//! - [`context`]: the interface to the server.
//!
//! Knows: accounts as logins need them. Must not know: packets of any protocol, sessions, statements.

mod acceptor;
mod addresses;
pub mod busy_poll;
mod certificates;
pub mod connection_limit;
pub mod context;
mod event_loop;
mod front_end;
pub mod listeners;
pub mod login;
pub mod neighbours;

mod password_checks;
pub mod protocol;
mod pulse;
pub mod socket;
mod sockets;
pub mod steering;

pub use addresses::{resolve, resolve_one};
pub use connection_limit::{ConnectionLimit, OwnLimit, Place};
pub use context::{Account, FrontEndContext, FrontEndSettings};
pub use front_end::{FrontEnd, FrontEndOptions, StartError};
pub use listeners::{Address, Listen, Listeners};
pub use login::{Applicant, Login};
pub use password_checks::network_of;
pub use protocol::{Client, LocalFuture, Moving, Parked, Peer, Protocol, Services};
pub use pulse::Pulse;
pub use socket::{CountedStream, Socket, Transport};
pub use sockets::PassedSocket;
pub use squall_catalog::{LoginBlock, TlsRequirement};
