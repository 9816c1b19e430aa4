//! Storage faults: a service whose file operations fail on request. The library `e2e/faults/faults.c` is
//! compiled here and preloaded by the service; both sides share a control file.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;
use tempfile::TempDir;

use crate::Service;

/// The layout of `struct control`.
const RULES: u64 = 2;
const RULE_BYTES: u64 = 160;
const RULE_FIRST_HIT: u64 = 8 * 8;
const RULE_PATH: u64 = 9 * 8;
const RECORDED: u64 = RULES * RULE_BYTES;
const RECORD_BYTES: u64 = 128;
const RECORDS: u64 = 4096;

/// The operations that are counted, and can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum FileOperation {
    Open = 1,
    Create = 2,
    MakeFolder = 4,
    Read = 8,
    Write = 16,
    Sync = 32,
    Rename = 64,
    Truncate = 128,
    Remove = 256,
}

impl FileOperation {
    const ALL: [Self; 9] = [
        Self::Open,
        Self::Create,
        Self::MakeFolder,
        Self::Read,
        Self::Write,
        Self::Sync,
        Self::Rename,
        Self::Truncate,
        Self::Remove,
    ];
}

/// What happens instead of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Fail(Errno),
    /// Half of the bytes are written.
    ShortWrite,
    /// Half of the bytes are written, and what follows fails.
    ShortWriteThen(Errno),
    /// An fsync fails, and what was written since the last one is lost, as Linux may do.
    LoseUnsynced(Errno),
    /// What was not synced is lost, and the process ends.
    PowerFailure,
}

impl Action {
    fn bits(self) -> u64 {
        let code = |errno: Errno| u64::try_from(errno.raw_os_error()).unwrap();
        match self {
            Self::Fail(errno) => code(errno),
            Self::ShortWrite => 1 << 16,
            Self::ShortWriteThen(errno) => code(errno) | 1 << 16,
            Self::LoseUnsynced(errno) => code(errno) | 1 << 17,
            Self::PowerFailure => 1 << 18,
        }
    }
}

/// Which call fails. Of the calls of `operations` on a path that ends with `path`, consecutive ones with the
/// same operation and path are a run, whose length may vary. The `call`th of the `run`th run fails, both
/// counted from 1 when the rule is armed; if it is `lasting`, all after it as well.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub operations: &'static [FileOperation],
    pub path: &'static str,
    pub run: u64,
    pub call: u64,
    pub is_lasting: bool,
    pub action: Action,
}

/// An operation that the service has begun, with its path below the data folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileCall {
    pub operation: FileOperation,
    pub path: String,
}

impl FileCall {
    /// The same for every call from one place in the code: random parts of the path are replaced.
    pub fn site(&self) -> Self {
        let generic = |part: &str| match part.split_once('-') {
            Some((prefix @ ("put" | "ping"), _)) => format!("{prefix}-*"),
            // A photo's id, or an unlinked file.
            _ if part.len() == 36 || part.ends_with(" (deleted)") => "*".to_owned(),
            _ if part.starts_with(|first: char| first.is_ascii_digit()) => "N".to_owned(),
            // With a checksum of its content.
            Some(("original", _)) => "original".to_owned(),
            _ => part.to_owned(),
        };
        let mut parts: Vec<String> = self.path.split('/').map(generic).collect();
        if let [folder, shard, ..] = &mut parts[..]
            && ["photos", "cache"].contains(&folder.as_str())
            && shard.len() <= 2
        {
            "*".clone_into(shard);
        }
        Self { operation: self.operation, path: parts.join("/") }
    }

    pub fn is(&self, operation: FileOperation, path: &str) -> bool {
        self.operation == operation && self.path == path
    }
}

impl fmt::Display for FileCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.operation, self.path)
    }
}

/// The calls of the service since `arm`, and the first one that a rule hit.
#[derive(Debug)]
pub struct Trace {
    pub calls: Vec<FileCall>,
    /// The index in `calls`, for each rule that hit one.
    pub hits: Vec<Option<usize>>,
}

/// A data folder whose services fail on request.
pub struct Faults {
    folder: TempDir,
    control: File,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.path().join("faults.so")).arg(source);
        let output = compiler.output().expect("cc compiles the library that injects faults");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = folder.path().join("control");
        let control = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        control.set_len(RECORDED + 8 + RECORDS * RECORD_BYTES).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        Self { folder, control }
    }

    pub fn data_dir(&self) -> PathBuf {
        // Canonical, as the kernel reports the paths of open files.
        self.folder.path().canonicalize().unwrap().join("data")
    }

    pub fn start(&self, flags: &[&str]) -> Service {
        self.try_start(flags).unwrap_or_else(|log| panic!("the service exited:\n{log}"))
    }

    /// The error is the log of a service that exited instead of becoming ready.
    pub fn try_start(&self, flags: &[&str]) -> Result<Service, String> {
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.to_str().unwrap().to_owned());
        let variables = [
            variable("LD_PRELOAD", self.folder.path().join("faults.so")),
            variable("FAULTS_CONTROL", self.folder.path().join("control")),
            variable("FAULTS_ROOT", self.data_dir()),
        ];
        Service::try_with_environment(&self.data_dir(), flags, &variables)
    }

    /// Replaces the rules, and begins a new trace. Without rules nothing fails.
    pub fn arm(&self, rules: &[Rule]) {
        assert!(rules.len() as u64 <= RULES);
        for index in 0..RULES {
            self.put(index * RULE_BYTES, 0);
        }
        self.put(RECORDED, 0);
        for (index, rule) in (0..).zip(rules) {
            let start = index * RULE_BYTES;
            let operations = rule.operations.iter().fold(0, |all, operation| all | *operation as u64);
            let Rule { run, call, is_lasting, action, .. } = *rule;
            for (field, value) in (1..).zip([run, call, is_lasting.into(), action.bits(), 0, 0, 0, 0]) {
                self.put(start + field * 8, value);
            }
            let mut path = [0; (RULE_BYTES - RULE_PATH) as usize];
            path[..rule.path.len()].copy_from_slice(rule.path.as_bytes());
            self.control.write_all_at(&path, start + RULE_PATH).unwrap();
            // Last, since it puts the rule into effect.
            self.put(start, operations);
        }
    }

    /// Ends all faults. Returns the calls since `arm`.
    pub fn disarm(&self) -> Trace {
        let trace = self.trace();
        self.arm(&[]);
        trace
    }

    /// Whether the first rule has hit a call.
    pub fn is_hit(&self) -> bool {
        self.get(RULE_FIRST_HIT) > 0
    }

    /// The calls since `arm`.
    pub fn trace(&self) -> Trace {
        let recorded = self.get(RECORDED);
        assert!(recorded <= RECORDS, "{recorded} file operations: too many for the trace");
        let hit = |rule| usize::try_from(self.get(rule * RULE_BYTES + RULE_FIRST_HIT)).unwrap();
        Trace {
            calls: (0..recorded).map(|index| self.call(index)).collect(),
            hits: (0..RULES).map(|rule| hit(rule).checked_sub(1)).collect(),
        }
    }

    fn call(&self, index: u64) -> FileCall {
        let mut record = [0; RECORD_BYTES as usize];
        self.control.read_exact_at(&mut record, RECORDED + 8 + index * RECORD_BYTES).unwrap();
        let (bits, path) = record.split_first_chunk().unwrap();
        let bits = u64::from_ne_bytes(*bits);
        let operation = FileOperation::ALL.into_iter().find(|operation| *operation as u64 == bits);
        let path = path.split(|byte| *byte == 0).next().unwrap();
        FileCall { operation: operation.unwrap(), path: String::from_utf8(path.into()).unwrap() }
    }

    fn get(&self, offset: u64) -> u64 {
        let mut value = [0; 8];
        self.control.read_exact_at(&mut value, offset).unwrap();
        u64::from_ne_bytes(value)
    }

    fn put(&self, offset: u64, value: u64) {
        self.control.write_all_at(&value.to_ne_bytes(), offset).unwrap();
    }
}
