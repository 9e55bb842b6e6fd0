//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD.

use crate::accounts::role::default_roles_of;
use crate::accounts::role::role_keys;
use crate::result::{Outcome, ResultSet};
use crate::session::{Session, StatementRun};
use squall_catalog::{AccountDef, AccountKey};
use squall_parser::ast::{
    AccountName, AccountOption, Authentication, CreateUser, Credential, DropUser, PasswordExpiry, ResourceLimit,
    SetPassword, Statement, TlsRequirement, UserSpecification,
};
use squall_server_state::accounts::{AccountChange, failed, hash_password, quoted};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Session {
    /// Statements about accounts and privileges.
    pub(crate) async fn run_account_statement(&mut self, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        self.check_writable()?;
        // Accounts are rows of tables, which LOCK TABLES has not locked.
        if self.held_locks.tables.is_some() {
            return Err(SqlError::new(ErrorCode::TableNotLocked, &[&"user"]));
        }
        let context = &*run.context;
        match run.request.statement {
            Statement::CreateUser(create) => {
                if create.alter {
                    self.alter_user(create, context).await
                } else {
                    self.create_user(create, context).await
                }
            }
            Statement::DropUser(drop) => self.drop_users(drop, "DROP USER", context).await,
            Statement::RenameUser(renames) => self.rename_users(renames, context).await,
            Statement::CreateRole(create) => self.create_roles(create, context).await,
            Statement::DropRole(drop) => self.drop_users(drop, "DROP ROLE", context).await,
            Statement::Grant(grant) => self.grant(grant).await,
            Statement::Revoke(revoke) => self.revoke(revoke).await,
            _ => Ok(Outcome::done()),
        }
    }

    /// Accounts to be changed, with [`Session::commit_accounts`] at the end.
    pub(super) async fn begin_accounts(&self) -> AccountChange {
        self.shared.accounts.begin_change().await
    }

    pub(super) async fn commit_accounts(&mut self, change: AccountChange) -> SqlResult<()> {
        change.commit(&self.shared.store).await?;
        self.refresh_access();
        Ok(())
    }

    async fn create_user(&mut self, statement: &CreateUser, context: &StatementContext) -> SqlResult<Outcome> {
        let mut made = Vec::with_capacity(statement.users.len());
        let mut passwords = Vec::new();
        for user in &statement.users {
            let mut account = new_account(self.security().account_key(&user.name)?);
            self.apply_authentication(&mut account, user, "CREATE USER", &mut passwords).await?;
            apply_options(&mut account, statement)?;
            made.push(account);
        }
        let default_roles = match &statement.default_role {
            Some(roles) => Some(role_keys(&self.security(), roles)?),
            None => None,
        };
        let (if_not_exists, or_replace) = (statement.if_exists_clause, statement.or_replace);
        let mut change = self.begin_accounts().await;
        let accounts = &mut change.accounts;
        if let Some(role) = default_roles.iter().flatten().find(|role| accounts.get(role).is_none()) {
            return Err(super::role::unknown_role(role));
        }
        let existing: Vec<AccountKey> =
            made.iter().map(AccountDef::key).filter(|key| accounts.get(key).is_some()).collect();
        if !existing.is_empty() && !if_not_exists && !or_replace {
            return Err(failed("CREATE USER", &existing));
        }
        let new: Vec<AccountKey> = made.iter().map(AccountDef::key).filter(|key| !existing.contains(key)).collect();
        self.check_not_definers("CREATE USER", &new, context)?;
        for mut account in made {
            let key = account.key();
            if existing.contains(&key) && if_not_exists {
                continue;
            }
            if let Some(roles) = &default_roles {
                account.default_roles = roles.iter().cloned().collect();
                account.roles = roles.iter().map(|role| (role.clone(), false)).collect();
            }
            accounts.accounts.insert(key, Arc::new(account));
        }
        self.commit_accounts(change).await?;
        if if_not_exists {
            for key in existing {
                context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::UserAlreadyExists, &[&quoted(&key)]));
            }
        }
        Ok(generated_passwords(passwords))
    }

    async fn alter_user(&mut self, statement: &CreateUser, context: &StatementContext) -> SqlResult<Outcome> {
        let mut passwords = Vec::new();
        let mut change = self.begin_accounts().await;
        let mut missing = Vec::new();
        for user in &statement.users {
            let key = self.security().account_key(&user.name)?;
            let Some(account) = change.accounts.get(&key) else {
                missing.push(key);
                continue;
            };
            let mut account = (**account).clone();
            self.apply_authentication(&mut account, user, "ALTER USER", &mut passwords).await?;
            apply_options(&mut account, statement)?;
            if let Some(roles) = &statement.default_role {
                account.default_roles = default_roles_of(&self.security(), &change.accounts, &account, roles)?;
            }
            change.accounts.accounts.insert(key, Arc::new(account));
        }
        if !missing.is_empty() && !statement.if_exists_clause {
            return Err(failed("ALTER USER", &missing));
        }
        self.commit_accounts(change).await?;
        for key in missing {
            context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::UserDoesNotExist, &[&quoted(&key)]));
        }
        Ok(generated_passwords(passwords))
    }

    /// Takes IDENTIFIED … into the account. `operation` is the statement, for errors.
    async fn apply_authentication(
        &self,
        account: &mut AccountDef,
        user: &UserSpecification,
        operation: &'static str,
        passwords: &mut Vec<(AccountKey, String)>,
    ) -> SqlResult<()> {
        if user.authentication.len() > 1 {
            return Err(SqlError::unsupported("more than one authentication factor"));
        }
        if user.discard_old_password {
            account.second_authentication.clear();
        }
        let Some(authentication) = user.authentication.first() else { return Ok(()) };
        if let Some(plugin) = &authentication.plugin {
            let known = ["caching_sha2_password", "mysql_native_password"];
            let Some(known) = known.iter().find(|known| known.eq_ignore_ascii_case(plugin)) else {
                return Err(SqlError::new(ErrorCode::PluginNotLoaded, &[plugin]));
            };
            if account.plugin != *known {
                if authentication.retain_current {
                    let (user, host) = (&account.user, &account.host);
                    return Err(SqlError::new(ErrorCode::PasswordCannotBeRetainedOnPluginChange, &[user, host]));
                }
                account.authentication.clear();
                account.second_authentication.clear();
            }
            account.plugin = known.to_string();
        }
        self.check_current_password(account, authentication).await?;
        let before = account.authentication.clone();
        match &authentication.credential {
            None => {}
            Some(Credential::Password(password)) => self.set_verifier(account, password, operation).await?,
            Some(Credential::Random) => {
                let password = self.random_password();
                self.set_verifier(account, &password, operation).await?;
                passwords.push((account.key(), password));
            }
            Some(Credential::Hash(hash)) => account.authentication = hash.as_bytes().to_vec(),
        }
        if authentication.credential.is_some() {
            account.password_changed_micros = now_micros();
            account.password_expired = false;
            let (user, host, is_empty) = (&account.user, &account.host, account.authentication.is_empty());
            if authentication.retain_current && operation != "CREATE USER" {
                if before.is_empty() {
                    return Err(SqlError::new(ErrorCode::SecondPasswordCannotBeEmpty, &[user, host]));
                }
                if is_empty {
                    return Err(SqlError::new(ErrorCode::CurrentPasswordCannotBeRetained, &[user, host]));
                }
                account.second_authentication = before;
            } else if is_empty {
                account.second_authentication.clear();
            }
        }
        Ok(())
    }

    /// REPLACE 'current password'.
    async fn check_current_password(&self, account: &AccountDef, authentication: &Authentication) -> SqlResult<()> {
        let Some(current) = authentication.replace.clone() else { return Ok(()) };
        let verifier = String::from_utf8_lossy(&account.authentication).into_owned();
        let native = account.plugin == "mysql_native_password";
        let right = self.blocking(move |_| {
            Ok(match native {
                true => squall_passwords::native_auth_string(current.as_bytes()).eq_ignore_ascii_case(&verifier),
                false => squall_passwords::sha2_check(&verifier, current.as_bytes()),
            })
        });
        if right.await? {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::IncorrectCurrentPassword, &[]))
    }

    /// Gives an account a password. The hash is made on the query pool.
    async fn set_verifier(&self, account: &mut AccountDef, password: &str, operation: &'static str) -> SqlResult<()> {
        let (key, native) = (account.key(), account.plugin == "mysql_native_password");
        let (kill, password) = (self.process.kill.clone(), password.to_owned());
        let verifier = self.blocking(move |_| {
            kill.check()?;
            match native {
                true => Ok(squall_passwords::native_auth_string(password.as_bytes()).into_bytes()),
                false => hash_password(&password).ok_or_else(|| failed(operation, &[key])),
            }
        });
        account.authentication = verifier.await?;
        Ok(())
    }

    fn random_password(&self) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#%&()*+,-./:;<=>?@[]^_{|}~";
        let length = Values(&self.shared.globals.load_values()).number(ids::GENERATED_RANDOM_PASSWORD_LENGTH);
        (0..length)
            .map(|_| {
                // 16 bits over 85 letters: the bias is below a thousandth.
                let number = usize::from(u16::from_le_bytes(squall_server_state::random::bytes()));
                char::from(ALPHABET[number % ALPHABET.len()])
            })
            .collect()
    }

    async fn drop_users(
        &mut self,
        statement: &DropUser,
        operation: &str,
        context: &StatementContext,
    ) -> SqlResult<Outcome> {
        let keys =
            statement.names.iter().map(|name| self.security().account_key(name)).collect::<SqlResult<Vec<_>>>()?;
        let if_exists = statement.if_exists;
        let mut change = self.begin_accounts().await;
        let accounts = &mut change.accounts;
        let missing: Vec<AccountKey> = keys.iter().filter(|key| accounts.get(key).is_none()).cloned().collect();
        if !missing.is_empty() && !if_exists {
            return Err(failed(operation, &missing));
        }
        if let Some(role) = keys.iter().find(|key| accounts.is_mandatory(key)) {
            return Err(super::role::mandatory(role));
        }
        self.check_not_definers(operation, keys.iter().filter(|key| !missing.contains(key)), context)?;
        for key in &keys {
            accounts.accounts.remove(key);
        }
        for account in accounts.accounts.values_mut() {
            if keys.iter().any(|key| account.roles.contains_key(key) || account.default_roles.contains(key)) {
                let account = Arc::make_mut(account);
                account.roles.retain(|role, _| !keys.contains(role));
                account.default_roles.retain(|role| !keys.contains(role));
            }
        }
        self.commit_accounts(change).await?;
        for key in missing {
            context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::UserDoesNotExist, &[&quoted(&key)]));
        }
        Ok(Outcome::done())
    }

    async fn rename_users(
        &mut self,
        renames: &[(AccountName, AccountName)],
        context: &StatementContext,
    ) -> SqlResult<Outcome> {
        let mut keys = Vec::with_capacity(renames.len());
        for (from, to) in renames {
            keys.push((self.security().account_key(from)?, self.security().account_key(to)?));
        }
        let mut change = self.begin_accounts().await;
        let accounts = &mut change.accounts;
        for (from, to) in &keys {
            if accounts.get(from).is_none() || accounts.get(to).is_some() {
                return Err(failed("RENAME USER", std::slice::from_ref(from)));
            }
            if accounts.is_mandatory(from) || accounts.accounts.values().any(|other| other.roles.contains_key(from)) {
                return Err(SqlError::new(ErrorCode::RenameRole, &[]));
            }
            self.check_not_definers("RENAME USER", [from, to], context)?;
            if let Some(account) = accounts.accounts.remove(from) {
                let account = AccountDef { user: to.user.clone(), host: to.host.clone(), ..(*account).clone() };
                accounts.accounts.insert(to.clone(), Arc::new(account));
            }
            rename_grants(&mut accounts.accounts, from, to);
        }
        self.commit_accounts(change).await?;
        Ok(Outcome::done())
    }

    /// SET PASSWORD.
    pub(crate) async fn set_password(&mut self, statement: &SetPassword) -> SqlResult<Outcome> {
        let key = match &statement.user {
            None => self.identity.account.clone(),
            Some(name) => self.security().account_key(name)?,
        };
        let mut change = self.begin_accounts().await;
        let account = change.accounts.get(&key).ok_or_else(|| SqlError::new(ErrorCode::PasswordNoMatch, &[]))?;
        let mut account = (**account).clone();
        let user = UserSpecification {
            name: AccountName::CurrentUser,
            authentication: vec![Authentication {
                plugin: None,
                credential: Some(statement.password.clone()),
                replace: statement.replace.clone(),
                retain_current: statement.retain_current,
            }],
            discard_old_password: false,
        };
        let mut passwords = Vec::new();
        self.apply_authentication(&mut account, &user, "SET PASSWORD", &mut passwords).await?;
        change.accounts.accounts.insert(key, Arc::new(account));
        self.commit_accounts(change).await?;
        Ok(generated_passwords(passwords))
    }
}

fn rename_grants(accounts: &mut BTreeMap<AccountKey, Arc<AccountDef>>, from: &AccountKey, to: &AccountKey) {
    for account in accounts.values_mut().filter(|account| account.roles.contains_key(from)) {
        let account = Arc::make_mut(account);
        if let Some(admin) = account.roles.remove(from) {
            account.roles.insert(to.clone(), admin);
        }
        if account.default_roles.remove(from) {
            account.default_roles.insert(to.clone());
        }
    }
}

fn new_account(key: AccountKey) -> AccountDef {
    AccountDef {
        user: key.user,
        host: key.host,
        plugin: "caching_sha2_password".to_string(),
        password_changed_micros: now_micros(),
        ..Default::default()
    }
}

fn apply_options(account: &mut AccountDef, statement: &CreateUser) -> SqlResult<()> {
    for requirement in &statement.tls {
        account.require_tls = match requirement {
            TlsRequirement::None => false,
            TlsRequirement::Ssl => true,
            _ => return Err(SqlError::unsupported("REQUIRE X509, CIPHER, ISSUER and SUBJECT")),
        };
    }
    for limit in &statement.limits {
        match limit {
            ResourceLimit::QueriesPerHour(0)
            | ResourceLimit::UpdatesPerHour(0)
            | ResourceLimit::ConnectionsPerHour(0)
            | ResourceLimit::UserConnections(0) => {}
            _ => return Err(SqlError::unsupported("resource limits of accounts")),
        }
    }
    for option in &statement.account {
        match option {
            AccountOption::PasswordExpire(PasswordExpiry::Now) => account.password_expired = true,
            AccountOption::PasswordExpire(PasswordExpiry::Default) => account.password_lifetime_days = None,
            AccountOption::PasswordExpire(PasswordExpiry::Never) => account.password_lifetime_days = Some(0),
            AccountOption::PasswordExpire(PasswordExpiry::Days(_)) => {
                return Err(SqlError::unsupported("PASSWORD EXPIRE INTERVAL"));
            }
            AccountOption::Lock(locked) => account.locked = *locked,
            AccountOption::PasswordHistory(None)
            | AccountOption::PasswordReuseInterval(None)
            | AccountOption::PasswordRequireCurrent(None) => {}
            AccountOption::PasswordHistory(Some(0)) | AccountOption::PasswordReuseInterval(Some(0)) => {}
            AccountOption::PasswordRequireCurrent(Some(false)) => account.password_require_current = Some(false),
            AccountOption::FailedLoginAttempts(0) | AccountOption::PasswordLockTime(Some(0)) => {}
            _ => return Err(SqlError::unsupported("password history and failed login tracking")),
        }
    }
    if let Some(comment) = &statement.comment {
        let text = comment.replace('\\', "\\\\").replace('"', "\\\"");
        account.attribute = Some(format!("{{\"comment\": \"{text}\"}}"));
    }
    if let Some(attribute) = &statement.attribute {
        account.attribute = Some(attribute.to_string());
    }
    Ok(())
}

/// RANDOM PASSWORD tells what it has made.
fn generated_passwords(passwords: Vec<(AccountKey, String)>) -> Outcome {
    if passwords.is_empty() {
        return Outcome::done();
    }
    let mut result = ResultSet::of_texts(&["user", "host", "generated password"]);
    result.columns.push(crate::result::number_column("auth_factor"));
    for (key, password) in passwords {
        let texts = [key.user, key.host, password];
        let mut row: Vec<Value> = texts.into_iter().map(Value::String).collect();
        row.push(Value::Int(1));
        result.rows.push(row);
    }
    Outcome::Rows(result)
}
