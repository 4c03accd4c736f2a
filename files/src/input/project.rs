//! The `.poolgate.yaml` nearest to each file: its policy, and what the commands on files read there.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context as _, ensure};
use ignore::gitignore::Gitignore;
use poolgate_core::facts::{ReleaseSource, TargetKarpenter};
use poolgate_core::manifest::Variables;
use poolgate_core::policy::Policy;
use poolgate_core::policy_file::{Files, MAX_BYTES};

use crate::policy_file;
use crate::review_args::DefinitionFile;
use crate::sources::{Written, patterns, read_bytes};
use crate::terminal;

/// The file of a project: for its folder and everything below it.
const NEARBY: &str = ".poolgate.yaml";

/// The folder that marks the root of a repository.
const GIT: &str = ".git";

/// What the files of a folder are read and checked by.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) policy: Policy,
    /// The file of the policy; `None` for the built-in one.
    pub(crate) file: Option<String>,
    /// What fills in variables.
    pub(crate) variables: Variables,
    /// The Karpenter that the file declares.
    declared: Option<TargetKarpenter>,
    exclude: Gitignore,
    /// The other files that it was read from.
    named: Vec<PathBuf>,
    /// Its folder, from the root without links.
    folder: PathBuf,
}

impl Project {
    /// The built-in policy, with the variables of the run.
    fn built_in(variables: Variables) -> Self {
        Self {
            policy: Policy::default(),
            file: None,
            variables,
            declared: None,
            exclude: Gitignore::empty(),
            named: Vec::new(),
            folder: PathBuf::new(),
        }
    }

    /// Reads the file of a project. The variables of the run win over its own.
    fn read(path: &Path, run: &Variables) -> anyhow::Result<Self> {
        let read = policy_file::load_project(path)?;
        let name = path.display().to_string();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let folder = folder.with_context(|| name.clone())?;
        let files = read.files.unwrap_or_default();
        let mut project = Self {
            exclude: patterns(&folder, &files.exclude).with_context(|| format!("{name}: exclude"))?,
            file: read.policy.is_some().then(|| name.clone()),
            policy: read.policy.map(|read| read.policy).unwrap_or_default(),
            ..Self::built_in(Variables::default())
        };
        project.declared = project.policy.cluster.target();
        let named = Named {
            project: &name,
            folder: &folder,
        };
        project.read_files(&files, &named)?;
        project.variables.extend(run);
        project.folder = folder;
        Ok(project)
    }

    fn read_files(&mut self, files: &Files, named: &Named<'_>) -> anyhow::Result<()> {
        for file in &files.envsubst {
            let path = named.file("envsubst", file)?;
            let name = format!("{}: envsubst: {file}", named.project);
            add_lines(&mut self.variables, &path, &name)?;
            self.named.push(path);
        }
        if let Some(file) = &files.crd {
            let path = named.file("crd", file)?;
            let read = DefinitionFile::read(&path, file).map_err(anyhow::Error::msg);
            let read = read.with_context(|| format!("{}: crd: {file}", named.project))?;
            self.declared = Some(read.karpenter());
            self.named.push(path);
        }
        Ok(())
    }

    /// The Karpenter that objects are checked for: the one that the project declares, if the user has named none and no
    /// cluster is read.
    pub(crate) fn karpenter<'k>(&'k self, of_run: &'k TargetKarpenter) -> &'k TargetKarpenter {
        match &self.declared {
            Some(declared) if of_run.source() == ReleaseSource::Newest => declared,
            _ => of_run,
        }
    }
}

/// Reads `NAME=VALUE` lines from a file, which is called `name` in messages. No variable of the environment is read.
pub(super) fn add_lines(variables: &mut Variables, path: &Path, name: &str) -> anyhow::Result<()> {
    let unreadable = || format!("{name} cannot be read");
    let bytes = read_bytes(path, MAX_BYTES).with_context(unreadable)?;
    let text = String::from_utf8(bytes).with_context(unreadable)?;
    variables.add_lines(&text).with_context(|| name.to_owned())
}

/// Where a project names files.
struct Named<'p> {
    project: &'p str,
    folder: &'p Path,
}

impl Named<'_> {
    /// A file that the project names, relative to its folder. A pull request may have written the name: it must stay in the
    /// repository, or without one in the folder, and out of what Git keeps.
    fn file(&self, field: &str, name: &str) -> anyhow::Result<PathBuf> {
        let about = || format!("{}: {field}: {name}", self.project);
        let is_root = |folder: &&Path| folder.join(GIT).exists();
        let root = self.folder.ancestors().find(is_root).unwrap_or(self.folder);
        let path = fs::canonicalize(self.folder.join(name)).with_context(about)?;
        ensure!(
            path.starts_with(root) && !path.starts_with(root.join(GIT)) && path.is_file(),
            "{} must be a file of the same repository",
            about()
        );
        Ok(path)
    }
}

/// A folder that was searched.
#[derive(Debug)]
struct Searched {
    /// The number of its project, if it has one.
    project: Option<usize>,
    /// The folder from the root without links.
    from_root: PathBuf,
}

/// The project of every folder that was searched.
#[derive(Debug)]
pub(crate) struct Projects {
    /// The project of folders that have none.
    elsewhere: Project,
    found: Vec<Project>,
    /// The folders that were searched.
    nearest: HashMap<PathBuf, Searched>,
    /// Whether projects are looked for.
    is_nearest: bool,
    variables: Variables,
}

impl Projects {
    /// Those nearest to each file.
    pub(super) fn nearest(variables: Variables) -> Self {
        Self {
            is_nearest: true,
            ..Self::built_in(variables)
        }
    }

    /// The built-in policy for all files.
    pub(super) fn built_in(variables: Variables) -> Self {
        Self {
            elsewhere: Project::built_in(variables.clone()),
            found: Vec::new(),
            nearest: HashMap::new(),
            is_nearest: false,
            variables,
        }
    }

    /// One file that the user names, for all files. It leaves out none: a pull request must not hide files.
    pub(super) fn named(file: &Path, variables: Variables) -> anyhow::Result<Self> {
        let mut named = Project::read(file, &variables)?;
        if !named.exclude.is_empty() {
            named.exclude = Gitignore::empty();
            terminal::remark(&format!(
                "{}: exclude has no effect, because --policy names the file. Use --exclude",
                terminal::clean(&file.display().to_string())
            ));
        }
        Ok(Self {
            elsewhere: named,
            ..Self::built_in(variables)
        })
    }

    /// The project of the files in a folder.
    pub(crate) fn for_folder(&self, folder: &Path) -> &Project {
        let found = self.nearest.get(folder).and_then(|searched| searched.project);
        found
            .and_then(|index| self.found.get(index))
            .unwrap_or(&self.elsewhere)
    }

    /// The project of folders that have none: the one that the user names, or the built-in policy.
    pub(crate) fn elsewhere(&self) -> &Project {
        &self.elsewhere
    }

    /// The project in a file that is not the nearest one.
    pub(crate) fn read(&self, file: &Path) -> anyhow::Result<Project> {
        Project::read(file, &self.variables)
    }

    /// A remark on each release that objects are checked for and that is older or newer than all known ones.
    pub(crate) fn cautions(&self, of_run: &TargetKarpenter) -> BTreeSet<String> {
        let targets = self.all().map(|project| project.karpenter(of_run));
        targets.filter_map(TargetKarpenter::caution).collect()
    }

    /// All projects of the run, and the one of the other files.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Project> {
        self.found.iter().chain([&self.elsewhere])
    }

    /// All projects that were found in folders.
    pub(crate) fn found(&self) -> impl Iterator<Item = &Project> {
        self.found.iter()
    }

    /// Fails if the run would overwrite the file of one of them.
    pub(super) fn spare_by(&self, written: &Written) -> anyhow::Result<()> {
        let mut files = self.all().filter_map(|project| project.file.as_deref());
        files.try_for_each(|file| written.spare_file(Path::new(file), file))
    }

    /// Whether the project of the folder that a path is in excludes it. A project that cannot be read excludes nothing: that
    /// is reported when its files are read.
    pub(super) fn excludes(&mut self, path: &Path, is_folder: bool) -> bool {
        let Some(name) = path.file_name() else {
            return false;
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if self.look_from(folder).is_err() {
            return false;
        }
        let project = self.for_folder(folder);
        if project.exclude.is_empty() {
            return false;
        }
        let Some(searched) = self.nearest.get(folder) else {
            return false;
        };
        let path = searched.from_root.join(name);
        path.starts_with(&project.folder) && project.exclude.matched(&path, is_folder).is_ignore()
    }

    /// The files that decide about those in a folder, also those that do not exist: the project's may be nearer tomorrow.
    pub(super) fn behind(&self, folder: &Path) -> Vec<PathBuf> {
        let mut files = self.for_folder(folder).named.clone();
        if self.is_nearest {
            let from_root = from_root(folder);
            let mut is_below = true;
            let below = from_root.ancestors().take_while(|folder| {
                let is_in = is_below;
                is_below = !folder.join(GIT).exists();
                is_in
            });
            files.extend(below.map(|folder| folder.join(NEARBY)));
        }
        files
    }

    /// Finds the project of a folder.
    pub(super) fn look_from(&mut self, folder: &Path) -> anyhow::Result<()> {
        if self.is_nearest && !self.nearest.contains_key(folder) {
            let from_root = from_root(folder);
            let project = self.upwards(&from_root)?;
            self.nearest
                .insert(folder.to_owned(), Searched { project, from_root });
        }
        Ok(())
    }

    /// The nearest project of a folder: its own, or that of a folder above. The search ends at the root of the
    /// repository: files above it belong to something else.
    fn upwards(&mut self, folder: &Path) -> anyhow::Result<Option<usize>> {
        if let Some(known) = self.nearest.get(folder) {
            return Ok(known.project);
        }
        let file = folder.join(NEARBY);
        let project = if file.is_file() {
            self.found.push(Project::read(&shown(file), &self.variables)?);
            self.found.len().checked_sub(1)
        } else if folder.join(GIT).exists() {
            None
        } else if let Some(above) = folder.parent() {
            self.upwards(above)?
        } else {
            None
        };
        let from_root = folder.to_owned();
        self.nearest
            .insert(folder.to_owned(), Searched { project, from_root });
        Ok(project)
    }
}

/// A folder from the root without links; of one that does not exist, as it is named.
fn from_root(folder: &Path) -> PathBuf {
    let from_root = fs::canonicalize(folder).or_else(|_| path::absolute(folder));
    from_root.unwrap_or_default()
}

/// An absolute path as people write it: relative to the current folder if it is below that.
fn shown(path: PathBuf) -> PathBuf {
    let here = fs::canonicalize(".").unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or(path)
}
