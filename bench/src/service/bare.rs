//! A limit: axum that responds with a fixed number of bytes from memory.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::serve::ListenerExt;

use super::Bench;
use super::process::{Server, free_address};
use super::wire;
use crate::error::Error;

/// Runs in the child process: `/N` responds with N bytes.
pub(crate) fn serve(address: SocketAddr, lengths: &[usize]) -> Result<(), Error> {
    // As many threads as it has cores, like the service itself.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Error::system("the runtime"))?.block_on(async {
        let mut router = Router::new().route("/", get(|| async { "ready" }));
        for length in lengths.iter().copied().collect::<BTreeSet<_>>() {
            let body = Bytes::from(vec![b'x'; length]);
            let answer =
                move || async move { ([(CONTENT_TYPE, "application/json")], body.clone()).into_response() };
            router = router.route(&format!("/{length}"), get(answer));
        }
        let listener = tokio::net::TcpListener::bind(address).await.map_err(Error::system(address))?;
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                eprintln!("bare axum: {error}");
            }
        });
        axum::serve(listener, router).await.map_err(Error::system(address))
    })
}

pub(super) struct Bare {
    pub(super) server: Server,
}

impl Bare {
    pub(super) fn start(bench: &Bench, core: Option<usize>, lengths: &[usize]) -> Result<Self, Error> {
        let address = free_address()?;
        let mut command = bench.own_program()?;
        command.arg("bare").arg(address.to_string()).args(lengths.iter().map(usize::to_string));
        let mut server = Server::start("bare axum", &command, address, core, &bench.logs())?;
        server.ready("/")?;
        Ok(Self { server })
    }

    pub(super) fn read(&self, length: usize) -> Vec<u8> {
        wire::get(self.server.address, &format!("/{length}"), &[])
    }
}
