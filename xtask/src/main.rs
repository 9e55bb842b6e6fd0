//! Project chores: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask reference`, `cargo xtask check`.

mod commands;
mod decisions;
mod document_names;
mod error_numbers;
mod frames;
mod lists_of_files;
mod manual_functions;
mod manual_variables;
mod module_order;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  test           Runs every test: crates, golden scripts, crash runs and real clients
  tidy           Checks what the compiler does not: crate order, file sizes, scripts that no runner reads, names in
                 documents, pages of decisions, docs/benchmarks.md
  reference      Writes docs/reference anew from the program's lists of functions, variables and errors
  functions      Compares the functions with those of MySQL's manual, and with what COMPATIBILITY.md says of them
  variables      Compares system and status variables with MySQL 8.4's, and with what COMPATIBILITY.md says of them
  frames         Looks for large stack frames in the server that the tests have built
  release-flags  Runs the golden scripts on a server that has the release profile's flags
  fuzz           Runs the fuzz targets, a minute each: see fuzz/src/main.rs for what may follow
  console        Checks the browser console: its types, its committed bundle, and the page in Chromium
  package        Builds what a package has: the program, its manual pages and completions
  check          Everything CI runs: format, clippy, tidy, doc builds, tests, fuzz targets

Options of `test`:
  --filter TEXT   Only cargo tests whose name contains TEXT
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let root = project_root();
    let result = match command.as_str() {
        "test" => commands::test(&root, &rest),
        "tidy" => tidy::run(&root),
        "reference" => commands::reference(&root),
        "functions" => manual_functions::run(&root),
        "variables" => manual_variables::run(&root),
        "frames" => commands::frames(),
        "release-flags" => commands::release_flags(&root),
        "console" => commands::console(&root),
        "fuzz" => commands::fuzz(&root, &rest),
        "package" => commands::package(&root),
        "check" => commands::check(&root),
        "" | "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("unknown command `{other}`\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's root: the parent of this package's folder. Cargo tells it when it runs the command, since checkouts may
/// share a target directory.
fn project_root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().map(Path::to_path_buf).unwrap_or_default()
}
