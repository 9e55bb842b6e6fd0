//! Runs targets in separate processes, and reports their ends.

use crate::Options;
use crate::run::RUNNING;
use crate::targets::Target;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long a process may take beyond its time: for the corpus, and for one input.
const MORE_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs the targets, as many at a time as there are processors.
///
/// # Errors
/// Which targets failed, and where the inputs are.
pub fn run(options: &Options) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("squall-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut waiting = options.targets.clone();
    let mut running: Vec<Running> = Vec::new();
    let mut failures = Vec::new();
    let at_a_time = std::thread::available_parallelism().map_or(1, usize::from);
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < at_a_time
            && let Some(target) = waiting.pop()
        {
            running.push(Running::start(target, options, &folder)?);
        }
        std::thread::sleep(Duration::from_millis(20));
        let mut still = Vec::new();
        for mut process in running {
            match process.outcome(options.time) {
                None => still.push(process),
                Some(Ok(())) => {}
                Some(Err(message)) => failures.push(process.failure(&message)?),
            }
        }
        running = still;
    }
    if failures.is_empty() {
        // The files that are left there are not needed.
        let _ = std::fs::remove_dir_all(&folder);
        return Ok(());
    }
    Err(failures.join("\n"))
}

struct Running {
    target: &'static Target,
    child: Child,
    input: PathBuf,
    started: Instant,
}

impl Running {
    fn start(target: &'static Target, options: &Options, folder: &Path) -> Result<Running, String> {
        let input = folder.join(target.name);
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(["child", "--seconds", &options.time.as_secs().to_string(), target.name]);
        if options.keep {
            command.arg("--keep");
        }
        // What the profiler's runtime writes at the end is not wanted.
        command.env(RUNNING, &input).env("LLVM_PROFILE_FILE", "/dev/null");
        let child = command.spawn().map_err(|error| error.to_string())?;
        Ok(Running { target, child, input, started: Instant::now() })
    }

    /// How the process ended, if it has; it is ended if it takes too long.
    fn outcome(&mut self, time: Duration) -> Option<Result<(), String>> {
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(Ok(())),
            Ok(Some(status)) => Some(Err(status.to_string())),
            Ok(None) if self.started.elapsed() > time + MORE_TIME_MAX => {
                let ended = self.child.kill().and_then(|()| self.child.wait());
                Some(Err(format!("it did not end ({ended:?})")))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// Leaves the input alone in its file, and says what is wrong.
    fn failure(&self, message: &str) -> Result<String, String> {
        let name = self.target.name;
        let shown = |error: std::io::Error| format!("{name} failed ({message}), and its input is lost: {error}");
        let bytes = std::fs::read(&self.input).map_err(shown)?;
        let input =
            bytes.split_first_chunk().and_then(|(length, rest)| rest.get(..u32::from_le_bytes(*length) as usize));
        std::fs::write(&self.input, input.unwrap_or_default()).map_err(shown)?;
        let path = self.input.display();
        Ok(format!("{name} failed ({message}); once more: squall-fuzz replay {name} {path}"))
    }
}
