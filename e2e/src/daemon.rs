//! A server process that ends with the test at the latest.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually;

/// Runs the program and kills it when the test process closes stdin or dies. `$1` is a folder to remove
/// afterwards, or empty; the rest is the command.
const WATCHDOG: &str = r#"
cleanup=$1; shift
exec 3<&0 2>&1
"$@" </dev/null 3<&- &
pid=$!
echo "pid $pid"
(cat <&3 >/dev/null; kill -9 $pid) >/dev/null 2>&1 &
killer=$!
exec >/dev/null 2>&1
wait $pid; code=$?
kill $killer
[ -z "$cleanup" ] || rm -rf "$cleanup"
exit $code
"#;

/// How long a program may take to log that it is ready, on a machine busy with other tests.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of log lines kept per process.
const LOG_LINES: usize = 200;

#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<String>>>);

pub struct Daemon {
    name: String,
    watchdog: Child,
    pid: Pid,
    log: Log,
    /// Ends when the process has closed its output.
    log_reader: JoinHandle<()>,
}

impl Daemon {
    /// Uses the command's program, arguments, environment and working directory.
    pub fn start(name: &str, command: &Command) -> Self {
        Self::start_with_cleanup(name, command, "")
    }

    /// Like `start`; the watchdog removes the folder `cleanup` when the process has ended.
    pub(crate) fn start_with_cleanup(name: &str, command: &Command, cleanup: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHDOG, "watchdog", cleanup]);
        shell.arg(command.get_program()).args(command.get_args());
        // The test's own PINHOLE_ settings must not reach the server.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PINHOLE_") {
                shell.env_remove(name);
            }
        }
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        let mut watchdog = shell
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs the watchdog");
        let log = Log::default();
        let log_reader = log.collect(watchdog.stdout.take().unwrap());
        let number = |line: &str| line.strip_prefix("pid ")?.parse().ok();
        let pid = Pid::from_raw(log.wait_for_line("the watchdog prints the process id", number));
        let pid = pid.expect("a process id is not 0");
        Self { name: name.to_owned(), watchdog, pid, log, log_reader }
    }

    /// Waits for a log line for which `find` returns `Some`. The error is the log of a process that exits
    /// without one.
    pub(crate) fn wait_for_line_or_exit<T>(&self, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let what = format!("{} logs that it is ready", self.name);
        eventually(&what, START_TIMEOUT, || {
            // Before the lines are searched, so that none is missed.
            let is_complete = self.log_reader.is_finished();
            if let Some(value) = self.log.lines().iter().find_map(|line| find(line)) {
                return Some(Ok(value));
            }
            is_complete.then(|| Err(self.log.tail(&format!("{} has exited", self.name), LOG_LINES)))
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("the process runs");
    }

    /// Sends a signal that ends the process, and waits for its exit.
    pub fn stop(mut self, signal: Signal) {
        self.signal(signal);
        self.wait_for_exit();
    }

    /// Waits until the process has exited.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let what = format!("{} exits", self.name);
        eventually(&what, Duration::from_secs(60), || {
            self.watchdog.try_wait().expect("the watchdog is a child of the test")
        })
    }

    /// `kill -9`, and waits for the exit.
    pub fn kill(self) {
        drop(self);
    }

    pub fn has_exited(&mut self) -> bool {
        self.watchdog.try_wait().expect("the watchdog is a child of the test").is_some()
    }

    /// Panics with the log if the process has exited.
    #[track_caller]
    pub fn assert_running(&mut self) {
        let has_exited = self.has_exited();
        assert!(!has_exited, "{}", self.log.tail(&format!("{} has exited", self.name), LOG_LINES));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The watchdog kills: as the parent it cannot hit another process with a reused pid.
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().expect("the watchdog is a child of the test");
        if std::thread::panicking() {
            eprintln!("{}", self.log.tail(&format!("the log of {}", self.name), LOG_LINES));
        }
    }
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().cloned().collect()
    }

    /// The last lines, under a heading.
    pub(crate) fn tail(&self, heading: &str, lines: usize) -> String {
        let log = self.lines();
        format!("{heading}:\n{}", log[log.len().saturating_sub(lines)..].join("\n"))
    }

    fn wait_for_line<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        eventually(what, START_TIMEOUT, || self.lines().iter().find_map(|line| find(line)))
    }

    fn collect(&self, pipe: impl std::io::Read + Send + 'static) -> JoinHandle<()> {
        let log = self.0.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut log = log.lock().unwrap();
                if log.len() == LOG_LINES {
                    log.pop_front();
                }
                log.push_back(line);
            }
        })
    }
}
