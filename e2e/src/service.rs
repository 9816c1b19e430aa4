//! The service under test: the real binary with its own port and folder, or an address given from outside.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::Client;

/// Runs the binary and outlives nobody: when our end of its stdin closes, however we ended, the service
/// is killed. `$1` is a folder to remove afterwards, or nothing; the rest is the command.
pub(crate) const WATCHDOG: &str = r#"
sweep=$1; shift
exec 3<&0 2>&1
"$@" </dev/null 3<&- &
pid=$!
echo "pid $pid"
(cat <&3 >/dev/null; kill -9 $pid) >/dev/null 2>&1 &
dog=$!
exec >/dev/null 2>&1
wait $pid; code=$?
kill $dog
[ -z "$sweep" ] || rm -rf "$sweep"
exit $code
"#;

/// How long the binary may take to announce itself, on a machine busy with other tests.
const START: Duration = Duration::from_secs(30);
pub(crate) const TAIL: usize = 200;

pub(crate) type Tail = Arc<Mutex<VecDeque<String>>>;

pub struct Service {
    base: String,
    process: Option<Process>,
}

struct Process {
    watchdog: Child,
    pid: i32,
    log: Tail,
    data_dir: PathBuf,
    /// Removed with the service, unless somebody else owns the folder.
    _owned: Option<TempDir>,
}

impl Service {
    /// The one service all stories without special flags share: `PINHOLE_E2E_URL`, or our own.
    pub fn shared() -> &'static Service {
        static SHARED: LazyLock<Service> = LazyLock::new(|| match std::env::var("PINHOLE_E2E_URL") {
            Ok(url) => Service { base: url.trim_end_matches('/').to_owned(), process: None },
            Err(_) => Service::lasting(&[]),
        });
        &SHARED
    }

    /// A service of one's own, gone when dropped.
    pub fn start(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap();
        let mut service = Self::start_in(dir.path(), flags);
        service.process.as_mut().unwrap()._owned = Some(dir);
        service
    }

    /// A service on a folder that was there before and stays afterwards.
    pub fn start_in(data_dir: &Path, flags: &[&str]) -> Service {
        Self::spawn(serve_in(data_dir, flags), data_dir, "")
    }

    /// The same with variables of its own: one node of many has its own way to what they share.
    pub fn with_environment(data_dir: &Path, flags: &[&str], variables: &[(String, String)]) -> Service {
        let mut command = serve_in(data_dir, flags);
        command.envs(variables.iter().cloned());
        Self::spawn(command, data_dir, "")
    }

    /// A demo, which makes its own folder in `temporary`.
    pub fn demo(temporary: &Path, flags: &[&str]) -> Service {
        let mut command = Command::new(program());
        command.env("TMPDIR", temporary).args(["demo", "--log-format", "json"]).args(flags);
        let mut service = Self::spawn(command, temporary, "");
        let folder = service.announced("data_dir").expect("the demo says where it is");
        service.process.as_mut().unwrap().data_dir = folder.into();
        service
    }

    /// A service for a static: nobody drops those, so the watchdog sweeps up and failures show its log.
    pub fn lasting(flags: &[&str]) -> Service {
        let dir = tempfile::tempdir().unwrap().keep();
        let service = Self::spawn(serve_in(&dir, flags), &dir, dir.to_str().unwrap());
        let log = service.process.as_ref().unwrap().log.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            eprintln!("{}", told("the last of the service's log", &log, 20));
        }));
        service
    }

    fn spawn(program: Command, data_dir: &Path, sweep: &str) -> Service {
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG, "watchdog", sweep]);
        command.arg(program.get_program()).args(program.get_args());
        // Our own settings are none of the server's.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PINHOLE_") {
                command.env_remove(name);
            }
        }
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut watchdog = std::os::unix::process::CommandExt::process_group(&mut command, 0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs the watchdog");

        let log = Tail::default();
        let lines = drain(watchdog.stdout.take().unwrap(), log.clone());
        let (mut pid, mut base) = (None, None);
        while pid.is_none() || base.is_none() {
            let line = lines.recv_timeout(START).unwrap_or_else(|_| {
                panic!("{}", told("the service did not announce its address", &log, TAIL))
            });
            match line.strip_prefix("pid ") {
                Some(number) => pid = number.parse().ok(),
                None => base = base.or(announced(&line, "address")),
            }
        }
        let process =
            Process { watchdog, pid: pid.unwrap(), log, data_dir: data_dir.to_owned(), _owned: None };
        Service { base: base.unwrap(), process: Some(process) }
    }

    /// `http://127.0.0.1:40123`, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn address(&self) -> SocketAddr {
        let url = reqwest::Url::parse(&self.base).unwrap();
        url.socket_addrs(|| None).unwrap()[0]
    }

    /// Somebody without a credential.
    pub fn anyone(&self) -> Client {
        Client::anonymous(&self.base)
    }

    /// Somebody who has just joined under a name of their own that begins with `prefix`.
    pub fn newcomer(&self, prefix: &str) -> Client {
        self.anyone().join(&crate::unique(prefix))
    }

    #[track_caller]
    pub fn assert_alive(&self) {
        self.anyone().get("/readyz").expect(200);
    }

    pub fn pid(&self) -> i32 {
        self.own().pid
    }

    pub fn data_dir(&self) -> &Path {
        &self.own().data_dir
    }

    /// What the service said of itself when it was ready: an address, mostly.
    pub fn announced(&self, field: &str) -> Option<String> {
        self.log().iter().find_map(|line| announced(line, field))
    }

    /// The last lines the service logged.
    pub fn log(&self) -> Vec<String> {
        self.own().log.lock().unwrap().iter().cloned().collect()
    }

    /// Looks through every file the service has written.
    #[track_caller]
    pub fn assert_nowhere_on_disk(&self, secret: &[u8], what: &str) {
        let files = self.files("");
        for path in &files {
            let bytes = match std::fs::read(path) {
                Ok(bytes) => bytes,
                // An image on its way into the cache has got its name meanwhile: look again.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return self.assert_nowhere_on_disk(secret, what);
                }
                Err(error) => panic!("{}: {error}", path.display()),
            };
            let found = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!found, "{what} is kept in {}", path.display());
        }
        assert!(!files.is_empty(), "a service that wrote no file cannot have kept anything");
    }

    /// Every file below a folder of the data folder. What vanishes while we look is not there.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.data_dir().join(folder)], Vec::new());
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let paths = entries.map(|entry| entry.unwrap().path());
            let (inner, found): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
            folders.extend(inner);
            files.extend(found);
        }
        files
    }

    /// The most memory the process ever held, in MiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }

    /// Asks the service to end, as an operator does.
    pub fn terminate(&self) {
        let pid = Pid::from_raw(self.pid()).unwrap();
        kill_process(pid, Signal::TERM).expect("the service runs");
    }

    /// Waits for the end that `terminate` asked for, and asserts that it is an orderly one.
    #[track_caller]
    pub fn assert_ends_well(mut self) {
        let process = self.process.as_mut().expect("only our own service can be waited for");
        let status = crate::eventually("the service ends", Duration::from_secs(30), || {
            process.watchdog.try_wait().unwrap()
        });
        assert!(status.success(), "{}", told(&format!("it ended with {status}"), &process.log, TAIL));
    }

    /// Kills the service in the middle of whatever it is doing, and waits until it is gone.
    pub fn kill(self) {
        drop(self);
    }

    fn own(&self) -> &Process {
        self.process.as_ref().expect("this story needs a service of its own, not PINHOLE_E2E_URL")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The watchdog kills: it is the parent and cannot hit a stranger who got the same pid.
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().expect("the watchdog is our child");
        if std::thread::panicking() {
            eprintln!("{}", told("the service's log", &self.log, TAIL));
        }
    }
}

fn serve_in(data_dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
    if !flags.contains(&"--rate-limits") {
        command.args(["--rate-limits", "off"]);
    }
    command.args(flags);
    command
}

/// The program under test.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PINHOLE_E2E_BIN") {
        return path.into();
    }
    let exe = std::env::current_exe().unwrap();
    let path = exe.ancestors().nth(2).unwrap().join("pinhole");
    assert!(path.exists(), "{} is missing: build it with `cargo build -p server`", path.display());
    path
}

pub(crate) fn drain(pipe: impl std::io::Read + Send + 'static, log: Tail) -> mpsc::Receiver<String> {
    let (lines, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap();
            if log.len() == TAIL {
                log.pop_front();
            }
            log.push_back(line.clone());
            // Nobody listens any more once the address is known.
            lines.send(line).ok();
        }
    });
    receiver
}

/// A field of the event with which the service announces itself.
fn announced(line: &str, field: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let value = event.get(field).filter(|_| event["message"] == "ready")?;
    Some(value.as_str()?.trim_end_matches('/').to_owned())
}

pub(crate) fn told(what: &str, log: &Tail, lines: usize) -> String {
    let log = log.lock().unwrap();
    let tail: Vec<&str> = log.iter().skip(log.len().saturating_sub(lines)).map(String::as_str).collect();
    format!("{what}:\n{}", tail.join("\n"))
}
