//! Servers that are started for a measurement, and ended with it.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::wire::Talk;
use crate::error::{Error, create_folder, read};

/// From the start to the first answer; Python is slow on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// From the polite signal to the other one.
const GRACE: Duration = Duration::from_secs(10);

/// Servers have one end of the machine and the load has the other.
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

/// A place on loopback where nobody listens.
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
}

impl Server {
    /// Starts a command that will listen at the address; on one core, if that is named. It ends when we do,
    /// however we end.
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
        Ok(Self { name: name.into(), child, address, log, started })
    }

    /// Waits until a path is answered with success; says how long that took from the start.
    pub(super) fn ready(&mut self, path: &str) -> Result<Duration, Error> {
        loop {
            if let Ok(mut talk) = Talk::with(self.address)
                && talk.get(path, &[]).is_ok_and(|answer| answer.status < 300)
            {
                return Ok(self.started.elapsed());
            }
            let ended = self.child.try_wait().map_err(Error::system(&self.name))?;
            if ended.is_some() || self.started.elapsed() > PATIENCE {
                let log = String::from_utf8_lossy(&read(&self.log)?).into_owned();
                let tail: Vec<&str> = log.lines().rev().take(10).collect();
                let tail: Vec<&str> = tail.into_iter().rev().collect();
                return Err(Error::Peer(format!("{} does not answer:\n{}", self.name, tail.join("\n"))));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The CPU time of all its threads so far, user and system, and that of programs it called which have ended.
    pub(super) fn cpu(&self) -> Result<Duration, Error> {
        let stat = read(&self.proc("stat"))?;
        let stat = String::from_utf8_lossy(&stat);
        // The name in brackets may hold anything; numbers follow the last bracket.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: Option<Vec<u64>> = fields.skip(11).take(4).map(|field| field.parse().ok()).collect();
        let ticks = ticks.filter(|ticks| ticks.len() == 4).map(|ticks| ticks.iter().sum::<u64>());
        let ticks = ticks.ok_or_else(|| Error::measure("the system does not tell the time of a process"))?;
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
            kib.ok_or_else(|| Error::measure("the system does not tell the memory of a process"))
        };
        Ok((field("VmRSS:")? / 1024.0, field("VmHWM:")? / 1024.0))
    }

    pub(super) fn talk(&self) -> Result<Talk, Error> {
        Talk::with(self.address)
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
        kill(Pid::from_raw(pid), Signal::SIGTERM).map_err(Error::measure)?;
        while self.child.try_wait().map_err(Error::system(&self.name))?.is_none() {
            if asked.elapsed() > GRACE {
                self.child.kill().map_err(Error::system(&self.name))?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: {} did not end: {error}", self.name);
        }
    }
}

/// Waits until what was written before is on the disk.
pub(super) fn settle() -> Result<(), Error> {
    match Command::new("sync").status().map_err(Error::system("sync"))?.success() {
        true => Ok(()),
        false => Err(Error::measure("the disk could not be synced")),
    }
}
