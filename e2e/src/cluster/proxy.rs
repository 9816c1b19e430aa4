//! A TCP proxy between a node and a server it depends on, which injects network faults.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use socket2::SockRef;

use super::host::loopback;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkCondition {
    Healthy,
    /// Every segment is delayed by this time, in each direction.
    Latency(Duration),
    /// Open connections are reset, and new ones as soon as they are accepted.
    Reset,
    /// Connections stay open and new ones are accepted, but no data passes. Back in `Healthy`, the data held
    /// back is delivered late, as TCP would, even on connections that the client has given up.
    Blackhole,
    /// A client that sends COMMIT to PostgreSQL is disconnected, and the COMMIT is dropped.
    DropCommits,
    /// The COMMIT is delivered, but its response is dropped and the client disconnected.
    DropCommitResponses,
}

/// A COMMIT in PostgreSQL's protocol, on a connection without TLS.
const COMMIT: &[u8] = b"COMMIT\0";

/// A proxy to one server. Its threads end with their connections, or with the test process.
pub struct Proxy {
    address: SocketAddr,
    link: Arc<Link>,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    ToServer,
    ToClient,
}

struct Link {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    condition: NetworkCondition,
    /// Both ends of every connection, for `Reset`.
    open: Vec<TcpStream>,
}

impl Proxy {
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(loopback(0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { condition: NetworkCondition::Healthy, open: Vec::new() };
        let link = Arc::new(Link { state: Mutex::new(state), changed: Condvar::new() });
        let accepting = link.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                proxy_connection(client, server, &accepting);
            }
        });
        Self { address, link }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn set(&self, condition: NetworkCondition) {
        let mut state = self.link.state.lock().unwrap();
        state.condition = condition;
        if condition == NetworkCondition::Reset {
            state.open.drain(..).for_each(|end| reset(&end));
        }
        self.link.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(NetworkCondition::Reset);
    }
}

fn proxy_connection(client: TcpStream, server: SocketAddr, link: &Arc<Link>) {
    let mut state = link.state.lock().unwrap();
    if state.condition == NetworkCondition::Reset {
        return reset(&client);
    }
    // A server that is down looks to the client like a connection that is reset.
    let Ok(server) = TcpStream::connect(server) else { return reset(&client) };
    // Forgets connections that have ended meanwhile.
    state.open.retain(|end| end.peer_addr().is_ok());
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
        state.open.push(end.try_clone().unwrap());
    }
    drop(state);
    // Set when a COMMIT was delivered whose response is to be dropped.
    let is_committing = Arc::new(AtomicBool::new(false));
    for (direction, from, to) in
        [(Direction::ToServer, &client, &server), (Direction::ToClient, &server, &client)]
    {
        let (from, to, link) = (from.try_clone().unwrap(), to.try_clone().unwrap(), link.clone());
        let is_committing = is_committing.clone();
        std::thread::spawn(move || forward(direction, from, to, &link, &is_committing));
    }
}

/// Forwards one direction of a connection until either end closes.
fn forward(
    direction: Direction,
    mut from: TcpStream,
    mut to: TcpStream,
    link: &Link,
    is_committing: &AtomicBool,
) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        let condition = link.wait_while_blackholed();
        let commits = || bytes[..read].windows(COMMIT.len()).any(|window| window == COMMIT);
        match (direction, condition) {
            (Direction::ToServer, NetworkCondition::DropCommits) if commits() => {
                return [from, to].iter().for_each(reset);
            }
            (Direction::ToServer, NetworkCondition::DropCommitResponses) if commits() => {
                is_committing.store(true, Ordering::SeqCst);
            }
            (Direction::ToClient, _) if is_committing.load(Ordering::SeqCst) => {
                return [from, to].iter().for_each(reset);
            }
            _ => {}
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // Fails when the other end is closed already, which is fine.
    to.shutdown(Shutdown::Write).ok();
}

impl Link {
    /// Blocks during `Blackhole`, sleeps during `Latency`, and returns the condition that then applies.
    fn wait_while_blackholed(&self) -> NetworkCondition {
        let blackholed = |state: &mut State| state.condition == NetworkCondition::Blackhole;
        let state = self.changed.wait_while(self.state.lock().unwrap(), blackholed).unwrap();
        let condition = state.condition;
        drop(state);
        if let NetworkCondition::Latency(delay) = condition {
            std::thread::sleep(delay);
        }
        condition
    }
}

/// Ends a connection with a reset instead of a clean close. Fails on a connection that is closed already,
/// which is fine.
fn reset(end: &TcpStream) {
    SockRef::from(end).set_linger(Some(Duration::ZERO)).ok();
    end.shutdown(Shutdown::Both).ok();
}
