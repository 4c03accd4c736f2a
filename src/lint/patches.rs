//! Which files are patches of a kustomization: parts of a NodePool, of which nothing can be said for what they lack.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::files::{Input, Source};
use crate::manifest::{self, Limits};

/// What kustomize takes as the name of a kustomization.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How many folders above a file are asked for a kustomization that names it.
const FOLDERS: usize = 4;

/// The patches among some files.
#[derive(Debug, Default)]
pub(super) struct Patches(HashSet<PathBuf>);

impl Patches {
    /// Reads the kustomizations beside and above these files, each once.
    pub(super) fn among(files: &[Input]) -> Self {
        let mut patches = HashSet::new();
        let mut read = HashSet::new();
        for input in files {
            let Source::File(path) = &input.source else {
                continue;
            };
            for folder in path.ancestors().skip(1).take(FOLDERS) {
                if !read.insert(folder.to_owned()) {
                    break;
                }
                patches.extend(named_in(folder));
            }
        }
        Self(patches)
    }

    /// Whether an input is one.
    pub(super) fn has(&self, input: &Input) -> bool {
        match &input.source {
            Source::File(path) => !self.0.is_empty() && self.0.contains(&tidy(path)),
            Source::Stdin => false,
        }
    }
}

/// The patches that the kustomization of a folder names. One that cannot be read names none: kustomize itself will
/// tell.
fn named_in(folder: &Path) -> Vec<PathBuf> {
    NAMES
        .iter()
        .find_map(|name| {
            let file = File::open(folder.join(name)).ok()?;
            manifest::read(file, &Limits::default()).ok()
        })
        .iter()
        .flat_map(|text| manifest::parse(text, &Limits::default()))
        .flat_map(|document| patches_of(document.value()))
        .map(|name| tidy(&folder.join(name)))
        .collect()
}

fn patches_of(kustomization: &Value) -> Vec<String> {
    let list = |field: &str| {
        kustomization
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let files = list("patches").chain(list("patchesJson6902"));
    let paths = files.filter_map(|patch| patch.get("path"));
    let merges = list("patchesStrategicMerge");
    paths
        .chain(merges)
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// A path without `.` and, as far as it is known, without `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_are_named_in_three_ways() {
        let kustomization = json!({
            "resources": ["pool.yaml"],
            "patches": [{"path": "a.yaml"}, {"patch": "- op: add"}],
            "patchesStrategicMerge": ["b.yaml", 5],
            "patchesJson6902": [{"path": "c.yaml", "target": {}}],
        });
        assert_eq!(patches_of(&kustomization), ["a.yaml", "c.yaml", "b.yaml"]);
        assert_eq!(patches_of(&json!([1])), [""; 0]);
    }

    #[test]
    fn a_path_is_the_same_however_it_is_written() {
        for (path, expected) in [
            ("./a/../b.yaml", "b.yaml"),
            ("a/./b.yaml", "a/b.yaml"),
            ("../b.yaml", "../b.yaml"),
        ] {
            assert_eq!(tidy(Path::new(path)), Path::new(expected));
        }
    }
}
