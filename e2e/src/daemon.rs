//! A server that runs beside the test, ours or somebody else's, and never longer than it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually;

/// Runs the program and outlives nobody: when our end of its stdin closes, however we ended, the program
/// is killed. `$1` is a folder to remove afterwards, or nothing; the rest is the command.
const WATCHDOG: &str = r#"
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

/// How long a program may take to say what it says at its start, on a machine busy with other tests.
const START: Duration = Duration::from_secs(30);

/// So many lines of its log are kept.
const TAIL: usize = 200;

#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<String>>>);

pub struct Daemon {
    name: String,
    watchdog: Child,
    pid: Pid,
    log: Log,
}

impl Daemon {
    /// Program, arguments, variables and folder are the command's.
    pub fn start(name: &str, command: &Command) -> Self {
        Self::start_and_sweep(name, command, "")
    }

    /// The same; afterwards a folder is removed, even if nobody is left to do it.
    pub(crate) fn start_and_sweep(name: &str, command: &Command, sweep: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHDOG, "watchdog", sweep]);
        shell.arg(command.get_program()).args(command.get_args());
        // Our own settings are none of the server's.
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
        log.drain(watchdog.stdout.take().unwrap());
        let number = |line: &str| line.strip_prefix("pid ")?.parse().ok();
        let pid = Pid::from_raw(log.says("the watchdog tells whom it watches", number));
        Self { name: name.to_owned(), watchdog, pid: pid.expect("a process has a number"), log }
    }

    /// What it says of itself in one of its first lines.
    pub(crate) fn says<T>(&self, find: impl Fn(&str) -> Option<T>) -> T {
        self.log.says(&format!("{} says that it is ready", self.name), find)
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("it runs");
    }

    /// Asks it to end by a signal whose meaning it knows, and waits until it has.
    pub fn end(mut self, signal: Signal) {
        self.signal(signal);
        self.ended();
    }

    /// Waits for the end that a signal has asked for.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        eventually(&what, Duration::from_secs(60), || {
            self.watchdog.try_wait().expect("the watchdog is our child")
        })
    }

    /// In the middle of whatever it is doing (`kill -9`), and waits until it is gone.
    pub fn kill(self) {
        drop(self);
    }

    pub fn has_ended(&mut self) -> bool {
        self.watchdog.try_wait().expect("the watchdog is our child").is_some()
    }

    /// Fails with the log of a server that should run and does not.
    #[track_caller]
    pub fn assert_runs(&mut self) {
        let ended = self.has_ended();
        assert!(!ended, "{}", self.log.told(&format!("{} has ended", self.name), TAIL));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The watchdog kills: it is the parent and cannot hit a stranger who got the same pid.
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().expect("the watchdog is our child");
        if std::thread::panicking() {
            eprintln!("{}", self.log.told(&format!("the log of {}", self.name), TAIL));
        }
    }
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().cloned().collect()
    }

    /// The last of it, under a heading.
    pub(crate) fn told(&self, what: &str, lines: usize) -> String {
        let log = self.lines();
        format!("{what}:\n{}", log[log.len().saturating_sub(lines)..].join("\n"))
    }

    fn says<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        eventually(what, START, || self.lines().iter().find_map(|line| find(line)))
    }

    fn drain(&self, pipe: impl std::io::Read + Send + 'static) {
        let log = self.0.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut log = log.lock().unwrap();
                if log.len() == TAIL {
                    log.pop_front();
                }
                log.push_back(line);
            }
        });
    }
}
