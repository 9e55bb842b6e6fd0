//! The service manager (systemd): it may open the listening sockets, is told how the server does, and ends one that hangs.

use std::env;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use squall_server::{PassedSocket, PassedSockets, Pulse};

/// The first descriptor that is passed.
const FIRST_DESCRIPTOR: RawFd = 3;
/// More descriptors than this are a mistake.
const DESCRIPTORS_MAX: RawFd = 64;
/// `FileDescriptorName=` of sockets of the administrative interface.
const ADMINISTRATIVE: &str = "admin";

/// What listens to messages, if there is a service manager.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceManager(Option<Arc<(UnixDatagram, SocketAddr)>>);

impl ServiceManager {
    /// The one that the environment names.
    ///
    /// # Errors
    /// An address that is not one of a Unix socket.
    pub(crate) fn of_environment() -> Result<Self, String> {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        let open = || {
            let text = name.to_string_lossy();
            let address = match text.strip_prefix('@') {
                Some(rest) => abstract_address(rest)?,
                None if text.starts_with('/') => SocketAddr::from_pathname(&name)?,
                None => return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a path nor an abstract name")),
            };
            Ok(Self(Some(Arc::new((UnixDatagram::unbound()?, address)))))
        };
        open().map_err(|error| format!("NOTIFY_SOCKET {}: {error}", name.display()))
    }

    /// Sends lines such as `READY=1`. A manager that does not listen is noted in the error log.
    pub(crate) fn tell(&self, lines: &str) {
        let Some((socket, address)) = self.0.as_deref() else { return };
        if let Err(error) = socket.send_to_addr(lines.as_bytes(), address) {
            tracing::warn!("cannot tell the service manager {lines:?}: {error}");
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &str) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_name: &str) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A number of the environment, which is meant for this process if `pid` names it or does not exist.
fn number_for_us(number: &str, pid: &str, needs_pid: bool) -> Result<Option<u64>, String> {
    let read = |name: &str| match env::var(name) {
        Ok(text) => text.parse::<u64>().map(Some).map_err(|_| format!("{name}={text} is no number")),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(format!("{name}: {error}")),
    };
    let is_ours = match read(pid)? {
        Some(pid) => pid == u64::from(std::process::id()),
        None => !needs_pid,
    };
    if is_ours { read(number) } else { Ok(None) }
}

/// The listening sockets that were passed to this process. To be called once, before other files are opened.
///
/// # Errors
/// Descriptors that are no listening sockets.
pub(crate) fn passed_sockets() -> Result<PassedSockets, String> {
    let count = number_for_us("LISTEN_FDS", "LISTEN_PID", true)?.unwrap_or(0);
    let Some(count) = RawFd::try_from(count).ok().filter(|count| *count <= DESCRIPTORS_MAX) else {
        return Err(format!("LISTEN_FDS={count}: at most {DESCRIPTORS_MAX} sockets can be passed"));
    };
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut sockets = PassedSockets::default();
    for descriptor in FIRST_DESCRIPTOR..FIRST_DESCRIPTOR + count {
        let is_administrative = names.next() == Some(ADMINISTRATIVE);
        let socket = adopt(descriptor).map_err(|error| format!("the passed descriptor {descriptor}: {error}"))?;
        if is_administrative { &mut sockets.administrative } else { &mut sockets.ordinary }.push(socket);
    }
    Ok(sockets)
}

#[expect(unsafe_code, reason = "a number of the environment becomes a descriptor")]
fn adopt(descriptor: RawFd) -> io::Result<PassedSocket> {
    // SAFETY: the service manager has opened it for this process, and nothing else here owns it. A number that is not open makes the
    // calls below fail, and closing it then does nothing.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    // Programs that the server starts must not have it.
    fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, as the call before has shown, and its owner from here on is this value alone.
    PassedSocket::from_descriptor(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Tells the service manager at intervals that the server's event loops run. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Dropped first, which wakes the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts, if the service manager wants it.
    ///
    /// # Errors
    /// A time that is none, or when there can be no thread.
    pub(crate) fn start(manager: &ServiceManager, pulse: Pulse) -> Result<Self, String> {
        let time = number_for_us("WATCHDOG_USEC", "WATCHDOG_PID", false)?.filter(|time| *time > 0);
        let (Some(time), true) = (time, manager.0.is_some()) else { return Ok(Self { stop: None, thread: None }) };
        // A slow answer and the pause after it take less than the time, all together.
        let (answer_time, pause) = (Duration::from_micros(time) / 2, Duration::from_micros(time) / 4);
        let (stop, stopped) = mpsc::channel::<()>();
        let manager = manager.clone();
        let watch = move || {
            loop {
                match pulse.beats_within(answer_time) {
                    true => manager.tell("WATCHDOG=1"),
                    false => tracing::error!("an event loop does not answer: the service manager may end the server"),
                }
                if stopped.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("squall-watchdog".to_owned()).spawn(watch);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to give back.
            let _ = thread.join();
        }
    }
}
