//! The module `http-api`: opens and closes the HTTP listener as its variables say ([`settings`]). [`squall_http_api`] answers the requests.
//! `docs/decisions/0065-http-api.md` has the reasons.

mod settings;
mod tokens;

use parking_lot::Mutex;
use settings::{Place, Reader, Setting, VARIABLES, addresses};
use squall_front_end::{Address, ConnectionLimit, Listen, Listeners, OwnLimit};
use squall_http_api::{HttpProtocol, HttpServer, PRIVILEGE};
use squall_logs::error_log::{Severity, error_log};
use squall_registry::Registry;
use squall_session::{Database, Module, ModuleObjects, WeakDatabase};
use squall_system_variables::definition::text_of;
use squall_system_variables::{ValueTable, VariableId};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use tokens::Tokens;

/// The names of the listener, one after the other: where it moves to is opened before the place that it leaves is closed.
const NAMES: [&str; 2] = ["http", "http-moved"];

/// The module.
#[derive(Debug)]
pub struct HttpApi {
    variables: OnceLock<Vec<VariableId>>,
    database: OnceLock<WeakDatabase>,
    server: OnceLock<Arc<HttpServer>>,
    tokens: Arc<Tokens>,
    /// Known once there is a front end, which may be never.
    listeners: OnceLock<Listeners>,
    limit: Arc<OwnLimit>,
    open: Mutex<Option<Open>>,
}

/// The listener as it is open.
#[derive(Debug)]
struct Open {
    name: &'static str,
    place: Place,
    address: Option<SocketAddr>,
}

impl Default for HttpApi {
    fn default() -> HttpApi {
        HttpApi {
            variables: OnceLock::new(),
            database: OnceLock::new(),
            server: OnceLock::new(),
            tokens: Arc::default(),
            listeners: OnceLock::new(),
            limit: Arc::new(OwnLimit::new(1)),
            open: Mutex::default(),
        }
    }
}

impl HttpApi {
    /// Follows the variables. What cannot be done is a line of the error log, too.
    fn follow(&self) -> SqlResult<()> {
        self.follow_variables().map_err(|error| {
            error_log().write(Severity::Error, &format!("HTTP (json_server_enabled): {error}"));
            cannot_listen(&error)
        })
    }

    /// Whether nothing else has the place of the listener.
    fn check_place(&self, wanted: &Place) -> io::Result<()> {
        let open = self.open.lock();
        if open.as_ref().is_some_and(|open| open.port() == wanted.port) {
            // Perhaps it is the listener itself that is there.
            return Ok(());
        }
        let addresses = addresses(&wanted.addresses, wanted.port).ok_or(io::ErrorKind::InvalidInput)?;
        // Bound and closed again; nobody can connect meanwhile, as nothing listens.
        addresses.into_iter().try_for_each(|address| std::net::TcpListener::bind(address).map(drop))
    }

    fn follow_variables(&self) -> io::Result<()> {
        let database = self.database.get().and_then(WeakDatabase::upgrade);
        let (Some(database), Some(server), Some(ids)) = (database, self.server.get(), self.variables.get()) else {
            return Ok(());
        };
        // Before the values are read: of several who follow them at a time the last one must have the newest.
        let mut open = self.open.lock();
        let values = database.globals();
        let find = |name| database.registry().variables.find(name).map(|id| values.get(id));
        let packet_bytes_max = match find("max_allowed_packet") {
            Some(Value::UInt(bytes)) => *bytes,
            Some(Value::Int(bytes)) => u64::try_from(*bytes).unwrap_or(u64::MAX),
            _ => u64::MAX,
        };
        let hostname = find("hostname").and_then(text_of).unwrap_or_default();
        let reader = Reader { ids, values: &values };
        server.set(reader.settings(hostname, packet_bytes_max));
        self.limit.set_max(usize::try_from(reader.number(Setting::MaxConnections)).unwrap_or(usize::MAX));
        self.listen(&mut open, reader.place(), server)
    }

    /// Opens, moves or closes the listener.
    fn listen(&self, open: &mut Option<Open>, wanted: Option<Place>, server: &Arc<HttpServer>) -> io::Result<()> {
        let Some(listeners) = self.listeners.get() else { return Ok(()) };
        if open.as_ref().map(|open| &open.place) == wanted.as_ref() {
            return Ok(());
        }
        let Some(place) = wanted else {
            if let Some(old) = open.take() {
                close(listeners, old.name);
            }
            return Ok(());
        };
        let [first, second] = NAMES;
        let name = if open.as_ref().is_some_and(|old| old.name == first) { second } else { first };
        let error = match self.open_at(listeners, name, place.clone(), server) {
            Ok(opened) => {
                if let Some(old) = open.replace(opened) {
                    close(listeners, old.name);
                }
                return Ok(());
            }
            Err(error) => error,
        };
        let Some(old) = open.take() else { return Err(error) };
        if error.kind() != io::ErrorKind::AddrInUse || place.port != old.port() {
            // A port that others have: the listener stays where it is.
            *open = Some(old);
            return Err(error);
        }
        // It is perhaps the listener itself that is in the way.
        close(listeners, old.name);
        match self.open_at(listeners, name, place, server) {
            Ok(opened) => {
                *open = Some(opened);
                Ok(())
            }
            Err(error) => {
                let before = Place { port: old.port(), ..old.place.clone() };
                let again = self.open_at(listeners, name, before, server)?;
                *open = Some(Open { place: old.place, ..again });
                Err(error)
            }
        }
    }

    fn open_at(
        &self,
        listeners: &Listeners,
        name: &'static str,
        place: Place,
        server: &Arc<HttpServer>,
    ) -> io::Result<Open> {
        let addresses = addresses(&place.addresses, place.port).ok_or(io::ErrorKind::InvalidInput)?;
        let opened = listeners.open(Listen {
            name: name.to_owned(),
            addresses: addresses.into_iter().map(Address::Tcp).collect(),
            protocol: Arc::new(HttpProtocol::new(server.clone())),
            limit: ConnectionLimit::Own(self.limit.clone()),
            administrative: false,
        })?;
        let address = opened.first().copied();
        if let Some(address) = address {
            error_log().write(Severity::Note, &format!("HTTP is answered on {address}"));
        }
        Ok(Open { name, place, address })
    }
}

impl Open {
    /// The port that it has, also if any was asked for.
    fn port(&self) -> u16 {
        self.address.map_or(self.place.port, |address| address.port())
    }
}

/// The error of a SET whose place for HTTP cannot be had.
fn cannot_listen(error: &io::Error) -> SqlError {
    let message = format!("HTTP cannot listen as json_server_port and json_server_bind_address say: {error}");
    SqlError::with_message(ErrorCode::WrongValueForVar, message)
}

fn close(listeners: &Listeners, name: &str) {
    if let Err(error) = listeners.close(name) {
        // It is closed all the same.
        error_log().write(Severity::Warning, &format!("HTTP: {error}"));
    }
}

impl Module for HttpApi {
    fn name(&self) -> &str {
        "http-api"
    }

    fn description(&self) -> &str {
        "SQL and tables over HTTP, and a page for browsers."
    }

    fn declare(&self, registry: &mut Registry) {
        let ids = VARIABLES.iter().map(|definition| registry.variables.declare(*definition)).collect();
        // No other registry declares them for this module.
        let _first = self.variables.set(ids);
        registry.register_privilege(PRIVILEGE);
        registry.register_privilege(tokens::ADMIN);
        registry.register_errors(&[("ER_NO_API_TOKEN", tokens::NO_TOKEN)]);
    }

    fn objects(&self) -> Option<Arc<dyn ModuleObjects>> {
        Some(self.tokens.clone())
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        let _first = self.database.set(database.downgrade());
        self.tokens.start(database);
        let _first = self.server.set(Arc::new(HttpServer::new(database.downgrade(), self.tokens.clone())));
        Ok(())
    }

    fn front_end_started(&self, listeners: &Listeners) {
        let _first = self.listeners.set(listeners.clone());
        // The error log has it: the server runs without HTTP.
        let _followed = self.follow();
    }

    fn variables_changed(&self) -> SqlResult<()> {
        self.follow()
    }

    fn check_variables(&self, values: &ValueTable) -> SqlResult<()> {
        let Some(ids) = self.variables.get().filter(|_| self.listeners.get().is_some()) else { return Ok(()) };
        match (Reader { ids, values }).place() {
            Some(place) => self.check_place(&place).map_err(|error| cannot_listen(&error)),
            None => Ok(()),
        }
    }

    fn status(&self) -> Vec<(&'static str, u64)> {
        let address = self.open.lock().as_ref().and_then(|open| open.address);
        let port = address.map_or(0, |address| u64::from(address.port()));
        let count = |of: fn(&HttpServer) -> u64| self.server.get().map_or(0, |server| of(server));
        vec![
            ("Json_server_connected", self.limit.count() as u64),
            ("Json_server_failures", count(|server| server.failures.load(Ordering::Relaxed))),
            ("Json_server_port", port),
            ("Json_server_rate_limited", count(|server| server.rate_limited.load(Ordering::Relaxed))),
            ("Json_server_requests", count(|server| server.requests.load(Ordering::Relaxed))),
            ("Json_server_requests_running", count(|server| server.running() as u64)),
        ]
    }
}
