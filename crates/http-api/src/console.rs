//! The page at `/`: files that are a part of the binary.

use crate::answer::{Answer, AnswerBody, empty, whole};
use hyper::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};
use std::sync::OnceLock;

/// The content security policy of the page: it loads nothing but these files, and no other page shows it.
pub const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

const INDEX: &[u8] = include_bytes!("../console/index.html");
const SCRIPT: &[u8] = include_bytes!("../console/app.js");
const STYLE: &[u8] = include_bytes!("../console/app.css");

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `index.html`.
    Index,
    /// `app.js`.
    Script,
    /// `app.css`.
    Style,
}

impl File {
    /// The file of a path. There are no others, whatever a path says.
    pub fn of(path: &str) -> Option<File> {
        Some(match path {
            "/" | "/index.html" => File::Index,
            "/app.js" => File::Script,
            "/app.css" => File::Style,
            _ => return None,
        })
    }

    fn bytes(self) -> &'static [u8] {
        match self {
            File::Index => INDEX,
            File::Script => SCRIPT,
            File::Style => STYLE,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            File::Index => "text/html; charset=utf-8",
            File::Script => "text/javascript; charset=utf-8",
            File::Style => "text/css; charset=utf-8",
        }
    }

    /// The file, or 304 for a client that has it.
    pub fn answer(self, headers: &HeaderMap) -> Answer {
        let tag = self.tag();
        let has_it = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut answer: Answer = match has_it {
            true => empty(StatusCode::NOT_MODIFIED),
            false => whole(StatusCode::OK, self.media_type(), self.bytes()),
        };
        if let Ok(tag) = HeaderValue::from_str(tag) {
            answer.headers_mut().insert(ETAG, tag);
        }
        debug_assert!(matches!(answer.body(), AnswerBody::Whole(_)));
        answer
    }

    fn tag(self) -> &'static str {
        static TAGS: [OnceLock<String>; 3] = [const { OnceLock::new() }; 3];
        TAGS[self as usize].get_or_init(|| {
            let digest = Sha256::digest(self.bytes());
            let digits: String = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"{digits}\"")
        })
    }
}
