//! API tokens: CREATE, DROP and SHOW, and what a request's token means.

use squall_catalog::AccountKey;
use squall_front_end::Account;
use squall_http_api::secrets::{digest, digest_of_account, is_same_digest, new_secret};
use squall_http_api::{PRIVILEGE, TokenAccount, TokenSource};
use squall_parser::ast::{AccountName, CreateApiToken, IntervalUnit, Show, Statement};
use squall_row_store::{Malformed, Reader, Writer};
use squall_session::api::Backend as _;
use squall_session::{Database, ModuleObjects, WeakDatabase};
use squall_statement_context::{NestedResult, StatementContext};
use squall_types::clock::now_micros;
use squall_types::{CollationId, ErrorCode, Level, ModuleError, SqlError, SqlResult, SqlType, Value};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// The privilege to manage the tokens of other accounts. It is as much as all of their privileges.
pub(super) const ADMIN: &str = "API_TOKEN_ADMIN";
/// There is none of that name, or none for the account.
pub(super) const NO_TOKEN: ModuleError = ModuleError::new(50_450, b"42000", "There is no API token '%s'");
/// The kind of record.
const SPACE: &str = "http_api_tokens";
/// Version of the layout.
const FORMAT: u8 = 2;
/// The one before: without schemas.
const FORMAT_WITHOUT_SCHEMAS: u8 = 1;
/// How tokens begin, so that people and programs that look for secrets know one.
const PREFIX: &str = "sqt_";
/// Characters of a token's name.
const ID_CHARACTERS: usize = 12;
/// Most tokens of an account.
const ACCOUNT_TOKENS_MAX: usize = 100;
/// Tokens that have ended and are removed at once, at most: each is a write.
const REMOVED_MAX: usize = 1000;
/// Most tokens of the server.
const TOKENS_MAX: usize = 100_000;
/// Most schemas that a token is limited to.
const SCHEMAS_MAX: usize = 100;
/// Most bytes of a comment.
const COMMENT_BYTES_MAX: usize = 1024;
/// The longest life of a token, seconds.
const LIFE_SECONDS_MAX: u64 = 100 * 366 * 86_400;

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    id: String,
    digest: Vec<u8>,
    account: AccountKey,
    /// The account's digest when the token was made: another password ends it, and so does another account of the same name.
    verifier: Vec<u8>,
    created_micros: i64,
    /// `i64::MAX` for never.
    expires_micros: i64,
    read_only: bool,
    /// The only databases that it reaches, if it is limited to some.
    schemas: Option<BTreeSet<String>>,
    comment: String,
}

impl Token {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new(FORMAT);
        out.str(&self.id);
        out.bytes(&self.digest);
        out.str(&self.account.user);
        out.str(&self.account.host);
        out.bytes(&self.verifier);
        out.i64(self.created_micros);
        out.i64(self.expires_micros);
        out.bool(self.read_only);
        out.option(self.schemas.as_ref(), |out, names| {
            out.list(&names.iter().collect::<Vec<_>>(), |out, name| out.str(name));
        });
        out.str(&self.comment);
        out.finish()
    }

    fn read(bytes: &[u8]) -> Result<Token, Malformed> {
        let mut reader = Reader::new(bytes);
        let format = reader.u8()?;
        if !matches!(format, FORMAT_WITHOUT_SCHEMAS | FORMAT) {
            return Err(Malformed);
        }
        Ok(Token {
            id: reader.string()?,
            digest: reader.bytes()?.to_vec(),
            account: AccountKey::new(reader.string()?, reader.string()?),
            verifier: reader.bytes()?.to_vec(),
            created_micros: reader.i64()?,
            expires_micros: reader.i64()?,
            read_only: reader.bool()?,
            schemas: match format {
                FORMAT_WITHOUT_SCHEMAS => None,
                _ => reader.option(|reader| reader.list(Reader::string))?.map(|names| names.into_iter().collect()),
            },
            comment: reader.string()?,
        })
    }

    fn decode(bytes: &[u8]) -> SqlResult<Token> {
        Self::read(bytes).map_err(|_| SqlError::internal("a record of an API token is damaged"))
    }

    /// Whether the account of a statement may manage it.
    fn is_of(&self, context: &StatementContext) -> bool {
        account_of(context) == self.account || context.demand_privilege(ADMIN).is_ok()
    }
}

fn account_of(context: &StatementContext) -> AccountKey {
    let (user, host) = context.current_user.rsplit_once('@').unwrap_or((&context.current_user, ""));
    AccountKey::new(user, host)
}

/// 1227 for requests by a token that is limited to schemas: another token would not be.
fn check_may_manage(context: &StatementContext) -> SqlResult<()> {
    match context.active_grants.is_limited() {
        true => context.demand_privilege(ADMIN),
        false => Ok(()),
    }
}

fn verifier_of(account: &Account) -> Vec<u8> {
    digest_of_account(account).to_vec()
}

/// Removes tokens that mean nothing any more, and checks that there may be another one of an account.
fn make_room(database: &Database, account: &AccountKey) -> SqlResult<()> {
    let records = database.records(SPACE);
    let now = now_micros();
    let (mut all, mut own, mut removed) = (0, 0, 0);
    for (key, record) in records.all()? {
        let token = Token::decode(&record)?;
        let owner = database.account_named(&token.account.user, &token.account.host);
        let is_owned = owner.is_some_and(|owner| is_same_digest(&verifier_of(&owner), &token.verifier));
        if is_owned && token.expires_micros > now {
            all += 1;
            own += usize::from(token.account == *account);
        } else if removed < REMOVED_MAX {
            removed += 1;
            records.put(&key, None)?;
        }
    }
    let exceeded = |resource: &str, count: usize| {
        Err(SqlError::new(ErrorCode::UserLimitReached, &[&account.user, &resource, &count]))
    };
    match (own >= ACCOUNT_TOKENS_MAX, all >= TOKENS_MAX) {
        (true, _) => exceeded("API tokens of an account", own),
        (false, true) => exceeded("API tokens of all accounts", all),
        (false, false) => Ok(()),
    }
}

/// Statements about tokens.
#[derive(Debug, Default)]
pub(super) struct Tokens(OnceLock<WeakDatabase>);

impl Tokens {
    pub fn start(&self, database: &Database) {
        // No other task starts it.
        let _first = self.0.set(database.downgrade());
    }

    fn database(&self) -> SqlResult<Database> {
        let database = self.0.get().and_then(WeakDatabase::upgrade);
        database.ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    fn get(&self, id: &str) -> SqlResult<Option<Token>> {
        let record = self.database()?.records(SPACE).get(id.as_bytes())?;
        record.map(|bytes| Token::decode(&bytes)).transpose()
    }

    fn create(&self, asked: &CreateApiToken, context: &StatementContext) -> SqlResult<NestedResult> {
        let account = match &asked.account {
            AccountName::Named { user, host } => {
                AccountKey::new(&**user, host.as_deref().unwrap_or("%").to_lowercase())
            }
            AccountName::CurrentUser => account_of(context),
            AccountName::CurrentRole => return Err(SqlError::unsupported("FOR CURRENT_ROLE")),
        };
        // The token would be of no use without it.
        context.demand_privilege(if account == account_of(context) { PRIVILEGE } else { ADMIN })?;
        let database = self.database()?;
        let found = database.account_named(&account.user, &account.host);
        let no_account = || {
            let shown = format!("'{}'@'{}'", account.user, account.host);
            SqlError::new(ErrorCode::UserDoesNotExist, &[&shown])
        };
        let verifier = verifier_of(&found.ok_or_else(no_account)?);
        let records = database.records(SPACE);
        make_room(&database, &account)?;
        let comment = asked.comment.as_deref().unwrap_or_default();
        if comment.len() > COMMENT_BYTES_MAX {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&"COMMENT"]));
        }
        let schemas = asked.schemas.as_ref().map(|names| names.iter().map(|name| name.value.to_string()).collect());
        if schemas.as_ref().is_some_and(|names: &BTreeSet<String>| names.len() > SCHEMAS_MAX) {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&"SCHEMAS"]));
        }
        let created_micros = now_micros();
        let expires_micros = match &asked.expire {
            None => i64::MAX,
            Some((count, unit)) => created_micros.saturating_add(micros_of(*count, *unit)?),
        };
        let no_secret = |error| SqlError::internal(format_args!("no random bytes: {error}"));
        // A name is letters and digits, so that it can be told from the secret.
        let name = new_secret().map_err(no_secret)?;
        let id: String = name.chars().filter(char::is_ascii_alphanumeric).take(ID_CHARACTERS).collect();
        let secret = format!("{PREFIX}{id}_{}", new_secret().map_err(no_secret)?);
        let token = Token {
            id: id.clone(),
            digest: digest(&secret).to_vec(),
            account,
            verifier,
            created_micros,
            expires_micros,
            read_only: asked.read_only,
            schemas,
            comment: comment.to_owned(),
        };
        if records.get(id.as_bytes())?.is_some() {
            return Err(SqlError::internal("two API tokens got the same name"));
        }
        records.put(id.as_bytes(), Some(token.encode()))?;
        let columns = vec![("Id".to_owned(), text(64)), ("Token".to_owned(), text(256))];
        Ok(NestedResult {
            columns,
            rows: vec![vec![Value::String(id), Value::String(secret)]],
            ..NestedResult::default()
        })
    }

    fn drop_token(&self, id: &str, if_exists: bool, context: &StatementContext) -> SqlResult<()> {
        let missing = SqlError::of_module(&NO_TOKEN, &[&id]);
        match self.get(id)?.filter(|token| token.is_of(context)) {
            Some(_) => self.database()?.records(SPACE).put(id.as_bytes(), None),
            None if if_exists => {
                context.diagnostics.push(Level::Note, missing);
                Ok(())
            }
            None => Err(missing),
        }
    }

    fn list(&self, context: &StatementContext) -> SqlResult<NestedResult> {
        let zone = &context.settings.time_zone;
        let time = |micros: i64| match micros {
            i64::MAX => Value::Null,
            micros => zone.from_unix_micros(micros).map_or(Value::Null, Value::DateTime),
        };
        let mut rows = Vec::new();
        for (_, record) in self.database()?.records(SPACE).all()? {
            let token = Token::decode(&record)?;
            if token.is_of(context) {
                rows.push(vec![
                    Value::String(token.id.clone()),
                    Value::String(format!("'{}'@'{}'", token.account.user, token.account.host)),
                    time(token.created_micros),
                    time(token.expires_micros),
                    Value::from(if token.read_only { "YES" } else { "NO" }),
                    token.schemas.as_ref().map_or(Value::Null, |names| Value::String(quoted(names))),
                    Value::String(token.comment.clone()),
                ]);
            }
        }
        let moment = SqlType::DateTime { fsp: 0 };
        let columns = [
            ("Id", text(64)),
            ("Account", text(300)),
            ("Created", moment.clone()),
            ("Expires", moment),
            ("Read_only", text(3)),
            ("Schemas", text(8192)),
            ("Comment", text(1024)),
        ];
        let columns = columns.into_iter().map(|(name, sql_type)| (name.to_owned(), sql_type)).collect();
        Ok(NestedResult { columns, rows, ..NestedResult::default() })
    }
}

/// Names as SQL has them.
fn quoted(names: &BTreeSet<String>) -> String {
    let names = names.iter().map(|name| format!("`{}`", name.replace('`', "``")));
    names.collect::<Vec<_>>().join(", ")
}

fn text(length: u32) -> SqlType {
    SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI)
}

/// A time of units whose length does not depend on the calendar.
fn micros_of(count: u64, unit: IntervalUnit) -> SqlResult<i64> {
    let seconds = match unit {
        IntervalUnit::Second => 1,
        IntervalUnit::Minute => 60,
        IntervalUnit::Hour => 3600,
        IntervalUnit::Day => 86_400,
        IntervalUnit::Week => 7 * 86_400,
        _ => {
            return Err(SqlError::unsupported(
                "EXPIRE INTERVAL in other units than SECOND, MINUTE, HOUR, DAY and WEEK",
            ));
        }
    };
    let whole = count.checked_mul(seconds).filter(|whole| (1..=LIFE_SECONDS_MAX).contains(whole));
    let micros = whole.and_then(|whole| i64::try_from(whole * 1_000_000).ok());
    micros.ok_or_else(|| SqlError::new(ErrorCode::WrongArguments, &[&"EXPIRE INTERVAL"]))
}

impl ModuleObjects for Tokens {
    fn defines(&self, statement: &Statement) -> bool {
        matches!(statement, Statement::CreateApiToken(_) | Statement::DropApiToken { .. })
    }

    fn define(&self, statement: &Statement, context: &StatementContext) -> SqlResult<Option<NestedResult>> {
        check_may_manage(context)?;
        match statement {
            Statement::CreateApiToken(asked) => self.create(asked, context).map(Some),
            Statement::DropApiToken { if_exists, id } => self.drop_token(id, *if_exists, context).map(|()| None),
            _ => Err(SqlError::internal("not a statement about API tokens")),
        }
    }

    fn show(&self, show: &Show, context: &StatementContext) -> Option<SqlResult<NestedResult>> {
        matches!(show, Show::ApiTokens(_)).then(|| check_may_manage(context).and_then(|()| self.list(context)))
    }
}

impl TokenSource for Tokens {
    fn find(&self, token: &str) -> SqlResult<Option<TokenAccount>> {
        let id = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).map(|(id, _)| id);
        let Some(id) = id.filter(|id| id.len() <= ID_CHARACTERS) else { return Ok(None) };
        let Some(found) = self.get(id)? else { return Ok(None) };
        if !is_same_digest(&digest(token), &found.digest) || found.expires_micros <= now_micros() {
            return Ok(None);
        }
        let AccountKey { user, host } = found.account;
        Ok(Some(TokenAccount {
            user,
            host,
            verifier: found.verifier,
            read_only: found.read_only,
            schemas: found.schemas,
        }))
    }
}
