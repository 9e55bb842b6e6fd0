//! The server over real sockets, with a database that answers by script.

mod authentication;
mod backend;
mod commands;
mod lifetime;
mod results;
