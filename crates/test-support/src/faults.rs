//! A server whose disk and clock fail on a test's command.
//!
//! A small library (`faults.c`, made with `cc`) is preloaded into the server's process. It is between the server and the
//! system's calls for writing, syncing and telling the time. Linux only.

use crate::server::TestServer;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// "Input/output error".
pub const EIO: u64 = 5;
/// "No space left on device".
pub const ENOSPC: u64 = 28;

/// How long something that must come about may take.
const WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// The numbers that the library and the test share, in the order of `faults.c`.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    /// The error number that syncs fail with; 0 for none.
    SyncError,
    /// How long each sync takes longer, in microseconds.
    SyncDelayMicros,
    /// While it is 1, no sync ends.
    SyncHeld,
    /// The error number that writes fail with once [`Control::WriteBytesLeft`] is used up; 0 for none.
    WriteError,
    /// Bytes that can be written before writes fail.
    WriteBytesLeft,
    /// Most bytes that one call writes; 0 for all.
    WriteBytesMax,
    /// Seconds that are added to the wall clock.
    ClockOffsetSeconds,
    /// Syncs that were begun.
    SyncsBegun,
    /// Syncs that have ended, failed ones included.
    SyncsEnded,
    /// Calls that were made to fail.
    Failures,
    /// The log file that was synced last.
    LogInode,
    /// How much of it was there then.
    LogBytesSynced,
    /// 1 if only the log's files are meddled with; 0 for all files of the data directory.
    LogOnly,
}

/// What decides over a server's disk and clock.
#[derive(Debug)]
pub struct Faults {
    control: File,
    data: PathBuf,
    _folder: TempDir,
}

impl Faults {
    /// Starts a server on a new data directory. `None` where there is no C compiler, or no Linux.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start(binary: &Path) -> Option<(TestServer, Faults)> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("faults.c");
        std::fs::write(&source, include_str!("faults.c")).expect("the library's source");
        let library = folder.path().join("faults.so");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
        if !cfg!(target_os = "linux") || compiled.is_err() {
            return None;
        }
        assert!(compiled.is_ok_and(|status| status.success()), "cc does not compile faults.c");
        let path = folder.path().join("control");
        let control = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&path);
        let control = control.expect("the control file");
        control.set_len(4096).expect("the control file's length");
        let server_folder = tempfile::tempdir().expect("a temporary folder");
        // As the system will name the files.
        let data = server_folder.path().canonicalize().expect("the server's folder").join("data");
        let environment = vec![
            ("LD_PRELOAD", library.into_os_string()),
            ("FAULTS_CONTROL", path.into_os_string()),
            ("FAULTS_FOLDER", OsString::from(&data)),
        ];
        let server = TestServer::start_with(binary, server_folder, environment);
        let faults = Faults { control, data, _folder: folder };
        assert!(faults.get(Control::SyncsEnded) > 0, "the library is not loaded");
        Some((server, faults))
    }

    /// Sets a number.
    ///
    /// # Panics
    /// If the control file cannot be written.
    pub fn set(&self, control: Control, value: u64) {
        self.control.write_all_at(&value.to_ne_bytes(), control as u64 * 8).expect("the control file");
    }

    /// Moves the wall clock to this many seconds from the true time.
    ///
    /// # Panics
    /// If the control file cannot be written.
    pub fn set_clock(&self, offset_seconds: i64) {
        self.set(Control::ClockOffsetSeconds, offset_seconds as u64);
    }

    /// A number as it is now.
    ///
    /// # Panics
    /// If the control file cannot be read.
    pub fn get(&self, control: Control) -> u64 {
        let mut bytes = [0; 8];
        self.control.read_exact_at(&mut bytes, control as u64 * 8).expect("the control file");
        u64::from_ne_bytes(bytes)
    }

    /// Lets no sync end from now on.
    pub fn hold_syncs(&self) {
        self.set(Control::SyncHeld, 1);
    }

    /// Waits until a sync has begun that is held.
    ///
    /// # Panics
    /// If none does.
    pub fn await_held_sync(&self) {
        let started = Instant::now();
        while self.get(Control::SyncsBegun) == self.get(Control::SyncsEnded) {
            assert!(started.elapsed() < WAIT_TIME_MAX, "no sync begins");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets syncs end again.
    pub fn release_syncs(&self) {
        self.set(Control::SyncHeld, 0);
    }

    /// Simulates a power cut after a kill of the server: keeps only the synced part of the log. What was written behind it is zeros
    /// again, as it was before.
    ///
    /// # Panics
    /// If the log is not there or cannot be changed.
    pub fn cut_power(&self) {
        let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
        let files = std::fs::read_dir(self.data.join("rows/redo")).expect("the log's folder");
        let mut logs: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        logs.sort_by_key(number);
        let mut is_behind = false;
        for path in logs {
            let log = OpenOptions::new().write(true).open(path).expect("a log file");
            let metadata = log.metadata().expect("its state");
            let is_last = metadata.ino() == self.get(Control::LogInode);
            // What comes before the last one was synced as a whole before that was begun.
            if is_last || is_behind {
                let kept = if is_last { self.get(Control::LogBytesSynced) } else { 0 };
                let zeros = vec![0; usize::try_from(metadata.len().saturating_sub(kept)).expect("a length")];
                log.write_all_at(&zeros, kept).expect("zeros");
                is_behind = true;
            }
        }
        assert!(is_behind, "no log file has been synced");
    }
}
