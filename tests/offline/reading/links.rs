//! Inputs of one name, files that are reached through links, and patches that are not read.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{assert_code, complete, typed};
use crate::support::files::directory;
use crate::support::nodepool::SOUND;

/// Commits everything in a folder, which becomes a repository.
pub(super) fn commit(folder: &Path) {
    for line in [
        "init -q",
        "add -A",
        "-c user.name=t -c user.email=t@example.com commit -q -m x",
    ] {
        let status = Command::new("git")
            .args(line.split(' '))
            .current_dir(folder)
            .status();
        assert!(status.expect("git").success(), "{line}");
    }
}

fn wrong() -> String {
    complete().replace("100Gi", "-1Gi")
}

#[test]
fn standard_input_is_read_beside_the_file_whose_name_it_has() {
    let folder = directory(&[("s/x.yaml", SOUND)]);
    for together in ["", " --together"] {
        for paths in ["s/x.yaml -", "- s/x.yaml", "s -", "- - s/x.yaml"] {
            let line = format!("lint -o concise --stdin-filename s/x.yaml{together} {paths}");
            let outcome = typed(folder.path(), &line, &wrong().replace("general", "other"));
            assert_code(&outcome, 1, &line);
            assert!(
                outcome.stdout.contains("s/x.yaml:13:13: error[limit-amount]"),
                "{outcome:?}"
            );
            assert!(
                outcome.stderr.starts_with("2 NodePools in 2 files"),
                "{outcome:?}"
            );
        }
    }
}

#[test]
fn a_finding_across_objects_stands_only_in_its_own_input() {
    let folder = directory(&[("x.yaml", SOUND)]);
    let line = "lint -o concise --together --select nodepool-repeated --stdin-filename x.yaml x.yaml -";
    let outcome = typed(folder.path(), line, &format!("# one line more\n{SOUND}"));
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn two_names_that_differ_in_bytes_that_are_no_text_are_two_files() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = directory(&[]);
    for (byte, text) in [(0xe9, SOUND.to_owned()), (0xe8, wrong())] {
        let name = [b"a", &[byte][..], b".yaml"].concat();
        fs::write(folder.path().join(OsStr::from_bytes(&name)), text).expect("a file");
    }
    for together in ["", " --together"] {
        let outcome = typed(folder.path(), &format!("lint -o concise{together} ."), "");
        assert_code(&outcome, 1, together);
        assert!(
            outcome.stderr.starts_with("2 NodePools in 2 files"),
            "{outcome:?}"
        );
    }
}

#[cfg(unix)]
mod symbolic {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::support::mount::Mount;

    #[test]
    fn a_mounted_config_map_is_read() {
        let mut mount = Mount::of(&["pool.yaml"]);
        mount.swap(&[("pool.yaml", &wrong())]);
        let folder = mount.path("");
        let folder = Path::new(&folder);
        let outcome = typed(folder, "lint -o concise .", "");
        assert_code(&outcome, 1, "lint");
        assert!(
            outcome.stdout.starts_with("pool.yaml:13:13: error[limit-amount]"),
            "{outcome:?}"
        );
        assert!(
            outcome.stderr.starts_with("1 NodePool in 1 file, "),
            "{outcome:?}"
        );
        assert!(!outcome.stderr.contains("symbolic link"), "{outcome:?}");
        for (line, said) in [
            ("budgets .", "NodePool general"),
            ("default --diff .", ""),
            ("diff ..1 .", "NodePools: 1 unchanged"),
        ] {
            let outcome = typed(folder, line, "");
            assert_code(&outcome, 0, line);
            assert!(outcome.stdout.contains(said), "{line}: {outcome:?}");
        }
    }

    #[test]
    fn a_file_that_is_reached_twice_is_read_once() {
        let folder = directory(&[
            ("real/a.yaml", &wrong()),
            ("out/b.yml", &wrong()),
            ("real/c.txt", ""),
        ]);
        let at = |name: &str| folder.path().join(name);
        symlink("a.yaml", at("real/0.yaml")).expect("a link");
        symlink("../out/b.yml", at("real/1.yaml")).expect("a link");
        symlink("1.yaml", at("real/2.json")).expect("a link");
        symlink("c.txt", at("real/c.yaml")).expect("a link");
        symlink("real", at("folder")).expect("a link");
        symlink("../out", at("real/out")).expect("a link");
        symlink("nowhere", at("real/no")).expect("a link");
        for (paths, names, linked) in [
            ("real", &["real/1.yaml", "real/a.yaml"][..], 1),
            ("real/a.yaml real", &["real/1.yaml", "real/a.yaml"], 1),
            ("real/0.yaml real", &["real/0.yaml", "real/1.yaml"], 1),
            ("folder", &["folder/1.yaml", "folder/a.yaml"], 1),
            (
                "real ./real/../real",
                &["real/../real/1.yaml", "real/../real/a.yaml"],
                2,
            ),
            (".", &["out/b.yml", "real/a.yaml"], 2),
        ] {
            let outcome = typed(folder.path(), &format!("lint -o concise {paths}"), "");
            let found = outcome
                .stdout
                .lines()
                .filter(|line| line.contains("[limit-amount]"));
            let found: Vec<&str> = found.filter_map(|line| line.split(':').next()).collect();
            assert_eq!(found, names, "{paths}: {outcome:?}");
            let said = match linked {
                1 => "; 1 symbolic link to a directory not followed",
                _ => "; 2 symbolic links to directories not followed",
            };
            assert!(outcome.stderr.contains(said), "{paths}: {outcome:?}");
        }
    }

    #[test]
    fn a_link_to_nothing_is_an_error_as_for_kubectl_and_one_to_a_pipe_is_no_file() {
        let folder = directory(&[("a.yaml", SOUND)]);
        let status = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
        assert!(status.expect("mkfifo").success());
        symlink("pipe", folder.path().join("pipe.yaml")).expect("a link");
        assert_code(&typed(folder.path(), "lint .", ""), 0, "a pipe");
        symlink("nowhere", folder.path().join("b.yaml")).expect("a link");
        let outcome = typed(folder.path(), "lint -o concise .", "");
        assert_code(&outcome, 2, "a link to nothing");
        assert!(
            outcome.stdout.contains("b.yaml cannot be read: No such file"),
            "{outcome:?}"
        );
        assert_code(
            &typed(folder.path(), "lint --exclude b.yaml .", ""),
            0,
            "left out",
        );
    }

    #[test]
    fn a_fix_through_a_link_changes_the_file_and_leaves_the_link() {
        let folder = directory(&[("out/a.txt", &SOUND.replace("1m", "1d")), ("in/b.txt", "")]);
        let link = folder.path().join("in/a.yaml");
        symlink("../out/a.txt", &link).expect("a link");
        assert_code(&typed(folder.path(), "lint --fix in", ""), 0, "--fix");
        assert!(link.is_symlink());
        let text = fs::read_to_string(folder.path().join("out/a.txt")).expect("a file");
        assert_eq!(text, SOUND.replace("1m", "24h"));
    }

    #[test]
    fn a_revision_has_the_links_of_today() {
        let folder = directory(&[("base/pool.yaml", SOUND), ("prod/x.yaml", "kind: A\n")]);
        symlink("../base/pool.yaml", folder.path().join("prod/pool.yaml")).expect("a link");
        symlink("pool.yaml", folder.path().join("prod/again.yaml")).expect("a link");
        symlink("/etc/hosts", folder.path().join("prod/out.yaml")).expect("a link");
        symlink("../base", folder.path().join("prod/base")).expect("a link");
        commit(folder.path());
        for path in ["prod", ".", "base", "prod/pool.yaml"] {
            let line = format!("diff --git HEAD --exit-code {path}");
            let outcome = typed(folder.path(), &line, "");
            assert_code(&outcome, 0, &line);
            assert!(
                outcome.stdout.starts_with("NodePools: 1 unchanged"),
                "{line}: {outcome:?}"
            );
        }
    }
}

#[test]
fn inline_patches_of_a_kustomization_are_counted() {
    let merge = "- patch: |-\n    apiVersion: karpenter.sh/v1\n    kind: NodePool\n    metadata: {name: a}\n    spec: {weight: 1000}\n";
    let of_target = |target: &str| {
        format!("- target: {target}\n  patch: |-\n    - {{op: replace, path: /spec/weight, value: 1000}}\n")
    };
    let elsewhere = "- patch: |-\n    apiVersion: v1\n    kind: Pod\n    metadata: {annotations: {karpenter.sh/do-not-disrupt: x}}\n";
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  patches:\n  - target: {kind: NodePool}\n    patch: \"[]\"\n";
    let strategic =
        "patchesStrategicMerge:\n- other.yaml\n- |-\n  apiVersion: karpenter.sh/v1\n  kind: NodePool\n";
    for (text, count) in [
        (format!("patches:\n{merge}"), 1),
        (format!("patches:\n{merge}{}", of_target("{kind: NodePool}")), 2),
        (
            format!(
                "patchesJson6902:\n{}",
                of_target("{group: karpenter.sh, kind: NodePool}")
            ),
            1,
        ),
        (strategic.to_owned(), 1),
        (flux.to_owned(), 1),
        (
            format!("patches:\n{}", of_target("{group: example.com, kind: NodePool}")),
            0,
        ),
        (
            format!("patches:\n{}", of_target("{kind: Deployment, name: NodePool}")),
            0,
        ),
        (format!("patches:\n{elsewhere}"), 0),
        (
            "patches:\n- path: a.yaml\n  target: {kind: NodePool}\n".to_owned(),
            0,
        ),
    ] {
        let folder = directory(&[("kustomization.yaml", &text)]);
        let outcome = typed(folder.path(), "lint .", "");
        assert_code(&outcome, 0, &text);
        let said = match count {
            0 => String::new(),
            1 => "; 1 inline patch of kustomizations not checked".to_owned(),
            _ => format!("; {count} inline patches of kustomizations not checked"),
        };
        assert_eq!(
            outcome.stderr.contains("inline patch"),
            count > 0,
            "{text}: {outcome:?}"
        );
        assert!(outcome.stderr.contains(&said), "{text}: {outcome:?}");
    }
}
