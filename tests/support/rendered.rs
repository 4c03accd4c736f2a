//! What `packaging/manifests` prints.

use std::collections::BTreeMap;
use std::process::Command;

use poolgate_core::manifest::{Limits, parse};
use serde_json::Value;

use super::assets::program;
use super::files::directory;
use super::process::{Outcome, run};
use super::program::root;

/// Objects by kind, namespace and name.
pub(crate) type Objects = BTreeMap<String, Value>;

/// The decision that every pod may call the gate, which profile gate requires.
pub(crate) const OPEN: &str = "--set=networkPolicy.enabled=false";

/// Runs `packaging/manifests`.
pub(crate) fn render(arguments: &[&str]) -> Outcome {
    let (home, helm) = (directory(&[]), program("helm"));
    let programs = helm.parent().expect("a directory").display();
    let mut command = Command::new(root().join("packaging/manifests"));
    let command = command
        .args(arguments)
        .env("HOME", home.path())
        .env("PATH", format!("{programs}:/usr/bin:/bin"));
    run(command, "")
}

/// A profile as one file. Unless the arguments say otherwise, every pod may call the gate.
#[track_caller]
pub(crate) fn rendered(profile: &str, arguments: &[&str]) -> String {
    render(&[&[profile, OPEN], arguments].concat()).success()
}

/// The values in a stream of YAML, in which nothing is wrong.
pub(crate) fn values(text: &str) -> impl Iterator<Item = Value> {
    parse(text, &Limits::default()).map(|document| {
        assert!(document.problems().is_empty(), "{:?}", document.problems());
        document.into_value()
    })
}

/// The objects of a stream of YAML, also those of its Lists.
pub(crate) fn objects(text: &str) -> Objects {
    values(text)
        .filter(|object| !object.is_null())
        .flat_map(|mut object| match object.get_mut("items") {
            Some(Value::Array(items)) => std::mem::take(items),
            _ => vec![object],
        })
        .map(|object| {
            let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let metadata = &object["metadata"];
            let name = [&object["kind"], &metadata["namespace"], &metadata["name"]].map(of);
            (name.join(" "), object)
        })
        .collect()
}
