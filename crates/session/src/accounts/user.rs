//! CREATE, ALTER, DROP and RENAME USER.

use crate::accounts::password::{apply_password_rules, generated_passwords};
use crate::accounts::role::default_roles_of;
use crate::accounts::role::role_keys;
use crate::result::Outcome;
use crate::session::{Session, StatementRun};
use squall_catalog::{AccountDef, AccountKey, PasswordLockTime, TlsRequirement};
use squall_parser::ast::{
    self, AccountName, AccountOption, CreateUser, DropUser, PasswordExpiry, ResourceLimit, Statement,
};
use squall_server_state::accounts::{AccountChange, failed, quoted};
use squall_server_state::now_micros;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};
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
        change.commit(&*self.shared.store).await?;
        self.refresh_access();
        Ok(())
    }

    async fn create_user(&mut self, statement: &CreateUser, context: &StatementContext) -> SqlResult<Outcome> {
        let mut made = Vec::with_capacity(statement.users.len());
        let mut passwords = Vec::new();
        for user in &statement.users {
            let mut account = new_account(self.security().account_key(&user.name)?);
            apply_password_rules(&mut account, &statement.account);
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
            self.shared.accounts.forget_uses(&key);
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
            apply_password_rules(&mut account, &statement.account);
            self.apply_authentication(&mut account, user, "ALTER USER", &mut passwords).await?;
            apply_options(&mut account, statement)?;
            if !statement.limits.is_empty() {
                self.shared.accounts.hourly_uses.forget(&key);
            }
            if statement.account.iter().any(begins_to_count_logins) {
                self.shared.accounts.failed_logins.forget(&key);
            }
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
            self.shared.accounts.forget_uses(key);
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
                self.shared.accounts.forget_uses(from);
                let account = AccountDef { user: to.user.clone(), host: to.host.clone(), ..(*account).clone() };
                accounts.accounts.insert(to.clone(), Arc::new(account));
            }
            rename_grants(&mut accounts.accounts, from, to);
        }
        self.commit_accounts(change).await?;
        Ok(Outcome::done())
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

/// What REQUIRE says: NONE, SSL and X509 stand alone, the others may stand together.
fn tls_requirement(given: &[ast::TlsRequirement]) -> SqlResult<TlsRequirement> {
    let (mut subject, mut issuer, mut cipher) = (None, None, None);
    for requirement in given {
        let (name, kept, text) = match requirement {
            ast::TlsRequirement::None => return Ok(TlsRequirement::None),
            ast::TlsRequirement::Ssl => return Ok(TlsRequirement::Encrypted),
            ast::TlsRequirement::X509 => return Ok(TlsRequirement::Certificate),
            ast::TlsRequirement::Subject(text) => ("SUBJECT", &mut subject, text),
            ast::TlsRequirement::Issuer(text) => ("ISSUER", &mut issuer, text),
            ast::TlsRequirement::Cipher(text) => ("CIPHER", &mut cipher, text),
        };
        if kept.replace(text.to_string()).is_some() {
            return Err(SqlError::new(ErrorCode::DuplicateArgument, &[&name]));
        }
    }
    Ok(TlsRequirement::Specified { subject, issuer, cipher })
}

/// Whether an option has the failed logins counted from zero.
fn begins_to_count_logins(option: &AccountOption) -> bool {
    matches!(
        option,
        AccountOption::FailedLoginAttempts(_) | AccountOption::PasswordLockTime(_) | AccountOption::Lock(false)
    )
}

/// # Errors
/// 1525 for a number that the option does not take.
fn in_range(option: &str, value: u64, min: u64, max: u64) -> SqlResult<u64> {
    match (min..=max).contains(&value) {
        true => Ok(value),
        false => Err(SqlError::new(ErrorCode::WrongValue, &[&option, &value])),
    }
}

fn apply_options(account: &mut AccountDef, statement: &CreateUser) -> SqlResult<()> {
    if !statement.tls.is_empty() {
        account.tls = tls_requirement(&statement.tls)?;
    }
    let limits = &mut account.limits;
    for limit in &statement.limits {
        let (kept, given) = match limit {
            ResourceLimit::QueriesPerHour(given) => (&mut limits.queries_per_hour, *given),
            ResourceLimit::UpdatesPerHour(given) => (&mut limits.updates_per_hour, *given),
            ResourceLimit::ConnectionsPerHour(given) => (&mut limits.connections_per_hour, *given),
            ResourceLimit::UserConnections(given) => (&mut limits.user_connections, *given),
            ResourceLimit::StatementTime(_) => {
                return Err(SqlError::unsupported("MAX_STATEMENT_TIME of accounts (see max_execution_time)"));
            }
        };
        // The columns of mysql.user are INT UNSIGNED.
        *kept = given.min(u64::from(u32::MAX));
    }
    for option in &statement.account {
        match option {
            AccountOption::PasswordExpire(PasswordExpiry::Now) => account.password_expired = true,
            AccountOption::PasswordExpire(PasswordExpiry::Default) => account.password_lifetime_days = None,
            AccountOption::PasswordExpire(PasswordExpiry::Never) => account.password_lifetime_days = Some(0),
            AccountOption::PasswordExpire(PasswordExpiry::Days(days)) => {
                account.password_lifetime_days = Some(in_range("DAY", *days, 1, u16::MAX.into())?);
            }
            AccountOption::Lock(locked) => account.locked = *locked,
            AccountOption::PasswordHistory(_)
            | AccountOption::PasswordReuseInterval(_)
            | AccountOption::PasswordRequireCurrent(_) => {}
            AccountOption::FailedLoginAttempts(count) => {
                account.failed_login_attempts =
                    in_range("FAILED_LOGIN_ATTEMPTS", *count, 0, i16::MAX.unsigned_abs().into())?;
            }
            AccountOption::PasswordLockTime(days) => {
                account.password_lock_time = match days {
                    None => PasswordLockTime::Unbounded,
                    Some(0) => PasswordLockTime::Off,
                    Some(days) => PasswordLockTime::Days(in_range(
                        "PASSWORD_LOCK_TIME",
                        *days,
                        0,
                        i16::MAX.unsigned_abs().into(),
                    )?),
                };
            }
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
