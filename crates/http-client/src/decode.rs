//! Decompresses bodies.
//!
//! A peer may pack a gigabyte into a megabyte. So the output is counted as it is made, and never exceeds the bound.

use crate::error::HttpError;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, Write};
use zstd::stream::raw::{DParameter, Decoder as RawDecoder, Operation};

/// What is asked for in `Accept-Encoding`.
pub const ACCEPTED: &str = "gzip, deflate, zstd";
/// Bytes that are unpacked in one step, so that a step makes little.
const STEP_BYTES: usize = 4 << 10;
/// Bytes that come out at a time.
const ROOM_BYTES: usize = 32 << 10;
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
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

impl Unpacker {
    /// For a `Content-Encoding`, empty if there is none; at most so many bytes come out.
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
        Ok(Unpacker { packing, max_bytes, has_begun: false })
    }

    /// Takes bytes as they came, and gives what they are.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] if they are damaged, or too many.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, HttpError> {
        self.has_begun |= !bytes.is_empty();
        for step in bytes.chunks(STEP_BYTES) {
            if let Err(error) = self.packing.step(step) {
                return Err(self.failed(&error));
            }
        }
        Ok(std::mem::take(&mut self.packing.bounded().out))
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

    fn step(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Packing::None(out) => out.write_all(bytes),
            Packing::Gzip(decoder) => decoder.write_all(bytes),
            Packing::Deflate { decoder, out, has_ended } => {
                let mut room = vec![0; ROOM_BYTES];
                let mut rest = bytes;
                // What comes behind the end means nothing.
                while !*has_ended {
                    let (read, written) = (decoder.total_in(), decoder.total_out());
                    let status = decoder.decompress(rest, &mut room, FlushDecompress::None)?;
                    let (read, written) = (decoder.total_in() - read, (decoder.total_out() - written) as usize);
                    rest = rest.get(read as usize..).unwrap_or_default();
                    out.write_all(room.get(..written).unwrap_or_default())?;
                    *has_ended = status == Status::StreamEnd;
                    if rest.is_empty() && written < room.len() {
                        break;
                    }
                    if read == 0 && written == 0 {
                        return Err(io::Error::other("no progress"));
                    }
                }
                Ok(())
            }
            Packing::Undecided(out, first) => {
                let begin: Vec<u8> = first.take().into_iter().chain(bytes.iter().copied()).collect();
                let [one, two, ..] = begin.as_slice() else {
                    *first = begin.first().copied();
                    return Ok(());
                };
                // The header of zlib's form (RFC 1950); there are servers that send the bare one.
                let is_zlib = one & 0x0f == 8 && (u16::from(*one) << 8 | u16::from(*two)).is_multiple_of(31);
                let left = out.left;
                let out = std::mem::replace(out, Bounded { out: Vec::new(), left, is_over: false });
                *self = Packing::Deflate { decoder: Box::new(Decompress::new(is_zlib)), out, has_ended: false };
                self.step(&begin)
            }
            Packing::Zstd { decoder, out, is_within } => {
                let mut room = vec![0; ROOM_BYTES];
                let mut rest = bytes;
                loop {
                    let status = decoder.run_on_buffers(rest, &mut room)?;
                    rest = rest.get(status.bytes_read..).unwrap_or_default();
                    out.write_all(room.get(..status.bytes_written).unwrap_or_default())?;
                    *is_within = status.remaining != 0;
                    let is_full = status.bytes_written == room.len();
                    if rest.is_empty() && !is_full {
                        return Ok(());
                    }
                    if status.bytes_read == 0 && status.bytes_written == 0 {
                        return Err(io::Error::other("no progress"));
                    }
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
        for part in bytes.chunks(part) {
            out.extend(unpacker.push(part)?);
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
            let error = unpacker.push(&sent).unwrap_err();
            assert_eq!(error.to_string(), "the body has more than 1048576 bytes", "{encoding}");
            assert!(unpacker.packing.bounded().out.capacity() <= 4 << 20);
        }
    }
}
