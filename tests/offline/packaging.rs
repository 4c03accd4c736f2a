//! What packages install beside the program: completions that shells accept, pages that say what the help says.

use std::process::{Command, Output};

fn poolgate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_poolgate"))
        .args(arguments)
        .output()
        .expect("poolgate runs")
}

#[test]
fn every_shell_gets_a_script_with_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = poolgate(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).expect("text");
        for command in [
            "serve", "lint", "default", "budgets", "admit", "rules", "policy", "crd",
        ] {
            assert!(script.contains(command), "{shell} {command}");
        }
    }
    assert_eq!(poolgate(&["completions", "cmd"]).status.code(), Some(2));
}

#[test]
fn bash_accepts_its_script() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("poolgate.bash");
    std::fs::write(&path, poolgate(&["completions", "bash"]).stdout).expect("a file");
    let completed = Command::new("bash")
        .args(["-c", "source \"$1\"; COMP_WORDS=(poolgate li); COMP_CWORD=1; _poolgate poolgate li poolgate; echo \"${COMPREPLY[@]}\""])
        .arg("bash")
        .arg(&path)
        .output()
        .expect("bash runs");
    assert_eq!(
        String::from_utf8_lossy(&completed.stdout).trim(),
        "lint",
        "{completed:?}"
    );
}

#[test]
fn there_is_a_page_for_the_program_and_for_each_command() {
    let page = |arguments: &[&str]| {
        let output = poolgate(&[&["man"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(page(&[]).contains(".TH poolgate 1"));
    let lint = page(&["lint"]);
    assert!(
        lint.contains("fail\\-on") && lint.contains("write\\-baseline"),
        "{lint}"
    );
    let unknown = poolgate(&["man", "lnit"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("lint"));
}
