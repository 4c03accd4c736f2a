//! Which defaults of a policy have no effect with the installed NodePool definition: the API server writes the
//! definition's own defaults before it calls any webhook.

use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use serde_json::Value;

use crate::crd::definition::{self, Overruled};
use crate::edit;
use crate::sources::read_text;
use poolgate_core::policy_file::ReadPolicy;

/// The installed definition. Its file may contain other objects.
#[derive(Debug)]
pub struct Definition(Vec<Value>);

impl Definition {
    /// Reads it from a file.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).context("it cannot be opened")?;
        let text = read_text(file).map_err(|error| anyhow!("it {error}"))?;
        let mut found = Vec::new();
        for mut document in edit::values(&text) {
            found.extend(definition::among(&mut document).into_iter().map(Value::take));
        }
        ensure!(
            !found.is_empty(),
            "it contains no CustomResourceDefinition of NodePools in the group karpenter.sh"
        );
        Ok(Self(found))
    }

    /// One line for each default of the file that has no effect.
    pub fn without_effect(&self, reading: &ReadPolicy) -> Vec<String> {
        let mut lines = Vec::new();
        let is_set = |field: &str| reading.defaults_set.contains(&field);
        for definition in &self.0 {
            let all = definition::overruled(definition, &reading.policy.defaults);
            let reported = |overruled: &&Overruled| {
                is_set(overruled.field) && !overruled.is_reported_by_another_of(&all)
            };
            for overruled in all.iter().filter(reported) {
                let when = if overruled.only_if_all_is_absent {
                    " where a NodePool leaves out all of spec.disruption"
                } else {
                    ""
                };
                lines.push(format!(
                    "defaults.{} has no effect on {}{when}: the installed definition writes {} before poolgate is \
                     asked; `poolgate crd patch --policy FILE` puts {} there",
                    overruled.field, overruled.version, overruled.present, overruled.wanted
                ));
            }
        }
        lines
    }
}
