//! Listeners that come and go, with a protocol that knows nothing of sessions.

use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use squall_front_end::{
    Account, Address, Client, ConnectionLimit, FrontEnd, FrontEndContext, FrontEndOptions, FrontEndSettings, Listen,
    LocalFuture, Moving, PassedSocket, Protocol, Socket,
};
use squall_types::SqlError;
use tokio::io::AsyncWriteExt as _;

/// A server without accounts.
#[derive(Default)]
struct Context {
    refused: AtomicUsize,
}

impl FrontEndContext for Context {
    fn front_end_settings(&self) -> FrontEndSettings {
        FrontEndSettings {
            max_connections: 1,
            connect_timeout_seconds: 10,
            net_write_timeout_seconds: 10,
            require_secure_transport: false,
        }
    }

    fn account(&self, _user: &str, _address: Option<IpAddr>) -> Option<Account> {
        None
    }

    fn client_gone(&self, _connection_id: u64) {}

    fn connection_aborted(&self, _connection_id: u64) {}

    fn connect_failed(&self) {}

    fn connection_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn connection_moved(&self) {}
}

/// Says its name, and that it is over when it is.
struct Names(&'static str);

impl Protocol for Names {
    fn name(&self) -> &str {
        self.0
    }

    fn serve(self: Arc<Self>, mut client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(async move {
            client.socket.write_all(self.0.as_bytes()).await?;
            while !client.neighbour.is_ending() {
                client.wake.notified().await;
            }
            client.socket.write_all(b" over").await?;
            Ok(None)
        })
    }

    fn refuse(self: Arc<Self>, mut socket: Socket, _: Duration, error: SqlError) -> LocalFuture<'static, ()> {
        Box::pin(async move { socket.write_all(error.message.as_bytes()).await.expect("the client is there") })
    }
}

fn start(folder: &Path) -> (FrontEnd, Arc<Context>) {
    let context = Arc::new(Context::default());
    let options = FrontEndOptions {
        data_directory: folder.to_owned(),
        event_loops: NonZeroUsize::MIN.saturating_add(1),
        drain_timeout: Duration::from_secs(10),
    };
    (FrontEnd::start(&options, context.clone()).expect("a front end"), context)
}

fn listen(name: &str, addresses: Vec<Address>, limit: ConnectionLimit) -> Listen {
    let protocol = Arc::new(Names(if name == "other" { "other" } else { "one" }));
    Listen { name: name.to_owned(), addresses, protocol, limit, administrative: false }
}

fn any_port() -> Address {
    Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))
}

/// Everything that is said from here on.
fn rest(mut stream: impl io::Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the end");
    text
}

/// A connection that has been accepted: it has got the protocol's name. The system resets one that still waits when its listener closes.
fn served<S: io::Read>(stream: io::Result<S>, name: &str) -> S {
    let mut stream = stream.expect("a connection");
    let mut got = vec![0; name.len()];
    stream.read_exact(&mut got).expect("a name");
    assert_eq!(got, name.as_bytes());
    stream
}

#[test]
fn each_listener_has_its_protocol_and_ends_its_own_connections() {
    let folder = tempfile::tempdir().expect("a folder");
    let (front_end, _) = start(folder.path());
    let path = folder.path().join("sock");
    let listeners = front_end.listeners().clone();
    let unlimited = || ConnectionLimit::Unlimited;
    let one =
        listeners.open(listen("one", vec![any_port(), Address::Unix(path.clone())], unlimited())).expect("opened");
    let other = listeners.open(listen("other", vec![any_port(), any_port()], unlimited())).expect("opened");
    assert_eq!((one.len(), other.len()), (1, 2));
    let clients = [0; 8].map(|_| served(TcpStream::connect(one[0]), "one"));
    let by_socket = served(UnixStream::connect(&path), "one");
    let others = [other[0], other[1]].map(|address| served(TcpStream::connect(address), "other"));
    listeners.close("one").expect("closed");
    assert!(TcpStream::connect(one[0]).is_err());
    assert!(!path.exists());
    assert_eq!(rest(by_socket), " over");
    for client in clients {
        assert_eq!(rest(client), " over");
    }
    // The address is free at once, also for the same name.
    listeners.open(listen("one", vec![Address::Tcp(one[0])], unlimited())).expect("opened again");
    let last = served(TcpStream::connect(one[0]), "one");
    front_end.shut_down().expect("the end");
    for client in others {
        assert_eq!(rest(client), " over");
    }
    assert_eq!(rest(last), " over");
    let late = listeners.open(listen("late", vec![any_port(), Address::Unix(path.clone())], unlimited()));
    assert_eq!(late.expect_err("it is over").to_string(), "the server is shutting down");
    assert!(!path.exists());
    assert!(listeners.close("one").is_err());
}

#[test]
fn what_cannot_be_opened_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (front_end, _) = start(folder.path());
    let path = folder.path().join("sock");
    let listeners = front_end.listeners();
    let taken = TcpListener::bind("127.0.0.1:0").expect("an address");
    let addresses = vec![Address::Unix(path.clone()), Address::Tcp(taken.local_addr().expect("an address"))];
    assert!(listeners.open(listen("one", addresses, ConnectionLimit::Unlimited)).is_err());
    assert!(!path.exists());
    listeners.open(listen("one", vec![any_port()], ConnectionLimit::Unlimited)).expect("opened");
    let again = listeners.open(listen("one", vec![Address::Unix(path.clone())], ConnectionLimit::Unlimited));
    assert_eq!(again.expect_err("the name is taken").kind(), io::ErrorKind::AlreadyExists);
    assert!(!path.exists());
    assert_eq!(listeners.close("two").expect_err("there is none").kind(), io::ErrorKind::NotFound);
    front_end.shut_down().expect("the end");
}

#[test]
fn listeners_share_the_servers_limit_or_have_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (front_end, context) = start(folder.path());
    let open =
        |name: &str, limit| front_end.listeners().open(listen(name, vec![any_port()], limit)).expect("opened")[0];
    let (a, b) = (open("a", ConnectionLimit::Server), open("b", ConnectionLimit::Server));
    let own = open("own", ConnectionLimit::Own(Arc::new(squall_front_end::OwnLimit::new(1))));
    let connect = |address| {
        let mut client = TcpStream::connect(address).expect("a connection");
        client.read_exact(&mut [0; 3]).expect("a word");
        client
    };
    // One of them, and the one beyond for an administrator.
    let _clients = [connect(a), connect(b), connect(own)];
    for address in [a, b, own] {
        assert_eq!(rest(TcpStream::connect(address).expect("a connection")), "Too many connections");
    }
    assert_eq!(context.refused.load(Ordering::Relaxed), 3);
    front_end.shut_down().expect("the end");
}

/// A protocol that keeps its event loop for itself for a while.
struct Busy(Duration);

impl Protocol for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn serve(self: Arc<Self>, mut client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(async move {
            client.socket.write_all(b"busy").await?;
            std::thread::sleep(self.0);
            Ok(None)
        })
    }

    fn refuse(self: Arc<Self>, _: Socket, _: Duration, _: SqlError) -> LocalFuture<'static, ()> {
        Box::pin(async {})
    }
}

#[test]
fn the_pulse_tells_whether_all_event_loops_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (front_end, _) = start(folder.path());
    let pulse = front_end.pulse();
    assert!(pulse.beats_within(Duration::from_secs(60)));
    let busy = Duration::from_secs(2);
    let listen =
        Listen { protocol: Arc::new(Busy(busy)), ..listen("busy", vec![any_port()], ConnectionLimit::Unlimited) };
    let address = front_end.listeners().open(listen).expect("opened")[0];
    let _client = served(TcpStream::connect(address), "busy");
    assert!(!pulse.beats_within(busy / 4));
    assert!(pulse.beats_within(Duration::from_secs(60)));
    front_end.shut_down().expect("the end");
    assert!(!pulse.beats_within(Duration::from_secs(60)));
}

#[test]
fn a_passed_socket_stays_open_for_who_has_passed_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (front_end, _) = start(folder.path());
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let path = folder.path().join("passed");
    let unix = std::os::unix::net::UnixListener::bind(&path).expect("a listener");
    let passed = [OwnedFd::from(tcp.try_clone().expect("a copy")), OwnedFd::from(unix.try_clone().expect("a copy"))]
        .map(|socket| Address::Passed(PassedSocket::from_descriptor(socket).expect("a listening socket")));
    let opened = front_end.listeners().open(listen("one", passed.into(), ConnectionLimit::Unlimited)).expect("opened");
    assert_eq!(opened, [tcp.local_addr().expect("its address")]);
    served(TcpStream::connect(opened[0]), "one");
    served(UnixStream::connect(&path), "one");
    front_end.listeners().close("one").expect("closed");
    assert!(path.exists());
    // Nobody accepts now, but the sockets listen.
    TcpStream::connect(opened[0]).expect("a connection that waits");
    UnixStream::connect(&path).expect("a connection that waits");
    let no_listener = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    assert!(PassedSocket::from_descriptor(no_listener.into()).is_err());
    front_end.shut_down().expect("the end");
}
