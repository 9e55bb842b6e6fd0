//! The front end: sockets, TLS, logins and event loops, for any protocol.
//!
//! A connection goes down this list once:
//! - [`listeners`]: what listens where, which may change while the server runs; `acceptor`: accepts sockets on one thread
//!   and hands them to event loops;
//! - `event_loop`: one thread with one single-threaded runtime per core; [`neighbours`]: its connections;
//! - [`protocol`]: what a protocol does with a connection, and what it is given for that;
//! - [`socket`] and `certificates`: the bytes, plain or encrypted; [`connection_limit`]: how many there may be;
//! - [`login`]: which accounts a client may use, the same for all protocols; [`password_checks`]: at whose expense;
//! - [`steering`] and [`busy_poll`]: which event loop serves a connection best, and when that one sleeps;
//! - [`context`]: what a front end asks of the server that it belongs to.
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

pub mod password_checks;
pub mod protocol;
pub mod socket;
pub mod steering;

pub use addresses::{resolve, resolve_one};
pub use connection_limit::{ConnectionLimit, OwnLimit};
pub use context::{Account, FrontEndContext, FrontEndSettings};
pub use front_end::{FrontEnd, FrontEndOptions, StartError};
pub use listeners::{Address, Listen, Listeners};
pub use login::{Applicant, Login};
pub use protocol::{Client, LocalFuture, Moving, Parked, Peer, Protocol, Services};
pub use socket::{CountedStream, Socket, Transport};
