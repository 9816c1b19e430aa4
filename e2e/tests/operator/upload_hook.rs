//! The upload hook: an endpoint or a program that may refuse uploads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;

use e2e::{Client, FormData, Response, Service, picture};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Answers every request with this status line and body; returns its URL and the bodies that it received.
fn endpoint(status: &'static str, body: &'static str) -> (String, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/check", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut json = vec![0; length];
            stream.read_exact(&mut json).unwrap();
            let response = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.get_mut().write_all(response.as_bytes()).unwrap();
            if sender.send(serde_json::from_slice(&json).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, received)
}

fn upload(client: &Client) -> Response {
    client.post("/posts", FormData::photo(&picture::tiny()))
}

#[test]
fn an_endpoint_gets_the_hashes_of_each_upload_and_may_refuse_it() {
    let (url, received) = endpoint("204 No Content", "");
    let service = Service::start(&["--upload-hook", &url]);
    let ada = service.new_user("ada");
    let tiny = picture::tiny();
    ada.post("/posts", FormData::photo(&tiny)).expect(201);
    ada.put("/me/photo", FormData::photo(&tiny)).expect(200);
    let sha256: String = Sha256::digest(&tiny).iter().map(|byte| format!("{byte:02x}")).collect();
    for _ in 0..2 {
        let json = received.recv().unwrap();
        assert_eq!(json["sha256"], sha256);
        let hash = json["perceptual_hash"].as_str().unwrap();
        assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok(), "{json}");
        assert!(json["width"].is_u64() && json["height"].is_u64(), "{json}");
    }

    let (url, _received) = endpoint("403 Forbidden", "known spam\n");
    let service = Service::start(&["--upload-hook", &url]);
    let ada = service.new_user("ada");
    let refused = upload(&ada).expect_error_for(400, Some("photo"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().ends_with(": known spam"), "{refused}");
    assert_eq!(ada.get("/feed").expect(200).json()["data"], serde_json::json!([]));
    assert_eq!(service.files("photos").len(), 0, "nothing of a refused upload is stored");
}

/// Refuses every request with a body of 256 MiB whose first line is a reason; returns its URL, and how much
/// of each body was taken.
fn endless_refusal() -> (String, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/check", listener.local_addr().unwrap());
    let (sender, taken) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1024];
            assert!(stream.read(&mut head).unwrap() > 0);
            let length = 256 << 20;
            let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\nknown spam\n");
            stream.write_all(head.as_bytes()).unwrap();
            let block = [b'x'; 1 << 16];
            let blocks = length / block.len() - 1;
            let taken = (0..blocks).take_while(|_| stream.write_all(&block).is_ok()).count();
            sender.send(taken * block.len()).unwrap();
        }
    });
    (url, taken)
}

#[test]
fn a_long_answer_is_cut_and_still_refuses() {
    let (url, taken) = endless_refusal();
    let service = Service::single_node(&["--upload-hook", &url]);
    let refused = upload(&service.new_user("ada")).expect_error_for(400, Some("photo"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().ends_with(": known spam"), "{refused}");
    // The kernel's buffers take some megabytes.
    let taken = taken.recv().unwrap();
    assert!(taken < 32 << 20, "{taken} bytes of the answer were read");
    service.assert_logged(&["answer of the upload hook is too long"]);

    let dir = tempfile::tempdir().unwrap();
    let hook = program(dir.path(), "echo 'on the list'; head -c 100000000 /dev/zero || exit 2; exit 1");
    let service = Service::single_node(&["--upload-hook", &hook]);
    let refused = upload(&service.new_user("ada")).expect_error_for(400, Some("photo"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().ends_with(": on the list"), "{refused}");
    program(dir.path(), "cat > /dev/null; exec head -c 100000000 /dev/zero");
    upload(&service.new_user("bob")).expect(201);
    assert!(service.peak_memory() < 200, "{} MiB", service.peak_memory());
}

#[test]
fn a_program_does_not_get_the_secrets_of_the_service() {
    let dir = tempfile::tempdir().unwrap();
    let hook = program(dir.path(), "cat > /dev/null; env > \"${0%/*}/environment\"");
    let variables = [("AWS_SECRET_ACCESS_KEY", "secret"), ("LANG", "C.UTF-8"), ("HOME", "/nonexistent")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let data = tempfile::tempdir().unwrap();
    let service = Service::with_environment(data.path(), &["--upload-hook", &hook], &variables);
    upload(&service.new_user("ada")).expect(201);
    let environment = std::fs::read_to_string(dir.path().join("environment")).unwrap();
    let names: Vec<&str> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell adds some.
    let known = ["PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| known.contains(name)), "{environment}");
    assert!(known[..3].iter().all(|name| names.contains(name)), "{environment}");
}

fn program(folder: &Path, script: &str) -> String {
    let path = folder.join("check");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_program_refuses_with_exit_code_1() {
    let dir = tempfile::tempdir().unwrap();
    let hook = program(dir.path(), "grep -q perceptual_hash || exit 2; echo 'on the list'; exit 1");
    let service = Service::start(&["--upload-hook", &hook]);
    let refused = upload(&service.new_user("ada")).expect_error_for(400, Some("photo"));
    assert!(refused.json()["error"]["message"].as_str().unwrap().ends_with(": on the list"), "{refused}");
    program(dir.path(), "cat > /dev/null");
    upload(&service.new_user("bob")).expect(201);
}

#[test]
fn a_hook_that_fails_is_closed_or_open_as_set() {
    let dir = tempfile::tempdir().unwrap();
    let slow = program(dir.path(), "exec sleep 60");
    let (broken, _received) = endpoint("500 Internal Server Error", "");
    for (hook, timeout) in [(slow.as_str(), "1s"), (&broken, "10s"), ("/no/such/program", "10s")] {
        let flags = ["--upload-hook", hook, "--upload-hook-timeout", timeout];
        let closed = Service::start(&flags);
        let refused = upload(&closed.new_user("ada")).expect_error(503);
        assert_eq!(refused.header("x-error-code"), Some("unavailable"), "{hook}");
        let open = Service::start(&[&flags[..], &["--upload-hook-open", "on"]].concat());
        upload(&open.new_user("ada")).expect(201);
    }
}
