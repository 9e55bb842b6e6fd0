//! The client with false resolvers and false certificates.

mod certificates;
mod reach;

use squall_http_client::header::HeaderMap;
use squall_http_client::{
    Client, HttpError, Limits, Method, Proxy, Request, Resolve, Response, Rules, SystemResolver, Target,
};
use squall_test_support::web_peer::WebPeer;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Answers each look-up with the next of its lists, and the last for ever.
#[derive(Debug)]
struct Lists(Vec<Vec<IpAddr>>, AtomicUsize);

impl Lists {
    fn new(lists: &[&[&str]]) -> Arc<Lists> {
        let parsed = lists.iter().map(|list| list.iter().map(|address| address.parse().unwrap()).collect());
        Arc::new(Lists(parsed.collect(), AtomicUsize::new(0)))
    }
}

impl Resolve for Lists {
    fn resolve<'a>(&'a self, _: &'a str) -> squall_http_client::resolver::Addresses<'a> {
        let at = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        Box::pin(async move { Ok(self.0[at].clone()) })
    }
}

fn limits(allow_private: bool) -> Limits {
    Limits {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(5),
        max_bytes: 1 << 20,
        max_redirects: 5,
        max_concurrent: 8,
        rules: Arc::new(Rules::new("", "10.0.0.0/8", allow_private)),
        proxy: None,
        user_agent: "test".parse().unwrap(),
    }
}

fn get(client: &Client, url: &str, limits: &Limits) -> Result<Response, HttpError> {
    let target = Target::parse(url)?;
    let request =
        Request { method: Method::GET, target, headers: HeaderMap::new(), body: Default::default(), scope: None };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.fetch(request, limits, &mut |_| true))
}

fn error(client: &Client, url: &str, limits: &Limits) -> String {
    get(client, url, limits).map(|response| response.status).unwrap_err().to_string()
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_reached() {
    let peer = WebPeer::start();
    // A name that leads to a place that may be reached when it is checked, and elsewhere later.
    let resolver = Lists::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let client = Client::new(resolver.clone());
    let url = format!("http://rebind.example:{}/hello", peer.port());
    assert_eq!(get(&client, &url, &limits(true)).unwrap().body, b"hello");
    assert_eq!(resolver.1.load(Ordering::SeqCst), 1, "one look-up for a connection");
    let refused = "the destination is refused by http_client_deny";
    // A redirect is looked up and checked again.
    let url = format!("http://rebind.example:{}/to?http://other.example/", peer.port());
    assert_eq!(error(&client, &url, &limits(true)), refused);
}

#[test]
fn names_of_private_addresses_are_refused() {
    let private = "the destination is refused by http_client_allow_private";
    for addresses in [&["192.168.0.1"][..], &["8.8.8.8", "127.0.0.1"], &["::ffff:127.0.0.1"], &["64:ff9b::a00:1"]] {
        let client = Client::new(Lists::new(&[addresses]));
        let message = error(&client, "http://inner.example/", &limits(false));
        assert!(message == private || message.ends_with("http_client_deny"), "{addresses:?}: {message}");
        assert!(!message.contains("192.168"));
    }
    let client = Client::new(Lists::new(&[&[]]));
    assert_eq!(error(&client, "http://nobody.example/", &limits(false)), "the name of the host has no address");
    let client = Client::new(Arc::new(SystemResolver::default()));
    assert_eq!(error(&client, "http://localhost/", &limits(false)), private);
}

/// Never answers.
#[derive(Debug)]
struct Silent;

impl Resolve for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> squall_http_client::resolver::Addresses<'a> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_name_without_an_answer_is_given_up() {
    let client = Client::new(Arc::new(Silent));
    let limits = Limits { timeout: Duration::from_millis(300), ..limits(true) };
    let begun = Instant::now();
    assert_eq!(error(&client, "http://slow.example/", &limits), "no whole answer within 300 ms");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn the_next_address_is_tried() {
    let peer = WebPeer::start();
    let client = Client::new(Lists::new(&[&["127.0.0.2", "127.0.0.1"]]));
    assert_eq!(
        get(&client, &format!("http://two.example:{}/hello", peer.port()), &limits(true)).unwrap().body,
        b"hello"
    );
}

#[test]
fn connections_are_used_again_until_the_peer_closes_them() {
    let peer = WebPeer::start();
    let client = Client::new(Lists::new(&[&["127.0.0.1"]]));
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        for path in ["/hello", "/hello", "/status/500", "/hello"] {
            let target = Target::parse(&peer.url(path)).unwrap();
            let request = Request {
                method: Method::GET,
                target,
                headers: HeaderMap::new(),
                body: Default::default(),
                scope: None,
            };
            client.fetch(request, &limits(true), &mut |_| true).await.unwrap();
        }
    });
    assert_eq!((peer.requests(), peer.connections()), (4, 1));
}

#[test]
fn a_proxy_is_told_the_address_that_was_checked() {
    let peer = WebPeer::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let expected = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", peer.port());
    let through = peer.port();
    let worker = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        assert!(request[..read].starts_with(expected.as_bytes()), "{:?}", String::from_utf8_lossy(&request[..read]));
        let mut to = std::net::TcpStream::connect(("127.0.0.1", through)).unwrap();
        stream.write_all(b"HTTP/1.1 200 Established\r\n\r\n").unwrap();
        let (mut back, mut forth) = (to.try_clone().unwrap(), stream.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
        let _ = std::io::copy(&mut stream, &mut to);
        let (mut refusing, _) = listener.accept().unwrap();
        let _ = refusing.read(&mut request);
        refusing.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap();
    });
    let by_proxy = Limits { proxy: Proxy::parse(&proxy).unwrap(), ..limits(true) };
    let url = format!("http://name.example:{}/hello", peer.port());
    let client = || Client::new(Lists::new(&[&["127.0.0.1"]]));
    assert_eq!(get(&client(), &url, &by_proxy).unwrap().body, b"hello");
    assert_eq!(error(&client(), &url, &by_proxy), "the proxy refuses with status 403");
    worker.join().unwrap();
    // What may not be reached is not asked of a proxy either.
    let limits = Limits { rules: Arc::new(Rules::new("", "", false)), ..by_proxy };
    assert_eq!(error(&client(), &url, &limits), "the destination is refused by http_client_allow_private");
}
