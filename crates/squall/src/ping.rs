//! `squall ping`: whether a server answers.

use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use squall_client::Target;

/// How long a server may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Between two tries of --wait.
const PAUSE: Duration = Duration::from_millis(100);

/// Asks whether a server answers; ends with 1 if it does not.
///
/// It reads the server's greeting and does not log in, so no account is needed.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct PingArgs {
    /// Server to ask
    #[arg(short = 'h', long, default_value = "127.0.0.1")]
    host: String,
    /// Its TCP port
    #[arg(short = 'P', long, default_value_t = 3306)]
    port: u16,
    /// Its Unix socket, instead of host and port
    #[arg(short = 'S', long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Tries again for as long as this until it answers
    #[arg(short = 'w', long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Asks, once or for a while.
pub(crate) fn run(args: &PingArgs) -> Result<(), String> {
    let target = match &args.socket {
        Some(path) => Target::Unix(path.clone()),
        None => Target::Tcp(args.host.clone(), args.port),
    };
    let begun = Instant::now();
    loop {
        match ask(&target) {
            Ok(()) => {
                println!("{target} answers");
                return Ok(());
            }
            Err(error) if begun.elapsed() >= Duration::from_secs(args.wait) => {
                return Err(format!("{target} does not answer: {error}"));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Reads the header of the server's first packet and its first byte.
fn ask(target: &Target) -> io::Result<()> {
    let mut beginning = [0; 5];
    match target {
        Target::Tcp(host, port) => {
            let address = (host.as_str(), *port).to_socket_addrs()?.next();
            let address = address.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))?;
            let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIME_MAX)?;
            stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
            stream.read_exact(&mut beginning)?;
        }
        Target::Unix(path) => {
            let mut stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
            stream.read_exact(&mut beginning)?;
        }
    }
    // A greeting, or an error such as 1040: a server is there.
    match beginning[4] {
        10 | 0xFF => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak MySQL's protocol")),
    }
}
