//! A place for photos that several nodes share.

use std::net::SocketAddr;

use crate::unique;

use super::house::promised;

/// A bucket as a node is told of it. Keys and region are those in the environment of the test.
#[derive(Debug, Clone)]
pub struct Bucket {
    url: String,
    variables: Vec<(String, String)>,
}

impl Bucket {
    /// A prefix of this story's own in the store that the test script has started.
    pub fn fresh() -> Self {
        let bucket = promised("PINHOLE_TEST_S3_URL");
        Self { url: format!("{}/{}", bucket.trim_end_matches('/'), unique("story")), variables: Vec::new() }
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

    /// Where the store listens.
    pub fn address(&self) -> SocketAddr {
        let endpoint = std::env::var("AWS_ENDPOINT_URL_S3").unwrap_or_else(|_| promised("AWS_ENDPOINT_URL"));
        let url = reqwest::Url::parse(&endpoint).unwrap();
        url.socket_addrs(|| None).unwrap()[0]
    }

    /// The same bucket by another way.
    pub fn through(&self, address: SocketAddr) -> Self {
        let names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
        let ways = names.map(|name| (name.to_owned(), format!("http://{address}")));
        Self { url: self.url.clone(), variables: [&self.variables[..], &ways].concat() }
    }
}
