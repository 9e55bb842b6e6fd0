//! CREATE, ALTER and DROP HTTP ENDPOINT.

use super::*;

impl Printer {
    /// What CREATE and ALTER say of an endpoint.
    pub(super) fn http_endpoint(&mut self, endpoint: &HttpEndpoint) {
        self.ident(&endpoint.name);
        self.optional_string(" URL ", &endpoint.url);
        for header in &endpoint.headers {
            self.put(" HEADER ");
            self.string(header);
        }
        for name in &endpoint.dropped_headers {
            self.put(" DROP HEADER ");
            self.string(name);
        }
        match &endpoint.secret {
            None => {}
            Some(SecretClause::Drop) => self.put(" DROP SECRET"),
            Some(SecretClause::Set(secret)) => {
                self.put(" SECRET ");
                self.string(secret);
            }
        }
        match &endpoint.users {
            None => {}
            Some(EndpointUsers::Public) => self.put(" FOR PUBLIC"),
            Some(EndpointUsers::None) => self.put(" FOR NONE"),
            Some(EndpointUsers::Accounts(accounts)) => {
                self.put(" FOR ");
                self.accounts(accounts);
            }
        }
    }
}
