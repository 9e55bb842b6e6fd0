//! Connecting, and packets on the connection.

pub(crate) mod results;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use sha1::Sha1;
use squall_passwords::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, native_scramble, sha2_scramble, xor_with_nonce};
use squall_wire::caching_sha2;
use squall_wire::command::encode_text_command;
use squall_wire::constants::{Capabilities, command_code};
use squall_wire::framing::{PacketReader, PacketWriter};
use squall_wire::handshake::{
    AUTH_MORE_DATA, Attributes, AuthSwitch, ChangeUser, Greeting, HandshakeResponse, NONCE_BYTES, Nonce, TlsRequest,
};
use squall_wire::response::{ERR_HEADER, ErrPacket, OK_HEADER, OkPacket};

use crate::connect::results::{OkResult, ReadState};
use crate::error::ClientError;
use crate::tls::{self, ClientCertificate};

/// `utf8mb4_0900_ai_ci`.
const COLLATION: u8 = 255;
/// The longest packet accepted from a server.
const PACKET_BYTES_MAX: usize = 1 << 30;
const READ_BYTES: usize = 64 << 10;

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Host and port.
    Tcp(String, u16),
    /// Unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Whether to use TLS, which is never needed on a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// When the server offers it.
    Preferred,
    /// Always, or not at all.
    Required,
}

/// How to connect.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Where.
    pub target: Target,
    /// User name.
    pub user: String,
    /// Password, empty for none.
    pub password: String,
    /// Database to begin in, empty for none.
    pub database: String,
    /// TLS.
    pub tls: TlsMode,
    /// What is shown to a server by TLS.
    pub certificate: Option<ClientCertificate>,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// The client's capabilities, besides those that connecting needs.
    pub capabilities: Capabilities,
}

impl ConnectOptions {
    /// A connection of `root` without a password.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            user: "root".to_owned(),
            password: String::new(),
            database: String::new(),
            tls: TlsMode::Preferred,
            certificate: None,
            attributes: Vec::new(),
            capabilities: Capabilities::MULTI_STATEMENTS
                | Capabilities::MULTI_RESULTS
                | Capabilities::PS_MULTI_RESULTS
                | Capabilities::LOCAL_FILES
                | Capabilities::SESSION_TRACK
                | Capabilities::DEPRECATE_EOF,
        }
    }
}

enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Transport {
    fn is_secure(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }
}

impl Read for Transport {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buf),
            Self::Unix(stream) => stream.read(buf),
            Self::Tls(stream) => stream.read(buf),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buf),
            Self::Unix(stream) => stream.write(buf),
            Self::Tls(stream) => stream.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A connection to a server.
pub struct Client {
    transport: Transport,
    reader: PacketReader,
    pub(crate) writer: PacketWriter,
    pub(crate) capabilities: Capabilities,
    pub(crate) state: ReadState,
    pub(crate) last_ok: OkResult,
    nonce: Nonce,
    server_version: String,
    connection_id: u32,
}

impl Client {
    /// Connects and authenticates.
    pub fn connect(options: &ConnectOptions) -> Result<Self, ClientError> {
        let transport = match &options.target {
            Target::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Transport::Tcp(stream)
            }
            Target::Unix(path) => Transport::Unix(UnixStream::connect(path)?),
        };
        Self::authenticate(transport, options)
    }

    /// Authenticates on a socket that is connected already; the target in the options is not looked at.
    pub fn connect_over(socket: UnixStream, options: &ConnectOptions) -> Result<Self, ClientError> {
        Self::authenticate(Transport::Unix(socket), options)
    }

    fn authenticate(transport: Transport, options: &ConnectOptions) -> Result<Self, ClientError> {
        let mut client = Self {
            transport,
            reader: PacketReader::new(PACKET_BYTES_MAX),
            writer: PacketWriter::default(),
            capabilities: Capabilities::EMPTY,
            state: ReadState::default(),
            last_ok: OkResult::default(),
            nonce: [0; NONCE_BYTES],
            server_version: String::new(),
            connection_id: 0,
        };
        client.handshake(options)?;
        Ok(client)
    }

    /// The server's version, as it greeted.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The number that `KILL` takes.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// What client and server agreed on.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Whether the bytes cannot be read on the way.
    pub fn is_secure(&self) -> bool {
        self.transport.is_secure()
    }

    fn handshake(&mut self, options: &ConnectOptions) -> Result<(), ClientError> {
        let packet = self.read_packet()?;
        if packet.first() == Some(&ERR_HEADER) {
            return Err(ErrPacket::decode(&packet)?.into());
        }
        let greeting = Greeting::decode(&packet)?;
        self.server_version = String::from_utf8_lossy(greeting.server_version).into_owned();
        self.connection_id = greeting.connection_id;
        self.nonce = greeting.nonce;
        let mut wanted = options.capabilities
            | Capabilities::LONG_PASSWORD
            | Capabilities::LONG_FLAG
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA;
        wanted.set(Capabilities::CONNECT_WITH_DB, !options.database.is_empty());
        wanted.set(Capabilities::CONNECT_ATTRS, !options.attributes.is_empty());
        wanted.set(Capabilities::SSL, options.tls != TlsMode::Disabled && !self.transport.is_secure());
        self.capabilities = wanted & greeting.capabilities;
        if options.tls == TlsMode::Required
            && !self.transport.is_secure()
            && !self.capabilities.contains(Capabilities::SSL)
        {
            return Err(ClientError::Protocol("it does not offer TLS".to_owned()));
        }
        if self.capabilities.contains(Capabilities::SSL) {
            self.start_tls(options)?;
        }
        let plugin = greeting.auth_plugin.to_vec();
        let plugin = if scramble(&plugin, "", &self.nonce).is_some() {
            plugin
        } else {
            CACHING_SHA2_PASSWORD.as_bytes().to_vec()
        };
        let mut attributes = Vec::new();
        for (name, value) in &options.attributes {
            Attributes::put_pair(&mut attributes, name.as_bytes(), value.as_bytes());
        }
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            packet_bytes_max: PACKET_BYTES_MAX as u32,
            collation: COLLATION,
            user: options.user.as_bytes(),
            auth_response: &scramble(&plugin, &options.password, &self.nonce).unwrap_or_default(),
            database: options.database.as_bytes(),
            auth_plugin: &plugin,
            attributes: Attributes::decode(&attributes)?,
            zstd_level: 0,
        };
        self.writer.packet(|buf| response.encode(buf));
        self.send()?;
        self.finish_authentication(&options.password).map(drop)
    }

    fn start_tls(&mut self, options: &ConnectOptions) -> Result<(), ClientError> {
        let request = TlsRequest {
            capabilities: self.capabilities,
            packet_bytes_max: PACKET_BYTES_MAX as u32,
            collation: COLLATION,
        };
        self.writer.packet(|buf| request.encode(buf));
        self.send()?;
        let Transport::Tcp(stream) = &self.transport else {
            return Ok(());
        };
        let host = match &options.target {
            Target::Tcp(host, _) => host.clone(),
            Target::Unix(_) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(host).unwrap_or(ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()));
        let config = Arc::new(tls::config(options.certificate.as_ref())?);
        let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        self.transport = Transport::Tls(Box::new(StreamOwned::new(connection, stream.try_clone()?)));
        Ok(())
    }

    /// Becomes another user (`COM_CHANGE_USER`).
    pub fn change_user(&mut self, user: &str, password: &str, database: &str) -> Result<OkResult, ClientError> {
        let plugin = CACHING_SHA2_PASSWORD.as_bytes();
        let response = scramble(plugin, password, &self.nonce).unwrap_or_default();
        let change = ChangeUser {
            user: user.as_bytes(),
            auth_response: &response,
            database: database.as_bytes(),
            collation: Some(u16::from(COLLATION)),
            auth_plugin: plugin,
            attributes: Attributes::default(),
        };
        let capabilities = self.capabilities;
        self.begin_command();
        self.writer.packet(|buf| change.encode(buf, capabilities));
        self.send()?;
        self.finish_authentication(password)
    }

    /// Answers what the server wants to know until it is content.
    fn finish_authentication(&mut self, password: &str) -> Result<OkResult, ClientError> {
        loop {
            let packet = self.read_packet()?;
            match packet.first() {
                Some(&OK_HEADER) => return OkResult::new(&OkPacket::decode(&packet, self.capabilities)?),
                Some(&ERR_HEADER) => return Err(ErrPacket::decode(&packet)?.into()),
                Some(&AuthSwitch::HEADER) => {
                    let switch = AuthSwitch::decode(&packet)?;
                    let plugin = switch.plugin.to_vec();
                    self.nonce = switch
                        .data
                        .try_into()
                        .map_err(|_| ClientError::Protocol("a nonce of 20 bytes was due".to_owned()))?;
                    let response = scramble(&plugin, password, &self.nonce).ok_or_else(|| {
                        let name = String::from_utf8_lossy(&plugin).into_owned();
                        ClientError::Protocol(format!("unknown authentication plugin {name}"))
                    })?;
                    self.writer.packet(|buf| buf.extend_from_slice(&response));
                    self.send()?;
                }
                Some(&AUTH_MORE_DATA) => match &packet[1..] {
                    [caching_sha2::FAST_AUTH_SUCCESS] => {}
                    [caching_sha2::PERFORM_FULL_AUTHENTICATION] => self.send_password(password)?,
                    _ => return Err(ClientError::Protocol("authentication data".to_owned())),
                },
                _ => return Err(ClientError::Protocol("an answer to the handshake was due".to_owned())),
            }
        }
    }

    /// Sends the password itself, encrypted if the connection is not.
    fn send_password(&mut self, password: &str) -> Result<(), ClientError> {
        let mut password = [password.as_bytes(), &[0]].concat();
        if !self.transport.is_secure() {
            self.writer.packet(|buf| buf.push(caching_sha2::REQUEST_PUBLIC_KEY));
            self.send()?;
            let packet = self.read_packet()?;
            let key = std::str::from_utf8(packet.get(1..).unwrap_or_default())
                .ok()
                .and_then(|pem| RsaPublicKey::from_public_key_pem(pem).ok())
                .ok_or_else(|| ClientError::Protocol("a public key was due".to_owned()))?;
            xor_with_nonce(&mut password, &self.nonce);
            password = key
                .encrypt(&mut OsRng, Oaep::new::<Sha1>(), &password)
                .map_err(|error| ClientError::Protocol(error.to_string()))?;
        }
        self.writer.packet(|buf| buf.extend_from_slice(&password));
        self.send()
    }

    /// Starts a command: sequence ids begin again.
    pub(crate) fn begin_command(&mut self) {
        self.writer.set_sequence(0);
    }

    /// Sends what is written.
    pub(crate) fn send(&mut self) -> Result<(), ClientError> {
        self.transport.write_all(self.writer.bytes())?;
        self.transport.flush()?;
        self.writer.clear(READ_BYTES);
        self.reader.set_sequence(self.writer.sequence());
        Ok(())
    }

    /// Reads the next packet of the exchange.
    pub(crate) fn read_packet(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut chunk = [0; READ_BYTES];
        loop {
            if let Some(packet) = self.reader.next_packet()? {
                self.writer.set_sequence(self.reader.sequence());
                return Ok(packet.into());
            }
            match self.transport.read(&mut chunk)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                length => self.reader.buffer().extend_from_slice(&chunk[..length]),
            }
        }
    }

    /// Sends any bytes as one packet and reads the next one: for tests of malformed packets.
    pub fn raw_command(&mut self, payload: &[u8]) -> Result<Vec<u8>, ClientError> {
        self.begin_command();
        self.writer.packet(|buf| buf.extend_from_slice(payload));
        self.send()?;
        self.read_packet()
    }

    /// Sends any bytes as one packet with this sequence id, and reads nothing.
    pub fn send_raw(&mut self, sequence: u8, payload: &[u8]) -> Result<(), ClientError> {
        self.writer.set_sequence(sequence);
        self.writer.packet(|buf| buf.extend_from_slice(payload));
        self.send()
    }

    /// Reads one packet, which has this sequence id: for tests of what was sent by [`Client::send_raw`].
    pub fn read_raw(&mut self, sequence: u8) -> Result<Vec<u8>, ClientError> {
        self.reader.set_sequence(sequence);
        self.read_packet()
    }

    /// Says goodbye.
    pub fn quit(mut self) -> Result<(), ClientError> {
        self.begin_command();
        self.writer.packet(|buf| encode_text_command(buf, command_code::QUIT, b""));
        self.send()
    }
}

/// What to send in place of the password; `None` for a plugin that is unknown here.
fn scramble(plugin: &[u8], password: &str, nonce: &Nonce) -> Option<Vec<u8>> {
    let password = password.as_bytes();
    let is_known = plugin == CACHING_SHA2_PASSWORD.as_bytes() || plugin == MYSQL_NATIVE_PASSWORD.as_bytes();
    if !is_known {
        return None;
    }
    Some(if password.is_empty() {
        Vec::new()
    } else if plugin == CACHING_SHA2_PASSWORD.as_bytes() {
        sha2_scramble(password, nonce).to_vec()
    } else {
        native_scramble(password, nonce).to_vec()
    })
}
