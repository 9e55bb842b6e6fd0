//! The module `http-client`: requests over HTTP as functions, `HTTP_GET(url)` and others.
//!
//! [`squall_http_client`] makes the requests and checks their destinations. This module checks privileges, sets the limits of a
//! request, and turns answers into values. `docs/decisions/0057-http-client.md` has the reasons.
//!
//! Reading order: [`settings`], [`endpoints`] (URLs and secrets under names), [`options`] (the arguments of a call), [`functions`]
//! (the calls), [`running`] (waiting for answers),
//! [`answer`], [`loading`] (LOAD DATA FROM URL), [`requests`] (the table of requests), [`urls`].

mod answer;
mod endpoints;
mod functions;
mod loading;
mod options;
mod requests;
mod running;
mod settings;
mod urls;

use endpoints::{ENDPOINT_PRIVILEGE, EndpointObjects, EndpointTable};
use parking_lot::Mutex;
use requests::RequestLog;
use running::Engine;
use settings::{SettingsReader, VARIABLES};
use squall_functions::library::support;
use squall_registry::Registry;
use squall_session::{Database, Module, ModuleObjects, UrlSource, WeakDatabase};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, ModuleError, SqlError, SqlResult};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The privilege to make requests.
const PRIVILEGE: &str = "HTTP_CLIENT";
/// The database of the module's table.
const DATABASE: &str = "data_dictionary";

/// A request has failed on its way.
const TRANSFER: ModuleError = ModuleError::new(50_410, b"HY000", "%s: %s");
/// A rule refuses the request.
const BLOCKED: ModuleError = ModuleError::new(50_411, b"42000", "%s: %s");
/// The answer has a status of 400 or more, and `fail_on_status` was asked for.
const STATUS: ModuleError = ModuleError::new(50_412, b"HY000", "%s: the answer has status %s");

/// There is an endpoint of that name.
const ENDPOINT_EXISTS: ModuleError = ModuleError::new(50_413, b"HY000", "HTTP endpoint '%s' already exists");
/// There is none of that name, or none for the account.
const NO_ENDPOINT: ModuleError = ModuleError::new(50_414, b"42000", "There is no HTTP endpoint '%s'");

/// The module.
#[derive(Debug, Default)]
pub struct HttpClient(Arc<Shared>);

/// What the module's parts share.
#[derive(Debug, Default)]
struct Shared {
    settings: OnceLock<SettingsReader>,
    database: OnceLock<WeakDatabase>,
    log: RequestLog,
    /// Statements that wait for requests.
    waiting: AtomicUsize,
    /// Made by the first request.
    engine: Mutex<Option<Engine>>,
}

/// Statements that may wait for requests at once: each holds a thread of the query pool back, of which there are 512.
const WAITING_MAX: usize = 256;

/// A statement's place among those that wait.
#[derive(Debug)]
struct Admitted(Arc<Shared>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// A place for a statement to wait at.
    ///
    /// # Errors
    /// 50410 if too many wait.
    fn admit(self: &Arc<Self>, function: &str) -> SqlResult<Admitted> {
        let place = Admitted(self.clone());
        if self.waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX {
            return Ok(place);
        }
        Err(SqlError::of_module(&TRANSFER, &[&function, &format_args!("{WAITING_MAX} statements wait for requests")]))
    }

    /// What the variables say to a statement.
    fn settings(&self, function: &str, context: &StatementContext) -> SqlResult<settings::Settings> {
        let reader = self.settings.get().ok_or_else(|| SqlError::internal("variables that are not declared"))?;
        reader.read(function, context)
    }

    fn database(&self) -> SqlResult<Database> {
        let database = self.database.get().and_then(WeakDatabase::upgrade);
        database.ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }
}

impl Module for HttpClient {
    fn name(&self) -> &str {
        "http-client"
    }

    fn description(&self) -> &str {
        "Requests over HTTP: HTTP_GET() and its like, endpoints, LOAD DATA FROM URL."
    }

    fn declare(&self, registry: &mut Registry) {
        let ids = VARIABLES.iter().map(|definition| registry.variables.declare(*definition)).collect();
        // No other registry declares them for this module.
        let _first = self.0.settings.set(SettingsReader::new(ids));
        registry.register_privilege(PRIVILEGE);
        registry.register_privilege(ENDPOINT_PRIVILEGE);
        registry.register_errors(&[
            ("ER_HTTP_TRANSFER", TRANSFER),
            ("ER_HTTP_BLOCKED", BLOCKED),
            ("ER_HTTP_STATUS", STATUS),
            ("ER_HTTP_ENDPOINT_EXISTS", ENDPOINT_EXISTS),
            ("ER_NO_HTTP_ENDPOINT", NO_ENDPOINT),
        ]);
        functions::register(registry, &self.0);
        support::register(registry, urls::FUNCTIONS);
        registry.register_virtual_table(Arc::new(EndpointTable::new(self.0.clone())));
        registry.register_virtual_table(Arc::new(requests::RequestTable::new(self.0.clone())));
    }

    fn url_source(&self) -> Option<Arc<dyn UrlSource>> {
        Some(Arc::new(loading::Loads(self.0.clone())))
    }

    fn objects(&self) -> Option<Arc<dyn ModuleObjects>> {
        Some(Arc::new(EndpointObjects(self.0.clone())))
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        let _first = self.0.database.set(database.downgrade());
        Ok(())
    }

    fn stop(&self) {
        if let Some(engine) = self.0.engine.lock().take() {
            engine.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_too_many_statements_wait() {
        let shared = Arc::new(Shared::default());
        let mut places: Vec<_> = (0..WAITING_MAX).map(|_| shared.admit("http_get").unwrap()).collect();
        assert_eq!(shared.admit("http_get").unwrap_err().code, 50_410);
        places.pop();
        assert!(shared.admit("http_get").is_ok());
    }
}
