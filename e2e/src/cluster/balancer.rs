//! nginx in front of several servers that do the same, in turn.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::eventually;

use super::house::{free_port, on_loopback};
use super::{Daemon, House};

/// The header in which the balancer tells whom it asked: all of them, if one failed in the middle.
pub const ASKED: &str = "x-asked";

pub struct Balancer {
    base: String,
    address: SocketAddr,
    _process: Daemon,
    _house: House,
}

impl Balancer {
    /// In front of nodes of ours. Whoever dies in the middle of a request is replaced by the next one, unless
    /// the request is a POST: that may have been done. A node that says 503 knows what it says.
    pub fn of_nodes(nodes: &[SocketAddr]) -> Self {
        Self::start(nodes, "proxy_next_upstream error timeout; proxy_read_timeout 90s;")
    }

    /// In front of the doors of a photo store, where every request may be repeated.
    pub fn of_doors(doors: &[SocketAddr]) -> Self {
        let next = "error timeout http_500 http_502 http_503 http_504 non_idempotent";
        Self::start(doors, &format!("proxy_next_upstream {next}; proxy_read_timeout 10s;"))
    }

    /// `http://127.0.0.1:20123`, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn start(servers: &[SocketAddr], rules: &str) -> Self {
        let house = House::new();
        let address = on_loopback(free_port());
        let file = house.path().join("nginx.conf");
        std::fs::write(&file, configuration(address, servers, rules)).unwrap();
        let program = std::env::var_os("PINHOLE_TEST_NGINX")
            .map_or_else(|| PathBuf::from("/usr/sbin/nginx"), Into::into);
        let mut command = Command::new(program);
        command.args(["-e", "stderr", "-p"]).arg(house.path()).arg("-c").arg(&file);
        let mut process = Daemon::start("nginx", &command);
        eventually("nginx answers", Duration::from_secs(30), || {
            process.assert_runs();
            TcpStream::connect(address).ok()
        });
        Self { base: format!("http://{address}"), address, _process: process, _house: house }
    }
}

/// One process, so that its end is the end of it. Paths are relative to its folder.
fn configuration(address: SocketAddr, servers: &[SocketAddr], rules: &str) -> String {
    let servers: String = servers.iter().map(|server| format!("server {server}; ")).collect();
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxied;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    client_max_body_size 33m;
    upstream servers {{ {servers}keepalive 16; keepalive_timeout 5s; }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://servers;
            proxy_http_version 1.1;
            proxy_connect_timeout 2s;
            {rules}
            proxy_set_header Connection \"\";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            add_header X-Asked $upstream_addr always;
        }}
    }}
}}
"
    )
}
