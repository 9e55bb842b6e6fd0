//! CREATE, ALTER, DROP and SHOW CREATE HTTP ENDPOINT.

use super::*;

impl Parser<'_> {
    /// Passes HTTP and the word behind it, if both come next.
    pub(super) fn accept_http(&mut self, word: &str) -> bool {
        self.accept_words("HTTP", word)
    }

    /// Passes two words, if both come next.
    pub(super) fn accept_words(&mut self, first: &str, second: &str) -> bool {
        if !self.at_word(first) {
            return false;
        }
        let next = self.peek(1);
        let is_here = next.kind == TokenKind::Word && self.text(next).eq_ignore_ascii_case(second.as_bytes());
        if is_here {
            self.advance();
            self.advance();
        }
        is_here
    }

    /// CREATE HTTP ENDPOINT, behind these words.
    pub(super) fn create_http_endpoint(&mut self, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        self.expect_word("URL")?;
        let url = Some(self.string()?);
        let mut endpoint = HttpEndpoint { url, ..named(name) };
        while self.http_endpoint_clause(&mut endpoint, false)? {}
        Ok(Statement::CreateHttpEndpoint { or_replace, if_not_exists, endpoint: Box::new(endpoint) })
    }

    /// ALTER HTTP ENDPOINT, behind these words.
    pub(super) fn alter_http_endpoint(&mut self) -> Result<Statement> {
        let mut endpoint = named(self.ident()?);
        let mut clauses = 0;
        while self.http_endpoint_clause(&mut endpoint, true)? {
            clauses += 1;
        }
        if clauses == 0 {
            return Err(self.unexpected());
        }
        Ok(Statement::AlterHttpEndpoint(Box::new(endpoint)))
    }

    /// One clause, if there is one. All but headers stand once.
    fn http_endpoint_clause(&mut self, endpoint: &mut HttpEndpoint, alter: bool) -> Result<bool> {
        if alter && self.at(K::Drop) {
            self.advance();
            match self.accept_word("HEADER") {
                true => endpoint.dropped_headers.push(self.string()?),
                false if endpoint.secret.is_some() => return Err(self.unexpected()),
                false => {
                    self.expect_word("SECRET")?;
                    endpoint.secret = Some(SecretClause::Drop);
                }
            }
        } else if self.accept_word("HEADER") {
            endpoint.headers.push(self.string()?);
        } else if endpoint.secret.is_none() && self.accept_word("SECRET") {
            endpoint.secret = Some(SecretClause::Set(self.string()?));
        } else if alter && endpoint.url.is_none() && self.accept_word("URL") {
            endpoint.url = Some(self.string()?);
        } else if endpoint.users.is_none() && self.accept(K::For) {
            endpoint.users = Some(if self.accept_word("PUBLIC") {
                EndpointUsers::Public
            } else if self.accept_word("NONE") {
                EndpointUsers::None
            } else {
                EndpointUsers::Accounts(self.comma_list(Self::account_name)?)
            });
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

fn named(name: Ident) -> HttpEndpoint {
    HttpEndpoint { name, url: None, headers: Vec::new(), dropped_headers: Vec::new(), secret: None, users: None }
}
