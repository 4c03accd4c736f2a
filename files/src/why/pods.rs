//! The pods that are asked about: those of a file, and those that its workloads would make.

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::pods::{Needs, PodSpec, Where};
use serde::Deserialize as _;
use serde_json::Value;

use super::Place;
use crate::input::{Applied, Reading};

pub(super) const PODS: Reading<'_> = Reading {
    takes: &|found| found.object.kind.and_then(path_of).is_some(),
    unknown: "the pod is unknown",
    needs_all: true,
};

/// A pod, or what makes it.
#[derive(Debug)]
pub struct Asked {
    /// The kind of the object.
    pub kind: String,
    /// Its namespace, if it says one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Where it stands; `None` for one of a cluster.
    pub at: Option<Place>,
    /// What its pods need.
    pub needs: Needs,
    /// Where each wish about labels stands; empty in a cluster, where its path says that.
    pub places: Vec<(Where, Place)>,
}

/// Where a kind of object has its pod; `None` if it has none.
fn path_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &[],
        "Deployment" | "StatefulSet" | "ReplicaSet" | "Job" | "DaemonSet" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        _ => return None,
    })
}

/// Adds the pod that an object makes: to those that are asked about, or to those that run on every node. Fails if its spec
/// cannot be read.
pub(super) fn add(
    applied: &Applied<'_, '_>,
    asked: &mut Vec<Asked>,
    daemons: &mut Vec<Needs>,
) -> Result<(), String> {
    let object = Value::from(applied.found.object.value);
    let kind = applied.found.object.kind.unwrap_or_default();
    let Some(path) = path_of(kind) else { return Ok(()) };
    let template = FieldPath::of(path);
    let spec = template.clone().key("spec").find_value(&object);
    let spec = spec.map(PodSpec::deserialize).transpose();
    let spec = spec
        .map_err(|error| format!("its spec cannot be read: {error}"))?
        .unwrap_or_default();
    let needs = spec.needs(&mut |name| name.into());
    if kind == "DaemonSet" {
        daemons.push(needs);
        return Ok(());
    }
    let text = |field: &str| {
        let value = object
            .pointer(&format!("/metadata/{field}"))
            .and_then(Value::as_str);
        value.map(str::to_owned)
    };
    let places = needs.places().map(|place| {
        let path = template
            .segments()
            .iter()
            .chain(place.path().segments())
            .cloned()
            .collect();
        let line = Place::of(applied, &path);
        (place, line)
    });
    asked.push(Asked {
        kind: kind.to_owned(),
        namespace: text("namespace"),
        name: text("name").or_else(|| text("generateName")).unwrap_or_default(),
        at: Some(Place::of(applied, &FieldPath::root())),
        places: places.collect(),
        needs,
    });
    Ok(())
}

impl Asked {
    /// Where a wish stands, in words.
    pub(super) fn place(&self, wish: &Where) -> String {
        let found = self.places.iter().find(|(own, _)| own == wish);
        found.map_or_else(|| wish.path().to_string(), |(_, place)| place.to_string())
    }
}
