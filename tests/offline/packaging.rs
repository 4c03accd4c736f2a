//! Files in the packages besides the program: completions that shells accept, man pages that match the help.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::support::files::directory;
use crate::support::process;
use crate::support::program;

#[test]
fn every_shell_gets_a_script_with_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = program::run(&["completions", shell], "").success();
        for command in [
            "serve", "lint", "default", "budgets", "admit", "rules", "policy", "crd",
        ] {
            assert!(script.contains(command), "{shell} {command}");
        }
    }
    assert_eq!(program::run(&["completions", "cmd"], "").status.code(), Some(2));
}

#[test]
fn bash_accepts_its_script() {
    let script = program::run(&["completions", "bash"], "").success();
    let directory = directory(&[("poolgate.bash", &script)]);
    let mut command = Command::new("bash");
    command
        .args(["-c", "source \"$1\"; COMP_WORDS=(poolgate li); COMP_CWORD=1; _poolgate poolgate li poolgate; echo \"${COMPREPLY[@]}\""])
        .arg("bash")
        .arg(directory.path().join("poolgate.bash"));
    assert_eq!(process::run(&mut command, "").success().trim(), "lint");
}

#[test]
fn there_is_a_page_for_the_program_and_for_each_command() {
    let page = |arguments: &[&str]| program::run(&[&["man"], arguments].concat(), "").success();
    assert!(page(&[]).contains(".TH poolgate 1"));
    let lint = page(&["lint"]);
    assert!(
        lint.contains("fail\\-on") && lint.contains("fail\\-if\\-empty"),
        "{lint}"
    );
    let unknown = program::run(&["man", "lnit"], "");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(unknown.stderr.contains("lint"), "{unknown:?}");
}

#[test]
fn a_container_is_built_from_all_packages_and_nothing_else() {
    let read = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let manifest = read("Cargo.toml");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = ["));
    let members = members
        .expect("the workspace has members")
        .split('"')
        .skip(1)
        .step_by(2);
    let mut needed: BTreeSet<&str> = members.collect();
    needed.extend(["Cargo.lock", "Cargo.toml", "packaging/program", "src"]);

    let ignore = read(".containerignore");
    let sent: BTreeSet<&str> = ignore.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert_eq!(sent, needed);

    let containerfile = read("Containerfile");
    let copied: BTreeSet<&str> = containerfile
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"))
        .flat_map(|line| line.split_whitespace().rev().skip(1))
        .collect();
    assert_eq!(copied, needed);
}

/// Two packages have a program of this name, so cargo could ask which one is meant.
#[test]
fn first_command_of_the_readme_names_the_program() {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["run", "--locked", "--quiet", "--", "--version"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let version = process::run(&mut command, "").success();
    assert_eq!(version, format!("poolgate {}\n", env!("CARGO_PKG_VERSION")));
}
