//! An open document, and what is wrong with it.

use std::path::PathBuf;

use lsp_types::{TextDocumentItem, Uri};

use super::args::LspArgs;
use crate::check::{CheckedText, Checker, Settings};
use crate::format::finding::Finding;
use crate::input::{Current, Manifests};
use crate::sources::{Input, Source, SourceText, name};
use crate::terminal;

/// An open document.
pub struct Document<'a> {
    pub uri: String,
    pub version: i32,
    pub text: String,
    /// Whether its findings are those that the client knows.
    pub is_published: bool,
    pub flags: &'a LspArgs,
    path: PathBuf,
    current: Option<Current>,
    settings: Settings,
    /// What is wrong with its text.
    findings: Option<Vec<Finding>>,
}

impl<'a> Document<'a> {
    pub fn open(item: TextDocumentItem, flags: &'a LspArgs) -> Self {
        Self {
            path: path(&item.uri),
            uri: item.uri.as_str().to_owned(),
            version: item.version,
            text: item.text,
            is_published: false,
            flags,
            current: None,
            settings: Settings::new(flags.now()),
            findings: None,
        }
    }

    /// Takes over a new text.
    pub fn change(&mut self, version: i32, text: String) {
        (self.version, self.text) = (version, text);
        (self.is_published, self.findings) = (false, None);
    }

    /// What is wrong with its text. The files behind it are read again if they have changed.
    pub fn findings(&mut self) -> &[Finding] {
        if !self.current.as_ref().is_some_and(Current::is_current) {
            self.current = Some(Current::of(&self.flags.project, &self.path));
            self.findings = None;
        }
        if self.findings.is_none() {
            self.settings = Settings::new(self.flags.now());
            self.findings = Some(self.check());
        }
        self.findings.as_deref().unwrap_or_default()
    }

    fn check(&self) -> Vec<Finding> {
        if let Some(Err(error)) = self.current.as_ref().map(|current| &current.manifests) {
            let mut unread = CheckedText::default();
            let why = terminal::with_causes(error).replace('\n', "; ");
            unread.fail(&format!("the file is not checked: {why}"), None);
            return unread.findings;
        }
        let checker = self.manifests().map(|manifests| self.checker(manifests));
        checker.map_or_else(Vec::new, |checker| checker.alone(&self.input()))
    }

    /// The comment that ignores one of its findings, with the byte at which it is inserted.
    pub fn comment(&self, finding: &Finding, why: &str) -> Option<(usize, String)> {
        let checker = self.checker(self.manifests()?);
        checker.comment(&self.input(), self.findings.as_deref()?, finding, why)
    }

    /// Its text as commands read it; `None` if they leave it out.
    pub fn source(&self) -> Option<SourceText<'_>> {
        Some(self.manifests()?.text(&self.input(), self.text.clone()))
    }

    fn manifests(&self) -> Option<&Manifests> {
        self.current.as_ref()?.manifests.as_ref().ok()?.as_ref()
    }

    fn checker<'m>(&'m self, manifests: &'m Manifests) -> Checker<'m> {
        Checker {
            manifests,
            settings: &self.settings,
            selection: &self.flags.selection,
        }
    }

    fn input(&self) -> Input {
        let (text, path) = (self.text.clone(), self.path.clone());
        Input {
            name: name(&path),
            source: Source::Text { text, path },
            is_named: false,
        }
    }
}

/// The file of a document. One that is not saved has only a name.
fn path(uri: &Uri) -> PathBuf {
    let path = uri.path().as_estr().decode().into_string_lossy().into_owned();
    if uri.scheme().is_none_or(|scheme| scheme.as_str() != "file") {
        return path.rsplit('/').next().unwrap_or_default().into();
    }
    // Windows: /c:/pools/a.yaml
    let has_drive = path.get(2..3) == Some(":");
    path.strip_prefix('/')
        .filter(|_| has_drive)
        .unwrap_or(&path)
        .into()
}
