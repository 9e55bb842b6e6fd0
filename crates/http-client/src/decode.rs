//! Decompresses bodies.
//!
//! A peer may pack a gigabyte into a megabyte, and with zstd into 32 kilobytes. So the output is counted as it is made, never exceeds the bound, and comes out
//! in parts, however much a part of the input holds.

use crate::error::HttpError;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, Write};
use zstd::stream::raw::{DParameter, Decoder as RawDecoder, Operation};

/// What is asked for in `Accept-Encoding`.
pub const ACCEPTED: &str = "gzip, deflate, zstd";
/// Bytes that are unpacked in one step, so that a step makes little.
const STEP_BYTES: usize = 4 << 10;
/// Bytes that come out of a decoder at a time.
const ROOM_BYTES: usize = 32 << 10;
/// A part of the output is complete with this many bytes; it may have a step's more.
const PART_BYTES: usize = 256 << 10;
/// The window of zstd, in bits, that RFC 9659 allows on the web: 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Unpacked bytes that wait to be taken, and how many more there may be.
#[derive(Debug)]
struct Bounded {
    out: Vec<u8>,
    left: usize,
    is_over: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            self.is_over = true;
            return Err(io::Error::other("too long"));
        }
        self.left -= bytes.len();
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Packing {
    None(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
    /// `deflate`, before it is known whether it is zlib's form or the bare one; a first byte that came alone.
    Undecided(Bounded, Option<u8>),
    Deflate {
        decoder: Box<Decompress>,
        out: Bounded,
        has_ended: bool,
    },
    Zstd {
        decoder: Box<RawDecoder<'static>>,
        out: Bounded,
        is_within: bool,
    },
}

/// Unpacks a body part by part.
pub struct Unpacker {
    packing: Packing,
    max_bytes: usize,
    has_begun: bool,
    /// Whether the decoder may have more of the bytes that it took.
    is_full: bool,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

impl Unpacker {
    /// For a `Content-Encoding`, empty if there is none; at most this many bytes come out.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] for an encoding that is not known.
    pub fn new(encoding: &str, max_bytes: usize) -> Result<Unpacker, HttpError> {
        let out = Bounded { out: Vec::new(), left: max_bytes, is_over: false };
        let packing = match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Packing::None(out),
            "gzip" | "x-gzip" => Packing::Gzip(Box::new(MultiGzDecoder::new(out))),
            "deflate" => Packing::Undecided(out, None),
            "zstd" => {
                let decoder = RawDecoder::new().and_then(|mut decoder| {
                    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
                    Ok(decoder)
                });
                let decoder = Box::new(decoder.map_err(HttpError::transfer)?);
                Packing::Zstd { decoder, out, is_within: false }
            }
            _ => return Err(HttpError::transfer("the content encoding is none of gzip, deflate, zstd")),
        };
        Ok(Unpacker { packing, max_bytes, has_begun: false, is_full: false })
    }

    /// Takes bytes as they came from the beginning of `input`, and gives a part of what they are. [`Unpacker::has_more`] tells whether it is all.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] if they are damaged, or too many.
    pub fn unpack(&mut self, input: &mut &[u8]) -> Result<Vec<u8>, HttpError> {
        self.has_begun |= !input.is_empty();
        while self.has_more(input) && self.packing.bounded().out.len() < PART_BYTES {
            let all = *input;
            match self.packing.step(all.get(..STEP_BYTES).unwrap_or(all)) {
                Ok((read, is_full)) => {
                    *input = all.get(read..).unwrap_or_default();
                    self.is_full = is_full;
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
        Ok(std::mem::take(&mut self.packing.bounded().out))
    }

    /// Whether there is more to unpack before other input comes.
    pub fn has_more(&self, input: &[u8]) -> bool {
        self.is_full || !input.is_empty()
    }

    /// The body has ended: gives what is left of it.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] if something is missing.
    pub fn finish(mut self) -> Result<Vec<u8>, HttpError> {
        // Answers without a body name an encoding, too.
        if self.has_begun
            && let Err(error) = self.packing.finish()
        {
            return Err(self.failed(&error));
        }
        Ok(std::mem::take(&mut self.packing.bounded().out))
    }

    fn failed(&mut self, _error: &io::Error) -> HttpError {
        match self.packing.bounded().is_over {
            true => HttpError::transfer(format_args!("the body has more than {} bytes", self.max_bytes)),
            false => HttpError::transfer("the body is damaged"),
        }
    }
}

impl Packing {
    fn bounded(&mut self) -> &mut Bounded {
        match self {
            Packing::None(out)
            | Packing::Undecided(out, _)
            | Packing::Deflate { out, .. }
            | Packing::Zstd { out, .. } => out,
            Packing::Gzip(decoder) => decoder.get_mut(),
        }
    }

    /// Takes bytes and makes at most [`ROOM_BYTES`] of them. Gives how many it took, and whether there may be more of these.
    fn step(&mut self, bytes: &[u8]) -> io::Result<(usize, bool)> {
        let no_progress = || io::Error::other("no progress");
        match self {
            Packing::None(out) => out.write_all(bytes).map(|()| (bytes.len(), false)),
            Packing::Gzip(decoder) => match decoder.write(bytes)? {
                0 if !bytes.is_empty() => Err(no_progress()),
                read => Ok((read, false)),
            },
            // What comes behind the end means nothing.
            Packing::Deflate { has_ended: true, .. } => Ok((bytes.len(), false)),
            Packing::Deflate { decoder, out, has_ended } => {
                let mut room = vec![0; ROOM_BYTES];
                let (read, written) = (decoder.total_in(), decoder.total_out());
                let status = decoder.decompress(bytes, &mut room, FlushDecompress::None)?;
                let (read, written) = ((decoder.total_in() - read) as usize, (decoder.total_out() - written) as usize);
                out.write_all(room.get(..written).unwrap_or_default())?;
                *has_ended = status == Status::StreamEnd;
                match read == 0 && written == 0 && !bytes.is_empty() && !*has_ended {
                    true => Err(no_progress()),
                    false => Ok((read, written == room.len())),
                }
            }
            Packing::Undecided(out, first) => {
                let (before, mut rest) = (*first, bytes);
                let Some(one) = before.or_else(|| rest.split_off_first().copied()) else { return Ok((0, false)) };
                let Some(two) = rest.first() else {
                    *first = Some(one);
                    return Ok((bytes.len(), false));
                };
                // The header of zlib's form (RFC 1950); there are servers that send the bare one.
                let is_zlib = one & 0x0f == 8 && (u16::from(one) << 8 | u16::from(*two)).is_multiple_of(31);
                let left = out.left;
                let out = std::mem::replace(out, Bounded { out: Vec::new(), left, is_over: false });
                *self = Packing::Deflate { decoder: Box::new(Decompress::new(is_zlib)), out, has_ended: false };
                let (_, is_full) = self.step(&[one])?;
                Ok((usize::from(before.is_none()), is_full))
            }
            Packing::Zstd { decoder, out, is_within } => {
                let mut room = vec![0; ROOM_BYTES];
                let status = decoder.run_on_buffers(bytes, &mut room)?;
                out.write_all(room.get(..status.bytes_written).unwrap_or_default())?;
                *is_within = status.remaining != 0;
                match status.bytes_read == 0 && status.bytes_written == 0 && !bytes.is_empty() {
                    true => Err(no_progress()),
                    false => Ok((status.bytes_read, status.bytes_written == room.len())),
                }
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Packing::None(_) => Ok(()),
            Packing::Gzip(decoder) => decoder.try_finish(),
            Packing::Undecided(..)
            | Packing::Deflate { has_ended: false, .. }
            | Packing::Zstd { is_within: true, .. } => Err(io::ErrorKind::UnexpectedEof.into()),
            Packing::Deflate { .. } | Packing::Zstd { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn packed(encoding: &str, body: &[u8]) -> Vec<u8> {
        macro_rules! with {
            ($encoder:ident) => {{
                let mut encoder = $encoder::new(Vec::new(), Compression::best());
                encoder.write_all(body).unwrap();
                encoder.finish().unwrap()
            }};
        }
        match encoding {
            "gzip" => with!(GzEncoder),
            "deflate" => with!(ZlibEncoder),
            "bare" => with!(DeflateEncoder),
            "zstd" => zstd::encode_all(body, 3).unwrap(),
            _ => body.to_vec(),
        }
    }

    fn unpacked(encoding: &str, bytes: &[u8], part: usize, max: usize) -> Result<Vec<u8>, HttpError> {
        let mut unpacker = Unpacker::new(if encoding == "bare" { "deflate" } else { encoding }, max)?;
        let mut out = Vec::new();
        for mut part in bytes.chunks(part) {
            while unpacker.has_more(part) {
                out.extend(unpacker.unpack(&mut part)?);
            }
        }
        out.extend(unpacker.finish()?);
        Ok(out)
    }

    #[test]
    fn bodies_come_out_as_they_went_in() {
        let body: Vec<u8> = (0..200_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for encoding in ["", "gzip", "deflate", "bare", "zstd"] {
            let sent = packed(encoding, &body);
            for part in [1, 1000, usize::MAX] {
                assert_eq!(unpacked(encoding, &sent, part, body.len()).unwrap(), body, "{encoding}");
            }
            assert!(unpacked(encoding, &sent, 1000, body.len() - 1).is_err(), "{encoding}");
            if !encoding.is_empty() {
                assert!(unpacked(encoding, &sent[..sent.len() / 2], 1000, body.len()).is_err(), "{encoding}");
            }
            assert_eq!(unpacked(encoding, &[], 1, 0).unwrap(), Vec::<u8>::new());
        }
        assert!(unpacked("gzip", b"not packed at all", 5, 100).is_err());
        assert!(unpacked("br", b"", 5, 100).is_err());
    }

    #[test]
    fn a_bomb_is_cut_while_it_comes() {
        let bomb = vec![0; 64 << 20];
        for encoding in ["gzip", "deflate", "zstd"] {
            let sent = packed(encoding, &bomb);
            let mut unpacker = Unpacker::new(encoding, 1 << 20).unwrap();
            let mut rest = sent.as_slice();
            let mut unpacked = 0;
            let error = loop {
                match unpacker.unpack(&mut rest) {
                    Ok(part) => unpacked += part.len(),
                    Err(error) => break error,
                }
                assert!(unpacked <= 1 << 20 && unpacker.has_more(rest));
            };
            assert_eq!(error.to_string(), "the body has more than 1048576 bytes", "{encoding}");
            assert!(unpacker.packing.bounded().out.capacity() <= 1 << 20);
        }
    }

    #[test]
    fn a_bomb_comes_out_in_parts() {
        // A frame of zstd whose blocks repeat one byte 131,072 times each: 64 KiB are 2 GiB.
        let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
        (0..16_000).for_each(|_| bomb.extend([0x02, 0x00, 0x10, b'x']));
        let gzip = packed("gzip", &vec![0; 64 << 20]);
        for (encoding, sent) in [("zstd", &bomb), ("gzip", &gzip), ("deflate", &packed("deflate", &vec![0; 64 << 20]))]
        {
            let mut unpacker = Unpacker::new(encoding, usize::MAX).unwrap();
            let mut rest = sent.as_slice();
            for _ in 0..100 {
                let part = unpacker.unpack(&mut rest).unwrap();
                assert!((PART_BYTES..=PART_BYTES + 2 * ROOM_BYTES).contains(&part.len()), "{encoding}: {}", part.len());
                assert!(unpacker.has_more(rest), "{encoding}");
            }
        }
    }
}
