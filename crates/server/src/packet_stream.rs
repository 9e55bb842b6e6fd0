//! Packets on a socket.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use squall_front_end::{Socket, Transport};
use squall_session::api::{NetTimeouts, SocketUse};
use squall_session::time_slice::TimeSlice;
use squall_types::SqlError;
use squall_wire::compression::{CompressedStream, Compression};
use squall_wire::framing::{FrameError, PacketReader, PacketWriter};
use squall_wire::response::ErrPacket;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Past this many bytes a result is sent on before more of it is made.
const FLUSH_BYTES: usize = 64 << 10;
/// The greatest write buffer that an idle connection keeps, in bytes.
const WRITE_BUFFER_KEPT_BYTES: usize = 128 << 10;
/// So much is compressed at once, while others on the event loop wait.
const COMPRESSED_BYTES: usize = 256 << 10;
/// Buffer size of a read when the length is not known.
const READ_BYTES_MIN: usize = 4 << 10;
/// Buffer size of one read of a long packet. A header alone cannot make the server reserve what it announces.
const READ_BYTES_MAX: usize = 1 << 20;

/// Why nothing more can be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client closed the connection.
    Closed,
    /// The socket failed.
    Io(io::Error),
    /// The bytes are no packets.
    Frame(FrameError),
    /// Nothing came in time.
    TimedOut,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed by the client"),
            Self::Io(error) => error.fmt(f),
            Self::Frame(error) => error.fmt(f),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}

impl From<FrameError> for ReadError {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

/// Waits for the client to take something: not for ever, and no longer than until the connection is killed.
async fn with_timeout<T>(
    net_timeouts: Duration,
    killed: &Notify,
    sending: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    tokio::select! {
        biased;
        sent = timeout(net_timeouts, sending) => sent.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?,
        () = killed.notified() => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// A socket with the packets read from it and written to it.
///
/// Written packets collect in memory until [`PacketStream::flush`].
#[derive(Debug)]
pub(crate) struct PacketStream {
    pub(crate) transport: Transport,
    pub(crate) reader: PacketReader,
    pub(crate) writer: PacketWriter,
    /// The compressor of packets, and its bytes that are not sent yet.
    compressed: Option<Box<Compressed>>,
    pub(crate) read_timeout: Duration,
    write_timeout: Duration,
    /// Told when the connection is killed, so that no task waits for its client any more.
    pub(crate) killed: Arc<Notify>,
    /// Counts what goes through the socket.
    pub(crate) socket: Arc<SocketUse>,
    slice: TimeSlice,
}

#[derive(Debug)]
struct Compressed {
    stream: CompressedStream,
    sent: Vec<u8>,
}

impl PacketStream {
    pub(crate) fn new(socket: Socket, payload_bytes_max: usize, write_timeout: Duration) -> Self {
        Self {
            socket: Arc::new(SocketUse::new(socket.descriptor())),
            transport: Transport::Plain(socket),
            reader: PacketReader::new(payload_bytes_max),
            writer: PacketWriter::default(),
            compressed: None,
            read_timeout: write_timeout,
            write_timeout,
            killed: Arc::default(),
            slice: TimeSlice::default(),
        }
    }

    /// Sets how long the client may take.
    pub(crate) fn set_net_timeouts(&mut self, timeouts: NetTimeouts) {
        self.read_timeout = Duration::from_secs(timeouts.read_seconds);
        self.write_timeout = Duration::from_secs(timeouts.write_seconds);
    }

    /// Compresses what is sent from now on, and takes what comes as compressed. What is written must have been sent.
    pub(crate) fn compress(&mut self, compression: Compression) -> io::Result<()> {
        self.reader.ignore_sequence();
        self.socket.set_compression(compression.name(), compression.level());
        self.compressed = Some(Box::new(Compressed { stream: CompressedStream::new(compression)?, sent: Vec::new() }));
        Ok(())
    }

    /// Whether nothing has begun to arrive.
    pub(crate) fn is_between_packets(&self) -> bool {
        self.reader.is_between_packets() && self.compressed.as_ref().is_none_or(|c| c.stream.is_between_packets())
    }

    /// The socket, where nothing but it is needed to go on with the connection.
    pub(crate) fn plain_socket(&self) -> Option<&Socket> {
        match &self.transport {
            Transport::Plain(socket) if self.compressed.is_none() => Some(socket),
            _ => None,
        }
    }

    /// Reads more bytes into the reader. Nothing is lost when the future is dropped.
    pub(crate) async fn fill(&mut self) -> Result<(), ReadError> {
        // What has come with the compressed packet before.
        if let Some(compressed) = &mut self.compressed
            && compressed.stream.receive(self.reader.buffer())?
        {
            return Ok(());
        }
        let missing = match &self.compressed {
            Some(compressed) => compressed.stream.missing_bytes(),
            None => self.reader.missing_bytes(),
        };
        let buffer = match &mut self.compressed {
            Some(compressed) => compressed.stream.buffer(),
            None => self.reader.buffer(),
        };
        buffer.reserve(missing.clamp(READ_BYTES_MIN, READ_BYTES_MAX));
        let mut read = pin!(self.transport.read_buf(buffer));
        let read = poll_fn(|context| {
            let polled = read.as_mut().poll(context);
            if polled.is_pending() {
                self.slice.end();
            }
            polled
        });
        match read.await {
            Ok(0) => Err(ReadError::Closed),
            Ok(bytes) => {
                self.socket.read(bytes);
                if let Some(compressed) = &mut self.compressed {
                    compressed.stream.receive(self.reader.buffer())?;
                }
                Ok(())
            }
            Err(error) => Err(ReadError::Io(error)),
        }
    }

    /// Reads the next packet of the exchange that is going on (not a new command), after sending what is written.
    pub(crate) async fn read_reply(&mut self, net_timeouts: Duration) -> Result<Bytes, ReadError> {
        self.flush().await.map_err(ReadError::Io)?;
        self.reader.set_sequence(self.writer.sequence());
        let packet = loop {
            if let Some(packet) = self.reader.next_packet()? {
                break packet;
            }
            let killed = Arc::clone(&self.killed);
            tokio::select! {
                biased;
                read = timeout(net_timeouts, self.fill()) => read.map_err(|_| ReadError::TimedOut)??,
                () = killed.notified() => return Err(ReadError::Io(io::ErrorKind::ConnectionAborted.into())),
            }
        };
        self.writer.set_sequence(self.reader.sequence());
        Ok(packet)
    }

    /// As [`PacketStream::read_reply`], but takes no byte behind the packet off the socket: those may be TLS.
    pub(crate) async fn read_reply_exactly(&mut self) -> Result<Bytes, ReadError> {
        self.flush().await.map_err(ReadError::Io)?;
        self.reader.set_sequence(self.writer.sequence());
        let packet = loop {
            if let Some(packet) = self.reader.next_packet()? {
                break packet;
            }
            let missing = self.reader.missing_bytes().min(READ_BYTES_MAX) as u64;
            let buffer = self.reader.buffer();
            match (&mut self.transport).take(missing).read_buf(buffer).await {
                Ok(0) => return Err(ReadError::Closed),
                Ok(bytes) => self.socket.read(bytes),
                Err(error) => return Err(ReadError::Io(error)),
            }
        };
        self.writer.set_sequence(self.reader.sequence());
        Ok(packet)
    }

    /// Whether enough is written, or this connection has had its event loop for so long, that it should be sent before
    /// more is.
    pub(crate) fn needs_flush(&self) -> bool {
        self.writer.len() >= FLUSH_BYTES || self.slice.is_over()
    }

    /// Sends everything written, and lets others on the event loop run if this connection's time slice is over. A client that
    /// takes nothing for the write timeout is given up.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.send().await?;
        self.slice.give_way().await;
        Ok(())
    }

    async fn send(&mut self) -> io::Result<()> {
        if self.writer.is_empty() {
            return Ok(());
        }
        let Self { transport, writer, compressed, write_timeout, killed, socket, slice, .. } = self;
        let mut write = async |mut rest: &[u8]| {
            while !rest.is_empty() {
                let written = with_timeout(*write_timeout, killed, transport.write(rest)).await?;
                if written == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero));
                }
                socket.wrote(written);
                rest = &rest[written..];
            }
            Ok(())
        };
        match compressed {
            Some(compressed) => {
                let Compressed { stream, sent } = &mut **compressed;
                for piece in writer.bytes().chunks(COMPRESSED_BYTES) {
                    sent.clear();
                    stream.send(piece, sent)?;
                    write(sent).await?;
                    slice.give_way().await;
                }
            }
            None => write(writer.bytes()).await?,
        }
        self.writer.clear(WRITE_BUFFER_KEPT_BYTES);
        // Only TLS keeps bytes back.
        if let Transport::Tls(stream) = &mut self.transport {
            with_timeout(self.write_timeout, &self.killed, stream.flush()).await?;
        }
        Ok(())
    }

    /// Writes an ERR packet.
    pub(crate) fn write_error(&mut self, error: &SqlError) {
        self.write_error_message(error, error.message.as_bytes());
    }

    /// Writes an ERR packet whose message is in the client's character set.
    pub(crate) fn write_error_message(&mut self, error: &SqlError, message: &[u8]) {
        let packet = ErrPacket { code: error.code, sqlstate: error.sqlstate, message };
        self.writer.packet(|buf| packet.encode(buf));
    }

    /// Sends an error to a client that will be disconnected. It may be gone already, which changes nothing.
    pub(crate) async fn say_goodbye(&mut self, error: &SqlError) {
        self.write_error(error);
        if self.flush().await.is_ok() {
            self.close().await;
        }
    }

    /// Ends the connection in order, so that a client reads what was sent and then the end.
    pub(crate) async fn close(&mut self) {
        // TLS has something to say even now.
        if let Err(error) = with_timeout(self.write_timeout, &self.killed, self.transport.shutdown()).await {
            tracing::trace!("closing a connection: {error}");
        }
    }
}
