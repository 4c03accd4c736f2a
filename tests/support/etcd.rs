//! etcd, the store of a control plane, and copies of what it has stored.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::assets::program;
use super::process::Process;
use super::wait::wait_for;

pub(crate) struct Etcd {
    process: Process,
    address: String,
    /// The control plane's: the data lie in a directory of it.
    directory: PathBuf,
}

/// What etcd has stored, revisions included: the files of a data directory whose etcd has ended.
pub(crate) struct StoreCopy(Vec<StoredFile>);

struct StoredFile {
    /// Relative to the data directory.
    path: PathBuf,
    /// Without the zeros at its end: etcd reserves 64 MB for a log that holds one or two.
    bytes: Vec<u8>,
    length: u64,
}

impl Etcd {
    /// Starts one that keeps its data below `directory`: those of a copy, or none.
    pub(crate) fn start(directory: &Path, copy: Option<&StoreCopy>) -> Self {
        if let Some(copy) = copy {
            copy.write(&data(directory));
        }
        // Port 0 lets the kernel choose; etcd's log names the port.
        let (process, address) = start(directory, "127.0.0.1:0");
        Self {
            process,
            address,
            directory: directory.to_owned(),
        }
    }

    /// Host and port, without TLS.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal (a name without SIG).
    pub(crate) fn signal(&self, signal: &str) {
        self.process.signal(signal);
    }

    /// Ends it, copies what it has stored, and starts it anew.
    pub(crate) fn copy(&mut self) -> StoreCopy {
        let copy = self.end();
        self.process = start(&self.directory, &self.address).0;
        copy
    }

    /// Ends it, and starts it anew with what a copy holds.
    pub(crate) fn restore(&mut self, copy: &StoreCopy) {
        self.stop();
        fs::remove_dir_all(data(&self.directory)).expect("the store can be removed");
        copy.write(&data(&self.directory));
        self.process = start(&self.directory, &self.address).0;
    }

    /// Ends it for good; what it has stored.
    pub(crate) fn end(&mut self) -> StoreCopy {
        self.stop();
        StoreCopy::read(&data(&self.directory))
    }

    fn stop(&mut self) {
        self.process.signal("TERM");
        self.process.wait_for_exit();
    }
}

impl StoreCopy {
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).expect("the store can be listed") {
                let path = entry.expect("the store can be listed").path();
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let mut bytes = fs::read(&path).expect("a file of the store can be read");
                let length = bytes.len() as u64;
                bytes.truncate(
                    bytes
                        .iter()
                        .rposition(|&byte| byte != 0)
                        .map_or(0, |last| last + 1),
                );
                bytes.shrink_to_fit();
                let path = path.strip_prefix(root).expect("a file of the store").to_owned();
                files.push(StoredFile { path, bytes, length });
            }
        }
        Self(files)
    }

    fn write(&self, root: &Path) {
        for file in &self.0 {
            let path = root.join(&file.path);
            fs::create_dir_all(path.parent().expect("a file lies in a directory"))
                .expect("a directory of the store can be created");
            let mut written = File::create(&path).expect("a file of the store can be created");
            written
                .write_all(&file.bytes)
                .expect("a file of the store can be written");
            written
                .set_len(file.length)
                .expect("a file of the store can be extended");
        }
    }
}

fn data(directory: &Path) -> PathBuf {
    directory.join("etcd")
}

fn start(directory: &Path, address: &str) -> (Process, String) {
    let mut command = Command::new(program("etcd"));
    command.arg("--data-dir").arg(data(directory)).args([
        "--unsafe-no-fsync",
        &format!("--listen-client-urls=http://{address}"),
        &format!("--advertise-client-urls=http://{address}"),
        "--listen-peer-urls=http://127.0.0.1:0",
        "--log-level=info",
    ]);
    let mut process = Process::start("etcd", &command, directory);
    let address = wait_for("etcd to serve", || {
        assert_eq!(process.exited(), None, "etcd ended:\n{}", process.log());
        process.log().lines().find_map(served_address)
    });
    (process, address)
}

fn served_address(line: &str) -> Option<String> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let serving = entry["msg"].as_str()?.starts_with("serving client traffic");
    serving
        .then(|| entry["address"].as_str().map(str::to_owned))
        .flatten()
}
