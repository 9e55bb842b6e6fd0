//! Sessions of requests: a session for each, by the login that all protocols share.

use crate::caller::Caller;
use crate::credentials::Credentials;
use crate::forms::Form;
use crate::problem::Problem;
use crate::rates::Rate;
use crate::secrets::{digest_of_account, is_same_digest};
use crate::server::RequestPlace;
use crate::signing::now_seconds;
use crate::writer::AnswerWriter;
use bytes::Bytes;
use hyper::StatusCode;
use squall_front_end::network_of;
use squall_session::Database;
use squall_session::api::{
    Account, Backend as _, Connection, ConnectionInfo, Credentials as Login, FrontEndContext as _, GrowingCharge,
    ResultWriter, TextRequest, host_matches, log_in, log_in_confirmed,
};
use squall_session::collector::{Collector, StatementResult};
use squall_types::{ErrorCode, SqlError, Value};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The privilege to send statements by HTTP.
pub const PRIVILEGE: &str = "JSON_API";
/// How the process list shows a request.
const COMMAND: &str = "Http";
/// Most bytes of a client's name that are kept.
const PROGRAM_BYTES_MAX: usize = 64;

/// What tells a request's task that it has to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    /// Told when the client is gone.
    pub gone: Arc<Notify>,
    /// Told by KILL.
    pub killed: Arc<Notify>,
}

/// What a request says beside its credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// What the client calls itself.
    pub program: &'a str,
    /// It changes nothing.
    pub is_reading: bool,
    /// It logs a page in: for that a password is taken even if requests may not have one.
    pub is_login: bool,
}

/// A session of a request.
pub(crate) struct RequestSession {
    pub connection: Box<dyn Connection>,
    /// The account, as it was proved.
    pub account: Option<Account>,
    pub database: Database,
    id: u64,
    gone: Arc<Notify>,
    deadline: Option<(Instant, Duration)>,
    has_timed_out: bool,
    /// The memory of the last result.
    charge: Option<GrowingCharge>,
    /// That of the body: bodies come before there is a place among the requests that run, so places do not bound them.
    body_charge: GrowingCharge,
    /// That result had more bytes than it might have.
    has_overflowed: bool,
    /// Its place among the requests that run.
    place: Option<RequestPlace>,
}

impl RequestSession {
    /// Logs a client in.
    ///
    /// # Errors
    /// 401, 403 without the privilege JSON_API, and others by the error of the login.
    pub async fn open(
        caller: &Rc<Caller>,
        credentials: &Credentials,
        asked: Asked<'_>,
        ends: &Ends,
    ) -> Result<RequestSession, Problem> {
        let database = caller.server.database()?;
        let settings = caller.server.settings();
        let id = database.next_connection_id();
        let killed = ends.killed.clone();
        let on_kill = Arc::new(move || killed.notify_one());
        let info = |user: &str| info(caller, user, asked.program);
        let (connection, account) = match credentials {
            Credentials::Basic { user, password }
                if settings.auth.basic || (asked.is_login && settings.auth.session) =>
            {
                let login = Login {
                    peer: &caller.peer,
                    place: &caller.place,
                    password,
                    is_secure: caller.is_secure(),
                    can_change_password: false,
                };
                check_passwords(caller)?;
                // As it is before the check: a password that changes meanwhile is not taken for the checked one.
                let account = database.account(user, caller.address());
                let session = log_in(&database, caller.services.login(), id, info(user), login, on_kill).await;
                // Who guesses many at once learns nothing of those beyond the limit, wrong or right.
                check_passwords(caller)?;
                let session = session.inspect_err(|error| count_wrong_password(caller, error))?;
                check_privilege(&*session)?;
                (session, account)
            }
            other => {
                let mut user = String::new();
                let confirmed = confirmed(caller, &database, other, asked.is_reading, &mut user);
                let Confirmed { account, limits } = confirmed.inspect_err(|problem| {
                    // Who sends no credentials has tried none.
                    if *other != Credentials::Missing {
                        tell_refusal(caller, &user, asked.program, problem);
                    }
                })?;
                let (info, host) = (info(&account.user), caller.peer.host());
                let is_secure = caller.is_secure();
                let mut session = log_in_confirmed(&database, id, info, &account, &host, is_secure, on_kill)?;
                // While the privileges of the whole server are there.
                check_privilege(&*session)?;
                limits.hold_in(&mut *session);
                (session, Some(account))
            }
        };
        if let Some(account) = &account {
            check_rate(caller, account)?;
        }
        let gone = ends.gone.clone();
        let body_charge = GrowingCharge::new(&connection.memory());
        Ok(RequestSession {
            connection,
            body_charge,
            account,
            database,
            id,
            gone,
            deadline: None,
            has_timed_out: false,
            charge: None,
            has_overflowed: false,
            place: None,
        })
    }

    /// It runs among others, as long as it lives.
    pub fn set_place(&mut self, place: RequestPlace) {
        self.place = Some(place);
    }

    /// From now on everything has to be over after this time.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.deadline = Some((Instant::now() + timeout, timeout));
    }

    /// `net_write_timeout`.
    pub fn write_timeout(&self) -> Duration {
        Duration::from_secs(self.connection.net_timeouts().write_seconds.max(1))
    }

    /// What the body is charged to while it comes.
    pub fn body_charge(&mut self) -> &mut GrowingCharge {
        &mut self.body_charge
    }

    /// `net_read_timeout`.
    pub fn read_timeout(&self) -> Duration {
        Duration::from_secs(self.connection.net_timeouts().read_seconds.max(1))
    }

    /// Runs statements, and kills them when the client goes or the time is over. Whether the writer can still be used; it has the statements'
    /// error, if there is one.
    pub async fn run(&mut self, sql: &Bytes, values: Vec<Value>, writer: &mut dyn ResultWriter) -> bool {
        let text = TextRequest { command: COMMAND, sql, values };
        let mut running = self.connection.run_text(text, writer);
        let deadline = self.deadline.map(|(deadline, _)| deadline);
        let far = Instant::now() + Duration::from_secs(30 * 24 * 3600);
        loop {
            tokio::select! {
                ran = &mut running => return ran.is_ok(),
                () = self.gone.notified() => self.database.client_gone(self.id),
                () = sleep_until(deadline.unwrap_or(far)), if deadline.is_some() && !self.has_timed_out => {
                    self.has_timed_out = true;
                    self.database.client_gone(self.id);
                }
            }
        }
    }

    /// The rows of a query of the server's own, for the client's account.
    ///
    /// # Errors
    /// The query's.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Problem> {
        self.rows_with(sql, Vec::new()).await
    }

    /// The same with a value for each `?`.
    ///
    /// # Errors
    /// The query's.
    pub async fn rows_with(&mut self, sql: &str, values: Vec<Value>) -> Result<Vec<Vec<Value>>, Problem> {
        self.result_of(sql, values).await.map(|result| result.rows)
    }

    /// Gives back the memory of the last result, which nobody has any more.
    pub fn release_result(&mut self) {
        self.charge = None;
    }

    /// The result of a statement of the server's own, in memory.
    ///
    /// # Errors
    /// The statement's.
    pub async fn result_of(&mut self, sql: &str, values: Vec<Value>) -> Result<StatementResult, Problem> {
        let collector = Collector::charged(&self.connection.memory());
        self.collected(sql, values, collector).await
    }

    /// The rows of a query of the server's own, if they have no more than so many bytes; `None` if they have.
    ///
    /// # Errors
    /// The query's.
    pub async fn rows_within(
        &mut self,
        bytes_max: usize,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Option<Vec<Vec<Value>>>, Problem> {
        let collector = Collector::bounded(bytes_max, &self.connection.memory());
        match self.collected(sql, values, collector).await {
            Ok(result) => Ok(Some(result.rows)),
            Err(_) if self.has_overflowed => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    async fn collected(
        &mut self,
        sql: &str,
        values: Vec<Value>,
        mut collector: Collector,
    ) -> Result<StatementResult, Problem> {
        let ran = self.run(&Bytes::copy_from_slice(sql.as_bytes()), values, &mut collector).await;
        self.has_overflowed = collector.is_full();
        let (mut results, charge) = collector.into_charged_results()?;
        // Until the next result, for which this one is no longer needed.
        self.charge = charge;
        match results.pop() {
            Some(result) if ran => Ok(result),
            _ => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the statement was ended")),
        }
    }

    /// Runs a statement without rows.
    ///
    /// # Errors
    /// The statement's.
    pub async fn run_command(&mut self, sql: &str, values: Vec<Value>) -> Result<(), Problem> {
        self.rows_with(sql, values).await.map(|_| ())
    }

    /// What has ended statements that did not end by themselves: `ran` is what [`RequestSession::run`] said, `has_error` whether there is a
    /// statement's error.
    pub fn problem(&self, ran: bool, has_error: bool) -> Option<Problem> {
        if ran && !has_error {
            return None;
        }
        if let Some((_, timeout)) = self.deadline.filter(|_| self.has_timed_out) {
            let detail = format!("the request took longer than {} ms", timeout.as_millis());
            return Some(Problem::new(StatusCode::GATEWAY_TIMEOUT, detail));
        }
        (!has_error).then(|| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the statement was ended"))
    }

    /// Runs statements and ends their answer.
    pub async fn answer<F: Form>(mut self, sql: &Bytes, values: Vec<Value>, mut writer: AnswerWriter<F>) {
        let ran = self.run(sql, values, &mut writer).await;
        let problem = self.problem(ran, writer.has_failed());
        if writer.is_nearly_sent() {
            // Its place is for others, however slowly the client takes the rest.
            drop(self);
        }
        // A client that has gone needs no answer.
        let _gone = writer.finish(problem).await;
    }
}

impl std::fmt::Debug for RequestSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestSession").field("id", &self.id).field("place", &self.place).finish_non_exhaustive()
    }
}

/// Counts and logs credentials that were refused, as those of other logins are.
pub(crate) fn tell_refusal(caller: &Caller, user: &str, program: &str, problem: &Problem) {
    let is_refused = matches!(problem.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let Some(database) = caller.server.database().ok().filter(|_| is_refused) else { return };
    let message = format!("Access denied for user '{user}'@'{}' ({})", caller.peer.host(), problem.detail);
    let error = SqlError::with_message(ErrorCode::AccessDenied, message);
    database.connect_failed();
    database.login_refused(database.next_connection_id(), &info(caller, user, program), &error);
}

/// An account that was proved without a password.
struct Confirmed {
    account: Account,
    limits: Limits,
}

impl Confirmed {
    fn without_limits(account: Account) -> Confirmed {
        Confirmed { account, limits: Limits::default() }
    }
}

/// What a token takes from its account's rights.
#[derive(Default)]
struct Limits {
    read_only: bool,
    schemas: Option<BTreeSet<String>>,
}

impl Limits {
    fn hold_in(self, session: &mut dyn Connection) {
        if self.read_only {
            session.set_read_only();
        }
        if let Some(schemas) = self.schemas {
            session.limit_to_databases(schemas);
        }
    }
}

/// 1227 for an account that may send no statements by HTTP.
pub(crate) fn check_privilege(session: &dyn Connection) -> Result<(), Problem> {
    match session.account_has_privilege(PRIVILEGE) {
        true => Ok(()),
        false => Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&PRIVILEGE]).into()),
    }
}

/// 401 once the credentials that opened a session mean nothing any more: the token, the login or the password is another, or gone.
/// `account` is as it was proved.
pub(crate) fn check_still_valid(
    caller: &Caller,
    credentials: &Credentials,
    account: Option<&Account>,
) -> Result<(), Problem> {
    let database = caller.server.database()?;
    if !matches!(credentials, Credentials::Basic { .. }) {
        return confirmed(caller, &database, credentials, true, &mut String::new()).map(|_| ());
    }
    let now = account.and_then(|account| database.account_named(&account.user, &account.host));
    match account.zip(now) {
        Some((then, now)) if is_same_digest(&digest_of_account(then), &digest_of_account(&now)) => Ok(()),
        _ => Err(Problem::new(StatusCode::UNAUTHORIZED, "the account has another password now")),
    }
}

/// 429 for a client whose network has sent too many wrong passwords, whatever it sends now. Tokens and cookies cannot be guessed, and are
/// taken.
fn check_passwords(caller: &Caller) -> Result<(), Problem> {
    let Some(rate) = Rate::each_minute(caller.server.settings().wrong_passwords_max) else { return Ok(()) };
    let network = caller.address().map(network_of);
    caller.server.wrong_passwords.check(&network, rate, std::time::Instant::now()).map_err(|wait| {
        caller.server.rate_limited.fetch_add(1, Ordering::Relaxed);
        Problem::too_often("too many wrong passwords came from this address (json_server_max_wrong_passwords)", wait)
    })
}

fn count_wrong_password(caller: &Caller, error: &SqlError) {
    let rate = Rate::each_minute(caller.server.settings().wrong_passwords_max);
    if let Some(rate) = rate.filter(|_| error.known() == Some(ErrorCode::AccessDenied)) {
        let network = caller.address().map(network_of);
        caller.server.wrong_passwords.count(network, rate, std::time::Instant::now());
    }
}

/// Counts a request of an account; 429 if it has sent too many in the last second.
fn check_rate(caller: &Caller, account: &Account) -> Result<(), Problem> {
    let Some(rate) = Rate::each_second(caller.server.settings().requests_per_second_max) else { return Ok(()) };
    let key = (account.user.clone(), account.host.clone());
    caller.server.request_rates.take(key, rate, std::time::Instant::now()).map_err(|wait| {
        caller.server.rate_limited.fetch_add(1, Ordering::Relaxed);
        Problem::too_often("the account sends too many requests (json_server_max_requests_per_second)", wait)
    })
}

/// The refusal of a page that does not know its login's token.
pub(crate) fn wrong_token() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "the header X-CSRF-Token is not that of the login")
}

/// The account that credentials without a password mean. `told` gets the user that they name.
fn confirmed(
    caller: &Caller,
    database: &Database,
    credentials: &Credentials,
    is_reading: bool,
    told: &mut String,
) -> Result<Confirmed, Problem> {
    let settings = caller.server.settings();
    let unauthorized = |detail: &str| Problem::new(StatusCode::UNAUTHORIZED, detail);
    let named = |user: &str, host: &str| {
        database.account_named(user, host).filter(|account| host_matches(&account.host, caller.address()))
    };
    match credentials {
        Credentials::Missing => {
            let missing = || unauthorized("credentials are missing");
            let (user, host) = settings.anonymous_account.as_ref().ok_or_else(missing)?;
            named(user, host).map(Confirmed::without_limits).ok_or_else(missing)
        }
        Credentials::Session { cookie, csrf } if settings.auth.session => {
            let over = || unauthorized("the login of this page is over");
            let login = caller.server.page_sessions.find(cookie).ok_or_else(over)?;
            told.clone_from(&login.user);
            let account = named(&login.user, &login.host).ok_or_else(over)?;
            if !login.is_of(&account) {
                caller.server.page_sessions.end(cookie);
                return Err(over());
            }
            // Another page may make a browser send the cookie, but it does not know the token.
            if !is_reading && !login.has_token(csrf.as_deref()) {
                return Err(wrong_token());
            }
            Ok(Confirmed::without_limits(account))
        }
        Credentials::Bearer(token) if settings.auth.bearer => {
            let invalid = || unauthorized("the API token is not valid");
            let found = caller.server.tokens.find(token)?.ok_or_else(invalid)?;
            told.clone_from(&found.user);
            let account = named(&found.user, &found.host).ok_or_else(invalid)?;
            if !is_same_digest(&digest_of_account(&account), &found.verifier) {
                return Err(invalid());
            }
            Ok(Confirmed { account, limits: Limits { read_only: found.read_only, schemas: found.schemas } })
        }
        Credentials::Signed(signed) if settings.sign_seconds_max > 0 => {
            let invalid = || unauthorized("the URL is not signed");
            told.clone_from(&signed.user);
            // Whoever has it, wherever he is.
            let account = database.account_named(&signed.user, &signed.host).ok_or_else(invalid)?;
            caller.server.signing.check(&account, signed, now_seconds())?;
            Ok(Confirmed::without_limits(account))
        }
        _ => Err(unauthorized("json_server_auth does not have this way of authentication")),
    }
}

fn info(caller: &Caller, user: &str, program: &str) -> ConnectionInfo {
    let mut end = program.len().min(PROGRAM_BYTES_MAX);
    while !program.is_char_boundary(end) {
        end -= 1;
    }
    let mut attributes = vec![("_client_name".to_owned(), "http".to_owned())];
    if end > 0 {
        attributes.push(("program_name".to_owned(), program[..end].to_owned()));
    }
    ConnectionInfo {
        multi_statements: true,
        tls: caller.tls.clone(),
        attributes,
        socket: Some(caller.counted.clone()),
        ..ConnectionInfo::new(user.to_owned(), &caller.peer)
    }
}
