//! The upload hook: an HTTP endpoint or a command of the operator that may refuse an upload before it is
//! published, such as by a list of known files.

use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use model::{Refusal, ValidationError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use crate::Error;

/// Where uploads are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadHookTarget {
    /// Receives a POST with JSON. 2xx accepts, 403 refuses; anything else is a failure.
    Http(String),
    /// Receives JSON on its standard input. Exit code 0 accepts, 1 refuses; anything else is a failure.
    Command(String),
}

impl FromStr for UploadHookTarget {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        if raw.starts_with("http://") || raw.starts_with("https://") {
            return match raw.parse::<reqwest::Url>() {
                Ok(url) if url.has_host() => Ok(Self::Http(raw.to_owned())),
                _ => Err("expected a URL such as http://127.0.0.1:9000/check".into()),
            };
        }
        if raw.starts_with('/') {
            return Ok(Self::Command(raw.to_owned()));
        }
        Err("expected a URL that begins with http:// or https://, or the absolute path of a program".into())
    }
}

#[derive(Debug, Clone)]
pub struct UploadHookSettings {
    pub target: UploadHookTarget,
    pub timeout: Duration,
    /// Whether an upload is accepted if the hook fails or takes too long.
    pub fails_open: bool,
}

#[derive(Debug)]
pub(crate) struct UploadHook {
    settings: UploadHookSettings,
    http: reqwest::Client,
}

/// What the hook is told of an upload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UploadFingerprint {
    /// Of the file as it was sent.
    pub(crate) sha256: [u8; 32],
    /// A difference hash of the photo's centre square.
    pub(crate) perceptual_hash: u64,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl UploadFingerprint {
    fn to_json(self) -> String {
        let sha256: String = self.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        let Self { perceptual_hash, width, height, .. } = self;
        // Digits only: nothing to escape.
        format!(
            r#"{{"sha256":"{sha256}","perceptual_hash":"{perceptual_hash:016x}","width":{width},"height":{height}}}"#
        )
    }
}

/// How much of an answer is kept, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// The variables of the service that a program gets. Others may be secrets, such as the database URL.
const ENVIRONMENT: [&str; 3] = ["PATH", "HOME", "LANG"];

enum Verdict {
    Accepted,
    /// With a reason for the uploader, which may be empty.
    Refused(String),
    Failed(String),
}

impl UploadHook {
    pub(crate) fn new(settings: UploadHookSettings) -> Result<Self, reqwest::Error> {
        blobs::install_crypto_provider();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(settings.timeout)
            .build()?;
        Ok(Self { settings, http })
    }

    /// Fails if the hook refuses the upload, or cannot be asked and fails closed.
    pub(crate) async fn check(&self, upload: UploadFingerprint) -> Result<(), Error> {
        let json = upload.to_json();
        let ask = async {
            match &self.settings.target {
                UploadHookTarget::Http(url) => self.post(url, json).await,
                UploadHookTarget::Command(program) => run(program, json).await,
            }
        };
        let verdict = match timeout(self.settings.timeout, ask).await {
            Ok(verdict) => verdict,
            Err(_) => Verdict::Failed(format!("no answer within {:?}", self.settings.timeout)),
        };
        match verdict {
            Verdict::Accepted => Ok(()),
            Verdict::Refused(reason) => {
                tracing::info!(%reason, "upload refused by the upload hook");
                let message = match reason.trim() {
                    "" => "this photo is not allowed on this instance".to_owned(),
                    reason => format!("this photo is not allowed on this instance: {reason}"),
                };
                Err(Error::invalid("photo", ValidationError::refused(Refusal::PhotoNotAllowed, message)))
            }
            Verdict::Failed(cause) if self.settings.fails_open => {
                tracing::warn!(%cause, "upload hook failed; upload accepted");
                Ok(())
            }
            Verdict::Failed(cause) => Err(Error::Unavailable("the upload hook", cause.into())),
        }
    }

    async fn post(&self, url: &str, json: String) -> Verdict {
        let request = self.http.post(url).header("content-type", "application/json").body(json);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Verdict::Failed(model::error_chain(&error)),
        };
        match response.status() {
            status if status.is_success() => Verdict::Accepted,
            reqwest::StatusCode::FORBIDDEN => Verdict::Refused(shortened(&reason_of(response).await)),
            status => Verdict::Failed(format!("the endpoint returned {status}")),
        }
    }
}

/// The body of a refusal, up to [`MAX_ANSWER`]. The status alone refuses, so a body that is longer or breaks
/// off is cut.
async fn reason_of(mut response: reqwest::Response) -> Vec<u8> {
    let mut reason = Vec::new();
    while reason.len() < MAX_ANSWER {
        match response.chunk().await {
            Ok(Some(chunk)) => reason.extend_from_slice(&chunk),
            Ok(None) => return reason,
            Err(error) => {
                tracing::warn!(cause = model::error_chain(&error), "answer of the upload hook ended early");
                return reason;
            }
        }
    }
    warn_too_long();
    reason
}

/// The output up to [`MAX_ANSWER`]. The rest is discarded instead of closing the pipe, which would end the
/// program before its exit code tells whether it refuses.
async fn output_of(mut stdout: ChildStdout) -> std::io::Result<Vec<u8>> {
    let mut output = Vec::new();
    (&mut stdout).take(MAX_ANSWER as u64).read_to_end(&mut output).await?;
    if tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await? > 0 {
        warn_too_long();
    }
    Ok(output)
}

fn warn_too_long() {
    tracing::warn!(max_bytes = MAX_ANSWER, "answer of the upload hook is too long; the rest is ignored");
}

async fn run(program: &str, json: String) -> Verdict {
    let failed = |cause: std::io::Error| Verdict::Failed(format!("{program}: {cause}"));
    let mut command = Command::new(program);
    let environment = ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(environment);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(cause) => return failed(cause),
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A program that needs no input may close it; its exit code counts.
        _ = stdin.write_all(json.as_bytes()).await;
    }
    let reason = match child.stdout.take() {
        Some(stdout) => match output_of(stdout).await {
            Ok(reason) => reason,
            Err(cause) => return failed(cause),
        },
        None => Vec::new(),
    };
    match child.wait().await {
        Ok(status) if status.success() => Verdict::Accepted,
        Ok(status) if status.code() == Some(1) => Verdict::Refused(shortened(&reason)),
        Ok(status) => Verdict::Failed(format!("{program} ended with {status}")),
        Err(cause) => failed(cause),
    }
}

/// The first line, without control characters.
fn shortened(reason: &[u8]) -> String {
    let text = String::from_utf8_lossy(reason);
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|char| !char.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_url_or_an_absolute_path() {
        for raw in ["http://127.0.0.1:9000/check", "https://hash.example.org/", "/usr/local/bin/check"] {
            assert!(raw.parse::<UploadHookTarget>().is_ok(), "{raw}");
        }
        for raw in ["", "check", "./check", "ftp://example.org", "http://"] {
            assert!(raw.parse::<UploadHookTarget>().is_err(), "{raw}");
        }
    }

    #[test]
    fn the_json_has_the_hashes_in_hexadecimal() {
        let upload = UploadFingerprint { sha256: [0xab; 32], perceptual_hash: 7, width: 4, height: 3 };
        let json = upload.to_json();
        assert!(
            json.contains(&"ab".repeat(32)) && json.contains(r#""perceptual_hash":"0000000000000007""#),
            "{json}"
        );
        assert!(json.ends_with(r#""width":4,"height":3}"#), "{json}");
    }
}
