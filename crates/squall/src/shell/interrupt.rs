//! Ctrl-C: cancels the running statement by a second connection, and does not end the shell.

use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::thread;

use squall_client::{Client, ClientError, ConnectOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ShellError;
use crate::embedded::Embedded;

/// The exit code of a program that SIGINT has ended.
const EXIT_CODE: i32 = 130;

/// Nothing runs: Ctrl-C ends the program. A line editor that waits for a line sees the key itself, and no signal comes.
const IDLE: u8 = 0;
/// A statement runs.
const RUNNING: u8 = 1;
/// A statement runs that has been cancelled already: another Ctrl-C ends the program.
const CANCELLED: u8 = 2;

/// Listens for SIGINT from its making to the end of the program.
pub(super) struct Interrupts(Arc<AtomicU8>);

/// A statement is running as long as this lives.
pub(super) struct Running<'a>(&'a AtomicU8);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(IDLE, Ordering::Release);
    }
}

impl Interrupts {
    /// Has Ctrl-C cancel the statements of a connection. `embedded` is the database if it is in this process.
    pub(super) fn listen(
        connection_id: u32,
        options: ConnectOptions,
        embedded: Option<Weak<Embedded>>,
    ) -> Result<Self, ShellError> {
        let failed = |error| ShellError::Message(format!("cannot listen for Ctrl-C: {error}"));
        let state = Arc::new(AtomicU8::new(IDLE));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let mut interrupts: Signal = {
            let _runtime = runtime.enter();
            signal(SignalKind::interrupt()).map_err(failed)?
        };
        let watched = Arc::clone(&state);
        let watch = move || {
            while runtime.block_on(interrupts.recv()).is_some() {
                match watched.compare_exchange(RUNNING, CANCELLED, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => {
                        if let Err(error) = cancel(connection_id, &options, embedded.as_ref()) {
                            eprintln!("cannot cancel the statement: {error}");
                        }
                    }
                    Err(_) => std::process::exit(EXIT_CODE),
                }
            }
        };
        thread::Builder::new().name("squall-interrupts".to_owned()).spawn(watch).map_err(failed)?;
        Ok(Self(state))
    }

    /// None: Ctrl-C does what it does in any program.
    pub(super) fn none() -> Self {
        Self(Arc::new(AtomicU8::new(IDLE)))
    }

    /// A statement begins.
    pub(super) fn running(&self) -> Running<'_> {
        self.0.store(RUNNING, Ordering::Release);
        Running(&self.0)
    }
}

fn cancel(connection_id: u32, options: &ConnectOptions, embedded: Option<&Weak<Embedded>>) -> Result<(), ClientError> {
    // A terminal shows ^C in the middle of a line.
    let _shown = std::io::stderr().write_all(b"\n");
    let mut client = match embedded {
        None => Client::connect(options)?,
        Some(embedded) => match embedded.upgrade() {
            Some(embedded) => Client::connect_over(embedded.attach()?, options)?,
            // The shell is closing the database, so that nothing runs any more.
            None => return Ok(()),
        },
    };
    client.run(&format!("KILL QUERY {connection_id}"))?;
    client.quit()
}
