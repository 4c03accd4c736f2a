//! A second writer of what poolgate writes: two that undo each other's work would do so as fast as the API server answers,
//! and no serving certificate would follow.

use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};

use super::decide::Step;
use super::error::{CA_BUNDLE, KeepError};
use super::objects::ReadObjects;
use super::store::MANAGER;

/// How often a kind of step may be necessary in a row: a CA is trusted first beside what others trust, then alone.
const IN_A_ROW: u32 = 2;

/// How often the same kind of step was done in a row.
#[derive(Debug, Default)]
pub struct Repetition {
    last: Option<Discriminant<Step>>,
    count: u32,
}

impl Repetition {
    /// Notes that this step comes next. Returns who undoes it, if it was done just before so often that somebody must.
    pub fn note(&mut self, step: &Step, read: &ReadObjects) -> Option<KeepError> {
        let kind = Some(discriminant(step));
        self.count = if self.last == kind { self.count + 1 } else { 1 };
        self.last = kind;
        if self.count <= IN_A_ROW {
            return None;
        }
        let (what, writers) = match step {
            Step::Trust(_) => {
                let configurations = read.configurations.iter();
                let writers = configurations.flat_map(|(_, one)| one.ca_bundle_writers());
                (CA_BUNDLE, writers.collect())
            }
            Step::MakeLeaf => ("the serving certificate's Secret", read.leaf.writers()),
            Step::MakeAuthority { .. } | Step::ForgetPrevious => {
                ("the CA's Secret", read.authority.writers())
            }
            Step::Wait(_) | Step::Rest | Step::ClockIsBehind => return None,
        };
        let writer = others(writers);
        Some(KeepError::Contested { what, writer })
    }
}

fn others(writers: BTreeSet<&str>) -> String {
    let others: Vec<&str> = writers.into_iter().filter(|&writer| writer != MANAGER).collect();
    if others.is_empty() {
        "another writer".into()
    } else {
        others.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::certificates::objects::Secret;
    use crate::cluster::webhooks::VALIDATING;

    /// What is read while these have written `caBundle`.
    fn written_by(managers: &[&str]) -> ReadObjects {
        let wrote = json!({"f:webhooks": {"k:{\"name\":\"a\"}": {"f:clientConfig": {"f:caBundle": {}}}}});
        let fields = managers
            .iter()
            .map(|&manager| json!({"manager": manager, "fieldsV1": wrote}));
        let applied = json!({"manager": "kubectl", "fieldsV1": {"f:webhooks": {}}});
        let fields: Vec<_> = fields.chain([applied]).collect();
        let configuration = json!({"metadata": {"name": "poolgate", "managedFields": fields}});
        ReadObjects {
            configurations: vec![(
                VALIDATING,
                serde_json::from_value(configuration).expect("a configuration"),
            )],
            leaf: Secret::default(),
            authority: Secret::default(),
        }
    }

    #[test]
    fn who_undoes_a_step_again_and_again_is_named() {
        let read = written_by(&["cert-manager-cainjector", MANAGER]);
        let mut repetition = Repetition::default();
        let trust = Step::Trust(Vec::new());
        assert!(repetition.note(&trust, &read).is_none());
        assert!(repetition.note(&trust, &read).is_none());
        let error = repetition.note(&trust, &read).expect("a contest").to_string();
        assert!(
            error.starts_with("cert-manager-cainjector undoes what poolgate writes into caBundle"),
            "{error}"
        );
        let unknown = repetition
            .note(&trust, &written_by(&[MANAGER]))
            .expect("a contest");
        assert!(
            unknown.to_string().starts_with("another writer undoes"),
            "{unknown}"
        );
    }

    #[test]
    fn steps_that_follow_each_other_or_rest_are_no_contest() {
        let read = written_by(&["cert-manager-cainjector"]);
        let mut repetition = Repetition::default();
        for _ in 0..5 {
            for step in [
                Step::Trust(Vec::new()),
                Step::Trust(Vec::new()),
                Step::MakeLeaf,
                Step::Rest,
                Step::Rest,
                Step::Rest,
            ] {
                assert!(repetition.note(&step, &read).is_none());
            }
        }
    }
}
