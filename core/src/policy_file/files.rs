//! What the commands on files read in a project: the second document of its `.poolgate.yaml`.

use super::document::FILES;
use super::policy::read_head;
use crate::policy::kinds::List;
use crate::policy::record::{Fields, Record};
use crate::policy::texts::FREE_TEXT;

/// What the commands on files read. Files are named relative to the folder of the project's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Patterns like those of a `.gitignore` in that folder. What they match is not read.
    pub exclude: Vec<String>,
    /// Files of `NAME=VALUE` lines, of which later ones win.
    pub envsubst: Vec<String>,
    /// The file with the definition of NodePools.
    pub crd: Option<String>,
}

impl Record for Files {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let called = "The name of this document. poolgate ignores it.";
        let head = read_head(fields, &[FILES], called);
        let about = "Patterns as in a .gitignore beside this file. Matching files and folders are not read.";
        let exclude = fields.optional("exclude", &List(0, FREE_TEXT), about);
        let about = "Files of NAME=VALUE lines that fill in ${NAME}, relative to this file. Later files win.";
        let envsubst = fields.optional("envsubst", &List(0, FREE_TEXT), about);
        let about = "The file with the cluster's definition of NodePools (CRD), relative to this file.";
        let crd = fields.optional("crd", &FREE_TEXT, about);
        head?;
        Some(Self {
            exclude: exclude.unwrap_or_default(),
            envsubst: envsubst.unwrap_or_default(),
            crd,
        })
    }
}
