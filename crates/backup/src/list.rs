//! The list of a backup: one JSON object a line.
//!
//! The first line is the header. Then comes a line for each file: its path within the data directory, its length, the hash of its content
//! (XXH3-128), and where it is: `"identity"` for one of the shared files, `"at"` for bytes of the backup's own contents. The last line has
//! the number of files and the hash of all bytes before it. So a list that was cut or changed is found out.

use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use squall_types::durable_files::Readers;
use std::path::{Component, Path};
use xxhash_rust::xxh3::xxh3_128;

const FORMAT: u64 = 1;

/// What is said of a backup as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupHeader {
    /// When the files were as the backup has them, microseconds since 1970 UTC.
    pub taken_micros: i64,
    /// The server's version.
    pub version: String,
    /// The identity of the data directory (`server_uuid`).
    pub server: String,
    /// Changes with smaller sequence numbers are in it.
    pub seqno: u64,
}

/// A backup's header and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupList {
    /// What is said of it as a whole.
    pub header: BackupHeader,
    /// Its files.
    pub files: Vec<ListedFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path within the data directory, with `/` between folders.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// XXH3-128 of its content.
    pub hash: u128,
    /// Where the content is.
    pub place: Place,
    /// Who may read it when it is restored.
    pub readers: Readers,
}

/// Where the content of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A shared file. The server knows its content by this number, its path and its length.
    Shared(u128),
    /// In the backup's own contents, from this byte on.
    Own(u64),
}

impl BackupList {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let BackupHeader { taken_micros, version, server, seqno } = &self.header;
        let header =
            json!({"format": FORMAT, "taken": taken_micros, "version": version, "server": server, "seqno": seqno});
        let mut out = format!("{header}\n").into_bytes();
        for file in &self.files {
            let mut line = Map::new();
            line.insert("path".into(), json!(file.path));
            line.insert("bytes".into(), json!(file.bytes));
            line.insert("hash".into(), json!(hex(file.hash)));
            match file.place {
                Place::Shared(identity) => line.insert("identity".into(), json!(hex(identity))),
                Place::Own(at) => line.insert("at".into(), json!(at)),
            };
            if file.readers == Readers::Owner {
                line.insert("private".into(), json!(true));
            }
            out.extend_from_slice(format!("{}\n", Value::Object(line)).as_bytes());
        }
        let end = last_line(self.files.len(), &out);
        out.extend_from_slice(end.as_bytes());
        out
    }

    /// Reads the list that lies at a path.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is not as it was written, or names files outside of a data directory.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<BackupList> {
        let damaged = |what| Error::Damaged(path.to_path_buf(), what);
        decode(bytes).ok_or_else(|| damaged("the list of the backup is not as it was written"))?.check(damaged)
    }

    /// Whether all paths stay in the directory that they are restored to.
    fn check(self, damaged: impl Fn(&'static str) -> Error) -> Result<BackupList> {
        let stays = |file: &ListedFile| {
            !file.path.is_empty() && Path::new(&file.path).components().all(|part| matches!(part, Component::Normal(_)))
        };
        match self.files.iter().all(stays) {
            true => Ok(self),
            false => Err(damaged("it names a file outside of the data directory")),
        }
    }
}

fn decode(bytes: &[u8]) -> Option<BackupList> {
    let body_end = bytes.strip_suffix(b"\n")?.iter().rposition(|byte| *byte == b'\n')? + 1;
    let (body, end) = bytes.split_at(body_end);
    let files = body.split(|byte| *byte == b'\n').count().checked_sub(2)?;
    if end != last_line(files, body).as_bytes() {
        return None;
    }
    let mut lines = body.strip_suffix(b"\n")?.split(|byte| *byte == b'\n');
    let header: Value = serde_json::from_slice(lines.next()?).ok()?;
    if header.get("format")?.as_u64()? != FORMAT {
        return None;
    }
    let text = |key: &str| Some(header.get(key)?.as_str()?.to_owned());
    let header = BackupHeader {
        taken_micros: header.get("taken")?.as_i64()?,
        version: text("version")?,
        server: text("server")?,
        seqno: header.get("seqno")?.as_u64()?,
    };
    Some(BackupList { header, files: lines.map(decode_file).collect::<Option<_>>()? })
}

/// The last line, for so many files and the lines before it. It is compared byte by byte: no hash covers it, and the same JSON can be written
/// in other ways.
fn last_line(files: usize, body: &[u8]) -> String {
    format!("{}\n", json!({"files": files, "hash": hex(xxh3_128(body))}))
}

fn decode_file(line: &[u8]) -> Option<ListedFile> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let place = match line.get("at") {
        Some(at) => Place::Own(at.as_u64()?),
        None => Place::Shared(number(&line, "identity")?),
    };
    Some(ListedFile {
        path: line.get("path")?.as_str()?.to_owned(),
        bytes: line.get("bytes")?.as_u64()?,
        hash: number(&line, "hash")?,
        place,
        readers: if line.get("private").is_some() { Readers::Owner } else { Readers::Default },
    })
}

fn hex(number: u128) -> String {
    format!("{number:032x}")
}

fn number(object: &Value, key: &str) -> Option<u128> {
    u128::from_str_radix(object.get(key)?.as_str()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BackupList {
        let file =
            |path: &str, place, readers| ListedFile { path: path.into(), bytes: 7, hash: 1 << 100, place, readers };
        BackupList {
            header: BackupHeader { taken_micros: -5, version: "8.4".into(), server: "u\"".into(), seqno: 9 },
            files: vec![
                file("rows/keyspaces/1/tables/2", Place::Shared(3), Readers::Default),
                file("key.pem", Place::Own(0), Readers::Owner),
            ],
        }
    }

    #[test]
    fn lists_come_back() {
        let path = Path::new("list");
        assert_eq!(BackupList::decode(&list().encode(), path).unwrap(), list());
        for outside in ["/etc/passwd", "../x", "a/../../x", ""] {
            let mut list = list();
            list.files[0].path = outside.into();
            assert!(BackupList::decode(&list.encode(), path).is_err(), "{outside}");
        }
    }

    #[test]
    fn damaged_lists_are_errors() {
        let path = Path::new("list");
        let whole = list().encode();
        for at in 0..whole.len() {
            for flipped in 1..=u8::MAX {
                let mut bytes = whole.clone();
                bytes[at] ^= flipped;
                assert!(BackupList::decode(&bytes, path).is_err(), "byte {at} with {flipped}");
            }
            assert!(BackupList::decode(&whole[..at], path).is_err(), "cut at {at}");
        }
    }
}
