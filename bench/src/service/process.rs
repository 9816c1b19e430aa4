//! Servers that are started for a measurement, and ended with it.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::wire::Client;
use crate::error::{Error, create_folder, read};

/// From the start to the first answer; Python is slow on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

/// Servers run on the first core and the load on the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cores {
    pub(super) server: usize,
    pub(super) load: usize,
}

impl Cores {
    pub(super) fn find() -> Result<Self, Error> {
        let allowed = sched_getaffinity(Pid::from_raw(0)).map_err(Error::measure)?;
        let mut cores = (0..CpuSet::count()).filter(|core| allowed.is_set(*core) == Ok(true));
        let server = cores.next().ok_or_else(|| Error::measure("this process may run on no core at all"))?;
        let load = cores.next_back().ok_or_else(|| Error::measure("a server and its load need two cores"))?;
        Ok(Self { server, load })
    }
}

/// Keeps the calling thread on a core.
pub(super) fn stay_on(core: usize) -> Result<(), Error> {
    let mut one = CpuSet::new();
    one.set(core).map_err(Error::measure)?;
    sched_setaffinity(Pid::from_raw(0), &one).map_err(Error::measure)
}

/// An unused address on loopback.
pub(super) fn free_address() -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::system("loopback"))?;
    listener.local_addr().map_err(Error::system("loopback"))
}

pub(super) struct Server {
    name: String,
    child: Child,
    pub(super) address: SocketAddr,
    log: PathBuf,
    started: Instant,
    /// The signal that stops it.
    stop_signal: Signal,
}

impl Server {
    /// Starts a command that will listen at the address; on one core, if that is named. It is killed when
    /// this process dies.
    pub(super) fn start(
        name: &str,
        command: &Command,
        address: SocketAddr,
        core: Option<usize>,
        logs: &Path,
    ) -> Result<Self, Error> {
        create_folder(logs)?;
        let log = logs.join(format!("{}.log", name.replace([' ', ','], "-")));
        let file = File::create(&log).map_err(Error::system(log.display()))?;
        let errors = file.try_clone().map_err(Error::system(log.display()))?;
        let mut wrapped = Command::new("setpriv");
        wrapped.args(["--pdeathsig", "KILL"]);
        if let Some(core) = core {
            wrapped.args(["taskset", "-c", &core.to_string()]);
        }
        wrapped.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        let started = Instant::now();
        let child = wrapped.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let child = child.map_err(Error::system(name))?;
        Ok(Self { name: name.into(), child, address, log, started, stop_signal: Signal::SIGTERM })
    }

    pub(super) fn stopped_by(mut self, signal: Signal) -> Self {
        self.stop_signal = signal;
        self
    }

    /// Waits until a path is answered with success; says how long that took from the start.
    pub(super) fn ready(&mut self, path: &str) -> Result<Duration, Error> {
        let address = self.address;
        self.ready_when(|| {
            Client::with(address)
                .and_then(|mut client| client.get(path, &[]))
                .is_ok_and(|answer| answer.status < 300)
        })
    }

    /// The same for one that does not speak HTTP.
    pub(super) fn ready_when(&mut self, mut is_ready: impl FnMut() -> bool) -> Result<Duration, Error> {
        loop {
            if is_ready() {
                return Ok(self.started.elapsed());
            }
            let ended = self.child.try_wait().map_err(Error::system(&self.name))?;
            if ended.is_some() || self.started.elapsed() > TIMEOUT {
                let log = String::from_utf8_lossy(&read(&self.log)?).into_owned();
                let tail: Vec<&str> = log.lines().rev().take(10).collect();
                let tail: Vec<&str> = tail.into_iter().rev().collect();
                return Err(Error::Peer(format!("{} does not answer:\n{}", self.name, tail.join("\n"))));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The CPU time so far, user and system: of all its threads, of the processes it has started (a database
    /// has one for every connection), and of those that have ended.
    pub(super) fn cpu(&self) -> Result<Duration, Error> {
        let server = self.child.id();
        let unreadable = || Error::measure("the system does not report the time of a process");
        let mut ticks = Stat::of(server).ok_or_else(unreadable)?.ticks;
        for entry in std::fs::read_dir("/proc").map_err(Error::system("/proc"))? {
            let name = entry.map_err(Error::system("/proc"))?.file_name();
            // A process that has exited is counted in its parent's ticks after the wait.
            let stat = name.to_str().and_then(|name| name.parse().ok()).and_then(Stat::of);
            ticks += stat.filter(|stat| stat.parent == server).map_or(0, |stat| stat.ticks);
        }
        let second = sysconf(SysconfVar::CLK_TCK).map_err(Error::measure)?.unwrap_or(100);
        Ok(Duration::from_secs_f64(ticks as f64 / second as f64))
    }

    /// In MiB: what it holds now, and the most it ever held.
    pub(super) fn memory(&self) -> Result<(f64, f64), Error> {
        let status = read(&self.proc("status"))?;
        let status = String::from_utf8_lossy(&status);
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
            kib.ok_or_else(|| Error::measure("the system does not report the memory of a process"))
        };
        Ok((field("VmRSS:")? / 1024.0, field("VmHWM:")? / 1024.0))
    }

    pub(super) fn client(&self) -> Result<Client, Error> {
        Client::with(self.address)
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.id()))
    }

    fn end(&mut self) -> Result<(), Error> {
        let asked = Instant::now();
        if self.child.try_wait().map_err(Error::system(&self.name))?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).map_err(Error::measure)?;
        kill(Pid::from_raw(pid), self.stop_signal).map_err(Error::measure)?;
        while self.child.try_wait().map_err(Error::system(&self.name))?.is_none() {
            if asked.elapsed() > GRACE {
                self.child.kill().map_err(Error::system(&self.name))?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// What the system says of a process.
struct Stat {
    parent: u32,
    /// User and system, its own and that of children it has waited for.
    ticks: u64,
}

impl Stat {
    /// `None` when there is no such process.
    fn of(pid: u32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name in brackets may hold anything; its state and then numbers follow the last bracket.
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let times = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok());
        Some(Self { parent: fields.get(1)?.parse().ok()?, ticks: times.sum::<Option<u64>>()? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: {} did not end: {error}", self.name);
        }
    }
}

/// Runs a program to its end and returns what it wrote; if it fails, its stderr is the error.
pub(super) fn run(command: &mut Command) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(Error::system(&program))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Peer(format!("{program} failed: {words}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Waits until what was written before is on the disk.
pub(super) fn sync_disk() -> Result<(), Error> {
    match Command::new("sync").status().map_err(Error::system("sync"))?.success() {
        true => Ok(()),
        false => Err(Error::measure("the disk could not be synced")),
    }
}
