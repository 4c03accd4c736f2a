//! The two API servers that are compared, and what each says of an object.

use kube::Error;
use kube::core::Status;
use poolgate_core::manifest::{Limits, parse};
use serde_json::{Value, json};

use super::cases::Case;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::crds::{V1, karpenter_crd};
use crate::support::poolgate::Poolgate;
use crate::support::wait::wait_for;

const DEFINITION: &str = "karpenter.sh_nodepools.yaml";

const COLLECTION: &str = "/apis/karpenter.sh/v1/nodepools";

const DRY_RUN: &str = "?dryRun=All";

/// An API server, and the stored object of every update case.
pub struct Side {
    plane: ControlPlane,
    client: Client,
    stored: Vec<Option<Value>>,
}

/// What a side says of a case.
#[derive(Debug)]
pub enum Verdict {
    Admitted,
    Denied(Denial),
}

#[derive(Debug)]
pub struct Denial {
    pub message: String,
    /// The rules that poolgate names; none where the API server rejects by itself.
    pub rules: Vec<String>,
}

impl Side {
    /// An API server with definitions that check types alone. They let every old object be stored.
    pub fn unchecked(cases: &[Case]) -> Self {
        let plane = ControlPlane::start();
        plane.install_crd(&types_alone(&karpenter_crd(V1, DEFINITION)));
        let client = Client::of(&plane);
        let stored = cases.iter().map(|case| {
            let old = case.old.as_ref()?;
            let stored = client.try_create(COLLECTION, old);
            Some(stored.unwrap_or_else(|error| panic!("{}: the old object is denied: {error}", case.name)))
        });
        let stored = stored.collect();
        Self {
            plane,
            client,
            stored,
        }
    }

    /// Puts the definition in force as it was published, and waits until it is.
    pub fn check_all(&mut self) {
        self.plane.install_karpenter_crds(V1);
        let no_spec = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "no-spec"},
        });
        wait_for("the published definition to be in force", || {
            let answer = self
                .client
                .try_create(&format!("{COLLECTION}{DRY_RUN}"), &no_spec);
            answer.is_err().then_some(())
        });
    }

    /// Puts poolgate behind both webhooks.
    pub fn ask(&self, poolgate: &Poolgate) {
        self.plane.register_webhooks(&poolgate.base_url(), &poolgate.ca());
    }

    /// What this side says of every case.
    pub fn verdicts(&mut self, cases: &[Case]) -> Vec<Verdict> {
        let numbered = cases.iter().enumerate();
        numbered
            .map(|(number, case)| self.verdict(number, case))
            .collect()
    }

    fn verdict(&mut self, number: usize, case: &Case) -> Verdict {
        let mut object = case.new.clone();
        let metadata = &mut object["metadata"];
        let answer = match &self.stored[number] {
            None => {
                metadata["uid"] = Value::Null;
                metadata["resourceVersion"] = Value::Null;
                self.client.try_create(&format!("{COLLECTION}{DRY_RUN}"), &object)
            }
            Some(stored) => {
                metadata["uid"] = stored["metadata"]["uid"].clone();
                metadata["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
                let name = stored["metadata"]["name"].as_str().expect("an object has a name");
                self.client
                    .try_replace(&format!("{COLLECTION}/{name}{DRY_RUN}"), &object)
            }
        };
        match answer {
            Ok(_) => Verdict::Admitted,
            Err(Error::Api(status)) => Verdict::Denied(denial(*status)),
            Err(error) => panic!("{}: {error}", case.name),
        }
    }
}

/// The rule in a message: the first brackets around a name, before the help.
fn rule(message: &str) -> Option<&str> {
    let mut brackets = message
        .split(" [")
        .skip(1)
        .filter_map(|rest| rest.split_once(']'));
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())
    };
    let named = brackets.find(|(name, rest)| is_name(name) && rest.starts_with(['.', ' ']));
    named.map(|(name, _)| name)
}

fn denial(status: Status) -> Denial {
    let message = status.message;
    let by_poolgate = message.contains("poolgate.dev\" denied the request");
    let causes = status.details.into_iter().flat_map(|details| details.causes);
    let mut rules: Vec<String> = causes
        .filter(|_| by_poolgate)
        .filter_map(|cause| rule(&cause.message).map(str::to_owned))
        .collect();
    rules.sort();
    rules.dedup();
    Denial { message, rules }
}

/// A definition without everything in its schemas that is neither a type nor a default, and without the scale
/// subresource, which has limits of its own on the replicas.
fn types_alone(manifest: &str) -> String {
    let mut documents = parse(manifest, &Limits::default());
    let document = documents.next().expect("a definition is one document");
    assert_eq!(document.problems(), []);
    let mut definition = document.into_value();
    let versions = definition["spec"]["versions"].as_array_mut();
    for version in versions.expect("a definition has versions") {
        strip(&mut version["schema"]["openAPIV3Schema"]);
        if let Some(subresources) = version["subresources"].as_object_mut() {
            subresources.remove("scale");
        }
    }
    definition.to_string()
}

/// What remains is named, so that a keyword of a later release goes too.
fn strip(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    keywords.retain(|keyword, _| {
        matches!(
            keyword.as_str(),
            "type"
                | "default"
                | "properties"
                | "items"
                | "additionalProperties"
                | "x-kubernetes-int-or-string"
                | "x-kubernetes-map-type"
        )
    });
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(|map| map.values_mut())
        .for_each(strip);
    for keyword in ["items", "additionalProperties"] {
        keywords.get_mut(keyword).into_iter().for_each(strip);
    }
}

#[test]
fn only_types_and_defaults_remain_of_a_definition() {
    let stripped = types_alone(&karpenter_crd(V1, DEFINITION));
    for keyword in [
        "pattern",
        "enum",
        "maxItems",
        "required",
        "format",
        "x-kubernetes-validations",
    ] {
        assert!(!stripped.contains(&format!("\"{keyword}\":")), "{keyword}");
    }
    for kept in [
        r#""default":"10%""#,
        r#""budgets":"#,
        r#""x-kubernetes-int-or-string":true"#,
    ] {
        assert!(stripped.contains(kept), "{kept}");
    }
}
