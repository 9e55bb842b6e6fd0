//! Simulates power cuts: makes the files that a power cut could leave at any time.
//!
//! A small library (`recorder.c`, made with `cc`) is preloaded into the server's process and records all changes of the files and names
//! of its data directory, in order. From the records it makes the files after a cut at a given time. All synced data is there. Of the
//! unsynced data, each block of a file is there or not; of a folder's unsynced names, the first ones are there, or any. Linux only.

use crate::random::Random;
use crate::server::TestServer;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a disk writes as a whole.
const BLOCK: usize = 4096;

/// The kinds of records, in the order of `recorder.c`.
const MADE: u32 = 1;
const FOLDER_MADE: u32 = 2;
const WRITTEN: u32 = 3;
const ZEROS: u32 = 4;
const CUT: u32 = 5;
const RENAMED: u32 = 6;
const REMOVED: u32 = 7;
const SYNC_BEGUN: u32 = 8;
const SYNC_ENDED: u32 = 9;
const LISTED: u32 = 10;

/// What is synced, likewise.
const A_FILE: u64 = 0;
const A_FOLDER: u64 = 1;
const ALL: u64 = 2;

/// Records what a server does with its files.
#[derive(Debug)]
pub struct Recorder {
    folder: TempDir,
    data: PathBuf,
}

impl Recorder {
    /// Starts a server on a new data directory. `None` where there is no C compiler, or no Linux.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start(binary: &Path) -> Option<(TestServer, Recorder)> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("recorder.c");
        std::fs::write(&source, include_str!("recorder.c")).expect("the library's source");
        let library = folder.path().join("recorder.so");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
        if !cfg!(target_os = "linux") || compiled.is_err() {
            return None;
        }
        assert!(compiled.is_ok_and(|status| status.success()), "cc does not compile recorder.c");
        let (record, count) = (folder.path().join("record"), folder.path().join("count"));
        File::create(&record).expect("the record's file");
        File::create(&count).and_then(|file| file.set_len(4096)).expect("the count's file");
        let server_folder = tempfile::tempdir().expect("a temporary folder");
        // As the system will name the files.
        let data = server_folder.path().canonicalize().expect("the server's folder").join("data");
        let environment = vec![
            ("LD_PRELOAD", library.into_os_string()),
            ("RECORD_FILE", record.into_os_string()),
            ("RECORD_COUNT", count.into_os_string()),
            ("RECORD_FOLDER", OsString::from(&data)),
        ];
        let server = TestServer::start_with(binary, server_folder, environment);
        let recorder = Recorder { folder, data };
        assert!(recorder.now() > 0, "the library is not loaded");
        Some((server, recorder))
    }

    /// The moment: how many records there are. What a server has acknowledged before is at a moment before this.
    ///
    /// # Panics
    /// If the count cannot be read.
    pub fn now(&self) -> u64 {
        let mut bytes = [0; 8];
        let count = File::open(self.folder.path().join("count")).expect("the count's file");
        count.read_exact_at(&mut bytes, 0).expect("the count");
        u64::from_ne_bytes(bytes)
    }

    /// Continues the recording after a kill of the server: drops half-written records, and adds records of changes that were made
    /// but not recorded.
    ///
    /// # Panics
    /// If the files cannot be read or written.
    pub fn mend(&self) {
        let path = self.folder.path().join("record");
        let bytes = std::fs::read(&path).expect("the record");
        let mut rest = &bytes[..];
        let mut events = Vec::new();
        while let Some((event, behind)) = Event::read(rest, &self.data) {
            events.push(event);
            rest = behind;
        }
        let missing = Disk::at(&events, events.len() as u64).missing_events(&self.data);
        let mut record = File::options().write(true).open(&path).expect("the record");
        record.set_len((bytes.len() - rest.len()) as u64).expect("its length");
        record.seek(SeekFrom::End(0)).expect("its end");
        missing.iter().for_each(|event| record.write_all(&event.encode(&self.data)).expect("the record is written"));
        let count = (events.len() + missing.len()) as u64;
        let counted = File::options().write(true).open(self.folder.path().join("count")).expect("the count's file");
        counted.write_all_at(&count.to_ne_bytes(), 0).expect("the count");
    }

    /// All that was recorded, of a server that has been killed.
    ///
    /// # Panics
    /// If the record cannot be read.
    pub fn record(&self) -> Record {
        let bytes = std::fs::read(self.folder.path().join("record")).expect("the record");
        let mut events = Vec::new();
        let mut rest = &bytes[..];
        while let Some((event, behind)) = Event::read(rest, &self.data) {
            events.push(event);
            rest = behind;
        }
        Record { events }
    }
}

/// What a server did with its files, in order.
#[derive(Debug)]
pub struct Record {
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Event {
    kind: u32,
    /// Within the data directory.
    path: PathBuf,
    /// The inode.
    file: u64,
    at: u64,
    number: u64,
    bytes: Vec<u8>,
    to: PathBuf,
}

impl Event {
    /// `None` at the end, or where the kill has cut a record short.
    fn read<'a>(bytes: &'a [u8], data: &Path) -> Option<(Event, &'a [u8])> {
        let (head, mut rest) = bytes.split_at_checked(40)?;
        let short = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let (kind, path, bytes) =
            (short(0), rest.split_off(..short(4) as usize)?, rest.split_off(..short(8) as usize)?);
        let within = |path: &[u8]| {
            let path = Path::new(OsStr::from_bytes(path.strip_suffix(b"\0").unwrap_or(path)));
            path.strip_prefix(data).unwrap_or(Path::new("")).to_path_buf()
        };
        let to = if kind == RENAMED { within(bytes) } else { PathBuf::new() };
        let event = Event {
            kind,
            path: within(path),
            file: long(16),
            at: long(24),
            number: long(32),
            bytes: bytes.to_vec(),
            to,
        };
        Some((event, rest))
    }

    /// What a path stands for was made, written or removed.
    fn of_path(kind: u32, path: &Path, file: u64, bytes: Vec<u8>) -> Event {
        Event { kind, path: path.to_path_buf(), file, at: 0, number: 0, bytes, to: PathBuf::new() }
    }

    fn encode(&self, data: &Path) -> Vec<u8> {
        let path = data.join(&self.path).into_os_string().into_encoded_bytes();
        let mut bytes = Vec::new();
        for number in [self.kind, path.len() as u32, self.bytes.len() as u32, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        for number in [self.file, self.at, self.number] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(path);
        bytes.extend(&self.bytes);
        bytes
    }
}

/// What was done to a file.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// By the event with that number.
    Write(usize),
    Zeros(usize),
    Cut(u64),
}

#[derive(Clone, Debug, Default)]
struct FileState {
    durable: Vec<u8>,
    /// With the numbers of their events.
    unsynced: Vec<(usize, Change)>,
}

/// What a name stands for: a file, or a folder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    File(usize),
    Folder,
}

#[derive(Clone, Debug)]
enum NameChange {
    Made(PathBuf, Node),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
}

impl NameChange {
    fn folder(&self) -> &Path {
        let (NameChange::Made(path, _) | NameChange::Renamed(_, path) | NameChange::Removed(path)) = self;
        path.parent().unwrap_or(Path::new(""))
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            NameChange::Made(path, node) => {
                names.insert(path.clone(), *node);
            }
            NameChange::Removed(path) => {
                names.remove(path);
            }
            NameChange::Renamed(from, to) => {
                // What is in a folder goes with it.
                let moved: Vec<PathBuf> = names.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in moved {
                    if let (Some(node), Ok(within)) = (names.remove(&path), path.strip_prefix(from)) {
                        // A file's own name has nothing within.
                        let path = if within.as_os_str().is_empty() { to.clone() } else { to.join(within) };
                        names.insert(path, node);
                    }
                }
            }
        }
    }
}

impl FileState {
    /// What readers see.
    fn present(&self, events: &[Event]) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        self.unsynced.iter().for_each(|(_, change)| FileState::apply(&mut bytes, *change, events, || true));
        bytes
    }

    /// Makes a change, or a part of it: each block for itself if `random` says so.
    fn apply(bytes: &mut Vec<u8>, change: Change, events: &[Event], mut keeps_block: impl FnMut() -> bool) {
        let (at, length, content) = match change {
            Change::Cut(length) => {
                if keeps_block() {
                    bytes.resize(length as usize, 0);
                }
                return;
            }
            Change::Write(event) => (events[event].at as usize, events[event].bytes.len(), Some(&events[event].bytes)),
            Change::Zeros(event) => (events[event].at as usize, events[event].number as usize, None),
        };
        let mut from = at;
        while from < at + length {
            let to = (at + length).min((from / BLOCK + 1) * BLOCK);
            if keeps_block() {
                if bytes.len() < to {
                    bytes.resize(to, 0);
                }
                match content {
                    Some(content) => bytes[from..to].copy_from_slice(&content[from - at..to - at]),
                    None => bytes[from..to].fill(0),
                }
            }
            from = to;
        }
    }
}

/// The files up to a moment.
struct Disk<'e> {
    events: &'e [Event],
    files: Vec<FileState>,
    /// Of inodes, which are used again.
    by_inode: HashMap<u64, usize>,
    /// As they are.
    present: BTreeMap<PathBuf, Node>,
    /// As they were synced, and what has not been.
    names: BTreeMap<PathBuf, Node>,
    unsynced: Vec<(usize, NameChange)>,
}

impl<'e> Disk<'e> {
    fn at(events: &'e [Event], moment: u64) -> Disk<'e> {
        let (files, by_inode, present, names, unsynced) = Default::default();
        let mut disk = Disk { events, files, by_inode, present, names, unsynced };
        events.iter().enumerate().take(moment as usize).for_each(|(number, event)| disk.take(number, event));
        disk
    }

    fn take(&mut self, number: usize, event: &Event) {
        let change = match event.kind {
            MADE => {
                self.by_inode.insert(event.file, self.files.len());
                self.change_names(number, NameChange::Made(event.path.clone(), Node::File(self.files.len())));
                return self.files.push(FileState::default());
            }
            FOLDER_MADE => return self.change_names(number, NameChange::Made(event.path.clone(), Node::Folder)),
            RENAMED => return self.rename(number, &event.path, &event.to),
            REMOVED => return self.change_names(number, NameChange::Removed(event.path.clone())),
            LISTED => return self.compare(number, event),
            SYNC_BEGUN => return,
            SYNC_ENDED => return self.sync(event.number as usize),
            WRITTEN => Change::Write(number),
            ZEROS => Change::Zeros(number),
            CUT => Change::Cut(event.at),
            other => panic!("record {number} is of kind {other}"),
        };
        // Files that were there before the recording are none of ours.
        if let Some(file) = self.by_inode.get(&event.file) {
            self.files[*file].unsynced.push((number, change));
        }
    }

    fn rename(&mut self, number: usize, from: &Path, to: &Path) {
        // What is not synced within a folder goes with it.
        for (_, change) in &mut self.unsynced {
            if let NameChange::Made(path, _) | NameChange::Removed(path) = change
                && let Ok(within) = path.strip_prefix(from)
                && !within.as_os_str().is_empty()
            {
                *path = to.join(within);
            }
        }
        self.change_names(number, NameChange::Renamed(from.to_path_buf(), to.to_path_buf()));
    }

    fn change_names(&mut self, number: usize, change: NameChange) {
        change.apply(&mut self.present);
        self.unsynced.push((number, change));
    }

    /// Finds renames and removals without a record, by the content of a folder.
    fn compare(&mut self, number: usize, event: &Event) {
        let mut rest = &event.bytes[..];
        let mut listed = BTreeMap::new();
        while let Some((inode, behind)) = rest.split_first_chunk::<8>() {
            let end = behind.iter().position(|byte| *byte == 0).expect("a name's end");
            listed.insert(event.path.join(OsStr::from_bytes(&behind[..end])), u64::from_ne_bytes(*inode));
            rest = &behind[end + 1..];
        }
        for (path, inode) in &listed {
            let Some(file) = self.by_inode.get(inode).copied() else { continue };
            if self.present.get(path) == Some(&Node::File(file)) {
                continue;
            }
            let before = self.present.iter().find(|(_, node)| **node == Node::File(file));
            match before.map(|(before, _)| before.clone()) {
                Some(before) => self.rename(number, &before, path),
                None => self.change_names(number, NameChange::Made(path.clone(), Node::File(file))),
            }
        }
        let gone = self.present.iter().filter(|(path, node)| {
            **node != Node::Folder && path.parent() == Some(&event.path) && !listed.contains_key(*path)
        });
        for path in gone.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.change_names(number, NameChange::Removed(path));
        }
    }

    fn sync(&mut self, begun: usize) {
        let event = &self.events[begun];
        match event.at {
            A_FILE => self.by_inode.get(&event.file).copied().into_iter().for_each(|file| self.sync_file(file, begun)),
            A_FOLDER => self.sync_names(begun, |change| change.folder() == event.path),
            ALL => {
                (0..self.files.len()).for_each(|file| self.sync_file(file, begun));
                self.sync_names(begun, |_| true);
            }
            other => panic!("record {begun} syncs {other}"),
        }
    }

    fn sync_file(&mut self, file: usize, begun: usize) {
        let FileState { durable, unsynced } = &mut self.files[file];
        unsynced.retain(|(number, change)| {
            let is_synced = *number < begun;
            if is_synced {
                FileState::apply(durable, *change, self.events, || true);
            }
            !is_synced
        });
    }

    fn sync_names(&mut self, begun: usize, is_meant: impl Fn(&NameChange) -> bool) {
        let names = &mut self.names;
        self.unsynced.retain(|(number, change)| {
            let is_synced = *number < begun && is_meant(change);
            if is_synced {
                change.apply(names);
            }
            !is_synced
        });
    }

    /// Changes of the files in a folder that are not recorded.
    fn missing_events(&self, data: &Path) -> Vec<Event> {
        let mut found = BTreeMap::new();
        let mut folders = vec![data.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let (path, status) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))).expect("an entry");
                if status.is_dir() {
                    folders.push(path.clone());
                }
                if status.is_dir() || status.is_file() {
                    found.insert(path.strip_prefix(data).expect("it is in the folder").to_path_buf(), status);
                }
            }
        }
        let mut missing = Vec::new();
        let renamed: HashMap<usize, &PathBuf> = found
            .iter()
            .filter_map(|(path, status)| Some((*self.by_inode.get(&status.ino())?, path)))
            .filter(|(file, path)| self.present.get(*path) != Some(&Node::File(*file)))
            .collect();
        // What is in a folder goes before it does.
        for (path, node) in self.present.iter().rev().filter(|(path, _)| !path.as_os_str().is_empty()) {
            match node {
                Node::File(file) if let Some(to) = renamed.get(file) => {
                    let to = data.join(to).into_os_string().into_encoded_bytes();
                    missing.push(Event::of_path(RENAMED, path, 0, to));
                }
                _ if found.contains_key(path) => {}
                _ => missing.push(Event::of_path(REMOVED, path, 0, Vec::new())),
            }
        }
        for (path, status) in &found {
            let (inode, node) = (status.ino(), self.present.get(path));
            if status.is_dir() {
                if node != Some(&Node::Folder) {
                    missing.push(Event::of_path(FOLDER_MADE, path, 0, Vec::new()));
                }
                continue;
            }
            let bytes = std::fs::read(data.join(path)).expect("a file");
            let is_there = |file: &usize| node == Some(&Node::File(*file)) || renamed.contains_key(file);
            let known = self.by_inode.get(&inode).copied().filter(is_there);
            if known.is_none() {
                missing.push(Event::of_path(MADE, path, inode, Vec::new()));
            }
            let recorded = known.map_or_else(Vec::new, |file| self.files[file].present(self.events));
            if recorded.len() > bytes.len() {
                missing.push(Event { at: bytes.len() as u64, ..Event::of_path(CUT, path, inode, Vec::new()) });
            }
            for (block, present) in bytes.chunks(1 << 20).enumerate() {
                let at = block << 20;
                if recorded.get(at..at + present.len()) != Some(present) {
                    missing.push(Event { at: at as u64, ..Event::of_path(WRITTEN, path, inode, present.to_vec()) });
                }
            }
        }
        missing
    }

    /// Writes what may be left into a folder.
    fn write(&self, folder: &Path, random: &mut Random) {
        let mut names = self.names.clone();
        // None, half or nearly all of the unsynced data; of the names the first ones, or any.
        let keeps = [0, 5, 9, 10][random.below(4) as usize];
        let first = random.below(self.unsynced.len() as u64 + 1) as usize;
        let in_order = random.below(2) == 0;
        for (at, (_, change)) in self.unsynced.iter().enumerate() {
            if if in_order { at < first } else { random.below(10) < keeps } {
                change.apply(&mut names);
            }
        }
        std::fs::create_dir_all(folder).expect("the folder");
        // In the order of paths: folders come before what is in them.
        for (path, node) in &names {
            let is_in_folder = path
                .parent()
                .is_some_and(|parent| parent.as_os_str().is_empty() || names.get(parent) == Some(&Node::Folder));
            let path = folder.join(path);
            match node {
                _ if !is_in_folder || !path.parent().is_some_and(Path::is_dir) => {}
                Node::Folder => std::fs::create_dir(path).expect("a folder"),
                Node::File(file) => {
                    let FileState { durable, unsynced } = &self.files[*file];
                    let mut bytes = durable.clone();
                    for (_, change) in unsynced {
                        FileState::apply(&mut bytes, *change, self.events, || random.below(10) < keeps);
                    }
                    write_sparse(&path, &bytes);
                }
            }
        }
    }
}

fn write_sparse(path: &Path, bytes: &[u8]) {
    let file = File::create(path).expect("a file");
    file.set_len(bytes.len() as u64).expect("its length");
    for (number, block) in bytes.chunks(1 << 16).enumerate() {
        if block.iter().any(|byte| *byte != 0) {
            file.write_all_at(block, (number << 16) as u64).expect("a part of it");
        }
    }
}

impl Record {
    /// How many moments there are.
    pub fn moments(&self) -> u64 {
        self.events.len() as u64
    }

    /// The moments at which something was done in a folder of the data directory, to the folders in it too.
    pub fn moments_in(&self, folder: &Path) -> Vec<u64> {
        let events = (1..).zip(&self.events);
        events.filter(|(_, event)| event.path.starts_with(folder)).map(|(moment, _)| moment).collect()
    }

    /// Makes a folder what a power cut at a moment may leave of the data directory.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn cut_power(&self, moment: u64, folder: &Path, random: &mut Random) {
        Disk::at(&self.events, moment).write(folder, random);
    }
}
