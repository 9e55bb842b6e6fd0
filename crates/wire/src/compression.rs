//! Compressed packets.
//!
//! ```text
//! +-----------------------------+----------+------------------------------------+---------+
//! | compressed length (3)       | sequence | length before, 0: not compressed (3) | payload |
//! +-----------------------------+----------+------------------------------------+---------+
//! ```
//!
//! Compression works on the stream of packets and cuts it anywhere: one compressed packet may hold several packets, or a part of one.
//! Sequence ids count compressed packets within one command; the sequence ids inside have no meaning.

use ::bytes::{Buf as _, BytesMut};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use crate::framing::{FrameError, PART_BYTES_MAX};

/// Length of a compressed packet's header.
const HEADER_BYTES: usize = 7;

/// What is shorter is sent as it is, as MySQL's clients and servers do.
const COMPRESSED_BYTES_MIN: usize = 50;

/// zlib's level, its default.
const ZLIB_LEVEL: u32 = 6;

/// No zlib stream expands further (zlib's technical details say 1032).
const ZLIB_EXPANSION_MAX: usize = 1040;

/// The highest level of Zstandard that a client gets: higher ones take a connection hundreds of megabytes.
const ZSTD_LEVEL_MAX: u8 = 12;

/// How packets are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// zlib's format.
    Zlib,
    /// Zstandard at a level.
    Zstd {
        /// 1 to 12.
        level: u8,
    },
}

impl Compression {
    /// Zstandard at the level that a client asks for; 0 is the default, and what is too high is as high as can be.
    pub fn zstd(level: u8) -> Self {
        Self::Zstd { level: if level == 0 { 3 } else { level.min(ZSTD_LEVEL_MAX) } }
    }

    /// Its name in `Compression_algorithm` and `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd { .. } => "zstd",
        }
    }

    /// Its level.
    pub fn level(self) -> u8 {
        match self {
            Self::Zlib => ZLIB_LEVEL as u8,
            Self::Zstd { level } => level,
        }
    }
}

/// Both directions of a compressed connection.
pub struct CompressedStream {
    compression: Compression,
    codec: Codec,
    /// What has come and is not yet a whole compressed packet.
    received: BytesMut,
    /// Of the next compressed packet, from either side.
    sequence: u8,
    /// One payload that was compressed to be sent.
    scratch: Vec<u8>,
}

enum Codec {
    Zlib { compress: Box<Compress>, decompress: Box<Decompress> },
    Zstd { compress: zstd::bulk::Compressor<'static>, decompress: zstd::bulk::Decompressor<'static> },
}

impl std::fmt::Debug for CompressedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompressedStream").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl CompressedStream {
    /// A connection that begins to be compressed.
    ///
    /// # Errors
    /// Zstandard's, which has no memory.
    pub fn new(compression: Compression) -> std::io::Result<Self> {
        let codec = match compression {
            Compression::Zlib => Codec::Zlib {
                compress: Box::new(Compress::new(flate2::Compression::new(ZLIB_LEVEL), true)),
                decompress: Box::new(Decompress::new(true)),
            },
            Compression::Zstd { level } => Codec::Zstd {
                compress: zstd::bulk::Compressor::new(i32::from(level))?,
                decompress: zstd::bulk::Decompressor::new()?,
            },
        };
        Ok(Self { compression, codec, received: BytesMut::new(), sequence: 0, scratch: Vec::new() })
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Where received bytes are appended.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.received
    }

    /// True when no compressed packet has begun to arrive.
    pub fn is_between_packets(&self) -> bool {
        self.received.is_empty()
    }

    /// How many bytes are missing of the compressed packet that arrives.
    pub fn missing_bytes(&self) -> usize {
        let wanted = self.header().map_or(HEADER_BYTES, |header| HEADER_BYTES + header.sent_bytes);
        wanted.saturating_sub(self.received.len())
    }

    fn header(&self) -> Option<Header> {
        self.received.first_chunk().map(Header::decode)
    }

    /// Appends one compressed packet to `packets` if all of it has arrived; tells whether it has. A few bytes may become 16 MB, so that the next
    /// one is to be taken when this is used up. What is sent next is numbered as the answer.
    ///
    /// # Errors
    /// [`FrameError::Corrupt`], after which the connection cannot go on.
    pub fn receive(&mut self, packets: &mut BytesMut) -> Result<bool, FrameError> {
        let Some(header) = self.header().filter(|header| self.received.len() >= HEADER_BYTES + header.sent_bytes)
        else {
            return Ok(false);
        };
        self.received.advance(HEADER_BYTES);
        let payload = self.received.split_to(header.sent_bytes);
        self.sequence = header.sequence.wrapping_add(1);
        match header.plain_bytes {
            0 => packets.extend_from_slice(&payload),
            plain_bytes => self.decompress(&payload, plain_bytes, packets)?,
        }
        Ok(true)
    }

    fn decompress(&mut self, payload: &[u8], plain_bytes: usize, packets: &mut BytesMut) -> Result<(), FrameError> {
        let is_zlib = matches!(self.codec, Codec::Zlib { .. });
        // A header alone makes the server reserve nothing.
        if is_zlib && plain_bytes / ZLIB_EXPANSION_MAX > payload.len() {
            return Err(FrameError::Corrupt);
        }
        let begin = packets.len();
        packets.resize(begin + plain_bytes, 0);
        let plain = &mut packets[begin..];
        let is_whole = match &mut self.codec {
            Codec::Zlib { decompress, .. } => {
                decompress.reset(true);
                let status = decompress.decompress(payload, plain, FlushDecompress::Finish);
                matches!(status, Ok(Status::StreamEnd)) && decompress.total_out() == plain_bytes as u64
            }
            Codec::Zstd { decompress, .. } => {
                matches!(decompress.decompress_to_buffer(payload, plain), Ok(bytes) if bytes == plain_bytes)
            }
        };
        if is_whole { Ok(()) } else { Err(FrameError::Corrupt) }
    }

    /// Appends packets to `sent` as compressed packets.
    ///
    /// # Errors
    /// The compressor's, which does not happen.
    pub fn send(&mut self, packets: &[u8], sent: &mut Vec<u8>) -> std::io::Result<()> {
        for plain in packets.chunks(PART_BYTES_MAX) {
            if plain.len() >= COMPRESSED_BYTES_MIN {
                self.compress(plain)?;
            }
            let is_smaller = plain.len() >= COMPRESSED_BYTES_MIN && self.scratch.len() < plain.len();
            let (payload, plain_bytes) = if is_smaller { (&*self.scratch, plain.len()) } else { (plain, 0) };
            let header = Header { sent_bytes: payload.len(), sequence: self.sequence, plain_bytes };
            sent.extend_from_slice(&header.encode());
            sent.extend_from_slice(payload);
            self.sequence = self.sequence.wrapping_add(1);
        }
        Ok(())
    }

    /// Compresses into `scratch`.
    fn compress(&mut self, plain: &[u8]) -> std::io::Result<()> {
        self.scratch.clear();
        match &mut self.codec {
            Codec::Zlib { compress, .. } => {
                compress.reset();
                loop {
                    self.scratch.reserve(plain.len() / 2 + COMPRESSED_BYTES_MIN);
                    let rest = &plain[(compress.total_in() as usize).min(plain.len())..];
                    let status = compress.compress_vec(rest, &mut self.scratch, FlushCompress::Finish);
                    if status.map_err(std::io::Error::other)? == Status::StreamEnd {
                        return Ok(());
                    }
                }
            }
            Codec::Zstd { compress, .. } => {
                self.scratch.reserve(zstd::zstd_safe::compress_bound(plain.len()));
                compress.compress_to_buffer(plain, &mut self.scratch).map(|_| ())
            }
        }
    }
}

/// A compressed packet's header.
struct Header {
    /// Bytes of the payload as it is sent.
    sent_bytes: usize,
    sequence: u8,
    /// Bytes of the payload before it was compressed; 0 if it was not.
    plain_bytes: usize,
}

impl Header {
    fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, sequence, d, e, f] = *bytes;
        let length = |bytes: [u8; 3]| bytes.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        Self { sent_bytes: length([a, b, c]), sequence, plain_bytes: length([d, e, f]) }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let [a, b, c, ..] = self.sent_bytes.to_le_bytes();
        let [d, e, f, ..] = self.plain_bytes.to_le_bytes();
        [a, b, c, self.sequence, d, e, f]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Compression; 2] = [Compression::Zlib, Compression::Zstd { level: 3 }];

    fn stream(compression: Compression) -> CompressedStream {
        CompressedStream::new(compression).expect("memory")
    }

    /// The packets that the other side reads, if the bytes come in pieces of `step` bytes.
    fn read(compression: Compression, sent: &[u8], step: usize) -> Result<Vec<u8>, FrameError> {
        let mut reader = stream(compression);
        let mut packets = BytesMut::new();
        for piece in sent.chunks(step) {
            reader.buffer().extend_from_slice(piece);
            while reader.receive(&mut packets)? {}
        }
        assert!(reader.is_between_packets());
        Ok(packets.to_vec())
    }

    #[test]
    fn long_streams_are_cut_and_joined() {
        for compression in BOTH {
            for length in [0, 1, COMPRESSED_BYTES_MIN, PART_BYTES_MAX, PART_BYTES_MAX + 1] {
                let plain: Vec<u8> = (0..length).map(|i| (i / 7 % 251) as u8).collect();
                let mut sent = Vec::new();
                stream(compression).send(&plain, &mut sent).expect("compressed");
                assert!(length <= COMPRESSED_BYTES_MIN || sent.len() < length / 2, "{} bytes", sent.len());
                assert!(read(compression, &sent, 1 << 20) == Ok(plain), "{length} bytes differ");
            }
        }
    }

    #[test]
    fn what_does_not_become_smaller_is_sent_as_it_is() {
        for compression in BOTH {
            let noise: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let mut sent = Vec::new();
            stream(compression).send(&noise, &mut sent).expect("compressed");
            assert!(sent.len() <= noise.len() + HEADER_BYTES);
            assert_eq!(read(compression, &sent, 100), Ok(noise));
        }
    }

    #[test]
    fn answers_are_numbered_on() {
        let mut server = stream(Compression::Zlib);
        server.buffer().extend_from_slice(&[1, 0, 0, 4, 0, 0, 0, b'x']);
        let mut packets = BytesMut::new();
        assert_eq!(server.receive(&mut packets), Ok(true));
        let mut sent = Vec::new();
        server.send(b"a", &mut sent).expect("sent");
        server.send(b"b", &mut sent).expect("sent");
        assert_eq!(sent, [1, 0, 0, 5, 0, 0, 0, b'a', 1, 0, 0, 6, 0, 0, 0, b'b']);
    }

    #[test]
    fn packets_are_taken_one_at_a_time() {
        for compression in BOTH {
            let (mut writer, mut reader, mut sent) = (stream(compression), stream(compression), Vec::new());
            writer.send(&vec![0; 2 * PART_BYTES_MAX], &mut sent).expect("compressed");
            reader.buffer().extend_from_slice(&sent);
            for taken in [true, true, false] {
                let mut packets = BytesMut::new();
                assert_eq!(reader.receive(&mut packets), Ok(taken));
                assert_eq!(packets.len(), if taken { PART_BYTES_MAX } else { 0 });
            }
        }
    }

    #[test]
    fn a_header_alone_reserves_nothing() {
        let mut server = stream(Compression::Zlib);
        server.buffer().extend_from_slice(&[1, 0, 0, 0, 0xff, 0xff, 0xff, b'x']);
        let mut packets = BytesMut::new();
        assert_eq!(server.receive(&mut packets), Err(FrameError::Corrupt));
        assert_eq!(packets.capacity(), 0);
    }

    proptest! {
        #[test]
        fn streams_survive_any_chunking(
            parts in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..400), 0..8),
            step in 1usize..64,
        ) {
            for compression in BOTH {
                let mut writer = stream(compression);
                let mut sent = Vec::new();
                for part in &parts {
                    writer.send(part, &mut sent).expect("compressed");
                }
                prop_assert_eq!(read(compression, &sent, step), Ok(parts.concat()));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            for compression in BOTH {
                let mut reader = stream(compression);
                reader.buffer().extend_from_slice(&bytes);
                while reader.receive(&mut BytesMut::new()) == Ok(true) {}
            }
        }
    }
}
