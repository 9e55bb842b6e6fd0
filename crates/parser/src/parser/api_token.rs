//! CREATE and DROP API TOKEN.

use super::*;

impl Parser<'_> {
    /// Passes API and the word behind it, if both come next.
    pub(super) fn accept_api(&mut self, word: &str) -> bool {
        self.accept_words("API", word)
    }

    /// CREATE API TOKEN, behind these words. Each clause stands once.
    pub(super) fn create_api_token(&mut self) -> Result<Statement> {
        self.expect(K::For)?;
        let account = self.account_name()?;
        let mut token = CreateApiToken { account, expire: None, read_only: false, schemas: None, comment: None };
        loop {
            if token.expire.is_none() && self.accept_word("EXPIRE") {
                self.expect(K::Interval)?;
                token.expire = Some((self.unsigned()?, self.interval_unit()?));
            } else if !token.read_only && self.accept(K::Read) {
                self.expect_word("ONLY")?;
                token.read_only = true;
            } else if token.schemas.is_none() && self.accept(K::Schemas) {
                token.schemas = Some(self.parenthesized_idents()?);
            } else if token.comment.is_none() && self.accept_word("COMMENT") {
                token.comment = Some(self.string()?);
            } else {
                return Ok(Statement::CreateApiToken(Box::new(token)));
            }
        }
    }

    /// DROP API TOKEN, behind these words.
    pub(super) fn drop_api_token(&mut self) -> Result<Statement> {
        Ok(Statement::DropApiToken { if_exists: self.if_exists()?, id: self.string()? })
    }
}
