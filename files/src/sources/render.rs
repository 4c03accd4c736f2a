//! Renders a kustomization or a Helm chart with the user's own program. Nothing here is started but for a flag of the
//! command line: a file never chooses what runs.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::child;
use super::inputs::Input;
use super::renderable::{Renderable, shown};
use crate::terminal::{self, Progress};

/// What one rendering may take. Remote bases are fetched in this time, too.
const RENDERING: child::Limits = child::Limits {
    time: Duration::from_mins(2),
    // As much as a manifest may have.
    bytes: 16 << 20,
};

/// What asking for a version may take.
const ASKING: child::Limits = child::Limits {
    time: Duration::from_secs(20),
    bytes: 64 << 10,
};

/// Programs that render one kind of sources, the first one preferred: the name, the subcommand and how to ask for the
/// version.
type Candidates = [(&'static str, &'static str, &'static [&'static str])];

const KUSTOMIZE: &Candidates = &[
    ("kustomize", "build", &["version"]),
    ("kubectl", "kustomize", &["version", "--client"]),
];
const HELM: &Candidates = &[("helm", "template", &["version", "--short"])];

/// The program that renders one kind of sources.
#[derive(Debug)]
pub(crate) struct Renderer {
    program: PathBuf,
    subcommand: &'static str,
    /// Its name and version.
    version: String,
}

impl Renderer {
    /// The first program in `PATH` for these sources.
    pub(crate) fn of(sources: &Renderable) -> anyhow::Result<Self> {
        Self::among(sources, &env::var_os("PATH").unwrap_or_default())
    }

    fn among(sources: &Renderable, path: &OsStr) -> anyhow::Result<Self> {
        sources.check()?;
        let (candidates, name, looked_for) = match sources {
            Renderable::Kustomization(_) => (KUSTOMIZE, "kustomize", "neither kustomize nor kubectl is"),
            Renderable::Chart { .. } => (HELM, "Helm", "helm is not"),
        };
        let found = candidates.iter().find_map(|(name, subcommand, ask)| {
            let program = in_path(name, path)?;
            Some((program, *subcommand, *ask))
        });
        let (program, subcommand, ask) = found.with_context(|| {
            let flag = sources.flag();
            format!(
                "{flag}: {looked_for} in PATH. Install it, or pass the rendered manifests on standard input"
            )
        })?;
        let said = child::output(Command::new(&program).args(ask), ASKING).unwrap_or_default();
        let version = match version(&String::from_utf8_lossy(&said)) {
            Some(version) => format!("{name} {version}"),
            None => format!("{name} of an unknown version"),
        };
        Ok(Self {
            program,
            subcommand,
            version,
        })
    }

    /// The text that is rendered from these sources.
    pub(crate) fn render(&self, sources: &Renderable) -> anyhow::Result<String> {
        self.render_within(sources, RENDERING)
    }

    /// The same as an input. Says what ran.
    pub(crate) fn input(&self, sources: &Renderable) -> anyhow::Result<Input> {
        let rendering = Progress::of("rendering");
        let text = self.render(sources)?;
        drop(rendering);
        terminal::remark(&self.ran(sources));
        Ok(Input {
            name: sources.name(),
            source: sources.text(text),
            is_named: true,
        })
    }

    fn render_within(&self, sources: &Renderable, limits: child::Limits) -> anyhow::Result<String> {
        sources.check()?;
        let mut command = Command::new(&self.program);
        command.arg(self.subcommand).args(sources.arguments());
        // Nobody answers: a remote base that asks for a password fails immediately.
        command.env("GIT_TERMINAL_PROMPT", "0");
        let output = child::output(&mut command, limits).map_err(|error| {
            let error = terminal::clean(&error.to_string());
            anyhow!("{} {error}", self.command(sources))
        })?;
        let text = String::from_utf8(output).ok();
        text.with_context(|| format!("{} has printed no UTF-8", self.command(sources)))
    }

    /// The line that says what ran.
    fn ran(&self, sources: &Renderable) -> String {
        format!("ran {} ({})", self.command(sources), self.version)
    }

    /// The command as it can be typed, unless a path needs quotes.
    fn command(&self, sources: &Renderable) -> String {
        let arguments = sources.arguments();
        let paths = arguments.iter().map(Path::new);
        let words = [&*self.program, Path::new(self.subcommand)]
            .into_iter()
            .chain(paths);
        words.map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// A program in the absolute folders of a `PATH`. A relative one would depend on where the run is, such as in a checkout.
fn in_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut programs = folders.map(|folder| folder.join(&file));
    programs.find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let is_executable = |metadata: std::fs::Metadata| metadata.permissions().mode() & 0o111 != 0;
    path.is_file() && path.metadata().is_ok_and(is_executable)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// The version in what a program says of itself. kubectl names its own first, and then that of its kustomize.
fn version(said: &str) -> Option<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".+-".contains(letter);
    let mut words = said.split(|letter| !is_part(letter));
    let is_version = |word: &&str| {
        word.strip_prefix('v')
            .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    words.rfind(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_each_program_and_release_prints_them() {
        for (said, expected) in [
            ("v5.8.1\n", Some("v5.8.1")),
            (
                "{Version:kustomize/v4.5.7 GitCommit:56d82a BuildDate:2022-08-02T16:35:54Z}\n",
                Some("v4.5.7"),
            ),
            (
                "Client Version: v1.37.2\nKustomize Version: v5.8.1\n",
                Some("v5.8.1"),
            ),
            ("v3.14.0+gc309b6f\n", Some("v3.14.0+gc309b6f")),
            ("v4.3", Some("v4.3")),
            ("(devel)\n", None),
            ("", None),
        ] {
            assert_eq!(version(said).as_deref(), expected, "{said}");
        }
    }

    #[cfg(unix)]
    mod programs {
        use std::fs;

        use tempfile::TempDir;

        use super::*;

        /// A folder with a kustomization, a chart and programs that are these scripts of shell.
        fn scene(programs: &[(&str, &str)]) -> TempDir {
            let directory = tempfile::tempdir().unwrap();
            for folder in ["bin", "prod", "chart"] {
                fs::create_dir(directory.path().join(folder)).unwrap();
            }
            fs::write(directory.path().join("a.yaml"), "").unwrap();
            for (name, script) in programs {
                // By another process: a child of this one could still hold the file open for writing, which stops its start.
                let write = r#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 755 "$1""#;
                let path = directory.path().join("bin").join(name);
                let written = Command::new("sh")
                    .args(["-c", write, "sh"])
                    .arg(path)
                    .arg(script)
                    .status();
                assert!(written.unwrap().success());
            }
            directory
        }

        fn kustomization(scene: &TempDir) -> Renderable {
            Renderable::Kustomization(scene.path().join("prod"))
        }

        fn chart(scene: &TempDir) -> Renderable {
            Renderable::Chart {
                chart: scene.path().join("chart"),
                values: vec![scene.path().join("a.yaml")],
            }
        }

        fn renderer(sources: &Renderable, scene: &TempDir) -> Result<Renderer, String> {
            let found = Renderer::among(sources, scene.path().join("bin").as_os_str());
            found.map_err(|error| terminal::with_causes(&error).replace(&shown(scene.path()), "ROOT"))
        }

        /// What is rendered and the line that says what ran.
        fn rendered(sources: &Renderable, scene: &TempDir) -> Result<(String, String), String> {
            let renderer = renderer(sources, scene)?;
            let limits = child::Limits {
                bytes: 1000,
                ..RENDERING
            };
            let plain = |text: String| text.replace(&shown(scene.path()), "ROOT");
            let text = renderer.render_within(sources, limits);
            let text = text.map_err(|error| plain(error.to_string()))?;
            Ok((plain(text), plain(renderer.ran(sources))))
        }

        #[test]
        fn kustomize_is_preferred_to_kubectl() {
            let kustomize = "case $1 in version) echo v5.8.1;; *) echo kustomize \"$@\";; esac";
            let kubectl =
                "case $1 in version) echo Kustomize Version: v5.0.1;; *) echo kubectl \"$@\";; esac";
            let both = scene(&[("kustomize", kustomize), ("kubectl", kubectl)]);
            assert_eq!(
                rendered(&kustomization(&both), &both).unwrap(),
                (
                    "kustomize build ROOT/prod\n".to_owned(),
                    "ran ROOT/bin/kustomize build ROOT/prod (kustomize v5.8.1)".to_owned()
                )
            );
            let one = scene(&[("kubectl", kubectl)]);
            // No program: it cannot be run.
            fs::write(one.path().join("bin/kustomize"), kustomize).unwrap();
            assert_eq!(
                rendered(&kustomization(&one), &one).unwrap(),
                (
                    "kubectl kustomize ROOT/prod\n".to_owned(),
                    "ran ROOT/bin/kubectl kustomize ROOT/prod (kustomize v5.0.1)".to_owned()
                )
            );
        }

        #[test]
        fn helm_gets_the_values_and_its_version_may_be_unknown() {
            let scene = scene(&[("helm", "test \"$1\" = template && echo \"$@\"")]);
            let command = "template ROOT/chart --values ROOT/a.yaml --skip-tests";
            assert_eq!(
                rendered(&chart(&scene), &scene).unwrap(),
                (
                    format!("{command}\n"),
                    format!("ran ROOT/bin/helm {command} (Helm of an unknown version)")
                )
            );
        }

        #[test]
        fn missing_programs_are_named_and_relative_folders_are_not_searched() {
            let nothing = scene(&[]);
            assert_eq!(
                renderer(&kustomization(&nothing), &nothing).unwrap_err(),
                "--kustomize: neither kustomize nor kubectl is in PATH. Install it, or pass the rendered manifests on \
                 standard input"
            );
            assert!(
                renderer(&chart(&nothing), &nothing)
                    .unwrap_err()
                    .starts_with("--helm: helm is not in PATH.")
            );
            let here = scene(&[("helm", "echo v1")]);
            assert_eq!(in_path("helm", OsStr::new("bin:.::")), None);
            let absolute = here.path().join("bin");
            assert_eq!(in_path("helm", absolute.as_os_str()), Some(absolute.join("helm")));
        }

        #[test]
        fn paths_that_are_not_there_are_named_before_anything_runs() {
            let scene = scene(&[("helm", "exit 9"), ("kustomize", "exit 9")]);
            let gone = |name: &str| scene.path().join(name);
            let values = |values: &str| Renderable::Chart {
                chart: gone("chart"),
                values: vec![gone(values)],
            };
            for (sources, expected) in [
                (
                    Renderable::Kustomization(gone("none")),
                    "--kustomize: ROOT/none cannot be read: No such file or directory (os error 2)",
                ),
                (
                    Renderable::Kustomization(gone("a.yaml")),
                    "--kustomize: ROOT/a.yaml is no directory",
                ),
                (
                    values("none.yaml"),
                    "--values: ROOT/none.yaml cannot be read: No such file or directory (os error 2)",
                ),
                (values("prod"), "--values: ROOT/prod is a directory"),
            ] {
                assert_eq!(renderer(&sources, &scene).unwrap_err(), expected);
            }
        }

        #[test]
        fn failures_are_named_with_the_command() {
            for (script, expected) in [
                (
                    "echo Error: no such base >&2; exit 1",
                    "has failed (exit status: 1): Error: no such base",
                ),
                (
                    "echo '\u{1b}[2J' >&2; exit 1",
                    "has failed (exit status: 1): \\u{1b}[2J",
                ),
                (
                    "while :; do echo 0123456789; done",
                    "has printed more than 1000 bytes and was ended",
                ),
                ("printf '\\377'", "has printed no UTF-8"),
            ] {
                let script = format!("test $1 = version || {{ {script}\n}}");
                let scene = scene(&[("kustomize", &script)]);
                assert_eq!(
                    rendered(&kustomization(&scene), &scene).unwrap_err(),
                    format!("ROOT/bin/kustomize build ROOT/prod {expected}")
                );
            }
        }
    }
}
