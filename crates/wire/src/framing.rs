//! Packets on a byte stream.
//!
//! ```text
//! +------------------+----------+------------------+
//! | length (3 bytes) | sequence | length × payload |
//! +------------------+----------+------------------+
//! ```
//!
//! A payload of 16 MB − 1 or more is sent in parts of exactly that length and a last shorter part, which may be empty.
//! Sequence ids count parts within one command and wrap at 256.

use std::fmt;

use ::bytes::{Bytes, BytesMut};

/// Length of the part that says "more follows".
pub const PART_BYTES_MAX: usize = 0xff_ffff;
/// Length of a part's header.
pub const HEADER_BYTES: usize = 4;

/// Why a byte stream is not a stream of packets. The connection cannot go on after either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The joined payload would be longer than `max_allowed_packet`.
    TooLarge {
        /// The sequence id to answer with.
        next_sequence: u8,
    },
    /// A sequence id was not the next one.
    OutOfOrder {
        /// What should have come.
        expected: u8,
        /// What came.
        found: u8,
    },
    /// A compressed packet is none.
    Corrupt,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { .. } => f.write_str("packet bigger than max_allowed_packet"),
            Self::OutOfOrder { expected, found } => {
                write!(f, "packet {found} where packet {expected} was due")
            }
            Self::Corrupt => f.write_str("a compressed packet cannot be read"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Cuts a stream of bytes into packets. Bytes are appended to [`PacketReader::buffer`] as they arrive.
#[derive(Debug)]
pub struct PacketReader {
    buffer: BytesMut,
    /// Parts of a long packet that have arrived.
    joined: BytesMut,
    joining: bool,
    sequence: u8,
    /// Sequence ids are looked at.
    is_numbered: bool,
    payload_bytes_max: usize,
}

impl PacketReader {
    /// Accepts payloads of up to `payload_bytes_max` bytes.
    pub fn new(payload_bytes_max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            joined: BytesMut::new(),
            joining: false,
            sequence: 0,
            is_numbered: true,
            payload_bytes_max,
        }
    }

    /// Where received bytes are appended.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// True when no received byte waits to be read.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// True when no packet has begun to arrive.
    pub fn is_between_packets(&self) -> bool {
        self.buffer.is_empty() && !self.joining
    }

    /// Takes packets whatever their sequence ids are: those inside of compressed packets mean nothing.
    pub fn ignore_sequence(&mut self) {
        self.is_numbered = false;
    }

    /// Changes the longest accepted payload (`max_allowed_packet`).
    pub fn set_payload_bytes_max(&mut self, payload_bytes_max: usize) {
        self.payload_bytes_max = payload_bytes_max;
    }

    /// Expects the next packet to have this sequence id; a command starts again at 0.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The sequence id that the next packet of the exchange has, from either side.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// How many bytes are missing before [`PacketReader::next_packet`] can say more: a hint for how much to reserve.
    pub fn missing_bytes(&self) -> usize {
        let wanted = match self.buffer.first_chunk::<HEADER_BYTES>() {
            Some(header) => HEADER_BYTES + part_length(header),
            None => HEADER_BYTES,
        };
        wanted.saturating_sub(self.buffer.len())
    }

    /// The next whole packet, or `None` until more bytes have come.
    pub fn next_packet(&mut self) -> Result<Option<Bytes>, FrameError> {
        loop {
            let Some(header) = self.buffer.first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let length = part_length(header);
            let sequence = header[3];
            if self.is_numbered && sequence != self.sequence {
                return Err(FrameError::OutOfOrder { expected: self.sequence, found: sequence });
            }
            // Judged by the header alone, so that a packet that will be refused is never collected.
            if self.joined.len() + length > self.payload_bytes_max {
                return Err(FrameError::TooLarge { next_sequence: sequence.wrapping_add(1) });
            }
            if self.buffer.len() < HEADER_BYTES + length {
                return Ok(None);
            }
            self.sequence = sequence.wrapping_add(1);
            let mut part = self.buffer.split_to(HEADER_BYTES + length);
            let _header = part.split_to(HEADER_BYTES);
            if length == PART_BYTES_MAX {
                if !self.joining {
                    self.joined.reserve(self.payload_bytes_max.min(JOINED_BYTES));
                }
                self.joined.extend_from_slice(&part);
                self.joining = true;
                continue;
            }
            if !self.joining {
                return Ok(Some(part.freeze()));
            }
            self.joined.extend_from_slice(&part);
            self.joining = false;
            // The room that the parts were read into is not needed while the statement runs.
            if self.buffer.is_empty() {
                self.buffer = BytesMut::new();
            }
            return Ok(Some(std::mem::take(&mut self.joined).freeze()));
        }
    }
}

/// Room for packets of several parts, as far as it is wanted at all: growing step by step leaves the smaller rooms behind, and what is not
/// written to takes no memory.
const JOINED_BYTES: usize = 64 << 20;

fn part_length(header: &[u8; HEADER_BYTES]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Collects packets to send, one behind the other, in one buffer that is used again and again.
///
/// A packet is written between [`PacketWriter::begin`] and [`PacketWriter::end`]; nothing is copied afterwards unless the
/// payload has to be split.
#[derive(Debug, Default)]
pub struct PacketWriter {
    buffer: Vec<u8>,
    /// Offset of the open packet's header.
    start: usize,
    sequence: u8,
}

impl PacketWriter {
    /// Sets the sequence id of the next packet.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The sequence id of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Starts a packet; append its payload to the returned buffer. A packet begun before and not ended is dropped.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.buffer
    }

    /// The buffer with the open packet at its end.
    #[inline]
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Length of the open packet's payload so far.
    pub fn open_bytes(&self) -> usize {
        self.buffer.len().saturating_sub(self.start + HEADER_BYTES)
    }

    /// Drops the open packet.
    pub fn abandon(&mut self) {
        self.buffer.truncate(self.start);
    }

    /// Ends the open packet: writes its header, in parts if it is long.
    #[inline]
    pub fn end(&mut self) {
        let length = self.buffer.len() - self.start - HEADER_BYTES;
        if length < PART_BYTES_MAX {
            self.put_header(self.start, length);
        } else {
            self.split(length);
        }
        self.start = self.buffer.len();
    }

    /// Appends packets that were written before, behind which `sequence` is next. Their ids must follow on this writer's.
    pub fn append_packets(&mut self, packets: &[u8], sequence: u8) {
        self.buffer.extend_from_slice(packets);
        self.start = self.buffer.len();
        self.sequence = sequence;
    }

    /// Writes one packet.
    pub fn packet(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(self.begin());
        self.end();
    }

    #[inline]
    fn put_header(&mut self, offset: usize, length: usize) {
        let [a, b, c, ..] = length.to_le_bytes();
        let header = [a, b, c, self.sequence];
        self.buffer[offset..offset + HEADER_BYTES].copy_from_slice(&header);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Makes room for the headers of the second and later parts, moving the last part first.
    #[cold]
    fn split(&mut self, length: usize) {
        let part_count = length / PART_BYTES_MAX + 1;
        let payload = self.start + HEADER_BYTES;
        let headers_bytes = (part_count - 1) * HEADER_BYTES;
        // A packet of many megabytes is not given twice the room for these few bytes.
        self.buffer.reserve_exact(headers_bytes);
        self.buffer.resize(self.buffer.len() + headers_bytes, 0);
        for part in (1..part_count).rev() {
            let from = payload + part * PART_BYTES_MAX;
            let part_bytes = (length - part * PART_BYTES_MAX).min(PART_BYTES_MAX);
            self.buffer.copy_within(from..from + part_bytes, from + part * HEADER_BYTES);
        }
        for part in 0..part_count {
            let part_bytes = (length - part * PART_BYTES_MAX).min(PART_BYTES_MAX);
            self.put_header(self.start + part * (PART_BYTES_MAX + HEADER_BYTES), part_bytes);
        }
    }

    /// The bytes to send: every ended packet. An open packet must be ended first.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// How many bytes wait to be sent.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// True when nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Forgets the bytes, which were sent, and keeps at most `keep_bytes_max` of memory for the next ones.
    pub fn clear(&mut self, keep_bytes_max: usize) {
        self.buffer.clear();
        self.buffer.shrink_to(keep_bytes_max);
        self.start = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(bytes: &[u8], step: usize) -> Vec<Bytes> {
        let mut reader = PacketReader::new(usize::MAX);
        let mut packets = Vec::new();
        for chunk in bytes.chunks(step) {
            reader.buffer().extend_from_slice(chunk);
            while let Some(packet) = reader.next_packet().expect("in order") {
                packets.push(packet);
            }
        }
        assert!(reader.is_empty());
        packets
    }

    #[test]
    fn long_payloads_are_split_and_joined() {
        for length in [0, 1, PART_BYTES_MAX - 1, PART_BYTES_MAX, PART_BYTES_MAX + 1, 2 * PART_BYTES_MAX] {
            let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut writer = PacketWriter::default();
            writer.packet(|buf| buf.extend_from_slice(&payload));
            writer.packet(|buf| buf.push(7));
            let parts = length / PART_BYTES_MAX + 1;
            assert_eq!(writer.len(), length + parts * HEADER_BYTES + HEADER_BYTES + 1);
            assert_eq!(usize::from(writer.sequence()), parts + 1);
            let packets = joined(writer.bytes(), 1 << 20);
            assert_eq!(packets.len(), 2);
            assert!(packets[0] == payload, "payload of {length} bytes differs");
            assert_eq!(packets[1].as_ref(), [7]);
        }
    }

    #[test]
    fn a_packet_too_large_is_refused_by_its_header() {
        let mut reader = PacketReader::new(1000);
        reader.buffer().extend_from_slice(&[0xe9, 0x03, 0, 0]);
        assert_eq!(reader.next_packet(), Err(FrameError::TooLarge { next_sequence: 1 }));
    }

    #[test]
    fn a_wrong_sequence_id_is_refused() {
        let mut reader = PacketReader::new(1000);
        reader.buffer().extend_from_slice(&[0, 0, 0, 3]);
        assert_eq!(reader.next_packet(), Err(FrameError::OutOfOrder { expected: 0, found: 3 }));
    }

    proptest! {
        #[test]
        fn packets_survive_any_chunking(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..8),
            step in 1usize..64,
        ) {
            let mut writer = PacketWriter::default();
            for payload in &payloads {
                writer.packet(|buf| buf.extend_from_slice(payload));
            }
            let packets = joined(writer.bytes(), step);
            prop_assert_eq!(packets, payloads);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut reader = PacketReader::new(10_000);
            reader.buffer().extend_from_slice(&bytes);
            while let Ok(Some(_)) = reader.next_packet() {}
        }
    }
}
