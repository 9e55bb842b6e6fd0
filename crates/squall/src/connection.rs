//! The server and the account to connect to: options that every client command has.

use clap::Args;
use squall_client::{Client, ClientCertificate, ConnectOptions, Target, TlsMode};
use std::path::{Path, PathBuf};

/// Server and account.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// Server to connect to
    #[arg(short = 'h', long, default_value = "127.0.0.1")]
    pub host: String,
    /// Its TCP port
    #[arg(short = 'P', long, default_value_t = 3306)]
    pub port: u16,
    /// Its Unix socket, instead of host and port
    #[arg(short = 'S', long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// User name
    #[arg(short = 'u', long, default_value = "root")]
    pub user: String,
    /// Password; asked for when the option has no value. Without the option MYSQL_PWD is used, if set
    #[arg(short = 'p', long, num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "PASSWORD")]
    pub password: Option<String>,
    /// PEM file of the certificate to show, for accounts that REQUIRE one. The connection is encrypted then, or fails
    #[arg(long, value_name = "FILE", requires = "ssl_key", conflicts_with = "socket")]
    pub ssl_cert: Option<PathBuf>,
    /// PEM file of the certificate's key
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub ssl_key: Option<PathBuf>,
}

impl ConnectionArgs {
    /// The server's place.
    pub fn target(&self) -> Target {
        match &self.socket {
            Some(socket) => Target::Unix(socket.clone()),
            None => Target::Tcp(self.host.clone(), self.port),
        }
    }

    /// How to connect to a place; asks for the password if that is wanted.
    pub fn options(&self, target: Target, database: &str) -> Result<ConnectOptions, String> {
        let password = match &self.password {
            Some(password) if password.is_empty() => rpassword::prompt_password("Enter password: ")
                .map_err(|error| format!("cannot ask for a password: {error}"))?,
            Some(password) => password.clone(),
            None => std::env::var("MYSQL_PWD").unwrap_or_default(),
        };
        let certificate = self.ssl_cert.clone().zip(self.ssl_key.clone());
        let certificate = certificate.map(|(certificate, key)| ClientCertificate { certificate, key });
        let attribute = |name: &str, value: String| (name.to_owned(), value);
        Ok(ConnectOptions {
            user: self.user.clone(),
            password,
            database: database.to_owned(),
            tls: if certificate.is_some() { TlsMode::Required } else { TlsMode::Preferred },
            certificate,
            attributes: vec![
                attribute("_client_name", "squall".to_owned()),
                attribute("_client_version", env!("CARGO_PKG_VERSION").to_owned()),
                attribute("_os", std::env::consts::OS.to_owned()),
                attribute("_platform", std::env::consts::ARCH.to_owned()),
                attribute("_pid", std::process::id().to_string()),
                attribute("program_name", "squall".to_owned()),
            ],
            ..ConnectOptions::new(target)
        })
    }

    /// Connects.
    pub fn connect(&self, database: &str) -> Result<Client, String> {
        let target = self.target();
        let name = target.to_string();
        let options = self.options(target, database)?;
        Client::connect(&options).map_err(|error| format!("cannot connect to {name}: {error}"))
    }
}

/// The Unix socket of a server that was not told another.
pub(crate) fn default_socket(data_directory: &Path) -> PathBuf {
    data_directory.join("squall.sock")
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `database.table` or `table` as SQL.
pub(crate) fn quoted_table(name: &str) -> String {
    match name.split_once('.') {
        Some((database, table)) => format!("{}.{}", quoted(database), quoted(table)),
        None => quoted(name),
    }
}
