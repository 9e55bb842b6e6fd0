//! Squall inside another program: a data directory opened in this process, without a socket.
//!
//! ```no_run
//! let database = squall::Database::open("./squall-data")?;
//! let mut connection = database.connect()?;
//! for result in connection.query("SELECT 1 + 1")? {
//!     println!("{:?}", result.rows);
//! }
//! database.close()?;
//! # Ok::<(), squall::SqlError>(())
//! ```
//!
//! The `squall` program is a front end of the same sessions; see [`squall_session::api`] for their contract.

use std::path::Path;

use bytes::Bytes;
use squall_session::api::{Connection as _, Unanswered};
use squall_session::collector::Collector;
use squall_session::{OpenOptions, Session};
use tokio::runtime::Runtime;

pub use squall_session::api::ColumnMeta;
pub use squall_session::collector::StatementResult;
pub use squall_types::{SqlError, Value};

/// A data directory that this process has open. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Database(squall_session::Database);

impl Database {
    /// Opens a data directory, which is made if it is not there. Only one process can have it open.
    ///
    /// # Errors
    /// When another process has it open, or it cannot be read.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, SqlError> {
        let options = OpenOptions { modules: squall_modules::all(), ..OpenOptions::default() };
        squall_session::Database::open(directory, options).map(Self)
    }

    /// A new session, as `root`.
    ///
    /// # Errors
    /// When the database is closed.
    pub fn connect(&self) -> Result<Connection, SqlError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(SqlError::internal)?;
        Ok(Connection { session: self.0.connect()?, runtime })
    }

    /// Finishes what is under way and makes everything durable. Statements that come later fail.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn close(&self) -> Result<(), SqlError> {
        self.0.close()
    }
}

/// One session. It belongs to one thread.
#[derive(Debug)]
pub struct Connection {
    session: Session,
    runtime: Runtime,
}

impl Connection {
    /// Runs one or more statements, and collects their answers.
    ///
    /// # Errors
    /// The error of the first statement that fails; earlier ones have run.
    pub fn query(&mut self, sql: &str) -> Result<Vec<StatementResult>, SqlError> {
        let mut collector = Collector::default();
        let Self { session, runtime } = self;
        // A collector is never gone, so that only the statement can fail.
        runtime
            .block_on(session.query(&Bytes::copy_from_slice(sql.as_bytes()), Unanswered::default(), &mut collector))
            .map_err(SqlError::internal)?;
        collector.into_results()
    }
}
