//! The server's log is not read.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::process::Command;

use serde_json::Value;

use super::client::{Connection, bad_review};
use crate::support::process::{Process, run};
use crate::support::program::poolgate;
use crate::support::running::{Running, get};

#[test]
fn a_log_that_nobody_reads_keeps_nobody_waiting() {
    let directory = Running::directory();
    let path = |name: &str| directory.path().join(name);
    let (pipe, ca) = (path("pipe"), path("ca.crt"));
    run(Command::new("mkfifo").arg(&pipe), "").success();
    // Open in both directions, it has a reader, which reads only the first line.
    let reader = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&pipe)
        .expect("a pipe");

    let ca_out = format!("--ca-out={}", ca.display());
    let arguments = [
        "serve",
        "--no-cluster",
        "--self-signed",
        &ca_out,
        "--log-format=json",
    ];
    let ports = ["--listen=127.0.0.1:0", "--probe-listen=127.0.0.1:0"];
    let server = poolgate(&[&arguments[..], &ports].concat());
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$@" 2>"$0""#]).arg(&pipe);
    command.arg(server.get_program()).args(server.get_args());
    for (name, _) in server.get_envs() {
        command.env_remove(name);
    }
    let _server = Process::start("poolgate", &command, directory.path());

    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    let listening: Value = serde_json::from_str(&line).expect("JSON");
    let address = |port: &str| {
        let address = listening["fields"][port]
            .as_str()
            .and_then(|text| text.parse().ok());
        address.unwrap_or_else(|| panic!("no address of {port}: {line}"))
    };

    let ca = fs::read_to_string(ca).expect("a certificate");
    let mut connection =
        Connection::negotiate(address("admission"), &ca, &["http/1.1"]).expect("a handshake");
    // A pipe holds about 250 of their lines, and 4,096 wait for it.
    for _ in 0..5000 {
        assert_eq!(connection.post("/validate", &bad_review("unheard")).status, 200);
    }
    assert_eq!(get(address("probe"), "/livez").expect("an answer").0, 200);
    let (_, metrics) = get(address("probe"), "/metrics").expect("an answer");
    let dropped = metrics
        .lines()
        .find_map(|line| line.strip_prefix("poolgate_log_lines_dropped_total "));
    let dropped: u32 = dropped.and_then(|count| count.parse().ok()).expect("a count");
    assert!((1..5000).contains(&dropped), "{dropped} lines dropped");
}
