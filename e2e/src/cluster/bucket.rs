//! An S3 bucket that several nodes share.

use std::net::SocketAddr;

use crate::unique;

use super::host::required_env;

/// A bucket as flags and environment variables of a node. Keys and region not set here are those of the
/// test's own environment.
#[derive(Debug, Clone)]
pub struct Bucket {
    url: String,
    variables: Vec<(String, String)>,
}

impl Bucket {
    /// A prefix that no other test uses, in the store that the test script has started.
    pub fn fresh() -> Self {
        let bucket = required_env("PINHOLE_TEST_S3_URL");
        Self { url: format!("{}/{}", bucket.trim_end_matches('/'), unique("test")), variables: Vec::new() }
    }

    pub(super) fn new(url: String, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { url, variables: variables.collect() }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The address of the S3 endpoint.
    pub fn address(&self) -> SocketAddr {
        let endpoint =
            std::env::var("AWS_ENDPOINT_URL_S3").unwrap_or_else(|_| required_env("AWS_ENDPOINT_URL"));
        let url = reqwest::Url::parse(&endpoint).unwrap();
        url.socket_addrs(|| None).unwrap()[0]
    }

    /// The same bucket through another endpoint, such as a proxy.
    pub fn through(&self, address: SocketAddr) -> Self {
        let names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
        let endpoints = names.map(|name| (name.to_owned(), format!("http://{address}")));
        Self { url: self.url.clone(), variables: [&self.variables[..], &endpoints].concat() }
    }
}
