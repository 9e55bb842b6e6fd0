//! The command line.

mod allocator;
mod backup;
mod check;
mod connection;
mod embedded;
mod export;
mod history;
mod import_config;
mod load;
mod log;
mod manual;
mod ping;
mod progress;
mod serve;
mod shell;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shell::ShellError;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// Milliseconds after which the allocator gives free memory back to the system. Its own default, a second, leaves what a
/// burst has freed with the process for good, since it only looks when a thread allocates.
const PURGE_DELAY_MS: std::ffi::c_long = 10;
/// `mi_option_purge_delay` of mimalloc.h, which the bindings do not name.
const PURGE_DELAY_OPTION: libmimalloc_sys::mi_option_t = 15;

/// The same while bulk work is under way: longer than anything of it lies unused.
const BULK_PURGE_DELAY_MS: std::ffi::c_long = 5_000;

/// Keeps freed memory for a short while only, or for as long as bulk work may want it again.
#[expect(unsafe_code, reason = "the allocator's options are set by a C function")]
fn keep_freed_memory(keep: bool) {
    let delay = if keep { BULK_PURGE_DELAY_MS } else { PURGE_DELAY_MS };
    // SAFETY: the number is that of an option, and options may be set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY_OPTION, delay) };
    if !keep {
        // SAFETY: any thread may have free memory given back at any time.
        unsafe { libmimalloc_sys::mi_collect(true) };
    }
}

/// What the allocator has taken from the system.
#[expect(unsafe_code, reason = "the allocator's statistics are read by a C function")]
fn allocated_memory() -> squall_session::AllocatedMemory {
    let mut numbers = [0_usize; 8];
    let [elapsed, user, system, rss, peak_rss, commit, peak_commit, faults] = &mut numbers;
    // SAFETY: each pointer is to a number of its own, and they may be asked for at any time.
    unsafe { libmimalloc_sys::mi_process_info(elapsed, user, system, rss, peak_rss, commit, peak_commit, faults) };
    let bytes = *commit + ALLOCATOR.large_bytes();
    squall_session::AllocatedMemory { bytes: bytes as u64, peak_bytes: bytes.max(*peak_commit) as u64 }
}

/// A SQL server that speaks the MySQL protocol: one binary, one data directory, no configuration file.
#[derive(Debug, Parser)]
#[command(name = "squall", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Sql(shell::ShellArgs),
    Load(load::LoadArgs),
    Export(export::ExportArgs),
    History(history::HistoryArgs),
    Check(check::CheckArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Ping(ping::PingArgs),
    ImportConfig(import_config::ImportConfigArgs),
    Completion(manual::CompletionArgs),
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    keep_freed_memory(false);
    log::install();
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args).map_err(ShellError::Message),
        Command::Sql(args) => shell::run(&args),
        Command::Load(args) => load::run(&args).map_err(ShellError::Message),
        Command::Export(args) => export::run(&args).map_err(ShellError::Message),
        Command::History(args) => history::run(&args).map_err(ShellError::Message),
        Command::Check(args) => check::run(&args).map_err(ShellError::Message),
        Command::Backup(args) => backup::run(&args).map_err(ShellError::Message),
        Command::Restore(args) => backup::restore(&args).map_err(ShellError::Message),
        Command::Ping(args) => ping::run(&args).map_err(ShellError::Message),
        Command::ImportConfig(args) => import_config::run(&args),
        Command::Completion(args) => manual::complete(&args).map_err(ShellError::Message),
        Command::Man(args) => manual::manual(&args).map_err(ShellError::Message),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(ShellError::Reported) => ExitCode::FAILURE,
        Err(ShellError::Message(message)) => {
            eprintln!("squall: {message}");
            ExitCode::FAILURE
        }
    }
}
