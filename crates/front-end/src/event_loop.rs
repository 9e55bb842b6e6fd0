//! Event loops: one thread with a single-threaded runtime serves many connections.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use squall_types::{ErrorCode, SqlError};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::neighbours::Neighbours;
use crate::protocol::{AcceptedStream, Arrived, Client, Endpoint, Inbox, Message, Moving, Peer, Services};
use crate::socket::Socket;

/// Stack of a loop: expressions are as deep as a statement nests them, and short queries are answered here. Only what is
/// touched becomes memory.
const STACK_BYTES: usize = 16 << 20;

/// Starts the thread of the loop with this number.
pub(crate) fn start(
    number: usize,
    services: Arc<Services>,
    shutdown: watch::Receiver<bool>,
) -> io::Result<(Inbox, JoinHandle<()>)> {
    let (inbox, messages) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Passwords are hashed and files read there; idle threads go soon.
        .max_blocking_threads(4)
        .thread_name("squall-blocking")
        .build()?;
    let thread = std::thread::Builder::new()
        .name(format!("squall-loop-{number}"))
        .stack_size(STACK_BYTES)
        .spawn(move || LocalSet::new().block_on(&runtime, as_task(run(number, messages, services, shutdown))))?;
    Ok((inbox, thread))
}

/// Runs the loop as one task among those of its connections. As the future that the thread blocks on, it would be polled with all that it
/// waits for whenever any connection has something to do: six hundred instructions for each statement.
async fn as_task(run: impl Future<Output = ()> + 'static) {
    if let Err(error) = tokio::task::spawn_local(run).await
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Serves connections until shutdown, then waits for the statements that are running.
async fn run(
    number: usize,
    mut messages: mpsc::UnboundedReceiver<Message>,
    services: Arc<Services>,
    mut shutdown: watch::Receiver<bool>,
) {
    let neighbours = Rc::new(Neighbours::new(number));
    let mut connections = tokio::task::JoinSet::new();
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            message = messages.recv() => {
                let (endpoint, coming) = match message {
                    Some(Message::Accepted { endpoint, stream }) => (endpoint, Coming::New(stream)),
                    Some(Message::Moved { endpoint, moving }) => (endpoint, Coming::Moved(moving)),
                    Some(Message::Closed) => {
                        neighbours.end_closed();
                        continue;
                    }
                    Some(Message::Ping(answer)) => {
                        // Who has asked may wait no longer.
                        let _ = answer.send(());
                        continue;
                    }
                    None => break,
                };
                while connections.try_join_next().is_some() {}
                let (services, neighbours) = (Arc::clone(&services), Rc::clone(&neighbours));
                connections.spawn_local(async move {
                    if let Err(error) = serve(&endpoint, coming, &services, &neighbours).await {
                        let protocol = endpoint.protocol.name();
                        tracing::debug!("a connection ({protocol}) that was accepted cannot be served: {error}");
                    }
                });
            }
            _ = clock.tick() => {
                let busy = neighbours.tick(|id| services.context.client_gone(id));
                services.loops.tick(number, busy);
            }
            // An error means that the server is gone, which is also a reason to stop.
            _stopped = shutdown.wait_for(|down| *down), if !neighbours.is_shutting_down() => neighbours.shut_down(),
        }
    }
    neighbours.shut_down();
    let drained = timeout(services.drain_timeout, async { while connections.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!("{} connections did not end in time", connections.len());
    }
}

/// A connection that comes to a loop.
enum Coming {
    New(AcceptedStream),
    Moved(Box<Moving>),
}

/// One connection, from its first byte, or from when it came to this loop, to its last, or until it moves to another.
async fn serve(
    endpoint: &Arc<Endpoint>,
    mut coming: Coming,
    services: &Arc<Services>,
    neighbours: &Rc<Neighbours>,
) -> io::Result<()> {
    loop {
        // Kept until the protocol is through with the connection, whatever it does with its own.
        let held;
        let moving = match coming {
            Coming::New(stream) => {
                let Some(client) = admit(endpoint, stream, services, neighbours).await? else { return Ok(()) };
                held = Some(Arc::clone(&client.place));
                Arc::clone(&endpoint.protocol).serve(client).await?
            }
            Coming::Moved(moving) => {
                let Moving { stream, wake, parked, place, .. } = *moving;
                held = place;
                let socket = Socket::tcp(TcpStream::from_std(stream)?);
                let neighbour = neighbours.join(&wake, &endpoint.closed, socket.clone());
                let services = Arc::clone(services);
                parked.resume(Arrived { socket, wake, neighbour, services }).await?
            }
        };
        let Some(moving) = moving else { return Ok(()) };
        let (to, moving) = (moving.to, Box::new(Moving { place: held, ..moving }));
        let message = Message::Moved { endpoint: Arc::clone(endpoint), moving };
        match services.loops.hand_over(neighbours.number, to, message) {
            Ok(()) => {
                services.context.connection_moved();
                return Ok(());
            }
            // That loop is about to end, as this one is.
            Err(Message::Moved { moving, .. }) => coming = Coming::Moved(moving),
            Err(_) => return Ok(()),
        }
    }
}

/// A client that has just come, if there is a place for it.
async fn admit(
    endpoint: &Arc<Endpoint>,
    stream: AcceptedStream,
    services: &Arc<Services>,
    neighbours: &Rc<Neighbours>,
) -> io::Result<Option<Client>> {
    let administrative = endpoint.administrative;
    let (socket, address) = match stream {
        AcceptedStream::Tcp(stream, address) => (Socket::tcp(TcpStream::from_std(stream)?), Some(address)),
        AcceptedStream::Unix(stream) => (Socket::unix(UnixStream::from_std(stream)?), None),
    };
    let settings = services.context.front_end_settings();
    let Some(place) = endpoint.limit.take(&services.connection_count, settings.max_connections) else {
        services.context.connection_refused();
        let write_timeout = Duration::from_secs(settings.net_write_timeout_seconds.max(1));
        let error = SqlError::new(ErrorCode::TooManyConnections, &[]);
        Arc::clone(&endpoint.protocol).refuse(socket, write_timeout, error).await;
        return Ok(None);
    };
    let wake = Arc::new(Notify::new());
    let neighbour = neighbours.join(&wake, &endpoint.closed, socket.clone());
    let peer = Peer { address, administrative };
    let (tls, place, services) = (endpoint.tls.clone(), Arc::new(place), Arc::clone(services));
    Ok(Some(Client { peer, place, socket, tls, wake, neighbour, services }))
}
