//! nginx: a limit when it serves a static file, a peer when it renders one with its image filter.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::process::{Server, free_address};
use super::wire::get;
use crate::error::{Error, create_folder, write};

/// Where Debian keeps what is not part of the program itself.
const MODULE: &str = "/usr/lib/nginx/modules/ngx_http_image_filter_module.so";

pub(super) struct Nginx {
    pub(super) server: Server,
}

impl Nginx {
    /// One process. `files` are served under `/files/` and, with `open_file_cache`, under `/open/`;
    /// `photos` as squares of 512 under `/made/` and, from `proxy_cache`, under `/cached/`.
    pub(super) fn start(
        bench: &Bench,
        core: Option<usize>,
        files: &Path,
        photos: &Path,
        quality: u8,
    ) -> Result<Self, Error> {
        let folder = bench.fresh("nginx")?;
        for name in ["temporary", "cache"] {
            create_folder(&folder.join(name))?;
        }
        let address = free_address()?;
        let config = folder.join("nginx.conf");
        let (home, files, photos) = (folder.display(), files.display(), photos.display());
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("    {kind}_temp_path {home}/temporary/{kind};\n"))
            .concat();
        let text = format!(
            "load_module {MODULE};
daemon off;
master_process off;
pid {home}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
{temporary}    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_requests 1000000000;
    types {{ image/jpeg jpg; }}
    proxy_cache_path {home}/cache keys_zone=images:1m max_size=1g inactive=1d;
    upstream itself {{ server {address}; keepalive 64; }}
    server {{
        listen {address} backlog=1024;
        location = /ready {{ return 204; }}
        location /files/ {{ alias {files}/; }}
        location /open/ {{ alias {files}/; open_file_cache max=1000 inactive=10m; }}
        location /made/ {{
            alias {photos}/;
            image_filter crop 512 512;
            image_filter_jpeg_quality {quality};
            image_filter_buffer 32M;
        }}
        location /cached/ {{
            proxy_pass http://itself/made/;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_cache images;
            proxy_cache_valid 200 1d;
        }}
    }}
}}
"
        );
        write(&config, text)?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(&config).arg("-p").arg(&folder).args(["-e", "stderr"]);
        let mut server = Server::start("nginx", &command, address, core, &bench.logs())?;
        server.ready("/ready")?;
        Ok(Self { server })
    }

    pub(super) fn read(&self, path: &str) -> Vec<u8> {
        get(self.server.address, path, &[])
    }
}

pub(super) fn version() -> Result<String, Error> {
    let output = Command::new("nginx").arg("-v").output().map_err(Error::system("nginx"))?;
    Ok(String::from_utf8_lossy(&output.stderr).trim().replace("nginx version: ", ""))
}
