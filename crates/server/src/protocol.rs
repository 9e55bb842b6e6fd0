//! MySQL's protocol, as the front end sees it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use squall_front_end::busy_poll::BusyPoll;
use squall_front_end::protocol::{Arrived, Interrupted, Services, before_session};
use squall_front_end::steering::Steering;
use squall_front_end::{Client, LocalFuture, Moving, Parked, Protocol, Socket};
use squall_session::api::{Backend, ResultWriter as _};
use squall_types::SqlError;
use squall_wire::response::ErrPacket;

use crate::command_loop::CommandLoop;
use crate::conversation::{Conversation, Left};
use crate::handshake::{Arriving, HANDSHAKE_PACKET_BYTES_MAX, HandshakeError, establish};
use crate::packet_stream::{PacketStream, ReadError};
use crate::prepared::PreparedStatements;
use crate::result_writer::ClientWriter;
use crate::rsa_key::LazyRsaKeyPair;
use crate::shared::Shared;

/// MySQL's client/server protocol. Clones are the same.
#[derive(Clone)]
pub struct MysqlProtocol(Arc<Shared>);

impl MysqlProtocol {
    /// For a database. The RSA keys are in its data directory.
    pub fn new(backend: Arc<dyn Backend>, data_directory: &Path) -> Self {
        Self(Arc::new(Shared { backend, rsa_key: LazyRsaKeyPair::new(data_directory.to_owned()) }))
    }
}

impl std::fmt::Debug for MysqlProtocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MysqlProtocol")
    }
}

impl Protocol for MysqlProtocol {
    fn name(&self) -> &str {
        "MySQL"
    }

    fn serve(self: Arc<Self>, client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(begin(Arc::clone(&self.0), client))
    }

    fn refuse(self: Arc<Self>, socket: Socket, write_timeout: Duration, error: SqlError) -> LocalFuture<'static, ()> {
        Box::pin(async move {
            let mut io = PacketStream::new(socket, HANDSHAKE_PACKET_BYTES_MAX, write_timeout);
            let packet = ErrPacket { code: error.code, sqlstate: error.sqlstate, message: error.message.as_bytes() };
            io.writer.packet(|buf| packet.encode_before_handshake(buf));
            if io.flush().await.is_ok() {
                io.close().await;
            }
        })
    }
}

/// A connection from its first byte on.
async fn begin(shared: Arc<Shared>, client: Client) -> io::Result<Option<Moving>> {
    let Client { peer, place, socket, tls, wake, neighbour, services } = client;
    let settings = services.context().front_end_settings();
    let write_timeout = Duration::from_secs(settings.net_write_timeout_seconds.max(1));
    let mut io = PacketStream::new(socket, HANDSHAKE_PACKET_BYTES_MAX, write_timeout);
    let arriving = Arriving { peer, place, tls: &tls, wake: &wake };
    let handshake = before_session(&wake, &settings, establish(&mut io, &shared, &services, &settings, arriving));
    let (established, mut session) = match handshake.await {
        Ok(Ok(both)) => both,
        Ok(Err(HandshakeError::Refused(error))) => {
            tracing::debug!("refused a client from {}: {error}", peer.host());
            services.context().connect_failed();
            io.say_goodbye(&error).await;
            return Ok(None);
        }
        Ok(Err(HandshakeError::Gone(ReadError::Closed))) | Err(Interrupted::TimedOut) => {
            services.context().connect_failed();
            return Ok(None);
        }
        Ok(Err(HandshakeError::Gone(error))) => {
            tracing::debug!("handshake with a client from {}: {error}", peer.host());
            services.context().connect_failed();
            return Ok(None);
        }
        Err(Interrupted::Ending) => return Ok(None),
    };
    let mut writer = ClientWriter::new(io, established.capabilities);
    let status = session.status();
    writer.ok(&Default::default(), &status);
    if let Some(compression) = established.compression {
        writer.io.flush().await?;
        writer.io.compress(compression)?;
    }
    let conversation = Conversation {
        session,
        established,
        statements: PreparedStatements::default(),
        killed: Arc::clone(&writer.io.killed),
        counted: Arc::clone(&writer.io.socket),
        steering: Steering::new(),
    };
    let place = OnLoop { wake, neighbour, services };
    answer_commands(shared, place, writer, conversation).await
}

/// What the event loop gives a connection.
struct OnLoop {
    wake: Arc<tokio::sync::Notify>,
    neighbour: squall_front_end::neighbours::Neighbour,
    services: Arc<Services>,
}

/// A connection between two loops.
struct BetweenLoops {
    shared: Arc<Shared>,
    conversation: Conversation,
}

impl Parked for BetweenLoops {
    fn resume(self: Box<Self>, arrived: Arrived) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(async move {
            let Self { shared, conversation } = *self;
            let Arrived { socket, wake, neighbour, services } = arrived;
            let Conversation { session, established, killed, counted, .. } = &conversation;
            let write_timeout = Duration::from_secs(session.net_timeouts().write_seconds);
            let mut io = PacketStream::new(socket, session.max_allowed_packet(), write_timeout);
            io.killed = Arc::clone(killed);
            io.socket = Arc::clone(counted);
            let writer = ClientWriter::new(io, established.capabilities);
            answer_commands(shared, OnLoop { wake, neighbour, services }, writer, conversation).await
        })
    }
}

/// Answers commands until the connection ends or moves.
async fn answer_commands(
    shared: Arc<Shared>,
    place: OnLoop,
    mut client: ClientWriter,
    conversation: Conversation,
) -> io::Result<Option<Moving>> {
    let OnLoop { wake, neighbour, services } = place;
    neighbour.set_connection_id(conversation.established.connection_id);
    let Conversation { session, established, statements, steering, .. } = conversation;
    client.set_knows_vectors(session.knows_vectors());
    let busy_poll = BusyPoll::new();
    let commands = CommandLoop {
        shared: &shared,
        services: &services,
        session,
        established,
        client,
        statements,
        wake,
        neighbour: &neighbour,
        busy_poll,
        steering,
    };
    let Some(Left { to, socket, wake, conversation }) = commands.run().await else { return Ok(None) };
    let parked = Box::new(BetweenLoops { shared, conversation });
    Moving::new(to, socket, neighbour, wake, parked).map(Some)
}
