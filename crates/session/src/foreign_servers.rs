//! CREATE, ALTER and DROP SERVER. `mysql.servers` shows these servers; no storage engine uses them.

use crate::result::Outcome;
use crate::result::writer::OkInfo;
use crate::session::Session;
use squall_parser::ast::{CreateServer, Ident, Statement};
use squall_server_state::foreign_servers::{self, ForeignServer};
use squall_types::{ErrorCode, SqlError, SqlResult};

/// As in MySQL, longer names and values are cut.
const CHARACTERS_MAX: usize = 64;
const HOST_CHARACTERS_MAX: usize = 255;

impl Session {
    /// A statement about names of other servers.
    ///
    /// # Errors
    /// Those of the statement.
    pub(crate) async fn run_server_definition(&mut self, statement: &Statement) -> SqlResult<Outcome> {
        match statement {
            Statement::CreateServer(create) => self.create_server(create).await,
            Statement::AlterServer { name, options } => self.alter_server(name, options).await,
            Statement::DropServer { if_exists, name } => self.drop_server(name, *if_exists).await,
            _ => Err(SqlError::internal("not a statement about servers")),
        }
    }

    /// CREATE SERVER.
    ///
    /// # Errors
    /// 1476 if there is one of that name.
    async fn create_server(&mut self, create: &CreateServer) -> SqlResult<Outcome> {
        let (name, wrapper) = (cut(&create.name, CHARACTERS_MAX), cut(&create.wrapper, CHARACTERS_MAX));
        let mut server = ForeignServer { name, wrapper, ..ForeignServer::default() };
        set_options(&mut server, &create.options)?;
        self.blocking(move |shared| {
            let _alone = shared.ddl.lock();
            if foreign_servers::find(&*shared.store, &server.name)?.is_some() {
                return Err(SqlError::new(ErrorCode::ForeignServerExists, &[&server.name]));
            }
            foreign_servers::put(&*shared.store, &server)
        })
        .await
        .map(|()| one_row())
    }

    /// ALTER SERVER: options that are not named stay.
    ///
    /// # Errors
    /// 1477 if there is none of that name.
    async fn alter_server(&mut self, name: &Ident, options: &[(Ident, Box<str>)]) -> SqlResult<Outcome> {
        let (name, options) = (cut(name, CHARACTERS_MAX), options.to_vec());
        self.blocking(move |shared| {
            let _alone = shared.ddl.lock();
            let mut server = foreign_servers::find(&*shared.store, &name)?.ok_or_else(|| no_server(&name))?;
            set_options(&mut server, &options)?;
            foreign_servers::put(&*shared.store, &server)
        })
        .await
        .map(|()| one_row())
    }

    /// DROP SERVER.
    ///
    /// # Errors
    /// 1477 if there is none of that name, unless `if_exists`.
    async fn drop_server(&mut self, name: &Ident, if_exists: bool) -> SqlResult<Outcome> {
        let name = cut(name, CHARACTERS_MAX);
        self.blocking(move |shared| {
            let _alone = shared.ddl.lock();
            match foreign_servers::find(&*shared.store, &name)? {
                Some(_) => foreign_servers::remove(&*shared.store, &name),
                None if if_exists => Ok(()),
                None => Err(no_server(&name)),
            }
        })
        .await
        .map(|()| one_row())
    }
}

fn one_row() -> Outcome {
    Outcome::Ok(OkInfo { affected_rows: 1, ..OkInfo::default() })
}

fn no_server(name: &str) -> SqlError {
    SqlError::new(ErrorCode::ForeignServerDoesNotExist, &[&name])
}

fn cut(text: &str, characters_max: usize) -> String {
    text.chars().take(characters_max).collect()
}

/// Sets the named options; of an option that is named twice the last value counts.
fn set_options(server: &mut ForeignServer, options: &[(Ident, Box<str>)]) -> SqlResult<()> {
    for (name, value) in options {
        let text = || cut(value, CHARACTERS_MAX);
        match name.value.to_ascii_uppercase().as_str() {
            "HOST" => server.host = cut(value, HOST_CHARACTERS_MAX),
            "DATABASE" => server.database = text(),
            "USER" => server.user = text(),
            "PASSWORD" => server.password = text(),
            "SOCKET" => server.socket = text(),
            "OWNER" => server.owner = text(),
            _ => {
                let port = value.parse::<u32>().ok().filter(|port| *port <= u32::from(u16::MAX));
                server.port = port.ok_or_else(|| SqlError::new(ErrorCode::WrongArguments, &[&"PORT"]))?;
            }
        }
    }
    Ok(())
}
