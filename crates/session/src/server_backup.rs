//! BACKUP SERVER: a copy of all files of the server as of one moment, beside earlier ones in a directory of backups.
//!
//! Nobody waits for it, neither changes nor definitions (`docs/decisions/0084-backups.md`).

use crate::database::{Database, Shared};
use crate::result::{Outcome, ResultSet, number_column, text_column, typed_column};
use crate::session::Session;
use parking_lot::Mutex;
use squall_accounting::work_meter::carried;
use squall_backup::{BackupHeader, BackupWriter, Error, Readers, Repository, Source, Summary, Unwatched, Watch};
use squall_instrumentation::process::{Process, Transfer};
use squall_row_store::{ImageContent, ImageFile, LevelFile, ReadAt, RowStore, StoreImage};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::{KillState, StatementContext};
use squall_types::temporal::DateTime;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, SqlType, Value};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Keys and certificates lie in the data directory itself, in files with this extension.
const KEY_EXTENSION: &str = "pem";
/// The priority of threads that only take time that nobody else wants.
#[cfg(target_os = "linux")]
const LEAST_PRIORITY: i32 = 19;
/// Bytes of a path, as Linux has it.
const PATH_BYTES_MAX: usize = 4096;
/// Bits of the modes of files that others than the owner may read.
const OTHERS_READ: u32 = 0o044;

/// A session that makes a backup.
struct Backing {
    process: Arc<Process>,
    kill: Arc<KillState>,
    store: Arc<RowStore>,
    pace: Mutex<Pace>,
}

/// What leaves the disk to commits: behind a piece that they had to share it with, a copy rests for a while. A server without changes is
/// copied as fast as it can be.
struct Pace {
    /// The newest commit when the piece began.
    seqno: u64,
    since: Instant,
}

impl Pace {
    /// A rest is so many times as long as the piece took …
    const RESTS: u32 = 10;
    /// … and no longer than this: KILL waits for its end.
    const REST_MAX: Duration = Duration::from_millis(200);

    fn new(store: &RowStore) -> Pace {
        Pace { seqno: store.committed_seqno(), since: Instant::now() }
    }

    /// A piece has been copied.
    fn rest(&mut self, store: &RowStore) {
        if store.committed_seqno() != self.seqno {
            std::thread::sleep((self.since.elapsed() * Pace::RESTS).min(Pace::REST_MAX));
        }
        *self = Pace::new(store);
    }
}

impl Watch for Backing {
    fn add(&self, bytes: u64) {
        self.process.transfer.add_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
        self.pace.lock().rest(&self.store);
    }

    fn goes_on(&self) -> bool {
        self.kill.check().is_ok()
    }
}

impl Session {
    /// BACKUP SERVER TO.
    pub(crate) async fn back_up_server(&mut self, directory: &str, context: &StatementContext) -> SqlResult<Outcome> {
        let start = Instant::now();
        let (directory, process) = (PathBuf::from(directory), self.process.clone());
        process.transfer.begin(Transfer::BackingUp);
        let store = self.shared.store.clone();
        let pace = Mutex::new(Pace::new(&store));
        let backing = Backing { process, kill: context.kill.clone(), store, pace };
        let written = self
            .waiting(move |shared| {
                back_up(shared, &directory, &backing, |bytes| backing.process.transfer.set_bytes_total(bytes))
                    // An interruption is told as KILL, or the limit of time, words it.
                    .or_else(|error| backing.kill.check().and(Err(error)))
            })
            .await;
        self.process.transfer.end();
        let summary = written?;
        for file in &summary.suspects {
            let text = format!("{} (its checksum is another one than when it was written)", file.display());
            context.diagnostics.push(Level::Warning, SqlError::new(ErrorCode::CorruptedRow, &[&text]));
        }
        let seconds = typed_column("Seconds", SqlType::DOUBLE, true);
        let numbers = ["Files", "Bytes", "Copied_files", "Copied_bytes"].map(number_column);
        let mut result =
            ResultSet::new([text_column("Backup", 64)].into_iter().chain(numbers).chain([seconds]).collect());
        let Summary { name, files, bytes, copied_files, copied_bytes, .. } = summary;
        let counts = [files, bytes, copied_files, copied_bytes].map(|count| Value::Int(count as i64));
        let took = Value::Double(start.elapsed().as_secs_f64());
        result.rows.push([Value::String(name)].into_iter().chain(counts).chain([took]).collect());
        Ok(Outcome::Rows(result))
    }
}

impl Database {
    /// Makes a backup of a data directory that is open, as BACKUP SERVER does.
    ///
    /// # Errors
    /// Those of writing it.
    pub fn back_up(&self, directory: &Path) -> SqlResult<Summary> {
        back_up(&self.0, directory, &Unwatched, |_| {})
    }
}

/// Makes a backup. `total` is told how many bytes there are to look at.
fn back_up(
    shared: &Shared,
    directory: &Path,
    watch: &(dyn Watch + Sync),
    total: impl FnOnce(u64),
) -> SqlResult<Summary> {
    check_directory(&shared.directory, directory)?;
    let repository = Repository::open_to_write(directory).map_err(backup_error)?;
    let variables = shared.globals.load_values();
    let text = |id| Values(&variables).text(id).to_owned();
    let (server, version) = (text(ids::SERVER_UUID), text(ids::VERSION));
    let taken_micros = now_micros();
    let mut image = shared.store.image()?;
    total(image.files.iter().map(|file| file.content.bytes()).sum());
    let header = BackupHeader { taken_micros, version, server, seqno: image.seqno };
    // Others wait for locks that are taken to make an image, and to drop it, so that is not done with a low priority.
    with_low_priority(|| copy_image(&repository, &shared.directory, &mut image, header, watch))
}

/// Runs something on a thread of its own that leaves the processors to others. A thread whose priority was lowered cannot be used for
/// other work: only privileged processes may raise it again.
fn with_low_priority<T: Send>(work: impl FnOnce() -> SqlResult<T> + Send) -> SqlResult<T> {
    let work = carried(move || {
        lower_priority();
        work()
    });
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("squall-backup".into()).spawn_scoped(scope, work);
        let thread = thread.map_err(SqlError::internal)?;
        thread.join().map_err(|_| SqlError::internal("the thread of a backup has panicked"))?
    })
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    // Without it the work is done all the same.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), LEAST_PRIORITY);
}

/// Elsewhere a priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

/// Copies the files of an image to a new backup.
fn copy_image(
    repository: &Repository,
    data: &Path,
    image: &mut StoreImage,
    header: BackupHeader,
    watch: &dyn Watch,
) -> SqlResult<Summary> {
    let mut writer = repository.begin(&name_of(header.taken_micros), &header.server).map_err(backup_error)?;
    write_keys(&mut writer, data)?;
    let never_changes = |file: &&ImageFile| matches!(file.content, ImageContent::Table { .. } | ImageContent::Level(_));
    let mut write = |file: &ImageFile| write_file(&mut writer, data, file, watch);
    image.files.iter().filter(|file| !never_changes(file)).try_for_each(&mut write)?;
    // The log goes on growing while its segments are kept.
    image.release_log();
    image.files.iter().filter(never_changes).try_for_each(&mut write)?;
    writer.finish(header).map_err(backup_error)
}

/// Writes the keys and certificates, which are files of the data directory itself.
fn write_keys(writer: &mut BackupWriter<'_>, directory: &Path) -> SqlResult<()> {
    let failed = |path: &Path, error| backup_error(Error::Io(path.to_path_buf(), error));
    for entry in std::fs::read_dir(directory).map_err(|error| failed(directory, error))? {
        let path = entry.map_err(|error| failed(directory, error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.extension().is_none_or(|extension| extension != KEY_EXTENSION) || !path.is_file() {
            continue;
        }
        let mode = std::fs::metadata(&path).map_err(|error| failed(&path, error))?.permissions().mode();
        let readers = if mode & OTHERS_READ == 0 { Readers::Owner } else { Readers::Default };
        let content = std::fs::read(&path).map_err(|error| failed(&path, error))?;
        writer.write_bytes(name.to_owned(), &content, readers).map_err(backup_error)?;
    }
    Ok(())
}

fn write_file(writer: &mut BackupWriter<'_>, directory: &Path, file: &ImageFile, watch: &dyn Watch) -> SqlResult<()> {
    let ImageFile { path, content } = file;
    let outside = || SqlError::internal(format_args!("{} is not in the data directory", path.display()));
    let name = path.strip_prefix(directory).ok().and_then(Path::to_str).ok_or_else(outside)?.to_owned();
    let source = |name| Source { path: path.clone(), name, bytes: content.bytes() };
    let written = match content {
        ImageContent::Bytes(bytes) => {
            watch.add(content.bytes());
            writer.write_bytes(name, bytes, Readers::Default)
        }
        ImageContent::Beginning(_) => writer.write_beginning(source(name), watch),
        ImageContent::Table { checksum, .. } => {
            let open = || Ok(Box::new(File::open(path)?) as Box<dyn Read>);
            writer.write_shared(source(name), *checksum, true, open, watch)
        }
        ImageContent::Level(LevelFile { checksum, content, .. }) => {
            let open = || Ok(Box::new(ReadFrom { content: content.clone(), position: 0 }) as Box<dyn Read>);
            writer.write_shared(source(name), u128::from(*checksum), false, open, watch)
        }
    };
    written.map_err(backup_error)
}

/// Reads a file of a level from its beginning to its end.
struct ReadFrom {
    content: Arc<dyn ReadAt>,
    position: u64,
}

impl Read for ReadFrom {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.content.read_at(bytes, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// The name of a backup: its time in UTC, so that names sort by it.
fn name_of(micros: i64) -> String {
    let time = DateTime::from_unix_micros(micros).map(|time| time.to_text(0)).unwrap_or_default();
    time.replace(' ', "_").replace(':', "-")
}

/// The directory has to be told from the root on, since the server may have been started anywhere, and not to be in the data directory.
fn check_directory(data: &Path, directory: &Path) -> SqlResult<()> {
    let refused = || SqlError::new(ErrorCode::WrongValue, &[&"backup directory", &directory.display()]);
    // The system knows no longer ones, and each folder on the way is looked at.
    if !directory.is_absolute() || directory.as_os_str().len() > PATH_BYTES_MAX {
        return Err(refused());
    }
    // As far as it is there links and `..` are resolved; what is to be made has neither.
    let there = directory.ancestors().find_map(|path| Some((path.canonicalize().ok()?, path)));
    let (resolved, there) = there.ok_or_else(refused)?;
    let rest = directory.strip_prefix(there).unwrap_or(directory);
    let is_plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let data = data.canonicalize().unwrap_or_else(|_| data.to_path_buf());
    match is_plain && !resolved.join(rest).starts_with(data) {
        true => Ok(()),
        false => Err(refused()),
    }
}

/// How a client is told of it.
fn backup_error(error: Error) -> SqlError {
    match error {
        Error::Interrupted => SqlError::new(ErrorCode::QueryInterrupted, &[]),
        Error::Io(path, error) => {
            let number = error.raw_os_error().unwrap_or(0);
            let text = squall_types::io_error_text(&error);
            match error.kind() {
                ErrorKind::StorageFull => SqlError::new(ErrorCode::DiskFull, &[&path.display(), &number, &text]),
                _ => SqlError::new(ErrorCode::ErrorOnWrite, &[&path.display(), &number, &text]),
            }
        }
        Error::NotBackups(path) => SqlError::new(ErrorCode::FileExists, &[&path.display()]),
        other => SqlError::new(ErrorCode::ErrorOnWrite, &[&"of the backup", &0, &other]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time() {
        assert_eq!(name_of(1_796_054_400_123_456), "2026-11-30_16-00-00");
    }

    #[test]
    fn backups_stay_out_of_the_data() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        std::fs::create_dir_all(data.join("rows")).unwrap();
        std::os::unix::fs::symlink(&data, root.path().join("link")).unwrap();
        let is_refused = |path: PathBuf| check_directory(&data, &path).is_err();
        assert!(!is_refused(root.path().join("backups")) && !is_refused(root.path().join("data2/x")));
        for inside in ["data", "data/b", "data/rows/x/y", "link/b", "b/../data/b", "new/../data/b"] {
            assert!(is_refused(root.path().join(inside)), "{inside}");
        }
        assert!(is_refused("backups".into()) && is_refused("".into()));
        assert!(is_refused("/a".repeat(1 << 20).into()));
    }
}
