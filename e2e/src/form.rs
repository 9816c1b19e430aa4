//! Form parameters and their two encodings.

use crate::unique;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    UrlEncoded,
    Multipart,
}

impl Encoding {
    pub const BOTH: [Encoding; 2] = [Encoding::UrlEncoded, Encoding::Multipart];
}

/// The parameters of one request. The default encoding is multipart with a file and urlencoded without.
#[derive(Debug, Clone, Default)]
pub struct FormData {
    fields: Vec<Field>,
    encoding: Option<Encoding>,
}

#[derive(Debug, Clone)]
struct Field {
    name: String,
    value: Vec<u8>,
    /// For a file: the rest of `Content-Disposition` after the name, and further part headers.
    file: Option<String>,
}

/// A request body and its content type.
#[derive(Debug, Clone, Default)]
pub struct Body {
    pub content_type: Option<String>,
    pub bytes: Vec<u8>,
}

impl FormData {
    pub fn new() -> Self {
        Self::default()
    }

    /// The parameters of join and login.
    pub fn account(username: &str, password: &str) -> Self {
        Self::new().text("username", username).text("password", password)
    }

    pub fn message(text: &str) -> Self {
        Self::new().text("message", text)
    }

    pub fn photo(bytes: &[u8]) -> Self {
        Self::new().file("photo", bytes)
    }

    pub fn text(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push(Field { name: name.into(), value: value.as_ref().into(), file: None });
        self
    }

    pub fn file(self, name: &str, bytes: &[u8]) -> Self {
        let headers = "; filename=\"picture.jpg\"\r\nContent-Type: image/jpeg";
        self.file_with(name, headers, bytes)
    }

    /// A file with a custom `; filename=…` and custom further part headers.
    pub fn file_with(mut self, name: &str, headers: &str, bytes: &[u8]) -> Self {
        self.fields.push(Field { name: name.into(), value: bytes.into(), file: Some(headers.into()) });
        self
    }

    pub fn encoded(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    pub fn body(&self) -> Body {
        let has_file = self.fields.iter().any(|field| field.file.is_some());
        let default = if has_file { Encoding::Multipart } else { Encoding::UrlEncoded };
        match self.encoding.unwrap_or(default) {
            Encoding::UrlEncoded => self.url_encoded(),
            Encoding::Multipart => self.multipart(),
        }
    }

    fn url_encoded(&self) -> Body {
        let escape = |bytes: &[u8]| form_urlencoded::byte_serialize(bytes).collect::<String>();
        let pairs: Vec<String> = self
            .fields
            .iter()
            .map(|field| format!("{}={}", escape(field.name.as_bytes()), escape(&field.value)))
            .collect();
        Body::new("application/x-www-form-urlencoded", pairs.join("&"))
    }

    fn multipart(&self) -> Body {
        let boundary = unique("boundary");
        let mut bytes = Vec::new();
        for field in &self.fields {
            let file = field.file.as_deref().unwrap_or("");
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"{file}\r\n\r\n",
                field.name
            );
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(&field.value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Body::new(&format!("multipart/form-data; boundary={boundary}"), bytes)
    }
}

impl Body {
    pub fn new(content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { content_type: Some(content_type.into()), bytes: bytes.into() }
    }

    pub fn none() -> Self {
        Self::default()
    }
}

impl From<FormData> for Body {
    fn from(form: FormData) -> Self {
        form.body()
    }
}

impl From<&FormData> for Body {
    fn from(form: &FormData) -> Self {
        form.body()
    }
}
