//! `deploy/nginx.conf` with its TLS part, in the real nginx.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use e2e::cluster::{Daemon, TempHome, TlsCertificate, free_ports};
use e2e::{Service, eventually};

/// The configuration as its comment says that it is used with TLS, with local addresses and paths.
fn configuration(service: &Service, home: &TempHome, certificate: &TlsCertificate, port: u16) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/nginx.conf");
    let text = fs::read_to_string(path).unwrap();
    let (plain, tls) = text.split_once("    # With TLS:").expect("the TLS part");
    let comment = |line: &str| line.trim_start().strip_prefix('#').unwrap_or("").to_owned();
    let mut tls: Vec<String> = tls.lines().skip(1).map(comment).skip_while(|line| !line.is_empty()).collect();
    let redirect = tls.iter().position(|line| line.trim().starts_with("server {")).expect("the redirect");
    let redirect: String = tls.split_off(redirect).join("\n");
    let listen = tls.join("\n");
    assert!(listen.contains("listen 443 ssl"), "{listen}");
    let local = |text: String| {
        let text = text.replace("listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"));
        text.replace("listen 80;", &format!("listen 127.0.0.1:{};", port + 1))
            .replace("/etc/nginx/tls/fullchain.pem", certificate.cert_file.to_str().unwrap())
            .replace("/etc/nginx/tls/privkey.pem", certificate.key_file.to_str().unwrap())
    };
    let nodes = |line: &&str| !line.contains("server node2") && !line.contains("server node3");
    let plain: String = plain.lines().filter(nodes).collect::<Vec<_>>().join("\n");
    let plain = plain.replace("listen 80;", &listen).replace("node1:8080", &service.address().to_string());
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/{kind};\n", home.path().display()))
        .concat();
    local(format!("{}\n{redirect}\n}}\n", plain.replacen("http {", &format!("http {{\n{temporary}"), 1)))
}

/// The response to a request through TLS, as text.
fn request(port: u16, head: &str) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-quiet", "-servername", "photos.example.org", "-connect"]);
    openssl.arg(format!("127.0.0.1:{port}"));
    openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = openssl.spawn().unwrap();
    client.stdin.as_mut().unwrap().write_all(head.as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn headers<'a>(response: &'a str, name: &str) -> Vec<&'a str> {
    let head = response.split("\r\n\r\n").next().unwrap_or_default();
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[test]
fn the_tls_part_of_the_nginx_example_sends_hsts_once_and_compresses_json() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--public-url", "https://photos.example.org", "--trusted-proxies", "127.0.0.1"];
    let service = Service::start_in(folder.path(), &flags);
    let ada = service.new_user("ada");
    for n in 0..20 {
        ada.share_tiny(&format!("a post with a longer message, number {n}"));
    }
    let (home, port) = (TempHome::unprivileged(), free_ports(2));
    let certificate = TlsCertificate::self_signed_in(&home);
    let file = home.path().join("nginx.conf");
    fs::write(&file, configuration(&service, &home, &certificate, port)).unwrap();
    let program =
        std::env::var_os("PINHOLE_TEST_NGINX").map_or_else(|| PathBuf::from("/usr/sbin/nginx"), Into::into);
    let mut nginx = Command::new(program);
    let globals = format!("daemon off; master_process off; pid {}/pid;", home.path().display());
    nginx.args(["-e", "stderr", "-g", &globals, "-c"]).arg(&file);
    let mut nginx = Daemon::start("nginx", &nginx);
    eventually("nginx accepts connections", Duration::from_secs(30), || {
        nginx.assert_running();
        TcpStream::connect(("127.0.0.1", port)).ok()
    });

    let get = |path: &str, more: &str| {
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: photos.example.org\r\nConnection: close\r\n{more}\r\n");
        request(port, &head)
    };
    for path in ["/", "/feed", "/posts/999999"] {
        let response = get(path, "");
        assert_eq!(
            headers(&response, "strict-transport-security"),
            ["max-age=31536000"],
            "{path}: {response}"
        );
    }
    for (path, media_type) in [("/feed", "application/json"), ("/feed.atom", "application/atom+xml")] {
        let response = get(path, "Accept-Encoding: gzip\r\n");
        assert!(headers(&response, "content-type")[0].starts_with(media_type), "{response}");
        assert_eq!(headers(&response, "content-encoding"), ["gzip"], "{path}: {response}");
        assert_eq!(headers(&get(path, ""), "content-encoding"), [""; 0]);
    }
}
