//! `squall completion` and `squall man`: what shells and `man` know of the command line.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Cli;

/// Prints the completion of squall's command line for a shell.
///
/// For the running bash: source <(squall completion bash). For all: the file that your shell's documentation names.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints squall's manual page, or writes those of all commands.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Where squall.1, squall-serve.1 and the others go; made if it is not there
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Prints a completion.
pub(crate) fn complete(args: &CompletionArgs) -> Result<(), String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "squall", &mut text);
    print(&text)
}

/// Prints a manual page, or writes all.
pub(crate) fn manual(args: &ManArgs) -> Result<(), String> {
    let Some(directory) = &args.directory else {
        let mut text = Vec::new();
        Man::new(Cli::command()).render(&mut text).map_err(|error| error.to_string())?;
        return print(&text);
    };
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .map_err(|error| format!("cannot write to {}: {error}", directory.display()))
}

fn print(text: &[u8]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        // Who reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| format!("cannot write: {error}")),
    }
}
