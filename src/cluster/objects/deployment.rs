//! Deployments, and what their pods are started with.

use serde::Deserialize;

use super::{Metadata, Object, Texts};

/// The fields of a Deployment that are read.
pub type DeploymentObject = Object<Metadata<Texts>, DeploymentSpec, DeploymentStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentSpec {
    pub replicas: Option<i32>,
    pub template: Template,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    pub ready_replicas: Option<i32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Template {
    pub spec: Started,
}

/// The containers of a pod: how they are started.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Started {
    containers: Vec<Container>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Container {
    args: Option<Vec<String>>,
    env: Option<Vec<Variable>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Variable {
    name: Box<str>,
    value: Option<Box<str>>,
}

impl Started {
    /// The values of a variable of each container, then of the flag with its `=` that overrides it.
    pub fn settings<'s>(&'s self, variable: &'s str, flag: &'s str) -> impl Iterator<Item = &'s str> {
        self.containers.iter().flat_map(move |container| {
            let variables = container.env.iter().flatten();
            let variables = variables.filter(move |set| &*set.name == variable);
            let arguments = container.args.iter().flatten();
            let arguments = arguments.filter_map(move |argument| argument.strip_prefix(flag));
            variables
                .filter_map(|variable| variable.value.as_deref())
                .chain(arguments)
        })
    }

    /// Whether what is started in it only observes.
    pub fn observes(&self) -> bool {
        let is_yes = |value: &str| {
            let value = value.to_ascii_lowercase();
            ["y", "yes", "t", "true", "on", "1"].contains(&&*value)
        };
        let mut arguments = self.containers.iter().flat_map(|one| one.args.iter().flatten());
        arguments.any(|argument| argument == "--observe")
            || self.settings("POOLGATE_OBSERVE", "--observe=").any(is_yes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn observes(container: &Value) -> bool {
        let spec = json!({"containers": [{"name": "sidecar"}, container]});
        let spec: Started = serde_json::from_value(spec).expect("a spec");
        spec.observes()
    }

    #[test]
    fn a_pod_observes_if_its_flag_or_its_variable_says_so() {
        assert!(!observes(&json!({"args": ["reconcile"]})));
        assert!(!observes(&json!({"args": null, "env": null})));
        assert!(observes(&json!({"args": ["reconcile", "--observe"]})));
        let variable = |value: &str| json!({"env": [{"name": "POOLGATE_OBSERVE", "value": value}]});
        assert!(observes(&variable("true")) && observes(&variable("Yes")));
        assert!(!observes(&variable("false")) && !observes(&variable("")));
    }
}
