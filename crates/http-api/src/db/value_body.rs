//! The answer that is a value, or parts of it: head and body.
//!
//! The bytes are a client's, whatever they are. So that none of them runs as a page of this server, browsers save them unless they are of a harmless
//! type, believe the type that is told, and give what they show no origin, no scripts and no network.

use super::ranges::Wanted;
use crate::sink::Sink;
use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use squall_types::{SqlError, SqlResult, StoredBytes};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are read and sent at a time.
const PIECE_BYTES: usize = 256 << 10;
/// What separates parts. No client can know it before it asks, so no value has it.
const BOUNDARY_BYTES: usize = 16;
/// Types that browsers may show, apart from those of images, sounds and films: they have no scripts.
const SHOWN: [&str; 8] =
    ["text/plain", "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "application/json"];

/// What is told of a value beside its bytes.
#[derive(Debug)]
pub(super) struct ValueFacts {
    pub tag: String,
    /// The media type, if there is one that can be told.
    pub media_type: Option<String>,
    /// Whether browsers may show it, if its type is harmless.
    pub inline: bool,
    /// Whether the URL is signed: pages of others may have it.
    pub is_signed: bool,
}

impl ValueFacts {
    /// The head of an answer, with the length of its body if that is known.
    pub fn head(&self, status: StatusCode, length: Option<u64>) -> Parts {
        let mut head = Response::new(()).into_parts().0;
        head.status = status;
        let media_type = self.media_type.as_deref().unwrap_or("application/octet-stream");
        let disposition = if self.inline && is_shown(media_type) { "inline" } else { "attachment" };
        for (name, value) in [
            (CONTENT_TYPE, media_type),
            (CONTENT_DISPOSITION, disposition),
            (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
            (ACCEPT_RANGES, "bytes"),
            // It may be kept, but not without asking: privileges may go.
            (CACHE_CONTROL, "private, no-cache"),
            (ETAG, &self.tag),
        ] {
            insert(&mut head, name, value);
        }
        if self.is_signed {
            insert(&mut head, HeaderName::from_static("cross-origin-resource-policy"), "cross-origin");
        }
        if let Some(length) = length {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        head
    }

    /// The head for a range that has no byte.
    pub fn refusal(&self, length: u64) -> Parts {
        let mut head = self.head(StatusCode::RANGE_NOT_SATISFIABLE, Some(0));
        insert(&mut head, CONTENT_RANGE, &format!("bytes */{length}"));
        head
    }
}

fn insert(head: &mut Parts, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        head.headers.insert(name, value);
    }
}

/// Whether browsers may show what is declared to be of a type.
fn is_shown(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    SHOWN.contains(&&*name) || name.starts_with("audio/") || name.starts_with("video/")
}

/// A media type as it is stored, if it can be told: `type/subtype`, perhaps with parameters.
pub(super) fn media_type(text: &str) -> Option<String> {
    let name = text.split(';').next().unwrap_or_default().trim();
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let is_known = text.len() <= 255
        // With a comma it would be a list, of which browsers take the last.
        && text.bytes().all(|byte| byte != b',' && (byte == b' ' || byte.is_ascii_graphic()))
        && name.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    is_known.then(|| text.trim().to_owned())
}

/// What is sent, in order.
enum Segment {
    /// What is between parts.
    Text(Vec<u8>),
    Value(Range<u64>),
}

/// Sends a value, or the parts of it that are wanted.
///
/// # Errors
/// When the client has gone, or takes too long; the rest is not sent then. When the value cannot be read the answer is broken off.
pub(super) async fn send(
    sink: &mut Sink,
    facts: &ValueFacts,
    value: Arc<dyn StoredBytes>,
    wanted: Wanted,
) -> io::Result<()> {
    let length = value.length();
    let (head, segments) = match wanted {
        Wanted::Nothing => return sink.send_head(facts.refusal(length)),
        Wanted::Whole => (facts.head(StatusCode::OK, Some(length)), vec![Segment::Value(0..length)]),
        Wanted::Parts(parts) => match <[Range<u64>; 1]>::try_from(parts) {
            Ok([part]) => {
                let mut head = facts.head(StatusCode::PARTIAL_CONTENT, Some(part.end - part.start));
                insert(&mut head, CONTENT_RANGE, &content_range(&part, length));
                (head, vec![Segment::Value(part)])
            }
            Err(parts) => multipart(facts, parts, length)?,
        },
    };
    sink.begin(head)?;
    for segment in segments {
        match segment {
            Segment::Text(text) => sink.send_piece(Bytes::from(text)).await?,
            Segment::Value(part) => send_part(sink, &value, part).await?,
        }
    }
    sink.end().await
}

async fn send_part(sink: &mut Sink, value: &Arc<dyn StoredBytes>, part: Range<u64>) -> io::Result<()> {
    let mut at = part.start;
    while at < part.end {
        let wanted = usize::try_from(part.end - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
        match read(value, at, wanted).await {
            Ok(bytes) if !bytes.is_empty() => {
                at += bytes.len() as u64;
                sink.send_piece(Bytes::from(bytes)).await?;
            }
            // It is damaged, or shorter than it was said to be. The head has gone.
            _ => {
                sink.abort();
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
    }
    Ok(())
}

/// Reads a part of a value where a disk may be waited for.
async fn read(value: &Arc<dyn StoredBytes>, at: u64, bytes_max: usize) -> SqlResult<Vec<u8>> {
    let value = value.clone();
    let read = tokio::task::spawn_blocking(move || value.read(at, bytes_max));
    read.await.map_err(SqlError::internal)?
}

fn content_range(part: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", part.start, part.end - 1)
}

/// `multipart/byteranges`.
fn multipart(facts: &ValueFacts, parts: Vec<Range<u64>>, length: u64) -> io::Result<(Parts, Vec<Segment>)> {
    let mut random = [0; BOUNDARY_BYTES];
    getrandom::fill(&mut random).map_err(|_| io::Error::from(io::ErrorKind::Other))?;
    let boundary: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let media_type = facts.media_type.as_deref().unwrap_or("application/octet-stream");
    let (mut segments, mut bytes) = (Vec::new(), 0);
    for part in parts {
        let range = content_range(&part, length);
        let text = format!("\r\n--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: {range}\r\n\r\n");
        bytes += text.len() as u64 + (part.end - part.start);
        segments.extend([Segment::Text(text.into_bytes()), Segment::Value(part)]);
    }
    let end = format!("\r\n--{boundary}--\r\n");
    bytes += end.len() as u64;
    segments.push(Segment::Text(end.into_bytes()));
    let mut head = facts.head(StatusCode::PARTIAL_CONTENT, Some(bytes));
    insert(&mut head, CONTENT_TYPE, &format!("multipart/byteranges; boundary={boundary}"));
    Ok((head, segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_types_are_shown() {
        for shown in ["image/png", "Image/PNG", "text/plain; charset=utf-8", "video/mp4", "audio/ogg"] {
            assert!(is_shown(shown), "{shown}");
        }
        for hidden in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/xml",
            "application/pdf",
            "text/javascript",
            "",
        ] {
            assert!(!is_shown(hidden), "{hidden}");
        }
        assert_eq!(media_type(" text/plain; charset=utf-8"), Some("text/plain; charset=utf-8".to_owned()));
        for none in [
            "",
            "text",
            "text/",
            "/plain",
            "text/pl ain",
            "text/plain\r\nX: y",
            "t\u{e9}xt/plain",
            "a/b/c",
            "text/plain;, text/html",
        ] {
            assert_eq!(media_type(none), None, "{none}");
        }
    }
}
