//! A server of somebody else's that runs beside the service, and never longer than the test.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::eventually;
use crate::service::{TAIL, Tail, WATCHDOG, drain, told};

const START: Duration = Duration::from_secs(30);

pub struct Daemon {
    name: String,
    watchdog: Child,
    pid: Pid,
    log: Tail,
}

impl Daemon {
    /// Program, arguments, variables and folder are the command's.
    pub fn start(name: &str, command: &Command) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCHDOG, "watchdog", ""]);
        shell.arg(command.get_program()).args(command.get_args());
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
        let log = Tail::default();
        let lines = drain(watchdog.stdout.take().unwrap(), log.clone());
        // The server may be quicker with its own first words.
        let pid = loop {
            let line = lines.recv_timeout(START).expect("the watchdog tells whom it watches");
            if let Some(pid) = line.strip_prefix("pid ").and_then(|pid| pid.parse().ok()) {
                break Pid::from_raw(pid).expect("a process has a number");
            }
        };
        Self { name: name.to_owned(), watchdog, pid, log }
    }

    /// Asks it to end by a signal whose meaning it knows, and waits until it has.
    pub fn end(mut self, signal: Signal) {
        kill_process(self.pid, signal).expect("it runs");
        eventually(&format!("{} ends", self.name), Duration::from_secs(60), || {
            self.has_ended().then_some(())
        });
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
        assert!(!ended, "{}", told(&format!("{} has ended", self.name), &self.log, TAIL));
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The watchdog kills: it is the parent and cannot hit a stranger who got the same pid.
        drop(self.watchdog.stdin.take());
        self.watchdog.wait().expect("the watchdog is our child");
        if std::thread::panicking() {
            eprintln!("{}", told(&format!("the last words of {}", self.name), &self.log, 30));
        }
    }
}
