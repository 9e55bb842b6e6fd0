//! The MySQL client/server protocol as values.
//!
//! This crate turns bytes into packets and packets into bytes, in both directions, and nothing else: it knows no
//! sockets, no tasks and no SQL. Whatever a peer sends is decoded into a value or a [`DecodeError`]; nothing here panics
//! on bytes from outside, and no decoder allocates more than the packet in hand is long.
//!
//! Reading order:
//! - [`bytes`]: integers and strings as the protocol writes them;
//! - [`constants`]: capabilities, status flags, column types and flags, commands;
//! - [`framing`]: packets with sequence ids, split and joined at 16 MB;
//! - [`compression`]: the stream of packets in zlib's or Zstandard's format;
//! - [`handshake`] and [`caching_sha2`]: the connection phase;
//! - [`command`] and [`parameters`]: what a client asks;
//! - [`mod@column`], [`text_row`], [`binary_row`], [`response`] and [`session_track`]: what a server answers.

pub mod binary_row;
pub mod bytes;
pub mod caching_sha2;
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
