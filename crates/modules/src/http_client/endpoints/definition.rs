//! CREATE, ALTER, DROP, SHOW and SHOW CREATE HTTP ENDPOINT.

use super::super::options::{header_of, wrong};
use super::super::running::sql_error;
use super::super::{ENDPOINT_EXISTS, NO_ENDPOINT, Shared};
use super::reference::is_name;
use super::table::{columns, text, users, values};
use super::{ENDPOINT_PRIVILEGE, Endpoint, SPACE, Users, filled, has_place, key};
use squall_catalog::AccountKey;
use squall_http_client::Target;
use squall_parser::ast::{AccountName, EndpointUsers, HttpEndpoint, Ident, SecretClause, Show, Statement};
use squall_session::ModuleObjects;
use squall_statement_context::{NestedResult, StatementContext};
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, Value};
use std::sync::Arc;

/// Most headers of an endpoint.
const HEADERS_MAX: usize = 50;
/// Most bytes of its URL, headers and secret, as requests have them.
const BYTES_MAX: usize = 32 << 10;
/// Most bytes of one header, and of the secret that may stand in it many times.
const PART_BYTES_MAX: usize = 4 << 10;
/// Most accounts that it is for.
const ACCOUNTS_MAX: usize = 1000;
/// What messages call the statements.
const NAME: &str = "http endpoint";
/// Headers whose names have one of these hold credentials.
const CREDENTIAL_WORDS: &[&str] =
    &["auth", "cookie", "token", "secret", "passw", "api-key", "apikey", "api_key", "credential", "signature"];

/// Statements about endpoints.
#[derive(Debug)]
pub(in super::super) struct EndpointObjects(pub Arc<Shared>);

impl ModuleObjects for EndpointObjects {
    fn defines(&self, statement: &Statement) -> bool {
        matches!(
            statement,
            Statement::CreateHttpEndpoint { .. } | Statement::AlterHttpEndpoint(_) | Statement::DropHttpEndpoint { .. }
        )
    }

    fn define(&self, statement: &Statement, context: &StatementContext) -> SqlResult<Option<NestedResult>> {
        context.demand_privilege(ENDPOINT_PRIVILEGE)?;
        let done = match statement {
            Statement::CreateHttpEndpoint { or_replace: true, if_not_exists: true, .. } => {
                Err(SqlError::new(ErrorCode::WrongUsage, &[&"OR REPLACE", &"IF NOT EXISTS"]))
            }
            Statement::CreateHttpEndpoint { or_replace, if_not_exists, endpoint } => {
                self.create(endpoint, *or_replace, *if_not_exists, context)
            }
            Statement::AlterHttpEndpoint(endpoint) => self.alter(endpoint, context),
            Statement::DropHttpEndpoint { if_exists, name } => self.drop_named(name, *if_exists, context),
            _ => Err(SqlError::internal("not a statement about HTTP endpoints")),
        };
        done.map(|()| None)
    }

    fn show(&self, show: &Show, context: &StatementContext) -> Option<SqlResult<NestedResult>> {
        match show {
            Show::HttpEndpoints(_) => Some(self.list(context)),
            Show::CreateHttpEndpoint(name) => Some(self.show_create(name, context)),
            _ => None,
        }
    }
}

fn no_endpoint(name: &str) -> SqlError {
    SqlError::of_module(&NO_ENDPOINT, &[&name])
}

impl EndpointObjects {
    /// # Errors
    /// 50413 if there is one of that name.
    fn create(
        &self,
        asked: &HttpEndpoint,
        or_replace: bool,
        if_not_exists: bool,
        context: &StatementContext,
    ) -> SqlResult<()> {
        let name = asked.name.as_str();
        if !is_name(name) {
            let what =
                "a name begins with a letter, has letters, digits, _ and -, 64 at most, and is no scheme of URLs";
            return Err(wrong(NAME, what));
        }
        if !or_replace && self.0.endpoint(name)?.is_some() {
            let exists = SqlError::of_module(&ENDPOINT_EXISTS, &[&name]);
            if !if_not_exists {
                return Err(exists);
            }
            context.diagnostics.push(Level::Note, exists);
            return Ok(());
        }
        let new = Endpoint {
            name: name.to_string(),
            url: String::new(),
            headers: Vec::new(),
            secret: String::new(),
            users: Users::Accounts(Vec::new()),
            modified_by: String::new(),
            modified_micros: 0,
        };
        self.keep(changed(new, asked, self, context)?)
    }

    /// # Errors
    /// 50414 if there is none of that name; 1210 for a URL of another origin without a word about the secret.
    fn alter(&self, asked: &HttpEndpoint, context: &StatementContext) -> SqlResult<()> {
        let name = asked.name.as_str();
        let before = self.0.endpoint(name)?.ok_or_else(|| no_endpoint(name))?;
        let after = changed(before.clone(), asked, self, context)?;
        let origin = |url: &str| Target::parse(url).ok();
        let is_moved = match (origin(&before.url), origin(&after.url)) {
            (Some(before), Some(after)) => !after.is_of_origin(&before),
            _ => true,
        };
        // Who may not read the secret does not get it by sending it home either.
        if is_moved && !before.secret.is_empty() && asked.secret.is_none() {
            return Err(wrong(NAME, "a URL of another host comes with its own SECRET, or DROP SECRET"));
        }
        self.keep(after)
    }

    fn drop_named(&self, name: &Ident, if_exists: bool, context: &StatementContext) -> SqlResult<()> {
        match self.0.endpoint(name.as_str())? {
            Some(_) => self.0.database()?.records(SPACE).put(&key(name.as_str()), None),
            None if if_exists => {
                context.diagnostics.push(Level::Note, no_endpoint(name.as_str()));
                Ok(())
            }
            None => Err(no_endpoint(name.as_str())),
        }
    }

    fn keep(&self, endpoint: Endpoint) -> SqlResult<()> {
        self.0.database()?.records(SPACE).put(&key(&endpoint.name), Some(endpoint.encode()))
    }

    fn list(&self, context: &StatementContext) -> SqlResult<NestedResult> {
        let titles = ["Name", "Url", "Headers", "Has_secret", "Users"].into_iter().map(str::to_string);
        let types = columns().into_iter().map(|(_, sql_type)| sql_type);
        let rows = self.0.endpoints(context)?.iter().map(values).collect();
        Ok(NestedResult { columns: titles.zip(types).collect(), rows, ..NestedResult::default() })
    }

    /// # Errors
    /// 50414 if there is none for this account.
    fn show_create(&self, name: &Ident, context: &StatementContext) -> SqlResult<NestedResult> {
        let endpoint = self.0.endpoint(name.as_str())?.filter(|endpoint| endpoint.is_for(context));
        let endpoint = endpoint.ok_or_else(|| no_endpoint(name.as_str()))?;
        let columns = vec![("HTTP Endpoint".to_string(), text(64)), ("Create HTTP Endpoint".to_string(), text(16_383))];
        let rows = vec![vec![Value::from(endpoint.name.as_str()), Value::String(statement_of(&endpoint))]];
        Ok(NestedResult { columns, rows, ..NestedResult::default() })
    }

    /// The accounts of FOR, each once.
    ///
    /// # Errors
    /// 3162 for one that is not there.
    fn accounts(&self, names: &[AccountName], context: &StatementContext) -> SqlResult<Vec<AccountKey>> {
        if names.len() > ACCOUNTS_MAX {
            return Err(wrong(NAME, "it is for too many accounts; a role does it"));
        }
        let database = self.0.database()?;
        let mut accounts = Vec::new();
        for name in names {
            let account = match name {
                AccountName::Named { user, host } => {
                    AccountKey::new(&**user, host.as_deref().unwrap_or("%").to_lowercase())
                }
                AccountName::CurrentRole => return Err(SqlError::unsupported("FOR CURRENT_ROLE")),
                AccountName::CurrentUser => {
                    let (user, host) = context.current_user.rsplit_once('@').unwrap_or((&context.current_user, ""));
                    AccountKey::new(user, host)
                }
            };
            if !database.has_account(&account) {
                let shown = format!("`{}`@`{}`", account.user, account.host);
                return Err(SqlError::new(ErrorCode::UserDoesNotExist, &[&shown]));
            }
            if !accounts.contains(&account) {
                accounts.push(account);
            }
        }
        Ok(accounts)
    }
}

/// The statement that would define an endpoint, but for its secret; where that stands it cannot be read as a statement.
fn statement_of(endpoint: &Endpoint) -> String {
    let shown = HttpEndpoint {
        name: Ident::new(endpoint.name.as_str()),
        url: Some(endpoint.url.as_str().into()),
        headers: endpoint.headers.iter().map(|(name, value)| format!("{name}: {value}").into()).collect(),
        dropped_headers: Vec::new(),
        secret: None,
        users: None,
    };
    let shown = Statement::CreateHttpEndpoint { or_replace: false, if_not_exists: false, endpoint: Box::new(shown) };
    let secret = if endpoint.secret.is_empty() { "" } else { " SECRET <secret>" };
    format!("{shown}{secret} FOR {}", users(endpoint))
}

/// An endpoint with what a statement says of it.
fn changed(
    mut endpoint: Endpoint,
    asked: &HttpEndpoint,
    objects: &EndpointObjects,
    context: &StatementContext,
) -> SqlResult<Endpoint> {
    if let Some(url) = &asked.url {
        endpoint.url = url_of(url)?;
    }
    let is_short = |text: &str| text.len() <= PART_BYTES_MAX;
    let secret = match &asked.secret {
        Some(SecretClause::Set(secret)) => secret,
        _ => "",
    };
    if asked.headers.len().max(asked.dropped_headers.len()) > HEADERS_MAX
        || !is_short(secret)
        || !asked.headers.iter().all(|header| is_short(header))
    {
        let what = format!(
            "it has more than {HEADERS_MAX} headers, or a header or secret of more than {PART_BYTES_MAX} bytes"
        );
        return Err(wrong(NAME, &what));
    }
    for name in &asked.dropped_headers {
        let before = endpoint.headers.len();
        endpoint.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name.trim()));
        if endpoint.headers.len() == before {
            return Err(wrong(NAME, &format!("it has no header {}", cut(name))));
        }
    }
    let mut given: Vec<(String, String)> = Vec::new();
    for header in &asked.headers {
        let (name, value) = header.split_once(':').ok_or_else(|| wrong(NAME, "a header is 'name: value'"))?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if given.iter().any(|(known, _)| *known == name) {
            return Err(wrong(NAME, &format!("the header {} stands twice", cut(&name))));
        }
        given.push((name, value.to_string()));
    }
    endpoint.headers.retain(|(known, _)| !given.iter().any(|(name, _)| name == known));
    endpoint.headers.extend(given);
    match &asked.secret {
        Some(SecretClause::Set(secret)) if secret.is_empty() => return Err(wrong(NAME, "the secret is empty")),
        Some(SecretClause::Set(secret)) => endpoint.secret = secret.to_string(),
        Some(SecretClause::Drop) => endpoint.secret = String::new(),
        None => {}
    }
    match &asked.users {
        Some(EndpointUsers::Public) => endpoint.users = Users::Public,
        Some(EndpointUsers::None) => endpoint.users = Users::Accounts(Vec::new()),
        Some(EndpointUsers::Accounts(names)) => endpoint.users = Users::Accounts(objects.accounts(names, context)?),
        None => {}
    }
    check(&endpoint)?;
    endpoint.modified_micros = now_micros();
    endpoint.modified_by = context.current_user.to_string();
    Ok(endpoint)
}

/// The URL of an endpoint in the form for requests.
///
/// # Errors
/// 1210 for an invalid URL, or one with a secret part.
fn url_of(url: &str) -> SqlResult<String> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
    if !matches!(scheme.as_deref(), Some("http" | "https")) {
        return Err(wrong(NAME, "the URL begins with http:// or https://"));
    }
    let target = Target::parse(url).map_err(|error| sql_error(NAME, &error))?;
    if target.authorization().is_some() {
        return Err(wrong(NAME, "credentials do not stand in the URL but in SECRET"));
    }
    if url.contains(['?', '#']) {
        return Err(wrong(NAME, "the URL has neither a query nor a fragment: requests add theirs"));
    }
    Ok(target.url().to_string())
}

/// Whether requests can be made with an endpoint.
fn check(endpoint: &Endpoint) -> SqlResult<()> {
    let mut bytes = endpoint.url.len() + endpoint.secret.len();
    for (name, value) in &endpoint.headers {
        if !has_place(value) && CREDENTIAL_WORDS.iter().any(|word| name.contains(word)) {
            let name = cut(name);
            return Err(wrong(
                NAME,
                &format!("the value of {name} is a secret: '{name}: {{secret}}' and SECRET say it"),
            ));
        }
        if has_place(value) && endpoint.secret.is_empty() {
            return Err(wrong(NAME, "a header has a place for a secret, and there is no SECRET"));
        }
        let filled = filled(value, &endpoint.secret);
        bytes = bytes.saturating_add(name.len() + filled.len());
        header_of(NAME, name, &filled)?;
        if bytes > BYTES_MAX {
            break;
        }
    }
    // Before all of them are made: a header may name the secret many times.
    if bytes > BYTES_MAX || endpoint.headers.len() > HEADERS_MAX {
        return Err(wrong(NAME, &format!("it has more than {HEADERS_MAX} headers, or more than {BYTES_MAX} bytes")));
    }
    endpoint.headers(NAME).map(drop)
}

/// A name as messages show it: no longer than names are.
fn cut(name: &str) -> String {
    name.chars().take(64).collect()
}
