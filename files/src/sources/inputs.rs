//! Which files are read: those given, and those below directories that are given.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::AddAssign;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Walk, WalkBuilder};

use super::language::Language;
use super::read::{ReadError, read_file, read_finite, read_stream};
use super::templates::{Templates, templates};
use crate::terminal::{clean, stdin};

/// Most files and directories that one run visits.
const MAX_ENTRIES: usize = 1_000_000;

/// Deepest directory below one that is named.
const MAX_DEPTH: usize = 100;

/// The name of standard input in the output.
const STDIN: &str = "<stdin>";

/// A text to read.
#[derive(Debug)]
pub struct Input {
    /// Its name as it is printed. Another input may have the same.
    pub name: String,
    pub source: Source,
    /// Whether the user named it; else it was found in a folder.
    pub is_named: bool,
}

/// Where its text comes from.
#[derive(Debug)]
pub enum Source {
    Stdin,
    File(PathBuf),
    /// What a cluster has stored.
    Stored(String),
    /// This text, which another program has, as that of a file at this path.
    Text {
        text: String,
        path: PathBuf,
    },
    /// The text of standard input, or why it could not be read.
    Held(Result<String, String>),
    /// It cannot be read, for this reason.
    Nowhere(String),
}

impl Input {
    /// The path at which it stands, or would stand.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File(path) | Source::Text { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Its folder; for standard input the folder of its name.
    pub fn folder(&self) -> &Path {
        let path = self.path().unwrap_or(Path::new(&self.name));
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Whether it is a symbolic link to a file.
    fn is_link(&self) -> bool {
        matches!(&self.source, Source::File(path) if path.is_symlink())
    }

    /// The input, held so that it can be read more than once: standard input can be read only once.
    pub fn held(self) -> Self {
        let source = match &self.source {
            Source::Stdin => Source::Held(match self.read() {
                Err(error) if error.is_unrelated() => Ok(String::new()),
                read => read.map_err(|error| error.to_string()),
            }),
            _ => return self,
        };
        Self { source, ..self }
    }

    /// Reads its whole text. Standard input can be read only once, unless it is [held](Self::held).
    pub fn read(&self) -> Result<String, ReadError> {
        let text = match &self.source {
            Source::Stdin => read_stream(stdin("manifests")),
            Source::File(path) => read_file(path),
            Source::Stored(text) => return Ok(text.clone()),
            Source::Text { text, .. } => read_finite(text.as_bytes()),
            Source::Held(held) => held.clone().map_err(ReadError::Held),
            Source::Nowhere(why) => Err(io::Error::other(why.clone()).into()),
        }?;
        match Language::of_file(&self.name, &text) {
            Some(language) => Err(ReadError::Foreign(language)),
            None => Ok(text),
        }
    }

    /// Which documents of its text are templates, and not read. What is stored was rendered.
    pub fn templates(&self, text: &str) -> Templates {
        match &self.source {
            Source::Stored(_) => Templates::new(),
            _ => templates(text),
        }
    }

    /// What no other input of a run has.
    pub fn identity(&self) -> Identity {
        match &self.source {
            Source::File(path) => Identity::File(path.clone()),
            Source::Stdin | Source::Held(_) => Identity::Stdin,
            _ => Identity::Named(self.name.clone()),
        }
    }
}

/// Which input it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    Stdin,
    File(PathBuf),
    Named(String),
}

/// All inputs of a run.
#[derive(Debug, Default)]
pub struct Inputs {
    /// In the order of their names, each once, including those that were not found.
    pub files: Vec<Input>,
    pub skipped: Skipped,
}

/// How much was left out while files were looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Helm template folders: their files are not YAML yet.
    pub template_folders: usize,
    /// Symbolic links to directories, which were not followed.
    pub linked_folders: usize,
    /// Files below directories that are in a language that generates manifests.
    pub foreign: usize,
    /// Files and folders that the user excludes.
    pub excluded: usize,
}

impl AddAssign for Skipped {
    fn add_assign(&mut self, other: Self) {
        self.template_folders += other.template_folders;
        self.linked_folders += other.linked_folders;
        self.foreign += other.foreign;
        self.excluded += other.excluded;
    }
}

/// Whether the user excludes a path, which is that of a folder or not. Asked after the folders above it.
pub type Excludes = Arc<dyn Fn(&Path, bool) -> bool + Send + Sync>;

/// Patterns like those of a `.gitignore` in a folder.
pub fn patterns(folder: &Path, patterns: &[String]) -> Result<Gitignore, ignore::Error> {
    let mut builder = GitignoreBuilder::new(folder);
    for pattern in patterns {
        builder.add_line(None, pattern)?;
    }
    builder.build()
}

/// Whether a path is excluded, or a folder that it is in.
pub fn is_excluded(path: &Path, is_folder: bool, excludes: &Excludes) -> bool {
    let mut above = path.ancestors().skip(1);
    excludes(path, is_folder) || above.any(|folder| excludes(folder, true))
}

/// Finds the inputs. A given file is read whatever its extension; below a directory those that end in `.yaml`,
/// `.yml` or `.json` are read, unless git ignores them or their name begins with a dot. A link to a file is read as that
/// file. Standard input is named `stdin_name`, if that is given.
pub fn find(paths: &[PathBuf], stdin_name: Option<&str>, excludes: &Excludes) -> Inputs {
    let mut search = Search {
        excludes,
        found: Vec::new(),
        skipped: Skipped::default(),
        entries_left: MAX_ENTRIES,
    };
    for path in paths {
        if path.as_os_str() == "-" {
            search.add(clean(stdin_name.unwrap_or(STDIN)), Source::Stdin, true);
            continue;
        }
        match path.metadata() {
            Ok(metadata) if is_excluded(path, metadata.is_dir(), excludes) => search.skipped.excluded += 1,
            Ok(metadata) if metadata.is_dir() => search.directory(path),
            Ok(_) => search.add(name(path), Source::File(path.clone()), true),
            Err(error) => search.nowhere(path, &error.to_string()),
        }
    }
    Inputs {
        files: each_once(search.found),
        skipped: search.skipped,
    }
}

/// The inputs in the order of their names. What is reached in several ways is read once: by the name that the user gave,
/// else by one that is no link.
fn each_once(inputs: Vec<Input>) -> Vec<Input> {
    let mut folders = HashMap::new();
    let mut seen = HashSet::new();
    let mut inputs: Vec<(Input, bool)> = inputs
        .into_iter()
        .map(|input| {
            let is_link = input.is_link();
            (input, is_link)
        })
        .collect();
    inputs.sort_by_cached_key(|(input, is_link)| {
        (!input.is_named, *is_link, input.name.clone(), input.identity())
    });
    inputs.retain(|(input, is_link)| {
        seen.insert(match input.identity() {
            Identity::File(path) if input.is_named || *is_link => {
                Identity::File(fs::canonicalize(&path).unwrap_or(path))
            }
            Identity::File(path) => Identity::File(below_real_folder(&path, &mut folders)),
            other => other,
        })
    });
    let mut inputs: Vec<Input> = inputs.into_iter().map(|(input, _)| input).collect();
    inputs.sort_by(|one, other| one.name.cmp(&other.name));
    inputs
}

/// The path of a file that is no link, below its folder without links.
fn below_real_folder(path: &Path, folders: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    let resolved = || {
        let named = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        fs::canonicalize(named).unwrap_or_else(|_| folder.to_owned())
    };
    let real = folders.entry(folder.to_owned()).or_insert_with(resolved);
    real.join(path.file_name().unwrap_or_default())
}

/// The folders of inputs in their order; one whose files follow each other is named once.
pub fn folders<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> impl Iterator<Item = &'i Path> {
    let mut last = None;
    let folders = inputs.into_iter().map(Input::folder);
    folders.filter(move |folder| last.replace(folder.as_os_str()) != Some(folder.as_os_str()))
}

struct Search<'a> {
    excludes: &'a Excludes,
    found: Vec<Input>,
    skipped: Skipped,
    entries_left: usize,
}

impl Search<'_> {
    fn add(&mut self, name: String, source: Source, is_named: bool) {
        self.found.push(Input {
            name,
            source,
            is_named,
        });
    }

    fn nowhere(&mut self, path: &Path, why: &str) {
        self.add(name(path), Source::Nowhere(clean(why)), true);
    }

    fn directory(&mut self, directory: &Path) {
        let template_folders = Arc::<AtomicUsize>::default();
        let left_out = Arc::<AtomicUsize>::default();
        let counts = (Arc::clone(&template_folders), Arc::clone(&left_out));
        let excludes = Arc::clone(self.excludes);
        let walk = WalkBuilder::new(directory)
            .follow_links(false)
            .max_depth(Some(MAX_DEPTH))
            .ignore(false)
            .git_global(false)
            .require_git(false)
            .filter_entry(move |entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                if entry.depth() > 0 && excludes(entry.path(), is_folder) {
                    let is_input = is_folder || has_extension_of_manifest(entry.path());
                    counts.1.fetch_add(usize::from(is_input), Ordering::Relaxed);
                    return false;
                }
                let is_template = entry.depth() > 0 && is_folder && is_template_folder(entry.path());
                counts.0.fetch_add(usize::from(is_template), Ordering::Relaxed);
                !is_template
            })
            .build();
        self.walk(directory, walk);
        self.skipped.template_folders += template_folders.load(Ordering::Relaxed);
        self.skipped.excluded += left_out.load(Ordering::Relaxed);
    }

    fn walk(&mut self, directory: &Path, walk: Walk) {
        for entry in walk {
            let Some(left) = self.entries_left.checked_sub(1) else {
                let why =
                    format!("it contains more than {MAX_ENTRIES} files and directories. Name a part of it");
                return self.nowhere(directory, &why);
            };
            self.entries_left = left;
            match entry {
                Ok(entry) if entry.depth() > 0 && entry.path_is_symlink() => self.link(entry.path()),
                Ok(entry) if is_manifest(&entry) => {
                    let path = entry.into_path();
                    self.add(name(&path), Source::File(path), false);
                }
                Ok(entry) => self.skipped.foreign += usize::from(Language::has_extension_of(entry.path())),
                Err(error) => self.nowhere(path_of(&error).unwrap_or(directory), &why(&error)),
            }
        }
    }

    /// A symbolic link below a directory. kubectl reads one to a file, and follows none to a directory.
    fn link(&mut self, path: &Path) {
        match path.metadata() {
            Ok(target) if target.is_dir() => self.skipped.linked_folders += 1,
            Ok(target) if target.is_file() && has_extension_of_manifest(path) => {
                self.add(name(path), Source::File(path.to_owned()), false);
            }
            Ok(_) => self.skipped.foreign += usize::from(Language::has_extension_of(path)),
            Err(error) if has_extension_of_manifest(path) => self.nowhere(path, &error.to_string()),
            Err(_) => {}
        }
    }
}

/// The path that an error of the walk is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } | ignore::Error::Loop { child: path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// The error without its path.
fn why(error: &ignore::Error) -> String {
    match error {
        ignore::Error::WithPath { err, .. }
        | ignore::Error::WithDepth { err, .. }
        | ignore::Error::WithLineNumber { err, .. } => why(err),
        other => other.to_string(),
    }
}

fn is_manifest(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file()) && has_extension_of_manifest(entry.path())
}

fn has_extension_of_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Whether a folder is the `templates` folder of a Helm chart. One that is given is read.
pub fn is_template_folder(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "templates")
        && folder.with_file_name("Chart.yaml").is_file()
}

/// A path as it is printed: with `/`, and without a `./` that the user did not write.
pub fn name(path: &Path) -> String {
    let shown = path.to_string_lossy().replace(MAIN_SEPARATOR, "/");
    clean(shown.strip_prefix("./").unwrap_or(&shown))
}
