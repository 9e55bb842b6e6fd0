//! Users, roles and privileges.

use super::*;

/// Privileges that are made of more than one word, by their first.
const LONG_PRIVILEGES: &[&[&str]] = &[
    &["ALTER", "ROUTINE"],
    &["BINLOG", "ADMIN"],
    &["BINLOG", "MONITOR"],
    &["BINLOG", "REPLAY"],
    &["CONNECTION", "ADMIN"],
    &["CREATE", "ROLE"],
    &["CREATE", "ROUTINE"],
    &["CREATE", "TABLESPACE"],
    &["CREATE", "TEMPORARY", "TABLES"],
    &["CREATE", "USER"],
    &["CREATE", "VIEW"],
    &["DELETE", "HISTORY"],
    &["DELETE", "VERSIONING", "ROWS"],
    &["DROP", "ROLE"],
    &["FEDERATED", "ADMIN"],
    &["GRANT", "OPTION"],
    &["LOCK", "TABLES"],
    &["READ_ONLY", "ADMIN"],
    &["READ", "ONLY", "ADMIN"],
    &["REPLICA", "MONITOR"],
    &["REPLICATION", "CLIENT"],
    &["REPLICATION", "MASTER", "ADMIN"],
    &["REPLICATION", "REPLICA", "ADMIN"],
    &["REPLICATION", "REPLICA"],
    &["REPLICATION", "SLAVE", "ADMIN"],
    &["REPLICATION", "SLAVE"],
    &["SET", "USER"],
    &["SHOW", "CREATE", "ROUTINE"],
    &["SHOW", "DATABASES"],
    &["SHOW", "VIEW"],
    &["SLAVE", "MONITOR"],
];

impl Parser<'_> {
    /// `user[@host]`, `CURRENT_USER`.
    pub(super) fn account_name(&mut self) -> Result<AccountName> {
        let parens = |parser: &mut Self| {
            if parser.accept_kind(TokenKind::LeftParen) {
                return parser.expect_kind(TokenKind::RightParen);
            }
            Ok(())
        };
        if self.accept(K::CurrentUser) {
            parens(self)?;
            return Ok(AccountName::CurrentUser);
        }
        if self.accept(K::CurrentRole) {
            parens(self)?;
            return Ok(AccountName::CurrentRole);
        }
        let user = if self.at_kind(TokenKind::String) { self.string()? } else { self.ident()?.value };
        let mut host = None;
        if self.accept_kind(TokenKind::At) {
            host = Some(match self.kind() {
                TokenKind::String => self.string()?,
                TokenKind::AtName => {
                    let token = self.advance();
                    super::name::lossy(self.text(token))
                }
                TokenKind::QuotedIdent => self.ident()?.value,
                _ => return Err(self.unexpected()),
            });
        }
        Ok(AccountName::Named { user, host })
    }

    fn accounts(&mut self) -> Result<Vec<AccountName>> {
        self.comma_list(Self::account_name)
    }

    /// CREATE USER and ALTER USER, behind the words.
    pub(super) fn create_user(&mut self, or_replace: bool, alter: bool) -> Result<Statement> {
        let if_exists_clause = if alter { self.if_exists()? } else { self.if_not_exists()? };
        let mut statement = CreateUser {
            alter,
            or_replace,
            if_exists_clause,
            users: Vec::new(),
            default_role: None,
            tls: Vec::new(),
            limits: Vec::new(),
            account: Vec::new(),
            comment: None,
            attribute: None,
        };
        // ALTER USER USER() … is ALTER USER CURRENT_USER.
        if alter && self.at(K::User) && self.peek_kind(1, TokenKind::LeftParen) {
            self.advance();
            self.advance();
            self.expect_kind(TokenKind::RightParen)?;
            let mut user = UserSpecification {
                name: AccountName::CurrentUser,
                authentication: Vec::new(),
                discard_old_password: false,
            };
            self.user_authentication(&mut user)?;
            statement.users.push(user);
        } else {
            statement.users = self.comma_list(Self::user_specification)?;
        }
        if self.at(K::Default) && self.peek_is(1, K::Role) {
            self.advance();
            self.advance();
            statement.default_role = Some(self.role_set()?);
        }
        statement.tls = self.tls_requirements()?;
        if self.accept(K::With) {
            statement.limits = self.resource_limits()?;
        }
        statement.account = self.account_options()?;
        if self.accept(K::Comment) {
            statement.comment = Some(self.string()?);
        } else if self.accept(K::Attribute) {
            statement.attribute = Some(self.string()?);
        }
        Ok(Statement::CreateUser(Box::new(statement)))
    }

    /// An account and how it proves itself.
    fn user_specification(&mut self) -> Result<UserSpecification> {
        let name = self.account_name()?;
        let mut user = UserSpecification { name, authentication: Vec::new(), discard_old_password: false };
        self.user_authentication(&mut user)?;
        Ok(user)
    }

    fn user_authentication(&mut self, user: &mut UserSpecification) -> Result<()> {
        if self.accept(K::Discard) {
            self.expect_all(&[K::Old, K::Password])?;
            user.discard_old_password = true;
            return Ok(());
        }
        if !self.at_any(&[K::Identified]) {
            return Ok(());
        }
        self.advance();
        user.authentication.push(self.authentication()?);
        while self.at_any(&[K::And, K::Or]) {
            let and = self.advance().keyword == K::And;
            if and {
                self.expect(K::Identified)?;
            }
            user.authentication.push(self.authentication()?);
        }
        Ok(())
    }

    /// The part behind IDENTIFIED.
    fn authentication(&mut self) -> Result<Authentication> {
        let mut authentication = Authentication::default();
        if self.at_any(&[K::With, K::Via]) || !self.at(K::By) {
            let _ = self.accept(K::With) || self.accept(K::Via);
            authentication.plugin = Some(self.ident_or_string()?.value);
            if self.at_any(&[K::As, K::Using]) {
                self.advance();
                authentication.credential = Some(if self.at(K::Password) {
                    self.advance();
                    Credential::Password(self.parenthesized(Self::string)?)
                } else {
                    Credential::Hash(self.hash()?)
                });
            }
        }
        if self.accept(K::By) {
            authentication.credential = Some(if self.at(K::Password) && self.peek_kind(1, TokenKind::String) {
                self.advance();
                Credential::Hash(self.string()?)
            } else if self.accept(K::Random) {
                self.expect(K::Password)?;
                Credential::Random
            } else {
                Credential::Password(self.string()?)
            });
        }
        if self.accept(K::Replace) {
            authentication.replace = Some(self.string()?);
        }
        if self.accept(K::Retain) {
            self.expect_all(&[K::Current, K::Password])?;
            authentication.retain_current = true;
        }
        Ok(authentication)
    }

    /// A stored credential, as text or in hexadecimal.
    fn hash(&mut self) -> Result<Box<str>> {
        Ok(super::name::lossy(self.sql_string()?.as_bytes()))
    }

    fn tls_requirements(&mut self) -> Result<Vec<TlsRequirement>> {
        if !self.accept(K::Require) {
            return Ok(Vec::new());
        }
        if self.accept_word("NONE") {
            return Ok(vec![TlsRequirement::None]);
        }
        let mut requirements = Vec::new();
        loop {
            let requirement = match self.keyword() {
                // These two stand alone.
                K::Ssl if requirements.is_empty() => {
                    self.advance();
                    return Ok(vec![TlsRequirement::Ssl]);
                }
                K::X509 if requirements.is_empty() => {
                    self.advance();
                    return Ok(vec![TlsRequirement::X509]);
                }
                K::Cipher => {
                    self.advance();
                    TlsRequirement::Cipher(self.string()?)
                }
                K::Issuer => {
                    self.advance();
                    TlsRequirement::Issuer(self.string()?)
                }
                K::Subject => {
                    self.advance();
                    TlsRequirement::Subject(self.string()?)
                }
                _ if requirements.is_empty() => return Err(self.unexpected()),
                _ => return Ok(requirements),
            };
            requirements.push(requirement);
            self.accept(K::And);
        }
    }

    fn resource_limits(&mut self) -> Result<Vec<ResourceLimit>> {
        let mut limits = Vec::new();
        while let Some(limit) = self.resource_limit()? {
            limits.push(limit);
        }
        if limits.is_empty() { Err(self.unexpected()) } else { Ok(limits) }
    }

    fn resource_limit(&mut self) -> Result<Option<ResourceLimit>> {
        let keyword = self.current.keyword;
        Ok(Some(match keyword {
            K::MaxQueriesPerHour => {
                self.advance();
                ResourceLimit::QueriesPerHour(self.unsigned()?)
            }
            K::MaxUpdatesPerHour => {
                self.advance();
                ResourceLimit::UpdatesPerHour(self.unsigned()?)
            }
            K::MaxConnectionsPerHour => {
                self.advance();
                ResourceLimit::ConnectionsPerHour(self.unsigned()?)
            }
            K::MaxUserConnections => {
                self.advance();
                ResourceLimit::UserConnections(self.unsigned()?)
            }
            K::MaxStatementTime => {
                self.advance();
                ResourceLimit::StatementTime(self.number_text()?)
            }
            _ => return Ok(None),
        }))
    }

    fn account_options(&mut self) -> Result<Vec<AccountOption>> {
        let mut options = Vec::new();
        loop {
            let option = match self.keyword() {
                K::Account => {
                    self.advance();
                    AccountOption::Lock(self.expect_any(&[K::Lock, K::Unlock])? == K::Lock)
                }
                K::FailedLoginAttempts => {
                    self.advance();
                    AccountOption::FailedLoginAttempts(self.unsigned()?)
                }
                K::PasswordLockTime => {
                    self.advance();
                    AccountOption::PasswordLockTime(if self.accept(K::Unbounded) {
                        None
                    } else {
                        Some(self.unsigned()?)
                    })
                }
                K::Password => {
                    self.advance();
                    self.password_option()?
                }
                _ => return Ok(options),
            };
            options.push(option);
        }
    }

    fn password_option(&mut self) -> Result<AccountOption> {
        if self.accept(K::Expire) {
            return Ok(AccountOption::PasswordExpire(if self.accept(K::Default) {
                PasswordExpiry::Default
            } else if self.accept(K::Never) {
                PasswordExpiry::Never
            } else if self.accept(K::Interval) {
                let days = self.unsigned()?;
                self.expect(K::Day)?;
                PasswordExpiry::Days(days)
            } else {
                PasswordExpiry::Now
            }));
        }
        if self.accept(K::History) {
            let count = if self.accept(K::Default) { None } else { Some(self.unsigned()?) };
            return Ok(AccountOption::PasswordHistory(count));
        }
        if self.accept(K::Reuse) {
            self.expect(K::Interval)?;
            if self.accept(K::Default) {
                return Ok(AccountOption::PasswordReuseInterval(None));
            }
            let days = self.unsigned()?;
            self.expect(K::Day)?;
            return Ok(AccountOption::PasswordReuseInterval(Some(days)));
        }
        self.expect_all(&[K::Require, K::Current])?;
        Ok(AccountOption::PasswordRequireCurrent(if self.accept(K::Default) {
            None
        } else {
            Some(!self.accept(K::Optional))
        }))
    }

    pub(super) fn create_role(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let names = self.accounts()?;
        let mut admin = None;
        if self.accept(K::With) {
            self.expect(K::Admin)?;
            admin = Some(self.account_name()?);
        }
        Ok(Statement::CreateRole(CreateRole { or_replace, if_not_exists, names, admin }))
    }

    /// `NONE`, `ALL [EXCEPT …]`, `DEFAULT`, or names.
    pub(super) fn role_set(&mut self) -> Result<RoleSet> {
        if self.accept_word("NONE") {
            return Ok(RoleSet::None);
        }
        if self.accept(K::Default) {
            return Ok(RoleSet::Default);
        }
        if self.accept(K::All) {
            if self.accept(K::Except) {
                return Ok(RoleSet::AllExcept(self.accounts()?));
            }
            return Ok(RoleSet::All);
        }
        Ok(RoleSet::Roles(self.accounts()?))
    }

    /// GRANT, behind the word.
    pub(super) fn grant(&mut self) -> Result<Statement> {
        if self.accept(K::Proxy) {
            self.expect(K::On)?;
            let user = self.account_name()?;
            self.expect(K::To)?;
            let to = self.comma_list(Self::user_specification)?;
            let grant_option = self.with_option(K::Grant)?;
            return Ok(Statement::Grant(Box::new(Grant::Proxy { user, to, grant_option })));
        }
        if self.roles_ahead(K::To) {
            let roles = self.accounts()?;
            self.expect(K::To)?;
            let to = self.accounts()?;
            let admin_option = self.with_option(K::Admin)?;
            return Ok(Statement::Grant(Box::new(Grant::Roles { roles, to, admin_option })));
        }
        let privileges = self.privileges()?;
        self.expect(K::On)?;
        let on = self.grant_target()?;
        self.expect(K::To)?;
        let to = self.comma_list(Self::user_specification)?;
        let tls = self.tls_requirements()?;
        let (mut grant_option, mut limits) = (false, Vec::new());
        if self.accept(K::With) {
            loop {
                if self.accept_both(K::Grant, K::Option) {
                    grant_option = true;
                } else if let Some(limit) = self.resource_limit()? {
                    limits.push(limit);
                } else if grant_option || !limits.is_empty() {
                    break;
                } else {
                    return Err(self.unexpected());
                }
            }
        }
        let mut as_user = None;
        if self.accept(K::As) {
            let user = self.account_name()?;
            let mut roles = None;
            if self.accept(K::With) {
                self.expect(K::Role)?;
                roles = Some(self.role_set()?);
            }
            as_user = Some((user, roles));
        }
        let grant = Grant::Privileges { privileges, on, to, tls, grant_option, limits, as_user };
        Ok(Statement::Grant(Box::new(grant)))
    }

    /// `WITH word OPTION` or nothing.
    fn with_option(&mut self, word: K) -> Result<bool> {
        if !self.accept(K::With) {
            return Ok(false);
        }
        self.expect_all(&[word, K::Option])?;
        Ok(true)
    }

    /// Whether a list of roles is here: names, and then `end` before any ON.
    fn roles_ahead(&self, end: K) -> bool {
        let mut lexer = self.lexer.clone();
        let mut tokens = std::iter::once(self.current)
            .chain(self.ahead[..self.ahead_count].iter().copied())
            .chain(std::iter::from_fn(|| Some(lexer.next())));
        let mut depth = 0;
        tokens
            .find_map(|token| match token.kind {
                TokenKind::LeftParen => {
                    depth += 1;
                    None
                }
                TokenKind::RightParen => {
                    depth -= 1;
                    None
                }
                TokenKind::Eof | TokenKind::Semicolon | TokenKind::Invalid => Some(false),
                _ if depth > 0 => None,
                _ if token.keyword == K::On => Some(false),
                _ if token.keyword == end => Some(true),
                _ => None,
            })
            .unwrap_or(false)
    }

    /// REVOKE, behind the word.
    pub(super) fn revoke(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let ignore = |parser: &mut Self| -> Result<bool> {
            if !parser.accept(K::Ignore) {
                return Ok(false);
            }
            parser.expect_all(&[K::Unknown, K::User])?;
            Ok(true)
        };
        if self.accept(K::Proxy) {
            self.expect(K::On)?;
            let user = self.account_name()?;
            self.expect(K::From)?;
            let from = self.accounts()?;
            let ignore_unknown_user = ignore(self)?;
            return Ok(Statement::Revoke(Box::new(Revoke::Proxy { if_exists, user, from, ignore_unknown_user })));
        }
        let admin_option_for = self.at(K::Admin) && self.peek_is(1, K::Option);
        if admin_option_for {
            self.advance();
            self.advance();
            self.expect(K::For)?;
        }
        let all = self.at(K::All) || self.at(K::Grant);
        if !all && self.roles_ahead(K::From) {
            let roles = self.accounts()?;
            self.expect(K::From)?;
            let from = self.accounts()?;
            let ignore_unknown_user = ignore(self)?;
            let revoke = Revoke::Roles { if_exists, roles, from, admin_option_for, ignore_unknown_user };
            return Ok(Statement::Revoke(Box::new(revoke)));
        }
        let privileges = self.privileges()?;
        if self.accept(K::From) {
            let named = |name: &str| privileges.iter().any(|privilege| &*privilege.name == name);
            if privileges.len() != 2 || !named("ALL") || !named("GRANT OPTION") {
                return Err(self.unexpected());
            }
            let from = self.accounts()?;
            let ignore_unknown_user = ignore(self)?;
            return Ok(Statement::Revoke(Box::new(Revoke::All { if_exists, from, ignore_unknown_user })));
        }
        self.expect(K::On)?;
        let on = self.grant_target()?;
        self.expect(K::From)?;
        let from = self.accounts()?;
        let ignore_unknown_user = ignore(self)?;
        let revoke = Revoke::Privileges { if_exists, privileges, on, from, ignore_unknown_user };
        Ok(Statement::Revoke(Box::new(revoke)))
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        self.comma_list(|parser| {
            let name = parser.privilege_name()?;
            let columns = parser.optional_idents()?;
            Ok(Privilege { name, columns })
        })
    }

    fn privilege_name(&mut self) -> Result<Box<str>> {
        if self.accept(K::All) {
            self.accept(K::Privileges);
            return Ok("ALL".into());
        }
        let mut name = self.upper_word()?.into_string();
        for words in LONG_PRIVILEGES {
            if words[0] == name && words.len() == 3 && self.at_word(words[1]) {
                let third = self.peek(1);
                if self.text(third).eq_ignore_ascii_case(words[2].as_bytes()) {
                    self.advance();
                    self.advance();
                    return Ok(words.join(" ").into());
                }
            }
        }
        for words in LONG_PRIVILEGES {
            if words[0] == name && words.len() == 2 && self.accept_word(words[1]) {
                name.push(' ');
                name.push_str(words[1]);
                break;
            }
        }
        Ok(name.into())
    }

    fn grant_target(&mut self) -> Result<GrantTarget> {
        let mut kind = GrantTargetKind::Table;
        if self.at_any(&[K::Table, K::Function, K::Procedure]) {
            kind = match self.advance().keyword {
                K::Function => GrantTargetKind::Function,
                K::Procedure => GrantTargetKind::Procedure,
                _ => GrantTargetKind::Table,
            };
        }
        let level = if self.accept_kind(TokenKind::Star) {
            if self.accept_kind(TokenKind::Dot) {
                self.expect_kind(TokenKind::Star)?;
                GrantLevel::Global
            } else {
                GrantLevel::CurrentDatabase
            }
        } else if self.peek_kind(1, TokenKind::Dot) && self.peek_kind(2, TokenKind::Star) {
            let database = self.ident()?;
            self.advance();
            self.advance();
            GrantLevel::Database(database)
        } else {
            GrantLevel::Object(self.object_name()?)
        };
        Ok(GrantTarget { kind, level })
    }
}
