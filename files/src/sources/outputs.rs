//! The files that a run writes. One that it would read, and that holds an object, is never one of them.

use std::path::{Path, PathBuf};

use anyhow::bail;
use poolgate_core::api::API_VERSION;
use poolgate_core::manifest::{self, Limits, ManifestObject};
use same_file::Handle;

use super::read::read_lossy;
use super::renderable::{Renderable, shown};
use super::{Input, Source};

/// The files that a run writes, as far as they exist.
#[derive(Debug, Default)]
pub struct Written {
    files: Vec<Handle>,
    /// Those that the user names.
    named: Vec<PathBuf>,
}

impl Written {
    /// The file that standard output was redirected to.
    pub fn stdout() -> Self {
        let mut written = Self::default();
        written.add(None);
        written
    }

    /// A file, or the one that standard output was redirected to.
    pub fn add(&mut self, file: Option<&Path>) {
        self.files.extend(file.map_or_else(stdout_handle, handle));
        self.named.extend(file.map(Path::to_owned));
    }

    /// Leaves these files out of the inputs: the result of an earlier run would be read while it is written. Fails if an
    /// input is named that would be overwritten, or one that was found holds an object.
    pub fn leave_out(&self, inputs: &mut Vec<Input>) -> anyhow::Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let is_written = |input: &Input| matches!(&input.source, Source::File(path) if self.has(path));
        for input in inputs.iter().filter(|input| is_written(input)) {
            if input.is_named {
                return overwritten(&input.name);
            }
        }
        self.spare(inputs)?;
        inputs.retain(|input| !is_written(input));
        Ok(())
    }

    /// Fails if one of these inputs would be overwritten, and holds an object.
    fn spare(&self, inputs: &[Input]) -> anyhow::Result<()> {
        for input in inputs {
            if let Source::File(path) = &input.source {
                self.spare_file(path, &input.name)?;
            }
        }
        Ok(())
    }

    /// Fails if this file would be overwritten, and holds an object.
    pub fn spare_file(&self, path: &Path, name: &str) -> anyhow::Result<()> {
        if !self.files.is_empty() && self.has(path) && holds_object(path) {
            return overwritten(name);
        }
        Ok(())
    }

    /// Fails if a file would be overwritten that may be a source of what is rendered. A base may be anywhere.
    pub fn spare_sources(&self, sources: &Renderable) -> anyhow::Result<()> {
        for input in sources.named() {
            if self.has(&input) {
                return overwritten(&shown(&input));
            }
        }
        let mut named = self.named.iter();
        named.try_for_each(|path| self.spare_file(path, &shown(path)))
    }

    fn has(&self, path: &Path) -> bool {
        handle(path).is_some_and(|file| self.files.contains(&file))
    }
}

fn overwritten(name: &str) -> anyhow::Result<()> {
    bail!("{name} is an input, and the results would overwrite it. Name another file");
}

/// The regular file of this name, which equals that of every other name of it. Nothing else is opened: a pipe would wait.
fn handle(path: &Path) -> Option<Handle> {
    path.is_file().then(|| Handle::from_path(path).ok()).flatten()
}

/// The regular file that standard output was redirected to.
fn stdout_handle() -> Option<Handle> {
    let stdout = Handle::stdout().ok()?;
    let is_file = stdout
        .as_file()
        .metadata()
        .is_ok_and(|metadata| metadata.is_file());
    is_file.then_some(stdout)
}

/// Whether a file holds an object of Kubernetes, as far as it can be read. A report has the shape of one, and is none.
fn holds_object(path: &Path) -> bool {
    let Ok(text) = read_lossy(path) else { return false };
    let mut is_broken = false;
    let mut has_object = false;
    for document in manifest::parse(&text, &Limits::default()) {
        is_broken |= document.unreadable().is_some();
        manifest::each_object(document.value(), &mut |object| has_object |= is_object(&object));
    }
    has_object || (is_broken && seems_to_hold_object(&text))
}

fn is_object(object: &ManifestObject<'_>) -> bool {
    let (version, kind) = (
        object.version.unwrap_or_default(),
        object.kind.unwrap_or_default(),
    );
    let is_report = version == API_VERSION && kind.ends_with("Report");
    !version.is_empty() && !kind.is_empty() && !is_report
}

/// Whether a text that is not YAML, such as a template or a manifest with a mistake, has the fields of an object where an
/// object has them.
fn seems_to_hold_object(text: &str) -> bool {
    let begins_line = |field: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.strip_prefix(field).is_some_and(|rest| rest.starts_with(':')))
    };
    let is_report = text.contains(&format!(
        "\"apiVersion\":\"{API_VERSION}\",\"kind\":\"LintReport\""
    ));
    let is_json = || text.contains("\"apiVersion\":") && text.contains("\"kind\":");
    (begins_line("apiVersion") && begins_line("kind")) || (!is_report && is_json())
}
