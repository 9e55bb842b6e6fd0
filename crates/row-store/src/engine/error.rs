//! Errors of the engine.

/// The result of an operation of the engine.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why an operation did not happen.
#[derive(Debug)]
pub(crate) enum Error {
    /// The system's.
    Io(std::io::Error),
    /// A file that is not as it was written.
    Tree(lsm_tree::Error),
    /// A file could not be written or read in the background.
    Stopped,
    /// The files of the keyspace of this name are not there.
    Missing(String),
    /// The folder is of a form that is not known, or of an earlier one whose engine was not closed.
    Form(&'static str),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io(error) => write!(f, "{error}"),
            Error::Tree(error) => write!(f, "{error}"),
            Error::Stopped => f.write_str("stopped after an input/output error"),
            Error::Missing(name) => write!(f, "the files of keyspace {name} are missing"),
            Error::Form(what) => f.write_str(what),
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::Io(error)
    }
}

impl From<lsm_tree::Error> for Error {
    fn from(error: lsm_tree::Error) -> Error {
        match error {
            lsm_tree::Error::Io(error) => Error::Io(error),
            error => Error::Tree(error),
        }
    }
}
