//! Which files are patches of a kustomization. A patch is a part of an object: a missing field is not a mistake,
//! and nothing is written into it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use poolgate_core::json::Json;

use super::{Input, Source, folders};
use poolgate_core::manifest::{self, Limits};

use super::read::read_text;

/// What kustomize takes as the name of a kustomization.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How many folders above a file are searched for a kustomization that names it.
const FOLDERS: usize = 4;

/// Whether the objects of a file are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// Each object is what would be applied.
    Whole,
    /// Each object is a patch: its missing fields are in another file.
    Part,
}

/// The patches among some files, as paths from the root without links.
#[derive(Debug, Default)]
pub struct Patches(HashSet<PathBuf>);

impl Patches {
    /// Reads the kustomizations beside and above these files, each once. kustomize itself takes no patch from
    /// elsewhere.
    pub fn among(files: &[Input]) -> Self {
        let mut patches = HashSet::new();
        let mut seen = HashSet::new();
        let mut read = HashSet::new();
        let files = files
            .iter()
            .filter(|input| matches!(input.source, Source::File(_)));
        for folder in folders(files) {
            if !seen.insert(folder) {
                continue;
            }
            let from_root = fs::canonicalize(folder).unwrap_or_default();
            for folder in from_root.ancestors().take(FOLDERS) {
                if read.insert(folder.to_owned()) {
                    patches.extend(named_in(folder));
                }
            }
        }
        Self(patches)
    }

    /// Whether the objects of an input are complete.
    pub fn whole(&self, input: &Input) -> Whole {
        let is_patch = |path: &Path| fs::canonicalize(path).is_ok_and(|path| self.0.contains(&path));
        match input.path() {
            Some(path) if !self.0.is_empty() && is_patch(path) => Whole::Part,
            _ => Whole::Whole,
        }
    }
}

/// The kustomizations that may name a file in this folder, also those that do not exist.
pub fn kustomizations(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = folder.ancestors().take(FOLDERS);
    folders.flat_map(|folder| NAMES.iter().map(|name| folder.join(name)))
}

/// The patches that the kustomization of a folder names. One that cannot be read names none: kustomize itself
/// reports it.
fn named_in(folder: &Path) -> Vec<PathBuf> {
    NAMES
        .iter()
        .find_map(|name| {
            let file = File::open(folder.join(name)).ok()?;
            read_text(file).ok()
        })
        .iter()
        .flat_map(|text| manifest::parse(text, &Limits::default()))
        .flat_map(|document| patches_of(document.value()))
        .filter_map(|name| fs::canonicalize(folder.join(name)).ok())
        .collect()
}

fn patches_of(kustomization: &Json<'_>) -> Vec<String> {
    let list = |field: &str| {
        let list = kustomization.get(field).and_then(Json::as_array);
        list.into_iter().flatten()
    };
    let files = list("patches").chain(list("patchesJson6902"));
    let paths = files.filter_map(|patch| patch.get("path"));
    let merges = list("patchesStrategicMerge");
    let names = paths.chain(merges).filter_map(Json::as_str);
    names.map(str::to_owned).collect()
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
        assert_eq!(
            patches_of(&Json::from(&kustomization)),
            ["a.yaml", "c.yaml", "b.yaml"]
        );
        assert_eq!(patches_of(&Json::from(&json!([1]))), [""; 0]);
    }
}
