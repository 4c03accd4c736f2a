//! What is rendered: its flags, its name, and the user's files in it.

use std::ffi::{OsStr, OsString};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;

use super::inputs::Source;
use crate::terminal;

/// The flags for manifests that another program renders.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// Read what your kustomize, or else kubectl kustomize, builds from this directory
    #[arg(long, value_name = "DIR", conflicts_with = "helm")]
    kustomize: Option<PathBuf>,

    /// Read what your helm template renders from this chart
    #[arg(long, value_name = "CHART")]
    helm: Option<PathBuf>,

    /// A file of values for --helm. May be repeated
    #[arg(long, value_name = "FILE", requires = "helm")]
    values: Vec<PathBuf>,
}

impl RenderArgs {
    /// What is rendered, if anything is.
    pub(crate) fn renderable(&self) -> Option<Renderable> {
        let chart = |chart: &PathBuf| Renderable::Chart {
            chart: chart.clone(),
            values: self.values.clone(),
        };
        let kustomization = self.kustomize.clone().map(Renderable::Kustomization);
        kustomization.or_else(|| self.helm.as_ref().map(chart))
    }
}

/// What is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renderable {
    /// The directory of a kustomization.
    Kustomization(PathBuf),
    /// A chart, a directory or an archive, with its files of values.
    Chart { chart: PathBuf, values: Vec<PathBuf> },
}

impl Renderable {
    /// The flag that names it.
    pub const fn flag(&self) -> &'static str {
        match self {
            Self::Kustomization(_) => "--kustomize",
            Self::Chart { .. } => "--helm",
        }
    }

    /// The kustomization or the chart.
    pub fn root(&self) -> &Path {
        match self {
            Self::Kustomization(root) | Self::Chart { chart: root, .. } => root,
        }
    }

    /// The name of the rendered text: it is no file, and stands in its root.
    pub fn name(&self) -> String {
        let by = match self {
            Self::Kustomization(_) => "kustomize",
            Self::Chart { .. } => "helm",
        };
        let name = shown(&self.root().join(format!("<{by}>")));
        name.strip_prefix("./").unwrap_or(&name).to_owned()
    }

    /// The source of an input with this rendered text.
    pub fn text(&self, text: String) -> Source {
        let path = self.root().join("rendered.yaml");
        Source::Text { text, path }
    }

    /// The same below another root, such as that of a checkout.
    pub fn try_map(&self, path: impl Fn(&Path) -> anyhow::Result<PathBuf>) -> anyhow::Result<Self> {
        Ok(match self {
            Self::Kustomization(root) => Self::Kustomization(path(root)?),
            Self::Chart { chart, values } => Self::Chart {
                chart: path(chart)?,
                values: values
                    .iter()
                    .map(|file| path(file))
                    .collect::<anyhow::Result<_>>()?,
            },
        })
    }

    /// Fails unless all of it is there: what is not would be looked for elsewhere, such as in a registry.
    pub fn check(&self) -> anyhow::Result<()> {
        let is_folder = |flag: &str, path: &Path| {
            let metadata = path.metadata();
            let metadata = metadata.with_context(|| format!("{flag}: {} cannot be read", shown(path)))?;
            anyhow::Ok(metadata.is_dir())
        };
        let root = self.root();
        let is_directory = is_folder(self.flag(), root)?;
        match self {
            Self::Kustomization(_) => ensure!(is_directory, "--kustomize: {} is no directory", shown(root)),
            Self::Chart { values, .. } => {
                for file in values {
                    let is_directory = is_folder("--values", file)?;
                    ensure!(!is_directory, "--values: {} is a directory", shown(file));
                }
            }
        }
        Ok(())
    }

    /// What follows the program and its subcommand. No path can be taken for a flag, a URL or a list.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec![local(self.root())];
        if let Self::Chart { values, .. } = self {
            for file in values {
                arguments.extend([OsString::from("--values"), in_list(&local(file))]);
            }
            arguments.push(OsString::from("--skip-tests"));
        }
        arguments
    }

    /// The user's file for the name that the renderer gives the source of an object, if it leads to one. kustomize's is
    /// relative to the kustomization, Helm's begins with the name of the chart.
    pub fn source(&self, said: &str) -> Option<String> {
        let path = match self {
            Self::Kustomization(root) => root.join(said),
            Self::Chart { chart, .. } => chart.join(said.split_once('/')?.1),
        };
        let path = normal(&path);
        path.is_file().then(|| shown(&path))
    }

    /// The user's files that the flags name, or that say what is rendered. Some may not exist.
    pub fn named(&self) -> Vec<PathBuf> {
        let mut named = vec![self.entry_file(), self.root().to_owned()];
        if let Self::Chart { chart, values } = self {
            named.push(chart.join("values.yaml"));
            named.extend(values.iter().cloned());
        }
        named
    }

    /// The user's file that says what is rendered.
    pub fn entry(&self) -> String {
        shown(&self.entry_file())
    }

    fn entry_file(&self) -> PathBuf {
        let names: &[&str] = match self {
            Self::Kustomization(_) => &["kustomization.yaml", "kustomization.yml", "Kustomization"],
            Self::Chart { .. } => &["Chart.yaml"],
        };
        let mut files = names.iter().map(|name| self.root().join(name));
        let file = files.find(|file| file.is_file());
        normal(&file.unwrap_or_else(|| self.root().to_owned()))
    }
}

/// A path that begins with a separator, a drive or a dot.
fn local(path: &Path) -> OsString {
    if path.is_absolute() || path.starts_with(".") || path.starts_with("..") {
        path.as_os_str().to_owned()
    } else {
        Path::new(".").join(path).into_os_string()
    }
}

/// A value of a flag that takes a list, as one element: in quotes if a comma would divide it.
fn in_list(value: &OsStr) -> OsString {
    match value.to_str() {
        Some(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\"")).into()
        }
        _ => value.to_owned(),
    }
}

/// A path as it is printed: with `/`.
pub fn shown(path: &Path) -> String {
    terminal::clean(&path.to_string_lossy().replace(MAIN_SEPARATOR, "/"))
}

/// A path without `.`, and with `..` only at its beginning.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match (part, normal.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(normal.pop()),
            (part, _) => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_never_flags_addresses_or_lists() {
        for (path, expected) in [
            ("overlays/prod", "./overlays/prod"),
            ("-rf", "./-rf"),
            ("--enable-helm", "./--enable-helm"),
            ("https://example.com/x", "./https:/example.com/x"),
            ("oci://example.com/x", "./oci:/example.com/x"),
            ("..", ".."),
            (".", "."),
            ("/a/b", "/a/b"),
        ] {
            let found = local(Path::new(path));
            assert_eq!(Path::new(&found), Path::new(expected), "{path}");
            assert!(
                found.to_str().unwrap().starts_with(['.', '/']),
                "{path}: {found:?}"
            );
        }
        for (value, expected) in [("a b.yaml", "a b.yaml"), ("a,b\".yaml", "\"a,b\"\".yaml\"")] {
            assert_eq!(in_list(OsStr::new(value)), expected);
        }
    }

    #[test]
    fn sources_are_files_of_the_user_if_the_renderer_names_some() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            shown(&path)
        };
        let base = file("base/gpu.yaml");
        let template = file("chart/templates/gpu.yaml");
        let inner = file("chart/charts/inner/templates/gpu.yaml");
        let entry = file("overlays/prod/kustomization.yml");
        let kustomization = Renderable::Kustomization(directory.path().join("./overlays/prod"));
        for (said, expected) in [
            ("../../base/gpu.yaml", Some(&base)),
            ("../../base/none.yaml", None),
            ("../../base", None),
            ("https://example.com/x//pools/a.yaml?ref=v1", None),
        ] {
            assert_eq!(kustomization.source(said).as_ref(), expected, "{said}");
        }
        assert_eq!(kustomization.entry(), entry);
        let (folder, values) = (directory.path().join("chart/"), Vec::new());
        let chart = Renderable::Chart {
            chart: folder.clone(),
            values,
        };
        for (said, expected) in [
            ("pools/templates/gpu.yaml", Some(&template)),
            ("pools/charts/inner/templates/gpu.yaml", Some(&inner)),
            ("pools/charts/packed/templates/gpu.yaml", None),
            ("pools", None),
        ] {
            assert_eq!(chart.source(said).as_ref(), expected, "{said}");
        }
        assert_eq!(chart.entry(), shown(&folder).trim_end_matches('/'));
        let named = file("chart/Chart.yaml");
        assert_eq!(chart.entry(), named);
    }

    #[test]
    fn paths_have_no_detours() {
        for (path, expected) in [
            ("overlays/prod/../../base/a.yaml", "base/a.yaml"),
            ("./a/./b", "a/b"),
            ("../a/../../b", "../../b"),
            ("/../a", "/../a"),
        ] {
            assert_eq!(normal(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn rendered_text_has_a_name_below_what_it_was_rendered_from() {
        let name = |root: &str| Renderable::Kustomization(root.into()).name();
        assert_eq!(name("overlays/prod/"), "overlays/prod/<kustomize>");
        assert_eq!(name("."), "<kustomize>");
        assert_eq!(name("/"), "/<kustomize>");
        assert_eq!(name("a\u{1b}[2J"), "a\\u{1b}[2J/<kustomize>");
    }
}
