//! `squall sql`: a shell on a server, or directly on a data directory.

mod interrupt;
mod line_editor;
mod output;
mod splitter;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use squall_client::{Client, ClientError, ConnectOptions, OkResult, QueryResult, Target};

use crate::connection::{ConnectionArgs, default_socket};
use crate::embedded::Embedded;
use interrupt::Interrupts;
use line_editor::{Input, LineEditor};
use output::{Format, Printer, Style};
use splitter::{Inside, Piece, Splitter};

/// How deep `source` may nest.
const SOURCE_DEPTH_MAX: usize = 20;

const HELP: &str = "\
A statement ends with the delimiter (;), with \\g, or with \\G, which prints one value per line.

clear      (\\c)  Forget the statement being typed.
delimiter  (\\d)  Set what ends a statement.
exit       (\\q)  Leave. Same as quit.
help       (\\h)  Show this.
source     (\\.)  Run the statements of a file.
status     (\\s)  Show where this shell is connected.
use        (\\u)  Change the default database.
";

/// Runs SQL on a server, or directly on a data directory that no server has open.
///
/// Statements come from -e, or from standard input when it is not a terminal, or are typed. Results are tables on a
/// terminal and tab-separated elsewhere.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ShellArgs {
    /// Runs these statements and ends
    #[arg(short = 'e', long, value_name = "STATEMENTS")]
    execute: Option<String>,
    /// Database to begin in
    #[arg(value_name = "DATABASE")]
    database: Option<String>,
    /// Opens this data directory; when a server has it open, connects to that server's socket
    #[arg(long, value_name = "DIR", conflicts_with_all = ["host", "socket"])]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Tab-separated results, one row per line
    #[arg(short = 'B', long)]
    batch: bool,
    /// Results as tables
    #[arg(short = 't', long, conflicts_with = "batch")]
    table: bool,
    /// One value per line
    #[arg(short = 'E', long, conflicts_with_all = ["batch", "table"])]
    vertical: bool,
    /// Leaves the names of columns out
    #[arg(short = 'N', long)]
    skip_column_names: bool,
    /// Goes on after an error
    #[arg(short = 'f', long)]
    force: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Why the shell ends with a failure.
#[derive(Debug)]
pub(crate) enum ShellError {
    /// A statement or the connection failed; it has been printed.
    Reported,
    /// Something to print.
    Message(String),
}

impl From<ClientError> for ShellError {
    fn from(error: ClientError) -> Self {
        Self::Message(error.to_string())
    }
}

/// Runs the shell to its end.
pub(crate) fn run(args: &ShellArgs) -> Result<(), ShellError> {
    let mut connected = Connected::open(args)?;
    let interactive = args.execute.is_none() && io::stdin().is_terminal();
    let terminal = io::stdout().is_terminal();
    let format = match (args.vertical, args.table, args.batch) {
        (true, ..) => Format::Vertical,
        (_, true, _) => Format::Table,
        (_, _, true) => Format::Tabs,
        _ if terminal && (interactive || args.execute.is_some()) => Format::Table,
        _ => Format::Tabs,
    };
    let mut shell = Shell {
        client: &mut connected.client,
        out: io::BufWriter::new(io::stdout()),
        style: Style { format, names: !args.skip_column_names, binary_as_hex: interactive },
        interactive,
        force: args.force,
        target: connected.target.clone(),
        interrupts: &connected.interrupts,
        failed: false,
        quit: false,
    };
    let result = match &args.execute {
        Some(statements) => shell.script(statements.as_bytes(), 0),
        None if interactive => shell.interact(),
        None => shell.script(io::stdin().lock(), 0),
    };
    let failed = shell.failed;
    let written = shell.out.flush();
    drop(shell);
    connected.close()?;
    result?;
    written.map_err(|error| ShellError::Message(format!("cannot write: {error}")))?;
    if failed { Err(ShellError::Reported) } else { Ok(()) }
}

/// Runs the statements of a script on a connection, up to the first that fails. Results are tab-separated.
pub(crate) fn run_script(client: &mut Client, script: impl BufRead) -> Result<(), ShellError> {
    let interrupts = Interrupts::none();
    let mut shell = Shell {
        client,
        out: io::BufWriter::new(io::stdout()),
        style: Style { format: Format::Tabs, names: true, binary_as_hex: false },
        interactive: false,
        force: false,
        target: String::new(),
        interrupts: &interrupts,
        failed: false,
        quit: false,
    };
    shell.script(script, 0)
}

/// A connection, and the database behind it when that is in this process.
struct Connected {
    client: Client,
    embedded: Option<Arc<Embedded>>,
    target: String,
    interrupts: Interrupts,
}

impl Connected {
    fn open(args: &ShellArgs) -> Result<Self, ShellError> {
        let target = match &args.datadir {
            Some(directory) => {
                let socket = default_socket(directory);
                // A server may have the directory: then it is asked.
                if UnixStream::connect(&socket).is_err() {
                    let embedded = Embedded::open(directory).map_err(ShellError::Message)?;
                    return Self::open_embedded(args, directory, embedded);
                }
                Target::Unix(socket)
            }
            None => args.connection.target(),
        };
        let name = target.to_string();
        let options = options(args, target)?;
        let client = Client::connect(&options)
            .map_err(|error| ShellError::Message(format!("cannot connect to {name}: {error}")))?;
        let interrupts = Interrupts::listen(client.connection_id(), options, None)?;
        Ok(Self { client, embedded: None, target: name, interrupts })
    }

    fn open_embedded(args: &ShellArgs, directory: &Path, embedded: Embedded) -> Result<Self, ShellError> {
        let options = options(args, Target::Unix(PathBuf::new()))?;
        let socket = embedded.attach().map_err(|error| ShellError::Message(error.to_string()))?;
        let client = Client::connect_over(socket, &options)?;
        let embedded = Arc::new(embedded);
        let interrupts = Interrupts::listen(client.connection_id(), options, Some(Arc::downgrade(&embedded)))?;
        let target = format!("directory {}", directory.display());
        Ok(Self { client, embedded: Some(embedded), target, interrupts })
    }

    fn close(self) -> Result<(), ShellError> {
        // A server that is gone needs no goodbye.
        let _gone = self.client.quit();
        match self.embedded.map(Arc::try_unwrap) {
            Some(Ok(embedded)) => embedded.close().map_err(ShellError::Message),
            // A Ctrl-C is just being served; what was committed is in the files all the same.
            Some(Err(_)) | None => Ok(()),
        }
    }
}

fn options(args: &ShellArgs, target: Target) -> Result<ConnectOptions, ShellError> {
    args.connection.options(target, args.database.as_deref().unwrap_or_default()).map_err(ShellError::Message)
}

struct Shell<'a, W: Write> {
    client: &'a mut Client,
    out: W,
    style: Style,
    interactive: bool,
    force: bool,
    target: String,
    interrupts: &'a Interrupts,
    /// A statement has failed.
    failed: bool,
    quit: bool,
}

impl<W: Write> Shell<'_, W> {
    /// Reads statements from the keyboard.
    fn interact(&mut self) -> Result<(), ShellError> {
        let mut editor = LineEditor::new().map_err(|error| ShellError::Message(error.to_string()))?;
        let version = self.client.server_version().to_owned();
        self.say(&format!(
            "Connected to {} (version {version}). Statements end with ; and help shows more.\n",
            self.target
        ))?;
        let mut splitter = Splitter::default();
        while !self.quit {
            let prompt = match splitter.inside() {
                _ if !splitter.is_open() => "squall> ",
                Inside::Nothing => "     -> ",
                Inside::Quotes('\'') => "     '> ",
                Inside::Quotes('"') => "     \"> ",
                Inside::Quotes(_) => "     `> ",
                Inside::Comment => "    /*> ",
            };
            match editor.line(prompt).map_err(|error| ShellError::Message(error.to_string()))? {
                Input::Line(line) => {
                    let pieces = splitter.line(&line);
                    self.pieces(pieces, &mut splitter, 0)?;
                }
                Input::Interrupted => splitter.clear(),
                Input::End => break,
            }
        }
        editor.save();
        // Mistakes of a user at the keyboard are no failure of the program.
        self.failed = false;
        Ok(())
    }

    /// Runs the statements of a script.
    fn script(&mut self, script: impl BufRead, depth: usize) -> Result<(), ShellError> {
        let mut splitter = Splitter::default();
        for line in script.split(b'\n') {
            let mut line = line.map_err(|error| ShellError::Message(format!("cannot read: {error}")))?;
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            let pieces = splitter.line(&String::from_utf8_lossy(&line));
            self.pieces(pieces, &mut splitter, depth)?;
            if self.quit {
                return Ok(());
            }
        }
        let last = splitter.finish().into_iter().collect();
        self.pieces(last, &mut splitter, depth)
    }

    fn pieces(&mut self, pieces: Vec<Piece>, splitter: &mut Splitter, depth: usize) -> Result<(), ShellError> {
        let mut pieces = VecDeque::from(pieces);
        while let Some(piece) = pieces.pop_front() {
            let result = match piece {
                Piece::Statement { sql, vertical, line } => self.statement(&sql, vertical, line),
                Piece::Command { name, argument } => self.command(&name, &argument, splitter, depth),
                Piece::Cleared => Ok(()),
            };
            match result {
                Ok(()) => {}
                Err(ShellError::Reported) if self.interactive || self.force => self.failed = true,
                Err(error) => return Err(error),
            }
            if self.quit {
                break;
            }
        }
        self.out.flush().map_err(|error| ShellError::Message(format!("cannot write: {error}")))
    }

    fn command(&mut self, name: &str, argument: &str, splitter: &mut Splitter, depth: usize) -> Result<(), ShellError> {
        match name {
            "quit" | "exit" | "\\q" => self.quit = true,
            "help" | "?" | "\\h" | "\\?" => self.say(HELP)?,
            "clear" => {}
            "delimiter" | "\\d" => {
                if argument.is_empty() || argument.contains('\\') {
                    return self.complain("ERROR: a delimiter is one or more characters and no backslash");
                }
                splitter.set_delimiter(argument);
            }
            "use" | "\\u" => {
                let database = argument.trim_end_matches(splitter.delimiter()).trim();
                let database = match database.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
                    Some(quoted) => quoted.replace("``", "`"),
                    None => database.to_owned(),
                };
                match self.client.use_database(&database) {
                    Ok(_) if self.interactive => self.say("Database changed\n")?,
                    Ok(_) => {}
                    Err(error) => return self.report(&error, None),
                }
            }
            "source" | "\\." => {
                if depth >= SOURCE_DEPTH_MAX {
                    return self.complain("ERROR: files that run files that run files: too deep");
                }
                match File::open(argument) {
                    Ok(file) => self.script(BufReader::new(file), depth + 1)?,
                    Err(error) => return self.complain(&format!("ERROR: cannot open '{argument}': {error}")),
                }
            }
            _ => {
                let lines = format!(
                    "Connection:  {} to {}{}\nServer:      {}\n",
                    self.client.connection_id(),
                    self.target,
                    if self.client.is_secure() { "" } else { ", not encrypted" },
                    self.client.server_version(),
                );
                self.say(&lines)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, sql: &str, vertical: bool, line: usize) -> Result<(), ShellError> {
        let started = Instant::now();
        let interrupts = self.interrupts;
        let _running = interrupts.running();
        let mut style = self.style;
        if vertical {
            style.format = Format::Vertical;
        }
        if let Err(error) = self.client.query(sql) {
            return self.report(&error, Some(line));
        }
        loop {
            match self.client.next_result() {
                Ok(Some(QueryResult::Ok(ok))) => self.done(&ok, started)?,
                Ok(Some(QueryResult::Rows(columns))) => {
                    let mut printer = Printer::new(&mut self.out, &columns, style);
                    let row_count = loop {
                        match self.client.next_row() {
                            Ok(Some(row)) => printer.row(&row).map_err(cannot_write)?,
                            Ok(None) => break Ok(printer.finish().map_err(cannot_write)?),
                            Err(error) => {
                                printer.finish().map_err(cannot_write)?;
                                break Err(error);
                            }
                        }
                    };
                    match row_count {
                        Ok(row_count) => self.rows_done(row_count, started)?,
                        Err(error) => return self.report(&error, Some(line)),
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => return self.report(&error, Some(line)),
            }
        }
    }

    fn done(&mut self, ok: &OkResult, started: Instant) -> Result<(), ShellError> {
        if !self.interactive {
            return Ok(());
        }
        let mut text = format!(
            "Query OK, {} affected{} ({})\n",
            counted(ok.affected_rows, "row"),
            warnings(ok.warning_count),
            seconds(started)
        );
        if !ok.info.is_empty() {
            text.push_str(&ok.info);
            text.push('\n');
        }
        text.push('\n');
        self.say(&text)
    }

    fn rows_done(&mut self, row_count: u64, started: Instant) -> Result<(), ShellError> {
        if !self.interactive {
            return Ok(());
        }
        let warnings = warnings(self.client.last_ok().warning_count);
        let seconds = seconds(started);
        let text = match row_count {
            0 => format!("Empty set{warnings} ({seconds})\n\n"),
            _ => format!("{} in set{warnings} ({seconds})\n\n", counted(row_count, "row")),
        };
        self.say(&text)
    }

    fn say(&mut self, text: &str) -> Result<(), ShellError> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(cannot_write)
    }

    /// Prints an error; what the connection did not survive ends the shell.
    fn report(&mut self, error: &ClientError, line: Option<usize>) -> Result<(), ShellError> {
        self.out.flush().map_err(cannot_write)?;
        match (error, line) {
            (ClientError::Server(server), Some(line)) if !self.interactive => {
                let sqlstate = String::from_utf8_lossy(&server.sqlstate).into_owned();
                self.complain(&format!("ERROR {} ({sqlstate}) at line {line}: {}", server.code, server.message))
            }
            (ClientError::Server(server), _) => self.complain(&server.to_string()),
            (other, _) => Err(ShellError::Message(other.to_string())),
        }
    }

    fn complain(&mut self, message: &str) -> Result<(), ShellError> {
        eprintln!("{message}");
        Err(ShellError::Reported)
    }
}

fn cannot_write(error: io::Error) -> ShellError {
    ShellError::Message(format!("cannot write: {error}"))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn warnings(count: u16) -> String {
    if count == 0 { String::new() } else { format!(", {}", counted(u64::from(count), "warning")) }
}

fn seconds(started: Instant) -> String {
    format!("{:.2} sec", started.elapsed().as_secs_f64())
}
