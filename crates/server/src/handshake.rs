//! The connection phase: greeting, TLS, password, session.

use std::sync::Arc;
use std::time::Duration;

use squall_front_end::connection_limit::Place;
use squall_front_end::protocol::{Services, kill_callback};
use squall_front_end::{Applicant, FrontEndSettings, Peer};
use squall_passwords::CACHING_SHA2_PASSWORD;
use squall_session::api::{CompressionAlgorithms, Connection, ConnectionInfo, HandshakeSettings, KillCallback};
use squall_types::{ErrorCode, SqlError};
use squall_wire::compression::Compression;
use squall_wire::constants::{Capabilities, StatusFlags};
use squall_wire::framing::FrameError;
use squall_wire::handshake::{Attributes, ChangeUser, ClientHello, Greeting, HandshakeResponse, NONCE_BYTES, Nonce};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::authentication::{AuthError, Authenticator, FirstResponse};
use crate::established::Established;
use crate::packet_stream::{PacketStream, ReadError};
use crate::shared::Shared;

/// The longest packet accepted from a client that has not authenticated.
pub(crate) const HANDSHAKE_PACKET_BYTES_MAX: usize = 128 << 10;

/// The server's capabilities, without compression.
const OFFERED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::ODBC.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::IGNORE_SPACE.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::INTERACTIVE.0
        | Capabilities::SSL.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::QUERY_ATTRIBUTES.0
        | Capabilities::REMEMBER_OPTIONS.0,
);

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The client should read this.
    Refused(SqlError),
    /// The client is gone.
    Gone(ReadError),
}

impl From<ReadError> for HandshakeError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Frame(FrameError::OutOfOrder { .. }) => {
                Self::Refused(SqlError::new(ErrorCode::PacketsOutOfOrder, &[]))
            }
            ReadError::Frame(FrameError::TooLarge { .. } | FrameError::Corrupt) => Self::Refused(bad_handshake()),
            gone => Self::Gone(gone),
        }
    }
}

fn bad_handshake() -> SqlError {
    SqlError::new(ErrorCode::HandshakeError, &[])
}

/// The properties of a new client, and its allowed capabilities.
pub(crate) struct Arriving<'a> {
    pub(crate) peer: Peer,
    pub(crate) place: Arc<Place>,
    pub(crate) tls: &'a TlsAcceptor,
    pub(crate) wake: &'a Arc<Notify>,
}

/// Greets a new client and makes its session.
pub(crate) async fn establish(
    io: &mut PacketStream,
    shared: &Shared,
    services: &Services,
    settings: &FrontEndSettings,
    arriving: Arriving<'_>,
) -> Result<(Established, Box<dyn Connection>), HandshakeError> {
    let Arriving { peer, place, tls, wake } = arriving;
    let on_kill = kill_callback(wake, &io.killed);
    let own_settings = shared.backend.handshake_settings();
    let connection_id = shared.backend.next_connection_id();
    let nonce = random_nonce().map_err(|error| HandshakeError::Refused(SqlError::internal(error)))?;
    let offered = OFFERED | offered_compression(own_settings.compression);
    let greeting = Greeting {
        server_version: own_settings.version.as_bytes(),
        // Ids that the packet is too short for are cut, as MySQL does.
        connection_id: connection_id as u32,
        nonce,
        capabilities: offered,
        collation: own_settings.collation as u8,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: CACHING_SHA2_PASSWORD.as_bytes(),
    };
    io.writer.packet(|buf| greeting.encode(buf));

    let mut packet = io.read_reply_exactly().await?;
    let malformed = |_| HandshakeError::Refused(bad_handshake());
    let mut hello = ClientHello::decode(&packet, offered).map_err(malformed)?;
    if let ClientHello::TlsRequest(_) = hello {
        io.transport.accept_tls(tls).await.map_err(|error| HandshakeError::Gone(ReadError::Io(error)))?;
        let timeout = Duration::from_secs(settings.connect_timeout_seconds);
        packet = io.read_reply(timeout).await?;
        hello = ClientHello::decode(&packet, offered).map_err(malformed)?;
    }
    let ClientHello::Response(response) = hello else {
        return Err(HandshakeError::Refused(bad_handshake()));
    };
    let capabilities = response.capabilities & offered;
    let compression = compression_of(capabilities, response.zstd_level);
    if compression.is_none() && !own_settings.compression.uncompressed {
        let error = SqlError::new(ErrorCode::WrongCompressionAlgorithm, &[&"uncompressed"]);
        return Err(HandshakeError::Refused(error));
    }
    let established = Established { connection_id, nonce, peer, place, capabilities, compression };
    let first = FirstResponse {
        plugin: response.auth_plugin.to_vec(),
        response: response.auth_response.to_vec(),
        can_switch: established.capabilities.contains(Capabilities::PLUGIN_AUTH),
    };
    let info = info_of_response(&response, &established);
    let session = log_in(io, shared, services, settings, &established, info, first, on_kill).await?;
    Ok((established, session))
}

/// How connections may be compressed.
fn offered_compression(algorithms: CompressionAlgorithms) -> Capabilities {
    let either = |is_offered, capability| if is_offered { capability } else { Capabilities(0) };
    either(algorithms.zlib, Capabilities::COMPRESS) | either(algorithms.zstd, Capabilities::ZSTD_COMPRESSION)
}

/// How a client that can do so much is compressed: MySQL's clients, too, take zlib where both can do both.
fn compression_of(capabilities: Capabilities, zstd_level: u8) -> Option<Compression> {
    if capabilities.contains(Capabilities::COMPRESS) {
        return Some(Compression::Zlib);
    }
    capabilities.contains(Capabilities::ZSTD_COMPRESSION).then(|| Compression::zstd(zstd_level))
}

/// Makes another session for a client that has one (`COM_CHANGE_USER`); the old one is gone already.
pub(crate) async fn change_user(
    io: &mut PacketStream,
    shared: &Shared,
    services: &Services,
    established: &Established,
    change: &ChangeUser<'_>,
    on_kill: KillCallback,
) -> Result<Box<dyn Connection>, HandshakeError> {
    let first = FirstResponse {
        plugin: change.auth_plugin.to_vec(),
        response: change.auth_response.to_vec(),
        can_switch: established.capabilities.contains(Capabilities::PLUGIN_AUTH),
    };
    let collation = change.collation.unwrap_or_else(|| {
        let HandshakeSettings { collation, .. } = shared.backend.handshake_settings();
        collation
    });
    let info = info(established, change.user, change.database, collation, change.attributes);
    let info = ConnectionInfo { changes_user: true, ..info };
    let settings = services.context().front_end_settings();
    log_in(io, shared, services, &settings, established, info, first, on_kill).await
}

#[expect(clippy::too_many_arguments, reason = "everything that is known of a client")]
async fn log_in(
    io: &mut PacketStream,
    shared: &Shared,
    services: &Services,
    settings: &FrontEndSettings,
    established: &Established,
    mut info: ConnectionInfo,
    first: FirstResponse,
    on_kill: KillCallback,
) -> Result<Box<dyn Connection>, HandshakeError> {
    info.tls = io.transport.tls_use().map(Arc::new);
    let session = authenticate(io, shared, services, settings, established, &info, first, on_kill).await;
    if let Err(HandshakeError::Refused(error)) = &session {
        shared.backend.login_refused(established.connection_id, &info, error);
    }
    session
}

#[expect(clippy::too_many_arguments, reason = "everything that is known of a client")]
async fn authenticate(
    io: &mut PacketStream,
    shared: &Shared,
    services: &Services,
    settings: &FrontEndSettings,
    established: &Established,
    info: &ConnectionInfo,
    first: FirstResponse,
    on_kill: KillCallback,
) -> Result<Box<dyn Connection>, HandshakeError> {
    let applicant = Applicant {
        user: &info.user,
        host: &established.peer.host(),
        tls: info.tls.as_deref(),
        is_secure: io.transport.is_secure(),
        can_change_password: established.capabilities.contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
        changes_user: info.changes_user,
    };
    applicant.check_transport(settings).map_err(HandshakeError::Refused)?;
    let account = shared.backend.account(&info.user, info.address);
    let using_password = !matches!(first.response.as_slice(), [] | [0]);
    let mut authenticator = Authenticator {
        io,
        nonce: &established.nonce,
        login: services.login(),
        address: info.address,
        rsa_key: &shared.rsa_key,
        net_timeouts: Duration::from_secs(settings.connect_timeout_seconds),
    };
    let (is_right, using_password) = match authenticator.authenticate(account.as_ref(), first).await {
        Ok(()) => (true, using_password),
        Err(AuthError::Denied { using_password }) => (false, using_password),
        Err(AuthError::Refused(error)) => return Err(HandshakeError::Refused(error)),
        Err(AuthError::Read(error)) => return Err(error.into()),
    };
    let account = applicant.admit(&*shared.backend, account, is_right, using_password);
    let account = account.map_err(HandshakeError::Refused)?;
    // As it is now: others may have gone while this one logged in.
    let beyond_limit = !info.changes_user && established.place.is_beyond(settings.max_connections);
    let info = ConnectionInfo { beyond_limit, socket: Some(io.socket.clone()), ..info.clone() };
    shared.backend.connect(established.connection_id, &account, info, on_kill).map_err(HandshakeError::Refused)
}

fn info_of_response(response: &HandshakeResponse<'_>, established: &Established) -> ConnectionInfo {
    info(established, response.user, response.database, u16::from(response.collation), response.attributes)
}

fn info(
    established: &Established,
    user: &[u8],
    database: &[u8],
    collation: u16,
    attributes: Attributes<'_>,
) -> ConnectionInfo {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let has = |capability| established.capabilities.contains(capability);
    ConnectionInfo {
        database: text(database),
        collation,
        found_rows: has(Capabilities::FOUND_ROWS),
        interactive: has(Capabilities::INTERACTIVE),
        multi_statements: has(Capabilities::MULTI_STATEMENTS),
        local_files: has(Capabilities::LOCAL_FILES),
        ignore_space: has(Capabilities::IGNORE_SPACE),
        attributes: attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        ..ConnectionInfo::new(text(user), &established.peer)
    }
}

/// Random bytes without NUL and `$`, which end a nonce early in some clients.
fn random_nonce() -> Result<Nonce, getrandom::Error> {
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut nonce)?;
    Ok(nonce.map(|byte| match byte & 0x7f {
        0 | b'$' => byte & 0x7f | 1,
        byte => byte,
    }))
}
