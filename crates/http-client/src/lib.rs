//! HTTP requests that a server makes for its users: to the places that rules let it reach, within limits of time and size.
//!
//! What is asked for comes from people who may do less than the server may: names are resolved here, every address is checked
//! ([`address`], [`rules`]), and the connection goes to an address that was checked, redirects included. Whatever a peer sends is cut
//! off at a number of bytes and at a moment.
//!
//! Reading order: [`target`] (what a URL asks for), `below` (within a base URL), [`address`] and [`rules`] (what may be reached), [`resolver`], [`connection`],
//! [`decode`] and [`text`] (what a body is), [`client`] (a request from its begin to its end).

pub mod address;
mod below;
pub mod client;
pub mod connection;
pub mod decode;
pub mod error;
pub mod gate;
pub mod proxy;
pub mod resolver;
pub mod rules;
pub mod target;
pub mod text;

pub use client::{Client, Limits, Request, Response};
pub use error::HttpError;
pub use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, StatusCode};
pub use proxy::Proxy;
pub use resolver::{Resolve, SystemResolver};
pub use rules::Rules;
pub use target::Target;
