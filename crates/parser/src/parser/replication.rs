//! Replication statements.

use super::*;

impl Parser<'_> {
    /// PURGE, behind the word.
    pub(super) fn purge(&mut self) -> Result<Statement> {
        self.expect_any(&[K::Binary, K::Master])?;
        self.expect(K::Logs)?;
        let purge = match self.expect_any(&[K::To, K::Before])? {
            K::To => Replication::PurgeTo(self.string()?),
            _ => Replication::PurgeBefore(self.expr()?),
        };
        Ok(Statement::Replication(Box::new(purge)))
    }

    /// CHANGE, behind the word.
    pub(super) fn change(&mut self) -> Result<Statement> {
        if self.accept(K::Replication) {
            if self.accept(K::Filter) {
                return self.replication_filter();
            }
            self.expect(K::Source)?;
        } else {
            self.expect(K::Master)?;
            // MariaDB names a connection here.
            if self.at_kind(TokenKind::String) {
                let channel = Some(self.string()?);
                self.expect(K::To)?;
                let options = self.comma_list(Self::source_option)?;
                return Ok(Statement::Replication(Box::new(Replication::ChangeSource { options, channel })));
            }
        }
        self.expect(K::To)?;
        let options = self.comma_list(Self::source_option)?;
        let channel = self.channel()?;
        Ok(Statement::Replication(Box::new(Replication::ChangeSource { options, channel })))
    }

    fn source_option(&mut self) -> Result<(Box<str>, ReplicationValue)> {
        let name = self.upper_word()?;
        self.expect_kind(TokenKind::Equal)?;
        Ok((name, self.replication_value()?))
    }

    fn replication_value(&mut self) -> Result<ReplicationValue> {
        Ok(match self.kind() {
            TokenKind::String => ReplicationValue::String(self.sql_string()?),
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => ReplicationValue::Number(self.number_text()?),
            TokenKind::LeftParen => {
                self.advance();
                let mut values = Vec::new();
                if !self.at_kind(TokenKind::RightParen) {
                    values = self.comma_list(|parser| parser.nested(Self::replication_value))?;
                }
                self.expect_kind(TokenKind::RightParen)?;
                ReplicationValue::List(values)
            }
            _ if self.accept(K::Null) => ReplicationValue::Null,
            _ => {
                let mut word = self.any_word()?.value.into_string();
                // An account: `user@host`.
                if self.accept_kind(TokenKind::At) {
                    let host = if self.at_kind(TokenKind::String) {
                        self.string()?
                    } else {
                        let token = self.advance();
                        super::name::lossy(self.text(token))
                    };
                    word.push('@');
                    word.push_str(&host);
                }
                ReplicationValue::Word(word.into())
            }
        })
    }

    fn replication_filter(&mut self) -> Result<Statement> {
        let rules = self.comma_list(|parser| {
            let name = parser.upper_word()?;
            parser.expect_kind(TokenKind::Equal)?;
            parser.expect_kind(TokenKind::LeftParen)?;
            let mut values = Vec::new();
            while !parser.at_kind(TokenKind::RightParen) {
                values.extend(parser.filter_value()?);
                if !parser.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
            parser.expect_kind(TokenKind::RightParen)?;
            Ok((name, values))
        })?;
        let channel = self.channel()?;
        Ok(Statement::Replication(Box::new(Replication::ChangeFilter { rules, channel })))
    }

    /// A database, a table, a pattern, or a pair of databases in parentheses.
    fn filter_value(&mut self) -> Result<Vec<SqlString>> {
        if self.at_kind(TokenKind::LeftParen) {
            let pair = self.parenthesized_idents()?;
            return Ok(pair.iter().map(|name| SqlString::from(&*name.value)).collect());
        }
        if self.at_kind(TokenKind::String) {
            return Ok(vec![self.sql_string()?]);
        }
        let name = self.object_name()?;
        let text = match &name.schema {
            Some(schema) => format!("{}.{}", schema.value, name.name.value),
            None => name.name.value.to_string(),
        };
        Ok(vec![SqlString::from(text.as_str())])
    }

    /// START REPLICA and START GROUP_REPLICATION, on that word.
    pub(super) fn start_replica(&mut self) -> Result<Statement> {
        if self.accept(K::GroupReplication) {
            let options = if self.at(K::User) { self.comma_list(Self::connection_option)? } else { Vec::new() };
            return Ok(Statement::Replication(Box::new(Replication::StartGroup { options })));
        }
        let all = self.accept(K::All);
        self.replica_words()?;
        let mut threads = self.replica_threads()?;
        if all {
            threads.push("ALL".into());
        }
        let mut until = Vec::new();
        if self.accept(K::Until) {
            until = self.comma_list(|parser| {
                let name = parser.upper_word()?;
                if !parser.accept_kind(TokenKind::Equal) {
                    return Ok((name, ReplicationValue::Null));
                }
                Ok((name, parser.replication_value()?))
            })?;
        }
        let mut options = Vec::new();
        while self.at_any(&[K::User, K::Password]) || self.at_word("DEFAULT_AUTH") || self.at_word("PLUGIN_DIR") {
            options.push(self.connection_option()?);
        }
        let channel = self.channel()?;
        Ok(Statement::Replication(Box::new(Replication::StartReplica { threads, until, options, channel })))
    }

    fn replica_words(&mut self) -> Result<()> {
        self.expect_any(&[K::Replica, K::Slave, K::Replicas, K::Slaves]).map(drop)
    }

    /// `name = 'value'`.
    fn connection_option(&mut self) -> Result<(Box<str>, Box<str>)> {
        let name = self.upper_word()?;
        self.expect_kind(TokenKind::Equal)?;
        Ok((name, self.string()?))
    }

    fn replica_threads(&mut self) -> Result<Vec<Box<str>>> {
        let mut threads = Vec::new();
        if self.at_any(&[K::IoThread, K::SqlThread]) {
            threads = self.comma_list(Self::upper_word)?;
        }
        Ok(threads)
    }

    /// STOP, behind the word.
    pub(super) fn stop(&mut self) -> Result<Statement> {
        if self.accept(K::GroupReplication) {
            return Ok(Statement::Replication(Box::new(Replication::StopGroup)));
        }
        let all = self.accept(K::All);
        self.replica_words()?;
        let mut threads = self.replica_threads()?;
        if all {
            threads.push("ALL".into());
        }
        let channel = self.channel()?;
        Ok(Statement::Replication(Box::new(Replication::StopReplica { threads, channel })))
    }
}
