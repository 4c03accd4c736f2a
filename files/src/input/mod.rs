//! What the commands on files read, and what they check it by: one set of flags, and the project of each file.

mod current;
mod pools;
mod project;

use std::env;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use clap::Args;
use poolgate_core::facts::TargetKarpenter;
use poolgate_core::manifest::Variables;

use crate::format::tally::{Count, Tally};
use crate::review_args::ReviewArgs;
use crate::sources::{
    Excludes, Input, Patches, ReadError, Renderable, Renderer, Skipped, Source, SourceText, Whole, Written,
    find, folders, is_excluded, kustomizations, name, patterns,
};

pub(crate) use current::Current;
pub(crate) use pools::{Applied, FOUND, Pool, Reading, Rest, UNREADABLE};
pub(crate) use project::{Project, Projects};

/// The flags for both.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// The name of standard input in the output. The project of its folder applies
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<String>,
}

/// The flags for what files are checked by.
#[derive(Debug, Args)]
#[command(mut_arg("policy", |arg| arg.help(
    "The policy file [default: the nearest .poolgate.yaml, else the built-in policy]"
)))]
pub(crate) struct ProjectArgs {
    /// Exclude files that match this gitignore-style pattern, also those that are named. May be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Fill in ${NAME} from this file of NAME=VALUE lines before reading. May be repeated
    #[arg(long, value_name = "FILE")]
    envsubst: Vec<PathBuf>,

    #[command(flatten)]
    review_args: ReviewArgs,

    /// Do not look for .poolgate.yaml
    #[arg(long)]
    isolated: bool,
}

/// The inputs of a run, and what they are read and checked by.
pub(crate) struct Manifests {
    pub(crate) inputs: Vec<Input>,
    pub(crate) skipped: Skipped,
    pub(crate) projects: Projects,
    /// The Karpenter of the run; each project may declare another one.
    pub(crate) karpenter: TargetKarpenter,
    patches: Patches,
    excludes_by_flag: Excludes,
}

/// A text that is not read.
pub(crate) enum Unread {
    /// A file that is no text and never names Karpenter, so that nothing is missed without it.
    NotText(ReadError),
    /// What should have been read.
    Failed(ReadError),
}

impl InputArgs {
    /// Finds what is at these paths, without the files that the run writes. Fails if it would overwrite an input or a policy.
    pub(crate) fn manifests(&self, paths: &[PathBuf], written: &Written) -> anyhow::Result<Manifests> {
        self.manifests_of(self.project.projects()?, paths, written)
    }

    /// The same for more paths, in place of those that were read.
    pub(crate) fn more(
        &self,
        read: Manifests,
        paths: &[PathBuf],
        written: &Written,
    ) -> anyhow::Result<Manifests> {
        let skipped = read.skipped;
        let mut more = self.manifests_of(read.projects, paths, written)?;
        more.skipped += skipped;
        Ok(more)
    }

    fn manifests_of(
        &self,
        projects: Projects,
        paths: &[PathBuf],
        written: &Written,
    ) -> anyhow::Result<Manifests> {
        let by_flag = self.project.excludes()?;
        let projects = Arc::new(Mutex::new(projects));
        let found = {
            let (by_flag, projects) = (Arc::clone(&by_flag), Arc::clone(&projects));
            let excludes: Excludes = Arc::new(move |path: &Path, is_folder| {
                let mut projects = projects.lock().unwrap_or_else(PoisonError::into_inner);
                by_flag(path, is_folder) || projects.excludes(path, is_folder)
            });
            find(paths, self.stdin_filename.as_deref(), &excludes)
        };
        let mut inputs = found.files;
        written.leave_out(&mut inputs)?;
        let projects = Arc::into_inner(projects).context("files are still looked for")?;
        let mut projects = projects.into_inner().unwrap_or_else(PoisonError::into_inner);
        for folder in folders(&inputs) {
            projects.look_from(folder)?;
        }
        projects.spare_by(written)?;
        Ok(Manifests {
            patches: Patches::among(&inputs),
            inputs,
            skipped: found.skipped,
            projects,
            karpenter: self.project.review_args.karpenter(),
            excludes_by_flag: by_flag,
        })
    }

    /// The same for what a program renders.
    pub(crate) fn rendered(
        &self,
        sources: &Renderable,
        program: &Renderer,
        written: &Written,
    ) -> anyhow::Result<Manifests> {
        written.spare_sources(sources)?;
        let input = program.input(sources)?;
        let mut manifests = self.manifests(&[], written)?;
        manifests.projects.look_from(input.folder())?;
        manifests.projects.spare_by(written)?;
        manifests.inputs = vec![input];
        Ok(manifests)
    }

    /// Whether the user names a policy, for all inputs.
    pub(crate) fn names_policy(&self) -> bool {
        self.project.review_args.policy_file().is_some()
    }
}

impl ProjectArgs {
    /// What a file at this path is read and checked by, whether it exists or not. It is the only input.
    fn of_file(&self, path: &Path) -> anyhow::Result<Manifests> {
        let input = Input {
            name: name(path),
            source: Source::File(path.to_owned()),
            is_named: false,
        };
        let mut projects = self.projects()?;
        projects.look_from(input.folder())?;
        Ok(Manifests {
            patches: Patches::among(slice::from_ref(&input)),
            inputs: vec![input],
            skipped: Skipped::default(),
            projects,
            karpenter: self.review_args.karpenter(),
            excludes_by_flag: self.excludes()?,
        })
    }

    /// The files on which [`Self::of_file`] depends, also those that do not exist. The definition of --crd is read once.
    fn behind(&self, path: &Path, manifests: &Manifests) -> Vec<PathBuf> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let flags = self.envsubst.iter().map(PathBuf::as_path);
        let flags = flags.chain(self.review_args.policy_file());
        let named = manifests.projects.behind(folder).into_iter();
        flags
            .map(Path::to_owned)
            .chain(named)
            .chain(kustomizations(folder))
            .collect()
    }

    fn projects(&self) -> anyhow::Result<Projects> {
        let mut variables = Variables::default();
        for path in &self.envsubst {
            project::add_lines(&mut variables, path, &path.display().to_string())?;
        }
        match self.review_args.policy_file() {
            Some(file) => Projects::named(file, variables),
            None if self.isolated => Ok(Projects::built_in(variables)),
            None => Ok(Projects::nearest(variables)),
        }
    }

    fn excludes(&self) -> anyhow::Result<Excludes> {
        let by_flag = patterns(&env::current_dir().unwrap_or_default(), &self.exclude);
        let by_flag = by_flag.context("--exclude")?;
        Ok(Arc::new(move |path: &Path, is_folder| {
            by_flag.matched(path, is_folder).is_ignore()
        }))
    }
}

impl Manifests {
    /// The project of an input.
    pub(crate) fn project(&self, input: &Input) -> &Project {
        self.projects.for_folder(input.folder())
    }

    /// The Karpenter that the objects of an input are checked for.
    pub(crate) fn karpenter_of(&self, input: &Input) -> &TargetKarpenter {
        self.project(input).karpenter(&self.karpenter)
    }

    /// Reads an input.
    pub(crate) fn read(&self, input: &Input) -> Result<SourceText<'_>, Unread> {
        match input.read() {
            Ok(text) => Ok(self.text(input, text)),
            Err(error) if error.is_unrelated() => Err(Unread::NotText(error)),
            Err(error) => Err(Unread::Failed(error)),
        }
    }

    /// This text in the place of an input's.
    pub(crate) fn text(&self, input: &Input, text: String) -> SourceText<'_> {
        SourceText {
            templates: input.templates(&text),
            whole: self.whole(input),
            variables: &self.project(input).variables,
            text,
        }
    }

    /// Whether the objects of an input are complete.
    pub(crate) fn whole(&self, input: &Input) -> Whole {
        self.patches.whole(input)
    }

    /// Finds the projects of more folders.
    pub(crate) fn look_from<'f>(
        &mut self,
        mut folders: impl Iterator<Item = &'f Path>,
    ) -> anyhow::Result<()> {
        folders.try_for_each(|folder| self.projects.look_from(folder))
    }

    /// Whether a file at a path is excluded, or a folder that it is in. The project of a folder that is gone is the nearest
    /// one above it.
    pub(crate) fn excludes(&mut self, path: &Path) -> bool {
        let flag = Arc::clone(&self.excludes_by_flag);
        let mut above = path.ancestors().skip(1);
        is_excluded(path, false, &flag)
            || self.projects.excludes(path, false)
            || above.any(|folder| self.projects.excludes(folder, true))
    }

    /// What was left out, in numbers.
    pub(crate) fn skipped(&self) -> Tally {
        let mut tally = Tally::default();
        let Skipped {
            template_folders,
            linked_folders,
            foreign,
            excluded,
        } = self.skipped;
        for (what, count) in [
            (Count::TemplateFolders, template_folders),
            (Count::LinkedFolders, linked_folders),
            (Count::Foreign, foreign),
            (Count::Excluded, excluded),
        ] {
            tally.add(what, count);
        }
        tally
    }
}
