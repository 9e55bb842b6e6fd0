//! Connections whose packets are compressed.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use squall_client::{Client, ConnectOptions, Target};
use squall_test_support::server::TestServer;
use squall_wire::compression::{CompressedStream, Compression};
use squall_wire::constants::{Capabilities, command_code};
use squall_wire::framing::{PacketReader, PacketWriter};

use super::{connect, start, value};

const BOTH: [(Capabilities, Compression); 2] =
    [(Capabilities::COMPRESS, Compression::Zlib), (Capabilities::ZSTD_COMPRESSION, Compression::Zstd { level: 3 })];

/// A client that has logged in, by its socket.
struct Compressing {
    socket: UnixStream,
    stream: CompressedStream,
    reader: PacketReader,
    /// What has come, as it came.
    received_bytes: usize,
    // Says goodbye, if it may.
    _client: Client,
}

impl Compressing {
    fn connect(server: &TestServer, capability: Capabilities, compression: Compression) -> Self {
        let path = server.data_directory().with_file_name("s.sock");
        let socket = UnixStream::connect(&path).expect("the server's socket");
        let raw = socket.try_clone().expect("a second descriptor");
        raw.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let options = ConnectOptions::new(Target::Unix(path));
        let capabilities = options.capabilities | capability;
        let client = Client::connect_over(socket, &ConnectOptions { capabilities, ..options });
        let client = client.unwrap_or_else(|error| panic!("{error}"));
        let stream = CompressedStream::new(compression).expect("memory");
        let mut reader = PacketReader::new(usize::MAX);
        reader.ignore_sequence();
        Self { socket: raw, stream, reader, received_bytes: 0, _client: client }
    }

    /// Each command is numbered again.
    fn send(&mut self, command: u8, text: &[u8]) {
        let mut writer = PacketWriter::default();
        writer.packet(|buf| {
            buf.push(command);
            buf.extend_from_slice(text);
        });
        let mut sent = Vec::new();
        let mut stream = CompressedStream::new(self.stream.compression()).expect("memory");
        stream.send(writer.bytes(), &mut sent).expect("compressed");
        self.socket.write_all(&sent).expect("sent");
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(packet) = self.reader.next_packet().expect("a packet") {
                return Some(packet.to_vec());
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes).expect("bytes in time") {
                0 => return None,
                count => {
                    self.received_bytes += count;
                    self.stream.buffer().extend_from_slice(&bytes[..count]);
                    let mut packets = BytesMut::new();
                    while self.stream.receive(&mut packets).expect("whole") {}
                    self.reader.buffer().extend_from_slice(&packets);
                }
            }
        }
    }

    /// The one value of a query: the third packet is the row, behind the number of columns and the column.
    fn value(&mut self, sql: &str) -> Vec<u8> {
        self.send(command_code::QUERY, sql.as_bytes());
        let packets: Vec<Vec<u8>> = (0..4).map(|_| self.packet().expect("a packet")).collect();
        packets[2].clone()
    }
}

#[test]
fn long_results_take_few_bytes() {
    let server = start();
    for (capability, compression) in BOTH {
        let mut client = Compressing::connect(&server, capability, compression);
        for length in [1usize, 40, 60, 1000, 20_000_000] {
            let row = client.value(&format!("SELECT REPEAT('x', {length})"));
            assert!(
                row.len() > length && row[row.len() - length..].iter().all(|byte| *byte == b'x'),
                "{compression:?}"
            );
        }
        assert!(client.received_bytes < 1 << 20, "{compression:?}: {} bytes", client.received_bytes);
        // A long statement, whose packets are in several compressed ones.
        let text = "y".repeat(17 << 20);
        let row = client.value(&format!("SELECT LENGTH('{text}')"));
        assert_eq!(row[1..], *text.len().to_string().as_bytes());
        let name = client.value("SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Compression_algorithm'");
        assert_eq!(name[1..], *compression.name().as_bytes());
    }
}

#[test]
fn what_cannot_be_uncompressed_ends_the_connection_alone() {
    let server = start();
    let mut other = connect(&server);
    for (capability, compression) in BOTH {
        for claimed in [[5, 0, 0], [0xff, 0xff, 0xff]] {
            let mut client = Compressing::connect(&server, capability, compression);
            let [a, b, c] = claimed;
            client.socket.write_all(&[4, 0, 0, 0, a, b, c, 1, 2, 3, 4]).expect("sent");
            let error = client.packet().expect("an error");
            assert_eq!(error[..3], [0xff, 0x85, 0x04], "{compression:?}: 1157");
            assert_eq!(client.packet(), None, "the end");
        }
        assert_eq!(value(&mut other, "SELECT 1"), "1");
    }
}
