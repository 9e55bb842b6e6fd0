//! CREATE API TOKEN.

use super::expr::interval_unit;
use super::*;

impl Printer {
    /// CREATE API TOKEN.
    pub(super) fn create_api_token(&mut self, token: &CreateApiToken) {
        self.put("CREATE API TOKEN FOR ");
        self.account_name(&token.account);
        if let Some((count, unit)) = &token.expire {
            self.put(" EXPIRE INTERVAL ");
            self.put(&count.to_string());
            self.put(" ");
            self.put(interval_unit(*unit));
        }
        self.put_if(token.read_only, " READ ONLY");
        if let Some(schemas) = &token.schemas {
            self.put(" SCHEMAS ");
            self.idents(schemas);
        }
        self.optional_string(" COMMENT ", &token.comment);
    }
}
