//! The MySQL client/server protocol as values.
//!
//! This crate turns bytes into packets and packets into bytes, for both sides. It must not know sockets, tasks or SQL. All bytes from a
//! peer are decoded into a value or a [`DecodeError`]: nothing here panics on them, and no decoder allocates more than the length of
//! the packet.
//!
//! Reading order:
//! - [`bytes`]: integers and strings of the protocol;
//! - [`constants`]: capabilities, status flags, column types and flags, commands;
//! - [`framing`]: packets with sequence ids, split and joined at 16 MB;
//! - [`compression`]: the stream of packets in zlib's or Zstandard's format;
//! - [`handshake`] and [`auth`]: the connection phase and the password scrambles;
//! - [`command`] and [`parameters`]: commands of a client;
//! - [`mod@column`], [`text_row`], [`binary_row`], [`response`] and [`session_track`]: answers of a server.

pub mod auth;
pub mod binary_row;
pub mod bytes;
pub mod column;
pub mod command;
pub mod compression;
pub mod constants;
pub mod framing;
pub mod handshake;
pub mod parameters;
pub mod response;
pub mod session_track;
pub mod text_row;

pub use crate::binary_row::BinaryRowEncoder;
pub use crate::bytes::{DecodeError, Reader};
pub use crate::column::ColumnDefinition;
pub use crate::command::Command;
pub use crate::constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
pub use crate::framing::{FrameError, PacketReader, PacketWriter};
pub use crate::response::{ErrPacket, OkPacket};
pub use crate::text_row::TextRowEncoder;
