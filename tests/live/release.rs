//! What a release publishes, made by `packaging/release` from files that stand in for the programs of all platforms.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use tempfile::TempDir;

use super::image::beginning_of_a_program;
use crate::support::assets::assets;
use crate::support::files::directory;
use crate::support::process::{Outcome, run};
use crate::support::program::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The tags of the wheels.
const WHEELS: [&str; 5] = [
    "manylinux2014_x86_64.manylinux_2_17_x86_64",
    "manylinux2014_aarch64.manylinux_2_17_aarch64",
    "macosx_10_12_x86_64",
    "macosx_11_0_arm64",
    "win_amd64",
];

/// A clone with a changelog that names the version as released, and what the platforms' builds leave.
struct Clone(TempDir);

impl Clone {
    fn new() -> Self {
        let changelog = fs::read_to_string(root().join("CHANGELOG.md")).expect("a changelog");
        let changelog = changelog.replace("## Unreleased: ", "## ");
        let clone = Self(directory(&[("CHANGELOG.md", &changelog), ("programs/.keep", "")]));
        for part in ["manifests", "packaging", "Cargo.toml", "LICENSE"] {
            clone
                .command("cp", &["-R", root().join(part).to_str().expect("UTF-8"), "."])
                .success();
        }
        let notice = "core/providers/NOTICE";
        fs::create_dir_all(clone.path("core/providers")).expect("a folder");
        fs::copy(root().join(notice), clone.path(notice)).expect("a copy");
        clone.command("git", &["init", "--quiet"]).success();
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let commit = ["commit", "--quiet", "--allow-empty", "--message=all"];
        clone.command("git", &[&identity[..], &commit].concat()).success();
        for (machine, code) in [("amd64", 62), ("arm64", 183)] {
            let program = clone.path(&format!("programs/poolgate-{machine}"));
            fs::write(program.with_extension("cdx.json"), "{}").expect("a list");
            fs::write(program, beginning_of_a_program(code)).expect("a program");
        }
        for tag in WHEELS {
            let name = format!("programs/poolgate-{VERSION}-py3-none-{tag}.whl");
            let suffix = if tag.starts_with("win") { ".exe" } else { "" };
            let member = format!("poolgate-{VERSION}.data/scripts/poolgate{suffix}");
            let write =
                "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr(sys.argv[2], sys.argv[1])";
            clone.command("python3", &["-c", write, &name, &member]).success();
        }
        clone
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Outcome {
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("PATH", format!("{}/bin:{path}", assets().display()))
            .env("SOURCE_DATE_EPOCH", "1700000000");
        run(&mut command, "")
    }

    fn release(&self, out: &str, more: &[&str]) -> Outcome {
        let arguments = [&["Some-Owner/poolgate", "programs", out], more].concat();
        self.command("packaging/release", &arguments)
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect()
}

#[test]
fn release_has_every_platform_and_a_checksum_of_each_file() {
    let clone = Clone::new();
    clone.release("out", &[]).success();
    let assets = names(&clone.path("out/assets"));
    let mut expected: BTreeSet<String> = WHEELS
        .map(|tag| format!("poolgate-{VERSION}-py3-none-{tag}.whl"))
        .into();
    for at in ["linux-amd64", "linux-arm64"] {
        expected.insert(format!("poolgate-{VERSION}-{at}.tar.gz"));
        expected.insert(format!("poolgate-{VERSION}-{at}.cdx.json"));
        expected.insert(format!("poolgate-offline-{VERSION}-{at}.tar.gz"));
    }
    for at in ["darwin-amd64", "darwin-arm64"] {
        expected.insert(format!("poolgate-offline-{VERSION}-{at}.tar.gz"));
    }
    expected.insert(format!("poolgate-offline-{VERSION}-windows-amd64.zip"));
    for profile in ["observe", "enforce", "gate"] {
        expected.insert(format!("poolgate-{VERSION}-{profile}.yaml"));
    }
    expected.insert(format!("poolgate-{VERSION}.tgz"));
    expected.extend(["poolgate.yaml", "poolgate.rb", "SHA256SUMS"].map(str::to_owned));
    assert_eq!(assets, expected);
    let archive = format!("out/assets/poolgate-offline-{VERSION}-linux-amd64.tar.gz");
    let members = clone.command("tar", &["-tzf", &archive]).success();
    assert_eq!(members, "poolgate\nLICENSE\nNOTICE\n");

    let sums = clone
        .command("env", &["-C", "out/assets", "sha256sum", "--check", "SHA256SUMS"])
        .success();
    assert_eq!(sums.lines().count(), assets.len() - 1, "{sums}");
    clone.release("again", &[]).success();
    assert_eq!(
        fs::read(clone.path("out/digest")).expect("a digest"),
        fs::read(clone.path("again/digest")).expect("a digest")
    );
    let notes = fs::read_to_string(clone.path("out/notes.md")).expect("notes");
    let page = format!("https://github.com/Some-Owner/poolgate/blob/v{VERSION}/docs/");
    assert!(
        notes.contains("### Added") && notes.contains(&format!("]({page}")),
        "{notes}"
    );
}

#[test]
fn published_chart_needs_no_value_for_its_image() {
    let clone = Clone::new();
    clone.release("out", &[]).success();
    let chart = format!("out/assets/poolgate-{VERSION}.tgz");
    let about = clone.command("helm", &["show", "chart", &chart]).success();
    let image = format!("ghcr.io/some-owner/poolgate:{VERSION}");
    assert!(
        about.contains("artifacthub.io/license") && about.contains(&format!("image: {image}")),
        "{about}"
    );
    let rendered = clone
        .command(
            "helm",
            &[
                "template",
                "poolgate",
                &chart,
                "--set=monitoring.prometheusRule.enabled=true",
            ],
        )
        .success();
    assert!(rendered.contains(&format!("image: {image}\n")), "{rendered}");
    let runbook =
        format!("runbook_url: https://github.com/Some-Owner/poolgate/blob/v{VERSION}/docs/RUNBOOK.md#");
    assert!(rendered.contains(&runbook), "{rendered}");

    let digest = fs::read_to_string(clone.path("out/digest")).expect("a digest");
    let profile = format!("out/assets/poolgate-{VERSION}-enforce.yaml");
    let profile = fs::read_to_string(clone.path(&profile)).expect("a profile");
    let pinned = format!("image: ghcr.io/some-owner/poolgate@{}\n", digest.trim());
    assert!(profile.contains(&pinned), "{profile}");
}

#[test]
fn krew_takes_the_manifest_and_ruby_the_formula() {
    let clone = Clone::new();
    clone.release("out", &[]).success();
    let manifest = "out/assets/poolgate.yaml";
    let checked = clone.command(
        "validate-krew-manifest",
        &["-manifest", manifest, "-skip-install"],
    );
    assert!(checked.status.success(), "{checked:?}");
    let manifest = fs::read_to_string(clone.path(manifest)).expect("a manifest");
    let manifest = parse(&manifest, &Limits::default())
        .next()
        .expect("a document")
        .into_value();
    let platforms = manifest["spec"]["platforms"].as_array().expect("platforms");
    assert_eq!(platforms.len(), 5, "{manifest}");
    let sums = fs::read_to_string(clone.path("out/assets/SHA256SUMS")).expect("sums");
    for platform in platforms {
        let uri = platform["uri"].as_str().expect("an address");
        let (_, file) = uri.rsplit_once('/').expect("a file");
        let sum = platform["sha256"].as_str().expect("a checksum");
        assert!(sums.contains(&format!("{sum}  {file}\n")), "{uri}");
        // Only Linux has the whole program.
        let is_whole = platform["selector"]["matchLabels"]["os"] == "linux";
        assert_eq!(!file.contains("offline"), is_whole, "{file}");
    }
    if Command::new("ruby").arg("--version").output().is_ok() {
        clone.command("ruby", &["-c", "out/assets/poolgate.rb"]).success();
    } else {
        eprintln!("*** SKIPPED: ruby -c, because there is no Ruby ***");
    }
}

#[test]
fn release_without_a_platform_or_with_an_unreleased_changelog_is_refused() {
    let clone = Clone::new();
    let wheel = format!("programs/poolgate-{VERSION}-py3-none-win_amd64.whl");
    fs::rename(clone.path(&wheel), clone.path("kept")).expect("a wheel");
    fs::remove_file(clone.path("programs/poolgate-arm64.cdx.json")).expect("a list");
    let refused = clone.release("out", &[]);
    assert!(
        refused
            .stderr
            .contains("the wheel for windows-amd64, poolgate-arm64.cdx.json"),
        "{refused:?}"
    );
    assert!(!clone.path("out").exists());
    clone.release("partial", &["--partial"]).success();

    fs::rename(clone.path("kept"), clone.path(&wheel)).expect("a wheel");
    fs::write(clone.path("programs/poolgate-arm64.cdx.json"), "{}").expect("a list");
    let changelog = format!("# Changelog\n\n## Unreleased: {VERSION}\n\n- A change.\n");
    fs::write(clone.path("CHANGELOG.md"), changelog).expect("a changelog");
    let refused = clone.release("out", &[]);
    assert!(refused.stderr.contains("CHANGELOG.md"), "{refused:?}");
    assert!(!clone.path("out").exists());
}
