//! The packets before the first command: greeting, TLS request, handshake response, plugin switching.

use crate::bytes::{DecodeError, Reader, put_lenenc_bytes, put_lenenc_int, put_nul_bytes, put_u16, put_u32};
use crate::constants::{Capabilities, StatusFlags};

pub use squall_passwords::{NONCE_BYTES, Nonce};

const PROTOCOL_VERSION: u8 = 10;

/// The server's first packet (protocol version 10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// For example `8.4.0`.
    pub server_version: &'a [u8],
    /// What `KILL` takes.
    pub connection_id: u32,
    /// For the password scramble. Never contains a NUL byte, which would end it early in clients.
    pub nonce: Nonce,
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The server's default collation, its low byte.
    pub collation: u8,
    /// The session's first status.
    pub status: StatusFlags,
    /// The plugin that the nonce is meant for.
    pub auth_plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        let [low, high] = halves(self.capabilities);
        let (first, second) = self.nonce.split_at(8);
        buf.push(PROTOCOL_VERSION);
        put_nul_bytes(buf, self.server_version);
        put_u32(buf, self.connection_id);
        buf.extend_from_slice(first);
        buf.push(0);
        put_u16(buf, low);
        buf.push(self.collation);
        put_u16(buf, self.status.bits());
        put_u16(buf, high);
        buf.push(NONCE_BYTES as u8 + 1);
        buf.extend_from_slice(&[0; 10]);
        buf.extend_from_slice(second);
        buf.push(0);
        put_nul_bytes(buf, self.auth_plugin);
    }

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != PROTOCOL_VERSION {
            return Err(DecodeError::Malformed("protocol version 10"));
        }
        let server_version = reader.nul_bytes()?;
        let connection_id = reader.u32()?;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(reader.take(8)?);
        reader.u8()?;
        let low = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags(reader.u16()?);
        let high = reader.u16()?;
        reader.take(1 + 10)?;
        nonce[8..].copy_from_slice(reader.take(NONCE_BYTES - 8)?);
        reader.u8()?;
        Ok(Self {
            server_version,
            connection_id,
            nonce,
            capabilities: Capabilities(u32::from(low) | u32::from(high) << 16),
            collation,
            status,
            auth_plugin: reader.nul_bytes_or_rest(),
        })
    }
}

fn halves(capabilities: Capabilities) -> [u16; 2] {
    [capabilities.bits() as u16, (capabilities.bits() >> 16) as u16]
}

/// The client's first packet: only its head when the client wants TLS first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientHello<'a> {
    /// TLS begins with the next byte; the response comes again inside it.
    TlsRequest(TlsRequest),
    /// The whole response.
    Response(HandshakeResponse<'a>),
}

impl<'a> ClientHello<'a> {
    /// Reads the payload. `offered` is what the greeting said the server can do.
    pub fn decode(payload: &'a [u8], offered: Capabilities) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        let head = TlsRequest::decode(&mut reader)?;
        let in_force = head.capabilities & offered;
        if !in_force.contains(Capabilities::PROTOCOL_41) {
            return Err(DecodeError::Malformed("handshake response of the 4.1 protocol"));
        }
        if reader.is_empty() && in_force.contains(Capabilities::SSL) {
            return Ok(Self::TlsRequest(head));
        }
        HandshakeResponse::decode_after_head(head, in_force, reader).map(Self::Response)
    }
}

/// The head of a handshake response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsRequest {
    /// What the client can do.
    pub capabilities: Capabilities,
    /// The longest packet the client accepts.
    pub packet_bytes_max: u32,
    /// The client's collation, its low byte.
    pub collation: u8,
}

impl TlsRequest {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        put_u32(buf, self.capabilities.bits());
        put_u32(buf, self.packet_bytes_max);
        buf.push(self.collation);
        buf.extend_from_slice(&[0; 23]);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let capabilities = Capabilities(reader.u32()?);
        let packet_bytes_max = reader.u32()?;
        let collation = reader.u8()?;
        reader.take(23)?;
        Ok(Self { capabilities, packet_bytes_max, collation })
    }
}

/// The client's account, and the capabilities that it wants (`HandshakeResponse41`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client can do, whether or not the server offered it.
    pub capabilities: Capabilities,
    /// The longest packet the client accepts.
    pub packet_bytes_max: u32,
    /// The client's collation, its low byte.
    pub collation: u8,
    /// User name.
    pub user: &'a [u8],
    /// The scrambled password.
    pub auth_response: &'a [u8],
    /// Database to begin in; empty means none.
    pub database: &'a [u8],
    /// The plugin that made the response; empty when the client does not say.
    pub auth_plugin: &'a [u8],
    /// Connection attributes.
    pub attributes: Attributes<'a>,
    /// The level of Zstandard that the client asks for; 0 if it does not.
    pub zstd_level: u8,
}

impl<'a> HandshakeResponse<'a> {
    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        let Self { capabilities, packet_bytes_max, collation, .. } = *self;
        TlsRequest { capabilities, packet_bytes_max, collation }.encode(buf);
        put_nul_bytes(buf, self.user);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            put_lenenc_bytes(buf, self.auth_response);
        } else {
            let response = &self.auth_response[..self.auth_response.len().min(255)];
            buf.push(response.len() as u8);
            buf.extend_from_slice(response);
        }
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(buf, self.database);
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(buf, self.auth_plugin);
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(buf, self.attributes.encoded);
        }
        if capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            buf.push(self.zstd_level);
        }
    }

    fn decode_after_head(
        head: TlsRequest,
        in_force: Capabilities,
        mut reader: Reader<'a>,
    ) -> Result<Self, DecodeError> {
        let user = reader.nul_bytes()?;
        let auth_response = if in_force.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else if in_force.contains(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.take(usize::from(length))?
        } else {
            reader.nul_bytes_or_rest()
        };
        let database = if in_force.contains(Capabilities::CONNECT_WITH_DB) { reader.nul_bytes_or_rest() } else { b"" };
        let auth_plugin = if in_force.contains(Capabilities::PLUGIN_AUTH) { reader.nul_bytes_or_rest() } else { b"" };
        let attributes = if in_force.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            Attributes::decode(reader.lenenc_bytes()?)?
        } else {
            Attributes::default()
        };
        let asks_for_level = in_force.contains(Capabilities::ZSTD_COMPRESSION) && !reader.is_empty();
        let zstd_level = if asks_for_level { reader.u8()? } else { 0 };
        Ok(Self {
            capabilities: head.capabilities,
            packet_bytes_max: head.packet_bytes_max,
            collation: head.collation,
            user,
            auth_response,
            database,
            auth_plugin,
            attributes,
            zstd_level,
        })
    }
}

/// Connection attributes: pairs of length-encoded names and values, checked once and read in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    encoded: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Checks that the bytes are pairs.
    pub fn decode(encoded: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(encoded);
        while !reader.is_empty() {
            reader.lenenc_bytes()?;
            reader.lenenc_bytes()?;
        }
        Ok(Self { encoded })
    }

    /// Appends one pair to the encoded form that [`Attributes::decode`] reads.
    pub fn put_pair(encoded: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        put_lenenc_bytes(encoded, name);
        put_lenenc_bytes(encoded, value);
    }

    /// The pairs in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.encoded);
        std::iter::from_fn(move || {
            // Checked by `decode`: an error here only means that the pairs are over.
            let name = reader.lenenc_bytes().ok()?;
            let value = reader.lenenc_bytes().ok()?;
            Some((name, value))
        })
    }
}

/// Asks the client to authenticate again with another plugin (`AuthSwitchRequest`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    /// The plugin to use.
    pub plugin: &'a [u8],
    /// Its first data: the nonce, for both password plugins.
    pub data: &'a [u8],
}

impl<'a> AuthSwitch<'a> {
    /// First byte of the packet.
    pub const HEADER: u8 = 0xfe;

    /// Appends the payload.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        buf.push(Self::HEADER);
        put_nul_bytes(buf, self.plugin);
        buf.extend_from_slice(self.data);
        buf.push(0);
    }

    /// Reads the payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::HEADER {
            return Err(DecodeError::Malformed("authentication switch"));
        }
        let plugin = reader.nul_bytes()?;
        let data = reader.take_rest();
        Ok(Self { plugin, data: data.strip_suffix(&[0]).unwrap_or(data) })
    }
}

/// First byte of a packet with more data of the plugin in use (`AuthMoreData`).
pub const AUTH_MORE_DATA: u8 = 0x01;

/// Appends an `AuthMoreData` payload.
pub fn encode_auth_more_data(buf: &mut Vec<u8>, data: &[u8]) {
    buf.push(AUTH_MORE_DATA);
    buf.extend_from_slice(data);
}

/// `COM_CHANGE_USER`: another handshake response inside a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// The scrambled password.
    pub auth_response: &'a [u8],
    /// Database to begin in; empty means none.
    pub database: &'a [u8],
    /// Collation id, if sent.
    pub collation: Option<u16>,
    /// The plugin that made the response; empty when the client does not say.
    pub auth_plugin: &'a [u8],
    /// Connection attributes.
    pub attributes: Attributes<'a>,
}

impl<'a> ChangeUser<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>, in_force: Capabilities) -> Result<Self, DecodeError> {
        let user = reader.nul_bytes()?;
        let auth_response = if in_force.contains(Capabilities::SECURE_CONNECTION) {
            let length = reader.u8()?;
            reader.take(usize::from(length))?
        } else {
            reader.nul_bytes()?
        };
        let database = reader.nul_bytes_or_rest();
        let collation = if reader.is_empty() { None } else { Some(reader.u16()?) };
        let auth_plugin = if in_force.contains(Capabilities::PLUGIN_AUTH) && !reader.is_empty() {
            reader.nul_bytes_or_rest()
        } else {
            b""
        };
        let attributes = if in_force.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            Attributes::decode(reader.lenenc_bytes()?)?
        } else {
            Attributes::default()
        };
        Ok(Self { user, auth_response, database, collation, auth_plugin, attributes })
    }

    /// Appends the payload, with the command byte, as a client with these capabilities sends it.
    pub fn encode(&self, buf: &mut Vec<u8>, in_force: Capabilities) {
        buf.push(crate::constants::command_code::CHANGE_USER);
        put_nul_bytes(buf, self.user);
        let response = &self.auth_response[..self.auth_response.len().min(255)];
        buf.push(response.len() as u8);
        buf.extend_from_slice(response);
        put_nul_bytes(buf, self.database);
        put_u16(buf, self.collation.unwrap_or(0));
        if in_force.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(buf, self.auth_plugin);
        }
        if in_force.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_int(buf, self.attributes.encoded.len() as u64);
            buf.extend_from_slice(self.attributes.encoded);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OFFERED: Capabilities = Capabilities(u32::MAX);

    #[test]
    fn greeting_round_trips() {
        let greeting = Greeting {
            server_version: b"8.4.0-squall",
            connection_id: 77,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF,
            collation: 255,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"caching_sha2_password",
        };
        let mut buf = Vec::new();
        greeting.encode(&mut buf);
        assert_eq!(Greeting::decode(&buf), Ok(greeting));
    }

    #[test]
    fn response_round_trips_with_and_without_the_optional_parts() {
        let mut encoded = Vec::new();
        Attributes::put_pair(&mut encoded, b"_client_name", b"squall");
        Attributes::put_pair(&mut encoded, b"_pid", b"1");
        let full = HandshakeResponse {
            capabilities: Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA
                | Capabilities::CONNECT_WITH_DB
                | Capabilities::CONNECT_ATTRS
                | Capabilities::ZSTD_COMPRESSION,
            packet_bytes_max: 1 << 24,
            collation: 45,
            user: b"root",
            auth_response: &[1; 32],
            database: b"test",
            auth_plugin: b"caching_sha2_password",
            attributes: Attributes::decode(&encoded).expect("pairs"),
            zstd_level: 7,
        };
        let mut buf = Vec::new();
        full.encode(&mut buf);
        assert_eq!(ClientHello::decode(&buf, OFFERED), Ok(ClientHello::Response(full.clone())));
        assert_eq!(full.attributes.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&b"_client_name"[..], b"_pid"]);

        let bare = HandshakeResponse {
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION,
            database: b"",
            auth_plugin: b"",
            attributes: Attributes::default(),
            zstd_level: 0,
            ..full
        };
        let mut buf = Vec::new();
        bare.encode(&mut buf);
        assert_eq!(ClientHello::decode(&buf, OFFERED), Ok(ClientHello::Response(bare)));
    }

    #[test]
    fn a_lone_head_asks_for_tls() {
        let request = TlsRequest {
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::SSL,
            packet_bytes_max: 0,
            collation: 8,
        };
        let mut buf = Vec::new();
        request.encode(&mut buf);
        assert_eq!(ClientHello::decode(&buf, OFFERED), Ok(ClientHello::TlsRequest(request)));
        assert!(ClientHello::decode(&buf, Capabilities::PROTOCOL_41).is_err());
    }

    #[test]
    fn change_user_round_trips() {
        let change = ChangeUser {
            user: b"app",
            auth_response: &[9; 20],
            database: b"shop",
            collation: Some(255),
            auth_plugin: b"mysql_native_password",
            attributes: Attributes::default(),
        };
        let mut buf = Vec::new();
        change.encode(&mut buf, OFFERED);
        assert_eq!(ChangeUser::decode(Reader::new(&buf[1..]), OFFERED), Ok(change));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), offered in any::<u32>()) {
            let _ = ClientHello::decode(&bytes, Capabilities(offered));
            let _ = Greeting::decode(&bytes);
            let _ = AuthSwitch::decode(&bytes);
            let _ = ChangeUser::decode(Reader::new(&bytes), Capabilities(offered));
            if let Ok(attributes) = Attributes::decode(&bytes) {
                attributes.iter().count();
            }
        }
    }
}
