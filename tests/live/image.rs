//! The image that is made without an engine: the same wherever it is made, as its specification has it, and taken by a
//! registry; its content runs where nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::assets::program;
use crate::support::files::directory;
use crate::support::process::{Outcome, Process, run};
use crate::support::program::root;
use crate::support::running::Running;
use crate::support::wait::wait_for;

const CONTAINERFILE: &str = include_str!("../../Containerfile");

/// A file that begins as a program of a machine does, and has no segment at all.
pub(super) fn beginning_of_a_program(machine: u8) -> Vec<u8> {
    let mut header = vec![
        0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, machine, 0, 1,
    ];
    header.resize(52, 0);
    header.extend([64, 0, 56, 0, 0, 0, 64, 0, 0, 0, 0, 0]);
    header
}

/// A directory with a program of each architecture.
fn programs() -> TempDir {
    let programs = directory(&[]);
    for (name, machine) in [("amd64", 62), ("arm64", 183)] {
        fs::write(programs.path().join(name), beginning_of_a_program(machine)).expect("a file");
    }
    programs
}

/// Makes `out` in the directory of the programs, as `packaging/image` does.
fn assemble(directory: &Path, out: &str, created: &str, programs: &[&str]) -> Outcome {
    let mut command = Command::new(program("assemble"));
    command.args([
        "-version=0.1.0",
        "-revision=0123456789abcdef",
        "-out",
        out,
        "-created",
        created,
    ]);
    run(command.args(programs).current_dir(directory), "")
}

const BOTH: [&str; 2] = ["amd64=amd64", "arm64=arm64"];

/// All files below a directory, by their paths in it.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = ignore::WalkBuilder::new(directory)
        .standard_filters(false)
        .build();
    let paths = entries.map(|entry| entry.expect("an entry").into_path());
    paths
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.strip_prefix(directory).expect("a path in it");
            (name.display().to_string(), fs::read(&path).expect("a file"))
        })
        .collect()
}

#[test]
fn the_same_programs_make_the_same_image_to_the_byte() {
    let directory = programs();
    let made = |out: &str, created: &str| {
        let digest = assemble(directory.path(), out, created, &BOTH).success();
        (digest, files(&directory.path().join(out)))
    };
    let first = made("first", "1700000000");
    assert!(first.0.starts_with("sha256:") && first.1.len() > 5, "{first:?}");
    assert_eq!(made("second", "1700000000"), first);
    assert_ne!(made("later", "1700000001").0, first.0);
}

#[test]
fn what_could_not_start_in_an_empty_image_is_denied() {
    let directory = programs();
    let dynamic = format!("amd64={}", env!("CARGO_BIN_EXE_poolgate"));
    for (program, reason) in [
        (&*dynamic, "is linked dynamically"),
        ("amd64=arm64", "is for EM_AARCH64 and not for amd64"),
        (
            "riscv64=amd64",
            "unknown architecture riscv64; known: amd64, arm64",
        ),
        ("amd64", "is not ARCHITECTURE=FILE"),
    ] {
        let denied = assemble(directory.path(), "out", "0", &[program]);
        assert!(
            !denied.status.success() && denied.stderr.contains(reason),
            "{denied:?}"
        );
        assert!(!directory.path().join("out").exists(), "{reason}");
    }
}

#[test]
fn a_layout_that_is_not_what_its_digests_say_is_found() {
    let directory = programs();
    assemble(directory.path(), "out", "0", &BOTH).success();
    let check = || {
        run(
            Command::new(program("assemble"))
                .args(["-check", "out"])
                .current_dir(directory.path()),
            "",
        )
    };
    check().success();
    for (name, content) in files(&directory.path().join("out")) {
        let path = directory.path().join("out").join(&name);
        let mut damaged = content.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(&path, &damaged).expect("a file");
        assert!(!check().status.success(), "{name}");
        fs::write(&path, &content).expect("a file");
    }
    check().success();
}

/// A registry, which forgets everything with the test.
struct Registry {
    process: Process,
    _directory: TempDir,
}

impl Registry {
    fn start() -> Self {
        let directory = Running::directory();
        let mut command = Command::new(program("crane"));
        command.args(["registry", "serve", "--address=127.0.0.1:0"]);
        let process = Process::start("registry", &command, directory.path());
        Self {
            process,
            _directory: directory,
        }
    }

    /// The name of an image in it.
    fn image(&self) -> String {
        let port = wait_for("the registry to serve", || {
            let log = self.process.log();
            let (_, rest) = log.split_once("serving on port ")?;
            Some(rest.split_once('\n')?.0.to_owned())
        });
        format!("127.0.0.1:{port}/platform/poolgate")
    }
}

fn crane(arguments: &[&str]) -> Outcome {
    let home = directory(&[]);
    run(
        Command::new(program("crane"))
            .args(arguments)
            .env("HOME", home.path()),
        "",
    )
}

/// The argument of an instruction in the Containerfile.
fn said(instruction: &str) -> &'static str {
    let mut lines = CONTAINERFILE.lines();
    let found = lines.find_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {instruction}"))
}

#[test]
fn a_registry_takes_the_image_and_each_architecture_runs_as_the_containerfile_says() {
    let directory = programs();
    let digest = assemble(directory.path(), "out", "1700000000", &BOTH).success();
    let registry = Registry::start();
    let (image, layout) = (registry.image(), directory.path().join("out"));
    let tagged = format!("{image}:0.1.0");
    let pushed = crane(&["push", layout.to_str().expect("a path"), &tagged]).success();
    assert_eq!(
        pushed.trim(),
        format!("{image}@{}", digest.trim()),
        "the index is what is pushed"
    );
    crane(&["validate", "--remote", &tagged]).success();
    for architecture in ["amd64", "arm64"] {
        let platform = format!("--platform=linux/{architecture}");
        crane(&["validate", "--remote", &tagged, &platform]).success();
        let config: Value =
            serde_json::from_str(&crane(&["config", &tagged, &platform]).success()).expect("JSON");
        assert_eq!(config["architecture"], architecture);
        assert_eq!(config["created"], "2023-11-14T22:13:20Z");
        let config = &config["config"];
        assert_eq!(config["User"], said("USER"));
        assert_eq!(
            config["Labels"]["org.opencontainers.image.revision"],
            "0123456789abcdef"
        );
        let entrypoint: Value = serde_json::from_str(said("ENTRYPOINT")).expect("JSON");
        assert_eq!(config["Entrypoint"], entrypoint);
        let exposed: Vec<_> = said("EXPOSE")
            .split(' ')
            .map(|port| (format!("{port}/tcp"), json!({})))
            .collect();
        assert_eq!(
            config["ExposedPorts"],
            Value::Object(exposed.into_iter().collect())
        );
        let out = directory.path().join(format!("{architecture}-unpacked"));
        unpack(&tagged, &platform, &out);
        let program = fs::read(directory.path().join(architecture)).expect("a file");
        let place = entrypoint[0].as_str().expect("a path").trim_start_matches('/');
        assert_eq!(files(&out), BTreeMap::from([(place.to_owned(), program)]));
    }
}

/// Puts the files of an image where a container of it would find them.
fn unpack(image: &str, platform: &str, out: &Path) {
    let archive = out.with_extension("tar");
    crane(&["export", platform, image, archive.to_str().expect("a path")]).success();
    fs::create_dir(out).expect("a directory");
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(out), "").success();
}

/// Runs one of the scripts, which builds a release, however long it takes; what it printed.
fn packaging(clone: &Path, script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(clone.join("packaging").join(script));
    command
        .args(arguments)
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(clone);
    let outcome = command.stderr(Stdio::inherit()).output().expect("it starts");
    assert!(outcome.status.success(), "{script}: {outcome:?}");
    String::from_utf8(outcome.stdout)
        .expect("a text")
        .trim()
        .to_owned()
}

/// A copy of what the Containerfile takes from a clone.
fn sources() -> TempDir {
    let sources = Running::directory();
    let lines = CONTAINERFILE
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "));
    for line in lines.filter(|line| !line.starts_with("--from")) {
        let mut parts: Vec<_> = line.split(' ').collect();
        let place = sources.path().join(parts.pop().expect("a place"));
        if line.ends_with('/') {
            fs::create_dir_all(&place).expect("a directory");
        }
        let parts = parts.iter().map(|part| root().join(part));
        run(Command::new("cp").arg("-R").args(parts).arg(place), "").success();
    }
    sources
}

#[test]
#[ignore = "long: .ci/nightly"]
fn the_program_is_the_same_wherever_it_is_built_and_answers_where_nothing_else_is() {
    let directory = Running::directory();
    let layout = directory.path().join("image");
    let layout = layout.to_str().expect("a path");
    let digest = packaging(root(), "image", &[layout]);
    let here = root().join(packaging(root(), "program", &[]));

    let sources = sources();
    let there = sources.path().join(packaging(sources.path(), "program", &[]));
    assert!(
        fs::read(here).expect("a program") == fs::read(there).expect("a program"),
        "two builds differ"
    );

    let registry = Registry::start();
    let image = registry.image();
    crane(&["push", layout, &image]).success();
    let container = directory.path().join("container");
    let architecture = if cfg!(target_arch = "x86_64") {
        "amd64"
    } else {
        "arm64"
    };
    unpack(
        &format!("{image}@{digest}"),
        &format!("--platform=linux/{architecture}"),
        &container,
    );
    let mut command = Command::new("unshare");
    command.arg("--map-root-user").arg("--root").arg(&container);
    command.args([
        "/usr/local/bin/poolgate",
        "serve",
        "--no-cluster",
        "--self-signed",
        "--ca-out=/ca.crt",
    ]);
    command.args([
        "--listen=127.0.0.1:0",
        "--probe-listen=127.0.0.1:0",
        "--log-format=json",
    ]);
    let mut process = Process::start("poolgate", &command, directory.path());
    let address = wait_for("poolgate to listen", || {
        assert_eq!(process.exited(), None, "{}", process.log());
        let log = process.log();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .map(|line| line["fields"]["admission"].clone())
            .find(Value::is_string)
    });
    let url = format!("https://{}/validate", address.as_str().expect("an address"));
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--noproxy", "*", "--cacert"])
        .arg(container.join("ca.crt"));
    curl.args([
        "-H",
        "content-type: application/json",
        "-d",
        "@docs/examples/five-mistakes.review.json",
        &url,
    ]);
    let answer: Value = serde_json::from_str(&run(curl.current_dir(root()), "").success()).expect("JSON");
    assert_eq!(answer["response"]["allowed"], false, "{answer}");
}

/// The crates whose sources a program names in its panics: `name`, `version`.
fn named_in(program: &[u8]) -> BTreeSet<(String, String)> {
    let text = String::from_utf8_lossy(program);
    let places = text.split("/cargo/registry/src/").skip(1);
    let folders = places.filter_map(|place| place.split('/').nth(1));
    folders
        .filter_map(|folder| {
            folder
                .match_indices('-')
                .map(|(at, _)| folder.split_at(at))
                .find_map(|(name, rest)| {
                    let version = rest.trim_start_matches('-');
                    version
                        .starts_with(|first: char| first.is_ascii_digit())
                        .then(|| (name.to_owned(), version.to_owned()))
                })
        })
        .collect()
}

/// `packaging/sbom`, as packaging/README.md prints it.
#[test]
#[ignore = "long: .ci/nightly"]
fn the_bill_of_materials_has_every_crate_that_the_program_names_and_none_of_the_tests() {
    let program = root().join(packaging(root(), "program", &[]));
    let named = named_in(&fs::read(program).expect("a program"));
    assert!(named.len() > 50, "{named:?}");
    let bill: Value = serde_json::from_str(&packaging(root(), "sbom", &[])).expect("JSON");
    let word = |part: &Value, field: &str| part[field].as_str().expect("a word").to_owned();
    let parts = bill["components"].as_array().expect("components").iter();
    let parts: BTreeSet<_> = parts
        .map(|part| (word(part, "name"), word(part, "version")))
        .collect();
    assert_eq!(
        named.difference(&parts).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new()
    );
    for absent in ["insta", "jsonschema", "proptest", "ring"] {
        assert!(!parts.iter().any(|(name, _)| name == absent), "{absent}");
    }
    assert_eq!(packaging(root(), "sbom", &[]), packaging(root(), "sbom", &[]));
}
