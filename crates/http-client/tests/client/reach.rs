//! Refused addresses in all their notations: one table.

use super::{Lists, error, get, limits};
use squall_http_client::{Client, HttpError, Limits, Rules};
use squall_test_support::web_peer::WebPeer;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const PRIVATE: &str = "the destination is refused by http_client_allow_private";
const DENIED: &str = "the destination is refused by http_client_deny";

/// The own machine.
const LOOPBACK: &[&str] = &[
    "http://127.0.0.1/",
    "127.0.0.1",
    "HTTPS://127.0.0.1:8443/",
    // Numbers: of 32, 24 and 16 bits at the end, decimal, octal, hexadecimal, mixed.
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0X7F000001/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.65535/",
    "http://0177.0.0.01/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://0177.1/",
    "http://127.0x1/",
    // A dot at the end, ports, credentials, what looks like them.
    "http://127.0.0.1./",
    "http://127.0.0.1:80/",
    "http://127.0.0.1:/",
    "http://user:password@127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1:80/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1?@example.com/",
    "http://127.0.0.1\\@example.com/",
    "http://a@b@127.0.0.1/",
    // Slashes and white space.
    "http:/127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:///127.0.0.1/",
    "//127.0.0.1/",
    " \t\nhttp://127.0.0.1/ ",
    "http://127.0\n.0.1/",
    // Digits and dots of other scripts, percent coding.
    "http://①②⑦.⓪.⓪.①/",
    "http://１２７．０．０．１/",
    "http://127。0。0。1/",
    "http://127｡0｡0｡1/",
    "http://𝟭𝟮𝟳.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2E0.1/",
    "http://0x7f%2e1/",
    // IPv6, and IPv4 in it: mapped, compatible, translated, NAT64, 6to4, ISATAP.
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://[0000::0001]/",
    "http://user@[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::FFFF:7F00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:7f00:1::8.8.8.8]/",
    "http://[2606:4700::5efe:127.0.0.1]/",
];

/// Other places that are not public.
const INNER: &[&str] = &[
    "http://0/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://10.0.0.1/",
    "http://167772161/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://192.88.99.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://4294967295/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    // Teredo, whatever it leads to.
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[2001:0:0808:0808::1]/",
];

/// What means nothing: zones, numbers that are too large, parts that are too many.
const NOTHING: &[&str] = &[
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1%25lo]/",
    "http://[::1/",
    "http://[::ffff:127.0.0.256]/",
    "http://[::g]/",
    "http://127.0.0.256/",
    "http://256.0.0.1/",
    "http://1.2.3.4.5/",
    "http://4294967296/",
    "http://0x100000000/",
    "http://08.0.0.1/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:0/",
    "http://127.0.0.1 .example.com/",
    "http:127.0.0.1/",
    "http://",
    "http://@/",
    "http://:80/",
    "http://exa mple.com/",
    "http://exa%00mple.com/",
    "http://exa<mple.com/",
];

/// Other schemes.
const SCHEMES: &[&str] = &[
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "FILE:/etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/stats",
    "ftp://example.com/",
    "ldap://example.com/",
    "jar:http://example.com!/",
    "ws://example.com/",
    "data:text/plain,a",
    "javascript:alert(1)",
    "netdoc:/etc/passwd",
    "unix:/run/docker.sock",
    "http+unix://%2Frun%2Fdocker.sock/",
];

/// What holds out of the box.
fn defaults() -> Limits {
    Limits { rules: Arc::new(Rules::default()), ..limits(false) }
}

#[test]
fn addresses_are_refused_in_every_spelling() {
    let resolver = Lists::new(&[&[]]);
    let client = Client::new(resolver.clone());
    for url in LOOPBACK.iter().chain(INNER) {
        assert_eq!(error(&client, url, &defaults()), PRIVATE, "{url}");
    }
    for url in NOTHING {
        let outcome = get(&client, url, &defaults());
        assert!(matches!(outcome, Err(HttpError::Invalid(_))), "{url}: {outcome:?}");
    }
    for url in SCHEMES {
        assert_eq!(error(&client, url, &defaults()), "the scheme is neither http nor https", "{url}");
    }
    assert_eq!(resolver.1.load(Ordering::SeqCst), 0, "no name was looked up");
}

#[test]
fn redirects_lead_to_none_of_them() {
    let peer = WebPeer::start();
    let rules = "127.0.0.0/8:80, 127.0.0.0/8:443, 127.0.0.0/8:8443, [::1]:80, 10.0.0.0/8, 169.254.0.0/16, 0.0.0.0/8";
    let limits = Limits { rules: Arc::new(Rules::new("", rules, true)), ..limits(true) };
    let client = Client::new(Lists::new(&[&["127.0.0.1"]]));
    let mut refused = 0;
    for url in
        LOOPBACK.iter().chain(&["http://10.0.0.1/", "http://2852039166/", "http://0/", "http://[::ffff:10.0.0.1]/"])
    {
        // What cannot stand in a header as it is.
        if url.contains(char::is_whitespace) || !url.contains("://") || !url.is_ascii() {
            continue;
        }
        let message = error(&client, &peer.url(&format!("/to?{url}")), &limits);
        assert_eq!(message, DENIED, "{url}");
        refused += 1;
    }
    assert!(refused > 30, "{refused}");
    for url in SCHEMES {
        let message = error(&client, &peer.url(&format!("/to?{url}")), &limits);
        assert_eq!(message, "the scheme is neither http nor https", "{url}");
    }
}

#[test]
fn names_are_refused_by_any_of_their_addresses() {
    // A name's addresses as a resolver gives them: behind whichever chain of CNAMEs they are, of A and AAAA together.
    let refused: &[&[&str]] = &[
        &["10.0.0.1"],
        &["127.0.0.1"],
        &["::1"],
        &["8.8.8.8", "10.0.0.1"],
        &["10.0.0.1", "8.8.8.8"],
        &["2606:4700:4700::1111", "127.0.0.1"],
        &["8.8.8.8", "::1"],
        &["8.8.8.8", "::ffff:127.0.0.1"],
        &["8.8.8.8", "64:ff9b::a00:1"],
        &["8.8.8.8", "2002:a00:1::"],
        &["8.8.8.8", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
        &["8.8.8.8", "fe80::1"],
        &["0.0.0.0"],
        &["169.254.169.254"],
    ];
    for addresses in refused {
        let client = Client::new(Lists::new(&[addresses]));
        for host in ["inner.example", "inner.example.", "INNER.example", "xn--bcher-kva.example", "ｉｎｎｅｒ.example"]
        {
            assert_eq!(error(&client, &format!("http://{host}/"), &defaults()), PRIVATE, "{host} {addresses:?}");
        }
    }
}

#[test]
fn names_of_lists_are_names_in_every_spelling() {
    let resolver = Lists::new(&[&["8.8.8.8"]]);
    let client = Client::new(resolver.clone());
    let denying = Limits {
        rules: Arc::new(Rules::new("", "Bücher.example, *.Evil.example., 8.8.0.0/16", true)),
        ..limits(true)
    };
    for host in [
        "bücher.example",
        "BÜCHER.EXAMPLE",
        "bücher.example.",
        "xn--bcher-kva.example",
        "XN--BCHER-KVA.example.",
        "b%C3%BCcher.example",
        "ｂücher.ｅxample",
        "bu\u{308}cher.example",
        "bücher。example",
        "user:password@bücher.example",
        "a.evil.example",
        "a.b.EVIL.example.",
        "a.ｅvil.example",
    ] {
        assert_eq!(error(&client, &format!("http://{host}/"), &denying), DENIED, "{host}");
    }
    assert_eq!(resolver.1.load(Ordering::SeqCst), 0, "no name was looked up");
    // By its address.
    assert_eq!(error(&client, "http://other.example/", &denying), DENIED);
    let allowing = Limits { rules: Arc::new(Rules::new("good.example, *.fine.example:443", "", true)), ..limits(true) };
    let not_allowed = "the destination is refused by http_client_allow";
    for url in [
        "http://good.example.evil.example/",
        "http://evilgood.example/",
        "http://good.example@evil.example/",
        "http://evil.example#good.example",
        "http://evil.example\\good.example",
        "http://fine.example:443/",
        "https://evilfine.example/",
        "http://a.fine.example/",
        "https://a.fine.example:8443/",
        "http://8.8.8.8/",
    ] {
        assert_eq!(error(&client, url, &allowing), not_allowed, "{url}");
    }
}

#[test]
fn a_proxy_is_asked_for_none_of_them() {
    let peer = WebPeer::start();
    let proxy = squall_http_client::Proxy::parse(&format!("http://127.0.0.1:{}", peer.port())).unwrap();
    let limits = Limits { proxy, ..defaults() };
    let client = Client::new(Lists::new(&[&["10.0.0.1"]]));
    for url in LOOPBACK.iter().chain(INNER) {
        assert_eq!(error(&client, url, &limits), PRIVATE, "{url}");
    }
    assert_eq!(error(&client, "http://inner.example/", &limits), PRIVATE);
    assert_eq!(peer.connections(), 0);
}
