//! The network between a node and what it depends on, which can be made worse and mended again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use socket2::SockRef;

use super::house::on_loopback;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// Everything arrives, so much later in each direction.
    Slow(Duration),
    /// Connections are broken, and new ones refused.
    Cut,
    /// Connections stand and new ones are taken, but nothing comes through. When the weather turns fair, what
    /// was sent arrives, as it does with TCP, late and perhaps unexpected; what was sent to a connection
    /// since given up as well.
    Silent,
    /// Whoever asks PostgreSQL to commit is cut off, and the server never hears of it.
    CommitsAreLost,
    /// The same, but the server does hear of it, and it is the answer that is lost.
    AnswersAreLost,
}

/// How PostgreSQL is asked, on a connection that is not encrypted.
const COMMIT: &[u8] = b"COMMIT\0";

/// A way to one server. Its threads end with their connections, or with the test.
pub struct Proxy {
    address: SocketAddr,
    sky: Arc<Sky>,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    There,
    Back,
}

struct Sky {
    now: Mutex<State>,
    changed: Condvar,
}

struct State {
    weather: Weather,
    /// Both ends of all connections, to be broken.
    open: Vec<TcpStream>,
}

impl Proxy {
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(on_loopback(0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { weather: Weather::Fair, open: Vec::new() };
        let sky = Arc::new(Sky { now: Mutex::new(state), changed: Condvar::new() });
        let above = sky.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                join(client, server, &above);
            }
        });
        Self { address, sky }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn turn(&self, weather: Weather) {
        let mut state = self.sky.now.lock().unwrap();
        state.weather = weather;
        if weather == Weather::Cut {
            state.open.drain(..).for_each(|end| cut(&end));
        }
        self.sky.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.turn(Weather::Cut);
    }
}

fn join(client: TcpStream, server: SocketAddr, sky: &Arc<Sky>) {
    let mut state = sky.now.lock().unwrap();
    if state.weather == Weather::Cut {
        return cut(&client);
    }
    // A server that is not there is told as what it is: a connection that ends.
    let Ok(server) = TcpStream::connect(server) else { return cut(&client) };
    // Those that have ended meanwhile.
    state.open.retain(|end| end.peer_addr().is_ok());
    for end in [&client, &server] {
        end.set_nodelay(true).unwrap();
        state.open.push(end.try_clone().unwrap());
    }
    drop(state);
    // Whether a commit has gone there whose answer is to be lost.
    let is_committing = Arc::new(AtomicBool::new(false));
    for (way, from, to) in [(Way::There, &client, &server), (Way::Back, &server, &client)] {
        let (from, to, sky) = (from.try_clone().unwrap(), to.try_clone().unwrap(), sky.clone());
        let is_committing = is_committing.clone();
        std::thread::spawn(move || carry(way, from, to, &sky, &is_committing));
    }
}

/// One direction of a connection, until either end has had enough.
fn carry(way: Way, mut from: TcpStream, mut to: TcpStream, sky: &Sky, is_committing: &AtomicBool) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        let weather = sky.let_through();
        let commits = || bytes[..read].windows(COMMIT.len()).any(|window| window == COMMIT);
        match (way, weather) {
            (Way::There, Weather::CommitsAreLost) if commits() => return [from, to].iter().for_each(cut),
            (Way::There, Weather::AnswersAreLost) if commits() => is_committing.store(true, Ordering::SeqCst),
            (Way::Back, _) if is_committing.load(Ordering::SeqCst) => return [from, to].iter().for_each(cut),
            _ => {}
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // The other end may be closed already; then there is nobody to tell.
    to.shutdown(Shutdown::Write).ok();
}

impl Sky {
    fn let_through(&self) -> Weather {
        let silent = |state: &mut State| state.weather == Weather::Silent;
        let state = self.changed.wait_while(self.now.lock().unwrap(), silent).unwrap();
        let weather = state.weather;
        drop(state);
        if let Weather::Slow(delay) = weather {
            std::thread::sleep(delay);
        }
        weather
    }
}

/// With a reset instead of a farewell. Whoever has gone before cannot be cut off.
fn cut(end: &TcpStream) {
    SockRef::from(end).set_linger(Some(Duration::ZERO)).ok();
    end.shutdown(Shutdown::Both).ok();
}
