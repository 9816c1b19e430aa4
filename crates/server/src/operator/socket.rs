//! The socket in the data folder: one command and one reply, each a line of JSON. The folder's permissions
//! keep other users of the machine out.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use app::App;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::OperatorCommand;
use super::import_account::{ImportCommand, import_account};

const FILE_NAME: &str = "operator.sock";

/// The longest command, in bytes.
const MAX_COMMAND: u64 = 64 * 1024;

/// For a command to arrive, and for its reply: a count of a large instance takes a while.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug, Serialize, Deserialize)]
enum Reply {
    Done(Value),
    Failed(String),
}

/// Serves the operator's commands until it is dropped.
#[derive(Debug)]
pub(crate) struct OperatorSocket {
    task: JoinHandle<()>,
    path: PathBuf,
}

impl OperatorSocket {
    /// The caller holds the lock of the data folder, so an existing file is of a process that has ended.
    pub(crate) fn listen(app: App, data_dir: &Path, base_url: String) -> io::Result<Self> {
        let path = data_dir.join(FILE_NAME);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let (app, base_url) = (app.clone(), base_url.clone());
                        tokio::spawn(async move {
                            if let Err(error) = serve(stream, &app, &base_url).await {
                                tracing::warn!(%error, "operator command failed");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "operator socket failed to accept");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        });
        Ok(Self { task, path })
    }

    /// Stops accepting commands.
    pub(crate) async fn close(self) {
        self.task.abort();
        // Awaited so that its clone of the app is dropped; the error is the abort.
        drop(self.task.await);
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "operator socket not removed");
        }
    }
}

async fn serve(stream: UnixStream, app: &App, base_url: &str) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    timeout(TIMEOUT, (&mut stream).take(MAX_COMMAND).read_line(&mut line)).await??;
    let outcome = match serde_json::from_str::<OperatorCommand>(&line) {
        // It takes as long as its photos need.
        Ok(OperatorCommand::ImportAccount(command)) => receive_archive(&mut stream, app, command).await,
        Ok(command) => timeout(TIMEOUT, command.execute(app, base_url)).await?,
        Err(error) => Err(format!("the running service does not know this command: {error}")),
    };
    let reply = match outcome {
        Ok(value) => Reply::Done(value),
        Err(message) => Reply::Failed(message),
    };
    stream.write_all(serde_json::to_string(&reply)?.as_bytes()).await?;
    stream.write_all(b"\n").await
}

/// Reads the archive that follows a command, and imports it.
async fn receive_archive(
    stream: &mut BufReader<UnixStream>,
    app: &App,
    command: ImportCommand,
) -> Result<Value, String> {
    let received = async {
        let mut spool = app.spool().await?;
        let (mut left, mut buffer) = (command.length, vec![0; 1 << 20]);
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = timeout(TIMEOUT, stream.read(&mut buffer[..wanted])).await;
            let read = read.ok().and_then(Result::ok).filter(|read| *read > 0);
            let Some(read) = read else {
                return Err(app::Error::invalid("archive", "the archive ended early"));
            };
            app.check_upload_space()?;
            spool.write(&buffer[..read]).await?;
            left -= read as u64;
        }
        Ok(spool.finish().await?.into_file())
    };
    let archive = received.await.map_err(|error: app::Error| error.to_string())?;
    import_account(app, command.username, archive).await
}

/// Sends a command to the service that runs on the data folder.
pub(crate) async fn call(data_dir: &Path, command: &OperatorCommand) -> Result<Value, String> {
    match timeout(TIMEOUT, exchange(data_dir, command, None)).await {
        Ok(reply) => reply,
        Err(_) => Err(format!("the service did not reply within {} s", TIMEOUT.as_secs())),
    }
}

/// Sends an archive to the service that runs on the data folder, and waits until it is imported.
pub(crate) async fn send_archive(
    data_dir: &Path,
    username: Option<String>,
    archive: std::fs::File,
) -> Result<Value, String> {
    let length = archive.metadata().map_err(|error| error.to_string())?.len();
    let command = OperatorCommand::ImportAccount(ImportCommand { username, length });
    exchange(data_dir, &command, Some(archive.into())).await
}

async fn exchange(
    data_dir: &Path,
    command: &OperatorCommand,
    archive: Option<tokio::fs::File>,
) -> Result<Value, String> {
    let path = data_dir.join(FILE_NAME);
    let exchange = async {
        let mut stream = BufReader::new(UnixStream::connect(&path).await?);
        stream.write_all((serde_json::to_string(command)? + "\n").as_bytes()).await?;
        if let Some(mut archive) = archive {
            // The service replies early if it cannot store the archive.
            drop(tokio::io::copy(&mut archive, &mut stream).await);
        }
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        Ok::<_, io::Error>(serde_json::from_str(&line)?)
    };
    match exchange.await {
        Ok(Reply::Done(value)) => Ok(value),
        Ok(Reply::Failed(message)) => Err(message),
        Err(error) => Err(format!(
            "cannot reach the service that runs on {}: {error}\n\
             Is it of an older version? Then restart it. Does it run as another user? Then run this command as that user.",
            path.display()
        )),
    }
}
