//! How many threads the system allows the process, and how many of them statements may wait on.

use crate::globals::GlobalVariables;
use crate::variables::{Values, ids};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// `thread_pool_max_threads`, or three quarters of the threads that the system allows if that is less: beyond these no thread starts, and what
/// waits for one would wait for ever.
pub fn waiting_threads_max(globals: &GlobalVariables) -> usize {
    let wanted =
        usize::try_from(Values(&globals.load_values()).number(ids::THREAD_POOL_MAX_THREADS)).unwrap_or(usize::MAX);
    allowed_threads(Path::new("/")).map_or(wanted, |allowed| wanted.min((allowed / 4 * 3).max(1)))
}

/// The least of the limits that hold for the process, below a root directory; `None` if there is none.
fn allowed_threads(root: &Path) -> Option<usize> {
    let of_system = number_of(&root.join("proc/sys/kernel/threads-max"));
    let of_user = read_to_string(root.join("proc/self/limits")).ok();
    let of_user = of_user.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max processes"))?;
        line.split_whitespace().next()?.parse().ok()
    });
    of_groups(root).into_iter().chain(of_system).chain(of_user).min()
}

/// The limits of the control group of the process, and of those around it.
fn of_groups(root: &Path) -> Vec<usize> {
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let Some(own) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let groups = root.join("sys/fs/cgroup");
    let folders = Path::new(own).ancestors().map(|group| -> PathBuf { groups.join(group).join("pids.max") });
    folders.filter_map(|file| number_of(&file)).collect()
}

/// The number in a file; `None` where it says `max`, or is not there.
fn number_of(file: &Path) -> Option<usize> {
    read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_holds() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
            std::fs::write(file, text).expect("written");
        };
        assert_eq!(allowed_threads(root.path()), None);
        write("proc/sys/kernel/threads-max", "127000\n");
        assert_eq!(allowed_threads(root.path()), Some(127_000));
        write(
            "proc/self/limits",
            "Max cpu time unlimited unlimited seconds\nMax processes             63500     63500     processes\n",
        );
        assert_eq!(allowed_threads(root.path()), Some(63_500));
        write("proc/self/cgroup", "0::/system.slice/squall.service\n");
        write("sys/fs/cgroup/system.slice/squall.service/pids.max", "max\n");
        assert_eq!(allowed_threads(root.path()), Some(63_500));
        write("sys/fs/cgroup/system.slice/pids.max", "4915\n");
        assert_eq!(allowed_threads(root.path()), Some(4915));
        write("proc/self/limits", "Max processes             unlimited            unlimited            processes\n");
        assert_eq!(allowed_threads(root.path()), Some(4915));
    }
}
