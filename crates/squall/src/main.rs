//! The command line.

mod embedded;
mod log;
mod serve;
mod shell;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shell::ShellError;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
}

fn main() -> ExitCode {
    log::install();
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args).map_err(ShellError::Message),
        Command::Sql(args) => shell::run(&args),
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
