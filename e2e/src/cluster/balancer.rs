//! nginx as a round-robin load balancer.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::eventually;

use super::host::{free_port, loopback};
use super::{Daemon, TempHome};

/// The response header with the upstream address, or with all addresses tried if an upstream failed.
pub const UPSTREAM_HEADER: &str = "x-upstream-addr";

pub struct Balancer {
    base: String,
    address: SocketAddr,
    _process: Daemon,
    _home: TempHome,
}

impl Balancer {
    /// Balances nodes of the service. A request whose node dies is sent to the next one, except a POST, which
    /// the node may have executed. A node's 503 is passed on.
    pub fn for_nodes(nodes: &[SocketAddr]) -> Self {
        Self::start(nodes, "proxy_next_upstream error timeout; proxy_read_timeout 90s;")
    }

    /// Balances S3 gateways of one store, where every request may be retried.
    pub fn for_s3_gateways(gateways: &[SocketAddr]) -> Self {
        let next = "error timeout http_500 http_502 http_503 http_504 non_idempotent";
        Self::start(gateways, &format!("proxy_next_upstream {next}; proxy_read_timeout 10s;"))
    }

    /// `http://127.0.0.1:20123`, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn start(servers: &[SocketAddr], rules: &str) -> Self {
        let home = TempHome::new();
        let address = loopback(free_port());
        let file = home.path().join("nginx.conf");
        std::fs::write(&file, configuration(address, servers, rules)).unwrap();
        let program = std::env::var_os("PINHOLE_TEST_NGINX")
            .map_or_else(|| PathBuf::from("/usr/sbin/nginx"), Into::into);
        let mut command = Command::new(program);
        command.args(["-e", "stderr", "-p"]).arg(home.path()).arg("-c").arg(&file);
        let mut process = Daemon::start("nginx", &command);
        eventually("nginx accepts connections", Duration::from_secs(30), || {
            process.assert_running();
            TcpStream::connect(address).ok()
        });
        Self { base: format!("http://{address}"), address, _process: process, _home: home }
    }
}

/// Runs nginx as a single process, so that killing it leaves no workers. Paths are relative to the `-p`
/// folder.
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
            add_header X-Upstream-Addr $upstream_addr always;
        }}
    }}
}}
"
    )
}
