//! HTTP requests that a server makes for its users: to the places that rules let it reach, within limits of time and size.
//!
//! Users may be allowed less than the server. So this crate resolves names itself, checks every address ([`address`], [`rules`]), and
//! connects only to an address that it has checked, also after a redirect. Answers have limits of bytes and time.
//!
//! Reading order: [`target`] (URLs), `below` (URLs within a base URL), [`address`] and [`rules`] (allowed destinations), [`resolver`],
//! [`connection`], [`decode`] and [`text`] (bodies), [`client`] (the whole request).

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
