//! Which names clients may call the server by, and which pages may ask it: against DNS rebinding and requests of foreign pages.

use crate::problem::Problem;
use crate::settings::HttpSettings;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, HeaderValue, ORIGIN,
    VARY,
};
use hyper::{HeaderMap, StatusCode, Uri};
use std::net::{IpAddr, Ipv6Addr};

/// Where a request comes from, after it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No page, or one of the server.
    Own,
    /// A page that `json_server_cors_origins` has.
    Foreign(HeaderValue),
}

/// Checks the name of the server in a request, and the page that sends it.
///
/// # Errors
/// 400 without a name, 403.
pub fn check(uri: &Uri, headers: &HeaderMap, settings: &HttpSettings) -> Result<Origin, Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let header = hosts.next();
    if hosts.next().is_some() {
        return Err(Problem::bad_request("there is more than one header Host"));
    }
    let host = match (uri.authority(), header) {
        // HTTP/2 has it in the URI; with both they have to be the same.
        (Some(authority), Some(header)) if header.as_bytes() != authority.as_str().as_bytes() => {
            return Err(Problem::bad_request("the header Host is not that of the URI"));
        }
        (Some(authority), _) => authority.as_str().to_owned(),
        (None, Some(header)) => header.to_str().map(str::to_owned).unwrap_or_default(),
        (None, None) => return Err(Problem::bad_request("the header Host is missing")),
    };
    if !is_own_name(name_of(&host), settings) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "the header Host has a name that is not this server's; json_server_hosts has its names",
        ));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(Origin::Own) };
    let text = origin.to_str().unwrap_or_default();
    let is_own = ["http://", "https://"].iter().any(|scheme| text.strip_prefix(scheme) == Some(host.as_str()));
    if is_own {
        return Ok(Origin::Own);
    }
    match settings.cors_origins.iter().any(|known| known == text || known == "*") {
        true => Ok(Origin::Foreign(origin.clone())),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "a page of another origin asks; json_server_cors_origins has those that may",
        )),
    }
}

/// The name without its port.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// An address cannot be a name that someone else has made mean this server.
fn is_own_name(name: &str, settings: &HttpSettings) -> bool {
    let name = name.to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok()
        || name.parse::<Ipv6Addr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || settings.hosts.contains(&name)
}

/// Lets the browser show an answer to the page.
pub fn allow(origin: &Origin, settings: &HttpSettings, headers: &mut HeaderMap) {
    if !settings.cors_origins.is_empty() {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    let Origin::Foreign(origin) = origin else { return };
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("ETag, Location, WWW-Authenticate"));
    // Not for any page whatever: its browser would send what it knows of the user.
    if !settings.cors_origins.iter().any(|known| known == "*") {
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}

/// Answers a browser that asks whether the page may send a request.
pub fn allow_requests(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"));
    let names = HeaderValue::from_static("Authorization, Content-Type, Accept, If-Match, If-None-Match, X-CSRF-Token");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>) -> Result<bool, u16> {
        let settings = HttpSettings {
            hosts: vec!["db.example.com".to_owned()],
            cors_origins: vec!["https://app.example.com".to_owned()],
            ..HttpSettings::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).expect("a header"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).expect("a header"));
        }
        let checked = check(&Uri::from_static("/"), &headers, &settings);
        checked.map(|origin| origin == Origin::Own).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn foreign_names_and_pages_are_refused() {
        for host in ["127.0.0.1:8086", "[::1]:8086", "localhost", "LOCALHOST:1", "db.example.com:8086", "192.0.2.1"] {
            assert_eq!(status(host, None), Ok(true), "{host}");
        }
        for host in ["evil.example", "evil.example:8086", "", "localhost.evil.example"] {
            assert_eq!(status(host, None), Err(403), "{host}");
        }
        assert_eq!(status("localhost:8086", Some("http://localhost:8086")), Ok(true));
        assert_eq!(status("localhost:8086", Some("http://localhost:9000")), Err(403));
        assert_eq!(status("localhost:8086", Some("null")), Err(403));
        assert_eq!(status("localhost:8086", Some("https://app.example.com")), Ok(false));
    }
}
