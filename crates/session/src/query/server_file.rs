//! Files of the server that statements name.

use crate::database::Shared;
use crate::session::Session;
use squall_catalog::{AccessMap, AccountKey, Privileges};
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::path::{Path, PathBuf};

impl Session {
    /// See [`server_file`].
    pub(crate) fn server_file(&self, path: &str) -> SqlResult<PathBuf> {
        server_file(&self.shared, &self.identity.account, &self.identity.access, path)
    }
}

/// A file of the server that an account may read or write: FILE and `secure_file_priv` have to allow it.
pub(crate) fn server_file(shared: &Shared, account: &AccountKey, access: &AccessMap, path: &str) -> SqlResult<PathBuf> {
    if !access.global.contains(Privileges::FILE) {
        return Err(shared.accounts.load_now().access_denied(account));
    }
    let globals = shared.globals.load_values();
    let refused = || SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--secure-file-priv"]);
    let directory = Values(&globals).text_or_null(ids::SECURE_FILE_PRIV).ok_or_else(refused)?;
    let full = if Path::new(path).is_absolute() { PathBuf::from(path) } else { shared.directory.join(path) };
    if directory.is_empty() {
        return Ok(full);
    }
    // What the path means once links and `..` are resolved decides.
    let parent = full.parent().unwrap_or(Path::new("/"));
    // A file that is to be made is where its folder is; one that is there may be a link.
    let resolved = full.canonicalize().or_else(|_| parent.canonicalize());
    let inside = match (resolved, Path::new(directory).canonicalize()) {
        (Ok(resolved), Ok(directory)) => resolved.starts_with(directory),
        _ => false,
    };
    if inside { Ok(full) } else { Err(refused()) }
}
