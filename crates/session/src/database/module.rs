//! Modules: parts of the server that the core does not know. See `docs/decisions/0017-jobs-and-procedures.md`.

use super::{Database, Procedure};
use crate::listener::Listener;
use crate::state::image::SessionImage;
use squall_front_end::Listeners as FrontEndListeners;
use squall_parser::ast::{Show, Statement};
use squall_registry::Registry;
use squall_row_store::TableEngine;
use squall_statement_context::{NestedResult, StatementContext};
use squall_system_variables::ValueTable;
use squall_types::{SqlResult, Value};
use std::fmt::Debug;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Reads what URLs name.
pub trait UrlSource: Debug + Send + Sync {
    /// Opens what a URL names, for the statement's account, on a thread that may wait. Errors of reading are a [`SqlError`](squall_types::SqlError) within
    /// an [`std::io::Error`]. It is over when the source is dropped, and when the statement is killed.
    ///
    /// # Errors
    /// Whatever is refused.
    fn open(&self, url: &str, context: &StatementContext) -> SqlResult<Box<dyn Read + Send>>;
}

/// Keeps objects that the grammar has statements for, and the core nothing else: what CREATE, ALTER and DROP of them do, and what SHOW shows.
pub trait ModuleObjects: Debug + Send + Sync {
    /// Whether a statement is about these objects.
    fn defines(&self, statement: &Statement) -> bool;

    /// Carries out such a statement, on a thread that may wait, with no other definition beside it; the session has ended its transaction. It asks for
    /// the privileges itself. What it has changed is durable when it returns: the rows that the statement answers with, if it has some.
    ///
    /// # Errors
    /// The statement's; nothing has changed then.
    fn define(&self, statement: &Statement, context: &StatementContext) -> SqlResult<Option<NestedResult>>;

    /// The rows of a SHOW that is about these objects, before LIKE and WHERE; `None` for any other.
    fn show(&self, show: &Show, context: &StatementContext) -> Option<SqlResult<NestedResult>>;
}

/// A part of the server that brings functions, variables, tables, procedures and background work, and that can be left
/// out of [`OpenOptions::modules`](crate::OpenOptions::modules).
pub trait Module: Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// What it brings, in a sentence, for `data_dictionary.modules`.
    fn description(&self) -> &str {
        ""
    }
    /// Databases of its objects, lower case. They are made when they are not there, and cannot be dropped.
    fn databases(&self) -> &[&str] {
        &[]
    }
    /// Declares functions, variables and virtual tables.
    fn declare(&self, _registry: &mut Registry) {}
    /// Declares what follows from what is declared already: called after everything else, the core's tables included.
    fn declare_derived(&self, _registry: &mut Registry) {}
    /// Its storage engines, for ENGINE in CREATE TABLE. `directory` is the data directory: an engine with files makes a folder of its
    /// own there. Called once, before the store is opened. A database with tables of an engine does not open them without it (1286).
    fn storage_engines(&self, _directory: &Path) -> Vec<Arc<dyn TableEngine>> {
        Vec::new()
    }
    /// Its procedures; each is in one of its databases.
    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        Vec::new()
    }
    /// Its listeners.
    fn listeners(&self) -> Vec<Arc<dyn Listener>> {
        Vec::new()
    }
    /// What runs lists of statements in the background for `EXECUTE … CONCURRENT`, if it is this module that does.
    fn background_statements(&self) -> Option<Arc<dyn BackgroundStatements>> {
        None
    }
    /// Begins background work; called once, when everything else of the database is there. The module keeps a
    /// [`WeakDatabase`](crate::WeakDatabase) at most, for the last [`Database`] closes it.
    ///
    /// # Errors
    /// When the database cannot be opened without it.
    fn start(&self, _database: &Database) -> SqlResult<()> {
        Ok(())
    }
    /// What reads URLs for LOAD DATA FROM URL; of several modules the first that does counts.
    fn url_source(&self) -> Option<Arc<dyn UrlSource>> {
        None
    }
    /// What keeps its objects, if statements of the grammar define them.
    fn objects(&self) -> Option<Arc<dyn ModuleObjects>> {
        None
    }
    /// Its status variables: names and numbers.
    fn status(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    /// Global variables have been set, maybe some of the module's.
    ///
    /// # Errors
    /// When the module cannot follow: a port is taken. A SET of the module's own variables fails then, and the module is told again when
    /// they have their old values; what others set stays.
    fn variables_changed(&self) -> SqlResult<()> {
        Ok(())
    }
    /// Whether the module could follow these global values, as far as can be said without doing so: EXPLAIN SET asks.
    ///
    /// # Errors
    /// Those of [`Module::variables_changed`].
    fn check_variables(&self, _values: &ValueTable) -> SqlResult<()> {
        Ok(())
    }
    /// A front end serves the database from now on. The module may open listeners for protocols of its own, now and later, and closes those
    /// that it has opened when it is told so ([`Module::variables_changed`]); the front end closes them when it shuts down.
    /// What cannot be opened is a line in the error log: the server runs without it. Not called for a database without a front end, or for
    /// one that only its owner may use (`squall` with a directory).
    fn front_end_started(&self, _listeners: &FrontEndListeners) {}
    /// Ends background work and waits until it has ended; called once, before the database is closed.
    fn stop(&self) {}
}

/// What runs lists of statements later, in child sessions: a part of a module.
pub trait BackgroundStatements: Debug + Send + Sync {
    /// Queues a list for a child session like `image`. It is there for good when this returns, whatever becomes of the caller.
    ///
    /// # Errors
    /// When it cannot be queued.
    fn queue(&self, image: &SessionImage, list: &str, parameters: &[Value]) -> SqlResult<()>;
}
