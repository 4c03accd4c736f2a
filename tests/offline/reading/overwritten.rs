//! A file that is read, and holds an object, is never written.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use super::{assert_code, typed};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;
use crate::support::program::poolgate;

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("a file")
}

#[test]
fn a_manifest_below_a_folder_is_not_overwritten_by_any_output() {
    let template = format!("{{{{- if .Values.a }}}}\n{SOUND}{{{{- end }}}}\n");
    let list = format!("[{}]", r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#);
    let list = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": {list}}}"#);
    let latin = [b"# \xe9\n", SOUND.as_bytes()].concat();
    for bytes in [
        SOUND.as_bytes(),
        b"apiVersion: v1\nkind: ConfigMap\n",
        list.as_bytes(),
        template.as_bytes(),
        b"apiVersion: v1\nkind: [\n",
        br#"{"apiVersion": "v1", "kind": "Pod", }, "#,
        &latin,
    ] {
        let folder = directory(&[("pools/other.yaml", SOUND)]);
        let file = folder.path().join("pools/a.yaml");
        fs::write(&file, bytes).expect("a file");
        for line in [
            "lint -o json=pools/a.yaml pools",
            "lint -o json=out.json -o sarif=pools/../pools/a.yaml pools",
            "lint --fix -o json=pools/a.yaml pools",
            "lint -o json=pools/a.yaml pools/a.yaml",
            "budgets --svg pools/a.yaml pools",
            "budgets --week --svg pools/a.yaml pools/other.yaml pools/a.yaml",
        ] {
            let outcome = typed(folder.path(), line, "");
            assert_code(&outcome, 2, line);
            assert!(
                outcome.stderr.contains("pools/a.yaml is an input"),
                "{line}: {outcome:?}"
            );
            assert_eq!(fs::read(&file).expect("a file"), bytes, "{line}");
            assert!(!folder.path().join("out.json").exists(), "{line}");
        }
    }
}

#[test]
fn standard_output_is_not_added_to_a_manifest_that_is_read() {
    for line in [
        "lint -o json pools",
        "default pools/a.yaml",
        "default --diff pools",
        "diff pools pools",
        "budgets pools",
    ] {
        let folder = directory(&[("pools/a.yaml", SOUND)]);
        let file = folder.path().join("pools/a.yaml");
        let end = OpenOptions::new().append(true).open(&file).expect("a file");
        let arguments: Vec<&str> = line.split(' ').collect();
        let mut command = poolgate(&arguments);
        let status = command.current_dir(folder.path()).stdout(end).status();
        assert_eq!(status.expect("an end").code(), Some(2), "{line}");
        assert_eq!(text(folder.path(), "pools/a.yaml"), SOUND, "{line}");
    }
}

#[test]
fn a_policy_that_is_read_is_not_overwritten() {
    let policy = "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n";
    let folder = directory(&[("a.yaml", SOUND), ("p.yaml", policy), (".poolgate.yaml", policy)]);
    for (line, name) in [
        ("lint --policy p.yaml -o json=p.yaml a.yaml", "p.yaml"),
        ("lint -o json=.poolgate.yaml a.yaml", ".poolgate.yaml"),
        ("budgets --policy p.yaml --svg p.yaml a.yaml", "p.yaml"),
    ] {
        let outcome = typed(folder.path(), line, "");
        assert_code(&outcome, 2, line);
        assert_eq!(text(folder.path(), name), policy, "{line}");
    }
}

#[test]
fn every_other_file_below_a_folder_is_replaced_and_not_read() {
    let wrong = SOUND.replace("100Gi", "-1Gi");
    let folder = directory(&[("pools/a.yaml", &wrong)]);
    let name = "pools/r.yaml";
    let of_a_report = ["human", "concise", "json", "github", "gitlab", "junit", "sarif"];
    let mut earlier = vec![String::new(), r#"{"resources": [{"kind": "Pod"}]}"#.to_owned()];
    for format in of_a_report {
        let line = format!("lint -o {format}={name} pools");
        assert_code(&typed(folder.path(), &line, ""), 1, &line);
        earlier.push(text(folder.path(), name));
        // One that was cut off.
        let mut half = text(folder.path(), name);
        half.truncate(half.len() / 2);
        earlier.push(half);
    }
    let line = "budgets -o json pools/a.yaml";
    earlier.push(typed(folder.path(), line, "").stdout);
    for before in earlier {
        for line in [
            format!("lint -o json={name} pools"),
            format!("budgets --svg {name} pools"),
        ] {
            fs::write(folder.path().join(name), &before).expect("a file");
            let outcome = typed(folder.path(), &line, "");
            assert_code(
                &outcome,
                i32::from(line.starts_with("lint")),
                &format!("{line} over {before}"),
            );
            let after = text(folder.path(), name);
            let is_written = after.starts_with("{\"apiVersion\"") || after.starts_with("<svg");
            assert!(is_written, "{line} over {before}: {after}");
        }
    }
    fs::remove_file(folder.path().join(name)).expect("removed");
    // The shell has emptied the file before the program begins.
    let file = File::create(folder.path().join("pools/new.yaml")).expect("a file");
    let mut command = poolgate(&["lint", "-o", "json", "pools"]);
    let status = command.current_dir(folder.path()).stdout(file).status();
    assert_eq!(status.expect("an end").code(), Some(1));
}
