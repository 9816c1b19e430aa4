//! Connections to a server that may be an impostor: it learns the password only by a method that the database
//! URL allows. A test server asks for a given method, and records what it gets.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::connector::{Connector, ServerRole};

const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const MD5: &[u8] = b"R\0\0\0\x0c\0\0\0\x05salt";
const GSS: &[u8] = b"R\0\0\0\x08\0\0\0\x07";
const SCRAM: &[u8] = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";

/// Connects to a server without TLS that sends `messages`, each after a response to the one before, and then
/// closes the connection. Returns the responses and the error of the client.
async fn connect(host: &str, query: &str, messages: &[&[u8]]) -> (Vec<Vec<u8>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://ada:s3cret@{host}:{port}/pinhole?{query}").parse().unwrap();
    let connector = Connector::new(&url, ServerRole::Any, Duration::from_secs(10)).unwrap();
    let (responses, connected) = tokio::join!(serve(listener, messages), connector.connect());
    let Err(error) = connected else { panic!("the server closes every connection") };
    (responses, error.to_string())
}

async fn serve(listener: TcpListener, messages: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut socket = listener.accept().await.unwrap().0;
    const SSL_REQUEST: [u8; 4] = [4, 210, 22, 47];
    while read_message(&mut socket).await.is_some_and(|message| message == SSL_REQUEST) {
        socket.write_all(b"N").await.unwrap();
    }
    let mut responses = Vec::new();
    for message in messages {
        // Bytes one by one, because packets may end anywhere. The client may be gone after the last.
        for byte in *message {
            if socket.write_all(&[*byte]).await.is_err() {
                return responses;
            }
            tokio::task::yield_now().await;
        }
        match socket.read_u8().await {
            Ok(b'p') => responses.extend(read_message(&mut socket).await),
            Ok(tag) => panic!("unexpected message {tag}"),
            Err(_) => return responses,
        }
    }
    responses
}

/// Reads a message without its tag, which the first ones do not have.
async fn read_message(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let length = socket.read_u32().await.ok()?;
    let mut message = vec![0; length as usize - 4];
    socket.read_exact(&mut message).await.unwrap();
    Some(message)
}

#[tokio::test]
async fn an_authentication_method_that_the_url_does_not_allow_gets_no_response() {
    let cases = [
        ("", CLEARTEXT, "require_auth=password"),
        ("", MD5, "require_auth=scram-sha-256,md5"),
        ("", GSS, "unsupported method"),
        ("sslmode=disable", CLEARTEXT, "require_auth=password"),
        ("sslmode=allow", MD5, "require_auth=scram-sha-256,md5"),
        ("require_auth=scram-sha-256", OK, "does not allow none"),
        ("require_auth=none", SCRAM, "does not allow it"),
        ("require_auth=md5", CLEARTEXT, "require_auth=password"),
        ("require_auth=password", MD5, "require_auth=scram-sha-256,md5"),
    ];
    for (query, request, remedy) in cases {
        let (responses, error) = connect("127.0.0.1", query, &[request]).await;
        assert!(responses.is_empty(), "{query:?}: {request:?} was answered with {responses:?}");
        assert!(error.contains(remedy) && !error.contains("s3cret"), "{query:?}, {request:?}: {error}");
    }
}

#[tokio::test]
async fn a_server_cannot_ask_for_the_password_after_it_began_a_scram_exchange() {
    let (responses, error) = connect("127.0.0.1", "", &[SCRAM, CLEARTEXT]).await;
    assert!(responses.len() == 1 && responses[0].starts_with(b"SCRAM-SHA-256\0"), "{responses:?}");
    assert!(error.contains("the password in cleartext; it was not sent"), "{error}");
}

#[tokio::test]
async fn require_auth_allows_cleartext_and_md5() {
    let (responses, _) = connect("127.0.0.1", "require_auth=password", &[CLEARTEXT]).await;
    assert_eq!(responses, [b"s3cret\0"]);
    let (responses, _) = connect("127.0.0.1", "require_auth=scram-sha-256,md5", &[MD5]).await;
    assert!(responses.len() == 1 && responses[0].starts_with(b"md5"), "{responses:?}");
}

#[tokio::test]
async fn a_server_that_is_not_local_must_offer_tls_by_default() {
    // Not a loopback address, although it leads to this machine.
    let host = "0.0.0.0";
    let (responses, error) = connect(host, "", &[CLEARTEXT]).await;
    assert!(responses.is_empty(), "{responses:?}");
    assert!(error.contains("does not offer TLS") && error.contains("sslmode=disable"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_the_protocol_is_an_error() {
    for garbage in [b"SSH-2.0-OpenSSH\r\n".as_slice(), b"R\0\0\0\x04", b"E\0\0\0\0"] {
        let (responses, error) = connect("127.0.0.1", "sslmode=disable", &[garbage]).await;
        assert!(responses.is_empty() && error.contains("not the protocol"), "{garbage:?}: {error}");
    }
}
