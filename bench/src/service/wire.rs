//! A minimal HTTP/1.1 client: requests, response framing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::error::Error;

/// More headers than any candidate sends.
const HEADERS: usize = 64;

/// For connecting and for each read.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the head of an answer says about the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: usize,
    pub(super) body: Body,
    /// `Connection: close`.
    pub(super) last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length(usize),
    Chunked,
}

/// `None` when more has to be read first.
pub(super) fn head(bytes: &[u8]) -> Result<Option<Head>, Error> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(bytes).map_err(Error::measure)? else {
        return Ok(None);
    };
    let mut body = Body::Length(0);
    let mut last = false;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            body = Body::Length(number(header.value, 10).ok_or_else(|| odd("its length"))?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            body = Body::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            last = header.value.eq_ignore_ascii_case(b"close");
        }
    }
    let status = response.code.ok_or_else(|| odd("its status"))?;
    Ok(Some(Head { status, length, body, last }))
}

/// The chunks at the beginning of these bytes, put together, and how many bytes they took; `None` when more
/// has to be read first.
pub(super) fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Error> {
    let (mut whole, mut offset) = (Vec::new(), 0);
    loop {
        let rest = bytes.get(offset..).unwrap_or_default();
        let Some(line) = rest.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let length = number(&rest[..line], 16).ok_or_else(|| odd("the length of a chunk"))?;
        let (from, to) = (line + 2, line + 2 + length);
        // A line ends behind each chunk, and behind the empty one that is the last.
        let Some(chunk) = rest.get(from..to).filter(|_| rest.len() >= to + 2) else { return Ok(None) };
        whole.extend_from_slice(chunk);
        offset += to + 2;
        if length == 0 {
            return Ok(Some((whole, offset)));
        }
    }
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?.trim(), radix).ok()
}

fn odd(what: &str) -> Error {
    Error::measure(format!("an answer cannot be read: {what}"))
}

/// A request without a body.
pub(super) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    request("GET", address, path, headers, None)
}

/// A request as it goes over the wire; a body comes with its type.
pub(super) fn request(
    method: &str,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<(&str, &[u8])>,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if let Some((kind, body)) = body {
        text += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    } else if method != "GET" {
        text += "content-length: 0\r\n";
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body.map_or(&[], |(_, body)| body));
    bytes
}

/// A form with one photo in it, and its type.
pub(super) fn form(field: &str, photo: &[u8]) -> (String, Vec<u8>) {
    const EDGE: &str = "bench-7f3a9c51d2";
    let mut form = format!(
        "--{EDGE}\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"photo.jpg\"\r\n\
         content-type: image/jpeg\r\n\r\n"
    )
    .into_bytes();
    form.extend_from_slice(photo);
    form.extend(format!("\r\n--{EDGE}--\r\n").into_bytes());
    (format!("multipart/form-data; boundary={EDGE}"), form)
}

/// A blocking client on one connection, for setup and checks; load comes from `load`.
pub(super) struct Client {
    pub(super) address: SocketAddr,
    stream: TcpStream,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(super) fn with(address: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(Error::system(address))?;
        stream.set_nodelay(true).map_err(Error::system(address))?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(Error::system(address))?;
        Ok(Self { address, stream })
    }

    pub(super) fn ask(&mut self, request: &[u8]) -> Result<Answer, Error> {
        self.stream.write_all(request).map_err(Error::system(self.address))?;
        let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            if let Some(head) = head(&bytes)?
                && let Some(body) = body(&head, &bytes[head.length..])?
            {
                if head.last {
                    *self = Self::with(self.address)?;
                }
                return Ok(Answer { status: head.status, body });
            }
            let count = self.stream.read(&mut piece).map_err(Error::system(self.address))?;
            if count == 0 {
                return Err(Error::measure(format!("{} closed the connection", self.address)));
            }
            bytes.extend_from_slice(&piece[..count]);
        }
    }

    pub(super) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, Error> {
        self.ask(&get(self.address, path, headers))
    }

    pub(super) fn post(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Answer, Error> {
        let body = body.to_string();
        let request =
            request("POST", self.address, path, headers, Some(("application/json", body.as_bytes())));
        self.ask(&request)
    }
}

impl Answer {
    /// Anything but 2xx is an error of the setup.
    pub(super) fn success(self) -> Result<Self, Error> {
        match self.status {
            200..=299 => Ok(self),
            status => {
                let words: String = String::from_utf8_lossy(&self.body).chars().take(500).collect();
                Err(Error::measure(format!("answered with {status}: {words}")))
            }
        }
    }

    pub(super) fn json(&self) -> Result<Value, Error> {
        serde_json::from_slice(&self.body).map_err(Error::measure)
    }
}

fn body(head: &Head, rest: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    match head.body {
        Body::Length(length) => Ok(rest.get(..length).map(<[u8]>::to_vec)),
        Body::Chunked => Ok(chunks(rest)?.map(|(whole, _)| whole)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end_of_a_response() {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        let found = head(text).unwrap().unwrap();
        assert_eq!((found.status, found.body, found.last), (201, Body::Length(5), true));
        assert_eq!(&text[found.length..], b"hello");
        assert_eq!(head(&text[..30]).unwrap(), None);
    }

    #[test]
    fn joins_chunks() {
        let text = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nHTTP";
        assert_eq!(chunks(text).unwrap(), Some((b"abcde".to_vec(), text.len() - 4)));
        for cut in 0..text.len() - 4 {
            assert_eq!(chunks(&text[..cut]).unwrap(), None, "{cut}");
        }
        assert!(chunks(b"x\r\n").is_err());
    }
}
