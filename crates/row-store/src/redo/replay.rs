//! Reads the log after a crash.
//!
//! The log ends at the first unreadable fragment, if a crash explains it: the fragment was never durable, so no client was told of its
//! commit. The disk may have any part of the bytes that were written and never synced, so earlier blocks may be missing while later
//! ones exist. So whole fragments after the end do not mean damage. The fragments themselves tell the difference: each names the
//! fragment before which all were durable when it was made ([`FragmentHeader::durable`](super::record::FragmentHeader)). If any later
//! fragment says that the unreadable one was durable, the disk once had it, and this is damage.

use super::checkpoint::{Checkpoint, Found};
use super::place::{LogContents, LogDamage, LogError, LogPlace};
use super::record::{
    CONTINUED, FIRST, FragmentHeader, HEADER_BYTES, LAST, LoggedChange, durable_of_headers, read_changes, read_header,
};
use super::segment;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that versions without a checkpoint have filled with zeros when they were shut down.
const HEADER_BYTES_BEFORE: u64 = 29;

/// Bytes that are read and written again at a time.
const COPIED_BYTES: usize = 1 << 20;

/// Takes a batch: its sequence number and its changes.
pub(crate) type Apply<'a> = &'a mut dyn FnMut(u64, Vec<LoggedChange>);

/// Gives every whole batch of the log, with its sequence number, in order.
///
/// # Errors
/// That of a file that cannot be read, and damage: what comes before it has been given then.
pub(crate) fn replay(folder: &Path, apply: Apply<'_>) -> Result<LogContents, LogError> {
    let contents = read_log(folder, apply)?;
    match contents.damage {
        Some(damage) => Err(damage.into()),
        None => Ok(contents),
    }
}

/// As [`replay`], and reports its findings.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn read_log(folder: &Path, apply: Apply<'_>) -> io::Result<LogContents> {
    let lost = |what| {
        let damage = LogDamage { file: Checkpoint::path(folder), byte: 0, fragment: 0, what };
        LogContents { folder: folder.to_path_buf(), damage: Some(damage), ..LogContents::default() }
    };
    let checkpoint = match Checkpoint::read(folder)? {
        Found::Checkpoint(checkpoint) => checkpoint,
        Found::Damaged => return Ok(lost("it is not as it was written")),
        Found::Nothing if has_records(folder)? => {
            return Ok(lost("it is missing, or the log is that of an earlier version, which can read it"));
        }
        Found::Nothing => return Ok(LogContents::default()),
    };
    let mut replay = Replay {
        folder,
        checkpoint,
        contents: LogContents {
            folder: folder.to_path_buf(),
            begin: checkpoint.place,
            end: checkpoint.place,
            ..LogContents::default()
        },
        batch: None,
        apply,
    };
    if checkpoint.is_begun {
        replay.run()?;
    }
    Ok(replay.contents)
}

/// Makes the log that was read durable, since the last server may not have synced it. The page cache may have bytes that the disk
/// lacks. After a failed sync the system treats them as written, so they are written again. The last segment can have such, and the
/// one before, whose end says that there is another.
///
/// # Errors
/// The system's.
pub(crate) fn make_durable(contents: &LogContents) -> io::Result<()> {
    let (begin, end) = (contents.begin, contents.end);
    if begin == end {
        // Nothing was read, or there is no log.
        return Ok(());
    }
    let read = segment::numbers(&contents.folder)?.into_iter().rev().filter(|number| *number <= end.segment);
    for number in read.take_while(|number| *number >= begin.segment).take(2) {
        let file = File::options().read(true).write(true).open(segment::path_of(&contents.folder, number))?;
        let mut at = if number == begin.segment { begin.byte } else { 0 };
        let to = if number == end.segment { end.byte } else { file.metadata()?.len() };
        let mut block = vec![0; COPIED_BYTES];
        while at < to {
            let block = &mut block[..COPIED_BYTES.min((to - at) as usize)];
            file.read_exact_at(block, at)?;
            file.write_all_at(block, at)?;
            at += block.len() as u64;
        }
        file.sync_data()?;
    }
    Ok(())
}

/// Has the log end before a fragment from now on. Where no checkpoint can be read, there is no log from now on.
///
/// # Errors
/// The system's.
pub(crate) fn end_at(folder: &Path, fragment: u64) -> io::Result<()> {
    let checkpoint = match Checkpoint::read(folder)? {
        Found::Checkpoint(checkpoint) => Checkpoint { end: Some(fragment), ..checkpoint },
        Found::Nothing | Found::Damaged => {
            Checkpoint::new(segment::numbers(folder)?.last().copied().unwrap_or(0) + 1, false)
        }
    };
    checkpoint.write(folder)
}

/// Whether a segment begins with anything but zeros: it has been used, and never without a checkpoint.
fn has_records(folder: &Path) -> io::Result<bool> {
    for number in segment::numbers(folder)? {
        let mut beginning = Vec::new();
        File::open(segment::path_of(folder, number))?.take(HEADER_BYTES_BEFORE).read_to_end(&mut beginning)?;
        if beginning.iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

struct Replay<'a> {
    folder: &'a Path,
    checkpoint: Checkpoint,
    contents: LogContents,
    /// A batch that has been begun.
    batch: Option<(u64, Vec<LoggedChange>)>,
    apply: Apply<'a>,
}

impl Replay<'_> {
    fn run(&mut self) -> io::Result<()> {
        while !self.is_cut() {
            let LogPlace { segment, byte, .. } = self.contents.end;
            let path = segment::path_of(self.folder, segment);
            let file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.damage("the file is missing");
                    return Ok(());
                }
                opened => opened?,
            };
            let mut reader = SegmentReader::new(file, self.checkpoint.seed(segment), byte)?;
            let Some(next) = self.read_segment(&mut reader)? else { return Ok(()) };
            (self.contents.end.segment, self.contents.end.byte) = (next, 0);
        }
        Ok(())
    }

    /// Whether the log is to end at the fragment that was reached (`--recover-to`).
    fn is_cut(&mut self) -> bool {
        self.contents.is_cut = self.checkpoint.end == Some(self.contents.end.fragment);
        self.contents.is_cut
    }

    /// Reads the segment at the end of what was read; the number of the one in which the log goes on.
    fn read_segment(&mut self, reader: &mut SegmentReader) -> io::Result<Option<u64>> {
        loop {
            if self.is_cut() {
                return Ok(None);
            }
            let fragment = self.contents.end.fragment;
            let Some(header) = reader.next(fragment)? else {
                if self.durable_behind()?.max(self.checkpoint.place.fragment) > fragment {
                    self.damage("it is not as it was written, and it was durable");
                }
                return Ok(None);
            };
            let next = match self.take(header, &reader.changes) {
                Ok(next) => next,
                Err(what) => {
                    self.damage(what);
                    return Ok(None);
                }
            };
            self.contents.end.byte = reader.at;
            self.contents.end.fragment += 1;
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Takes a fragment; the number of the segment in which the log goes on, if it is the last one of its own.
    fn take(&mut self, header: FragmentHeader, changes: &[u8]) -> Result<Option<u64>, &'static str> {
        let FragmentHeader { sequence, flags, .. } = header;
        if flags & CONTINUED != 0 {
            let number = changes.first_chunk().ok_or("the next segment's number is malformed")?;
            return Ok(Some(u64::from_le_bytes(*number)));
        }
        if sequence == 0 {
            return Ok(None);
        }
        if flags & FIRST != 0 {
            self.batch = Some((sequence, Vec::new()));
        }
        let begun = self.batch.as_mut().filter(|(begun, _)| *begun == sequence);
        let (_, batch) = begun.ok_or("the beginning of its batch is missing")?;
        read_changes(changes, batch).ok_or("the changes in it are malformed")?;
        if flags & LAST != 0
            && let Some((sequence, batch)) = self.batch.take()
        {
            self.contents.batches += 1;
            (self.apply)(sequence, batch);
        }
        Ok(None)
    }

    fn damage(&mut self, what: &'static str) {
        let LogPlace { segment, byte, fragment } = self.contents.end;
        let file = segment::path_of(self.folder, segment);
        self.contents.damage = Some(LogDamage { file, byte, fragment, what });
    }

    /// Up to where the log was durable, as far as anything behind the end of what was read says so.
    fn durable_behind(&self) -> io::Result<u64> {
        let LogPlace { segment, byte, fragment } = self.contents.end;
        let mut places: Vec<(PathBuf, u64, u64)> = Vec::new();
        for number in segment::numbers(self.folder)?.into_iter().filter(|number| *number >= segment) {
            let path = segment::path_of(self.folder, number);
            let from = if number == segment { byte } else { 0 };
            places.push((path, self.checkpoint.seed(number), from));
        }
        let mut bytes_behind = 0;
        for (path, _, from) in &places {
            bytes_behind += std::fs::metadata(path)?.len().saturating_sub(*from);
        }
        // None is shorter than a header.
        let numbers = fragment..=fragment.saturating_add(bytes_behind / HEADER_BYTES as u64);
        let mut durable = 0;
        for (path, seed, from) in places {
            durable = durable.max(durable_of_file(&path, seed, from, &numbers)?);
        }
        Ok(durable)
    }
}

fn durable_of_file(path: &Path, seed: u64, from: u64, numbers: &RangeInclusive<u64>) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(durable_of_headers(seed, &bytes, numbers))
}

/// Reads a segment's fragments one after the other.
struct SegmentReader {
    reader: BufReader<File>,
    seed: u64,
    /// Where the next fragment begins.
    at: u64,
    bytes: u64,
    /// Those of the last one.
    changes: Vec<u8>,
}

impl SegmentReader {
    fn new(mut file: File, seed: u64, at: u64) -> io::Result<SegmentReader> {
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(at))?;
        let reader = BufReader::with_capacity(1 << 20, file);
        Ok(SegmentReader { reader, seed, at, bytes, changes: Vec::new() })
    }

    /// The next fragment; `None` if it is not as it was written, or not there.
    fn next(&mut self, number: u64) -> io::Result<Option<FragmentHeader>> {
        let left = self.bytes.saturating_sub(self.at);
        if left < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        self.reader.read_exact(&mut header)?;
        let Some(header) = read_header(self.seed, &header).filter(|header| header.fragment.number == number) else {
            return Ok(None);
        };
        let bytes = (HEADER_BYTES + header.length) as u64;
        if bytes > left {
            return Ok(None);
        }
        self.changes.resize(header.length, 0);
        self.reader.read_exact(&mut self.changes)?;
        if !header.is_of(self.seed, &self.changes) {
            return Ok(None);
        }
        self.at += bytes;
        Ok(Some(header.fragment))
    }
}
