//! Logins of clients that send their passwords in clear text.

use super::{Account, Backend, Connection, KillCallback};
use crate::result::writer::ConnectionInfo;
use squall_front_end::{Applicant, Login, Peer, Place};
use squall_types::SqlResult;

/// Who a client says it is, and by which way it says so.
#[derive(Debug)]
pub struct Credentials<'a> {
    /// The client.
    pub peer: &'a Peer,
    /// Its place among the connections that there may be: the one beyond `max_connections` is for CONNECTION_ADMIN (1040).
    pub place: &'a Place,
    /// The password. A protocol should take none that others can read on the way.
    pub password: &'a [u8],
    /// Whether its messages are private: it came by TLS or a Unix socket.
    pub is_secure: bool,
    /// The client can be asked for a new password, by error 1820 of its statements.
    pub can_change_password: bool,
}

/// A session for a client, of whom everything is checked that MySQL's protocol checks, in the same order and words. A refusal is counted
/// (`Aborted_connects`) and logged.
///
/// # Errors
/// 1045, 1862, 3118, 3159 and others of [`Applicant`]; those of [`Backend::connect`].
pub async fn log_in(
    backend: &dyn Backend,
    login: &Login,
    connection_id: u64,
    info: ConnectionInfo,
    credentials: Credentials<'_>,
    on_kill: KillCallback,
) -> SqlResult<Box<dyn Connection>> {
    let session = authenticate(backend, login, connection_id, &info, credentials, on_kill).await;
    told(backend, connection_id, &info, session)
}

/// A session for a client that has proved its account in another way than by a password: everything else is checked as by [`log_in`].
///
/// # Errors
/// 1045, 1862, 3118, 3159 and others of [`Applicant`]; those of [`Backend::connect`].
pub fn log_in_confirmed(
    backend: &dyn Backend,
    connection_id: u64,
    info: ConnectionInfo,
    account: &Account,
    host: &str,
    is_secure: bool,
    on_kill: KillCallback,
) -> SqlResult<Box<dyn Connection>> {
    let applicant = Applicant {
        user: &info.user,
        host,
        tls: info.tls.as_deref(),
        is_secure,
        can_change_password: false,
        changes_user: false,
    };
    let checked = applicant.check_transport(&backend.front_end_settings());
    let session = checked
        .and_then(|()| applicant.check_demands(account, true))
        .and_then(|()| backend.connect(connection_id, account, info.clone(), on_kill));
    told(backend, connection_id, &info, session)
}

/// Counts and logs a refusal.
fn told(
    backend: &dyn Backend,
    connection_id: u64,
    info: &ConnectionInfo,
    session: SqlResult<Box<dyn Connection>>,
) -> SqlResult<Box<dyn Connection>> {
    session.inspect_err(|error| {
        backend.connect_failed();
        backend.login_refused(connection_id, info, error);
    })
}

async fn authenticate(
    backend: &dyn Backend,
    login: &Login,
    connection_id: u64,
    info: &ConnectionInfo,
    credentials: Credentials<'_>,
    on_kill: KillCallback,
) -> SqlResult<Box<dyn Connection>> {
    let Credentials { peer, place, password, is_secure, can_change_password } = credentials;
    let applicant = Applicant {
        user: &info.user,
        host: &peer.host(),
        tls: info.tls.as_deref(),
        is_secure,
        can_change_password,
        changes_user: info.changes_user,
    };
    let settings = backend.front_end_settings();
    applicant.check_transport(&settings)?;
    let using_password = !password.is_empty();
    let account = backend.account(&info.user, info.address);
    let is_right = login.check_password(account.as_ref(), password, info.address).await?;
    let account = applicant.admit(backend, account, is_right, using_password)?;
    // As it is now: others may have gone while this one logged in.
    let beyond_limit = !info.changes_user && place.is_beyond(settings.max_connections);
    backend.connect(connection_id, &account, ConnectionInfo { beyond_limit, ..info.clone() }, on_kill)
}
