//! HTTP endpoints: a URL, headers and a secret under a name, so that statements need not contain them.
//!
//! Reading order: this file (endpoints and their privileges), [`reference`] (`name:/path`), [`definition`] (CREATE, ALTER, DROP, SHOW),
//! [`table`].

mod definition;
mod reference;
mod table;

pub(super) use definition::EndpointObjects;
pub(super) use reference::{Destination, add_headers};
pub(super) use table::EndpointTable;

use super::Shared;
use super::options::header_of;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_catalog::AccountKey;
use squall_http_client::HeaderMap;
use squall_http_client::header::AUTHORIZATION;
use squall_http_client::target::secret;
use squall_row_store::{Malformed, Reader, Writer};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult};
use std::fmt;

/// The privilege to manage endpoints.
pub(super) const ENDPOINT_PRIVILEGE: &str = "HTTP_ENDPOINT_ADMIN";
/// The kind of record.
const SPACE: &str = "http_client_endpoints";
/// Version of the layout.
const FORMAT: u8 = 1;
/// Where the secret stands in a header.
const SECRET_PLACES: [&str; 2] = ["{secret}", "{secret_base64}"];

/// Who may use an endpoint, beside those who manage all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Users {
    /// All accounts.
    Public,
    /// These accounts and roles.
    Accounts(Vec<AccountKey>),
}

/// An endpoint.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// As it was written; whatever its case, there is one of it.
    name: String,
    /// `http` or `https`, without credentials, query and fragment.
    url: String,
    /// Names and values, which may have [`SECRET_PLACES`].
    headers: Vec<(String, String)>,
    /// Empty for none.
    secret: String,
    users: Users,
    /// Who has defined it last.
    modified_by: String,
    /// When, microseconds since 1970 UTC.
    modified_micros: i64,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Endpoint {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new(FORMAT);
        out.str(&self.name);
        out.str(&self.url);
        out.list(&self.headers, |out, (name, value)| {
            out.str(name);
            out.str(value);
        });
        out.str(&self.secret);
        let accounts = match &self.users {
            Users::Public => None,
            Users::Accounts(accounts) => Some(accounts),
        };
        out.option(accounts, |out, accounts| {
            out.list(accounts, |out, account| {
                out.str(&account.user);
                out.str(&account.host);
            });
        });
        out.str(&self.modified_by);
        out.i64(self.modified_micros);
        out.finish()
    }

    fn read(bytes: &[u8]) -> Result<Endpoint, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != FORMAT {
            return Err(Malformed);
        }
        let (name, url) = (reader.string()?, reader.string()?);
        let headers = reader.list(|reader| Ok((reader.string()?, reader.string()?)))?;
        let secret = reader.string()?;
        let account = |reader: &mut Reader<'_>| Ok(AccountKey::new(reader.string()?, reader.string()?));
        let accounts = reader.option(|reader| reader.list(account))?;
        Ok(Endpoint {
            name,
            url,
            headers,
            secret,
            users: accounts.map_or(Users::Public, Users::Accounts),
            modified_by: reader.string()?,
            modified_micros: reader.i64()?,
        })
    }

    fn decode(bytes: &[u8]) -> SqlResult<Endpoint> {
        Self::read(bytes).map_err(|_| SqlError::internal("a record of an HTTP endpoint is damaged"))
    }

    /// Whether the account of a statement may use it. Who manages endpoints may use each: it could give itself any.
    fn is_for(&self, context: &StatementContext) -> bool {
        let is_user = match &self.users {
            Users::Public => true,
            Users::Accounts(accounts) => context.is_among(accounts),
        };
        is_user || context.demand_privilege(ENDPOINT_PRIVILEGE).is_ok()
    }

    /// Its headers with the secret in its place: as a bearer token where no header has one.
    ///
    /// # Errors
    /// 1210 for what cannot stand in a header.
    fn headers(&self, function: &str) -> SqlResult<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let (name, mut value) = header_of(function, name, &filled(value, &self.secret))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        if !self.secret.is_empty() && !self.headers.iter().any(|(_, value)| has_place(value)) {
            let token = secret(&format!("Bearer {}", self.secret));
            headers.insert(AUTHORIZATION, token.map_err(|error| super::options::wrong(function, &error.to_string()))?);
        }
        Ok(headers)
    }
}

fn has_place(value: &str) -> bool {
    SECRET_PLACES.iter().any(|place| value.contains(place))
}

/// A header's value with the secret in its places. What the secret holds is not looked at again.
fn filled(value: &str, secret: &str) -> String {
    let mut text = String::with_capacity(value.len() + secret.len());
    let mut rest = value;
    while let Some(at) = rest.find("{secret") {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let [plain, base64] = SECRET_PLACES;
        rest = if let Some(behind) = from.strip_prefix(plain) {
            text.push_str(secret);
            behind
        } else if let Some(behind) = from.strip_prefix(base64) {
            text.push_str(&STANDARD.encode(secret));
            behind
        } else {
            text.push('{');
            &from[1..]
        };
    }
    text + rest
}

fn key(name: &str) -> Vec<u8> {
    name.to_ascii_lowercase().into_bytes()
}

impl Shared {
    /// All endpoints that the account of a statement may know of, by name.
    fn endpoints(&self, context: &StatementContext) -> SqlResult<Vec<Endpoint>> {
        let records = self.database()?.records(SPACE).all()?;
        let mut endpoints = Vec::new();
        for (_, record) in records {
            let endpoint = Endpoint::decode(&record)?;
            if endpoint.is_for(context) {
                endpoints.push(endpoint);
            }
        }
        Ok(endpoints)
    }

    /// The endpoint of that name, for any account.
    fn endpoint(&self, name: &str) -> SqlResult<Option<Endpoint>> {
        self.database()?.records(SPACE).get(&key(name))?.as_deref().map(Endpoint::decode).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn endpoint() -> Endpoint {
        Endpoint {
            name: "api".to_string(),
            url: "https://api.example.com/v1".to_string(),
            headers: vec![("x-key".to_string(), "k {secret}/{secret_base64}{secretary}".to_string())],
            secret: "a:{secret}".to_string(),
            users: Users::Accounts(vec![AccountKey::new("u", "%")]),
            modified_by: "root@%".to_string(),
            modified_micros: 5,
        }
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        for endpoint in [endpoint(), Endpoint { users: Users::Public, secret: String::new(), ..endpoint() }] {
            let bytes = endpoint.encode();
            assert_eq!(Endpoint::read(&bytes).ok(), Some(endpoint));
            for end in 0..bytes.len() {
                assert!(Endpoint::read(&bytes[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn secrets_are_filled_in_once_and_not_shown() {
        let headers = endpoint().headers("f").unwrap();
        assert_eq!(headers["x-key"], "k a:{secret}/YTp7c2VjcmV0fQ=={secretary}");
        assert!(!format!("{headers:?}{:?}", endpoint()).contains("a:{"));
        let bearer = Endpoint { headers: Vec::new(), ..endpoint() };
        assert_eq!(bearer.headers("f").unwrap()[AUTHORIZATION], "Bearer a:{secret}");
    }
}
