//! Findings that need all objects of a run, if the user says that none is missing: first everything is read and
//! compared, then each file is checked with the findings of that.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use poolgate_core::diagnostic::{ErrorType, FieldPath};
use poolgate_core::facts::{ApiVersion, LabelSets};
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Document, Limits, Lines};
use poolgate_core::pool::NodePool;
use poolgate_core::review::Subject;
use poolgate_core::rules::across::{self, ClassSource, NodeClasses};

use super::parallel;
use crate::check::{Across, Checked, Claimed, OfInput, Subjects};
use crate::edit;
use crate::format::finding::Elsewhere;
use crate::input::{Manifests, Projects, Unread};
use crate::sources::{Class, Identity, Input, is_open};

/// The findings by input.
#[derive(Debug, Default)]
pub struct Together(HashMap<Identity, OfInput>);

/// The objects of one input, or of all.
#[derive(Debug, Default)]
pub struct Objects {
    pools: Vec<Pool>,
    /// Group, kind and name of each object that is not a NodePool, and whether it selects capacity reservations.
    others: Vec<([String; 3], bool)>,
    /// Whether something could not be read.
    is_missing_some: bool,
}

#[derive(Debug)]
struct Pool {
    version: ApiVersion,
    /// The fields that the rules use.
    object: Json<'static>,
    document: usize,
    path: FieldPath,
    here: Elsewhere,
    input: Identity,
    /// Where its file is, which has the policy.
    folder: PathBuf,
}

impl Together {
    /// The findings of an input.
    pub fn findings_in(&self, input: &Input) -> Option<&OfInput> {
        self.0.get(&input.identity())
    }

    /// Checks all objects together.
    pub fn among(objects: &Objects, classes: &NodeClasses, projects: &Projects) -> Self {
        let views: Vec<NodePool<'_>> = objects
            .pools
            .iter()
            .map(|pool| NodePool::view(pool.version, &pool.object))
            .collect();
        let labels: Vec<&LabelSets> = objects
            .pools
            .iter()
            .map(|pool| &projects.for_folder(&pool.folder).policy.labels)
            .collect();
        let findings = across::check(across::Together {
            pools: &views,
            labels: &labels,
            classes,
            is_complete: !objects.is_missing_some,
        });
        let mut together: HashMap<Identity, OfInput> = HashMap::new();
        for finding in findings {
            let Some(pool) = objects.pools.get(finding.pool) else {
                continue;
            };
            let others = finding
                .others
                .iter()
                .filter_map(|place| objects.pools.get(*place));
            let of_input = together.entry(pool.input.clone()).or_default();
            let of_object = of_input.entry((pool.document, pool.path.clone())).or_default();
            of_object.push(Across {
                diagnostic: finding.diagnostic,
                others: others.map(|pool| pool.here.clone()).collect(),
            });
        }
        Self(together)
    }
}

impl Objects {
    /// The objects of all inputs, in their order.
    pub fn collect(manifests: &Manifests) -> Self {
        let mut all = Self::default();
        let read = |input: &Input| Self::collect_from(input, manifests);
        let mut take = |objects: Self| {
            all.pools.extend(objects.pools);
            all.others.extend(objects.others);
            all.is_missing_some |= objects.is_missing_some;
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(()) = parallel::in_order(&manifests.inputs, read, &mut take);
        all
    }

    /// The kinds of node class to which NodePools refer, by group.
    pub fn class_kinds(&self) -> BTreeSet<(String, String)> {
        let pools = self.pools.iter();
        pools
            .filter_map(|pool| {
                let view = NodePool::view(pool.version, &pool.object);
                let (group, kind, _) = view.template.node_class()?;
                Some((group.to_owned(), kind.to_owned()))
            })
            .collect()
    }

    /// The node classes among the others.
    pub fn classes(&self) -> NodeClasses {
        let mut classes = NodeClasses::new(ClassSource::Input);
        for ([group, kind, name], has_reservations) in &self.others {
            classes.add(group, kind, [name.clone()]);
            if *has_reservations {
                classes.add_reservations(group, kind, name);
            }
        }
        if self.is_missing_some {
            classes.is_missing_some();
        }
        classes
    }

    /// The objects of one input. If it cannot be read, that is reported when the input is checked.
    fn collect_from(input: &Input, manifests: &Manifests) -> Self {
        let mut objects = Self::default();
        let text = match manifests.read(input) {
            Ok(text) => text,
            Err(why) => {
                objects.is_missing_some = matches!(why, Unread::Failed(_));
                return objects;
            }
        };
        let lines = Lines::new(&text.text);
        for document in text.documents(&Limits::default()) {
            match document.class {
                Class::Objects => {}
                // It repeats a part of an object in another file.
                Class::Patch => continue,
                Class::Template(_)
                | Class::Broken
                | Class::Unrelated
                | Class::Encrypted
                | Class::HelmTemplate => {
                    objects.is_missing_some = true;
                    continue;
                }
            }
            let value = document.document.value();
            let subjects = Subjects::find(value, text.whole, manifests.karpenter_of(input));
            objects.is_missing_some |= !subjects.unserved.is_empty();
            for checked in &subjects.checked {
                objects.pool(input, (document.number, &document.document), checked, &lines);
            }
            for other in &subjects.others {
                objects.other(*other);
            }
        }
        objects
    }

    fn pool(
        &mut self,
        input: &Input,
        (number, document): (usize, &Document<'_>),
        checked: &Checked<'_>,
        lines: &Lines<'_>,
    ) {
        let Subject::NodePool(version) = checked.subject else {
            return;
        };
        let spec = checked.value.get("spec").unwrap_or(&Json::Null);
        let metadata = checked.value.get("metadata").unwrap_or(&Json::Null);
        if !document.variables().is_empty() && (is_open(spec) || is_open(metadata)) {
            self.is_missing_some = true;
            return;
        }
        let metadata = ["name", "deletionTimestamp"]
            .into_iter()
            .filter_map(|key| Some((key.into(), metadata.get(key)?.clone())));
        let metadata = Json::Object(metadata.collect());
        let object = [("metadata".into(), metadata), ("spec".into(), spec.clone())];
        let name = checked.path_of(&FieldPath::of(&["metadata", "name"]));
        let span = edit::span_at(document, &name, &ErrorType::Required);
        self.pools.push(Pool {
            version,
            object: Json::Object(object.into_iter().collect()).into_owned(),
            document: number,
            path: checked.path.clone(),
            folder: input.folder().to_owned(),
            input: input.identity(),
            here: Elsewhere {
                object: checked.object(),
                file: input.name.clone(),
                place: edit::located(span, lines),
            },
        });
    }

    fn other(&mut self, other: Claimed<'_>) {
        let name = FieldPath::of(&["metadata", "name"]).find(other.value);
        let group = other.version.and_then(|version| version.split_once('/'));
        let (Some((group, _)), Some(kind), Some(name)) = (group, other.kind, name.and_then(Json::as_str))
        else {
            return;
        };
        self.is_missing_some |= manifest::has_variable(name);
        let terms = FieldPath::of(&["spec", "capacityReservationSelectorTerms"]).find(other.value);
        let has_reservations = terms
            .and_then(Json::as_array)
            .is_some_and(|terms| !terms.is_empty());
        self.others
            .push(([group, kind, name].map(str::to_owned), has_reservations));
    }
}
