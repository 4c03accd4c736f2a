//! The Deployments of the manifests: how many of their pods are ready.

use serde::Serialize;

use super::facts::Facts;

/// What issues certificates and fills `caBundle`, unless something else does.
pub const ISSUER: &str = "poolgate-certificates";

/// The Deployments, each with the consequence of having no ready pod.
pub const DEPLOYMENTS: [(&str, &str); 4] = [
    ("poolgate", "no NodePool is checked"),
    (ISSUER, "nothing fills caBundle or renews certificates"),
    ("poolgate-gate", "no NodeClaim is counted"),
    (
        "poolgate-reconciler",
        "no node is held, unheld, terminated or replaced",
    ),
];

/// How many pods of a Deployment are ready.
#[derive(Debug, Serialize)]
pub struct DeploymentReport {
    pub name: String,
    pub ready: i32,
    pub wanted: i32,
}

/// The reports on all that exist; `None` if they could not be read.
pub fn of_deployments(facts: &Facts) -> Option<Vec<DeploymentReport>> {
    let found = facts.deployments.as_ref().ok()?.iter();
    let reports = found.map(|found| DeploymentReport {
        name: found.metadata.name.to_string(),
        ready: found.status.ready_replicas.unwrap_or_default(),
        wanted: found.spec.replicas.unwrap_or_default(),
    });
    Some(reports.collect())
}

/// Which of them have no ready pod, and which are missing although webhooks call their pods.
pub fn problems(facts: &Facts, reports: &[DeploymentReport]) -> Vec<String> {
    let namespace = &facts.namespace;
    let called = |name: &str| {
        let services = facts.webhooks.iter().flatten();
        let mut services = services.filter_map(|webhook| webhook.client_config.service.as_ref());
        services.any(|service| service.name == name && service.namespace == *namespace)
    };
    let problem = |(name, then): (&str, &str)| {
        let report = reports.iter().find(|report| report.name == name);
        match report {
            Some(DeploymentReport { ready: 0, wanted, .. }) => Some(format!(
                "Deployment {name}: 0 of {wanted} pods are ready, so {then}. See: kubectl get pods \
                 --namespace={namespace}"
            )),
            None if called(name) => Some(format!(
                "Deployment {name} does not exist in namespace {namespace}, but webhooks call its pods, so {then}"
            )),
            _ => None,
        }
    };
    DEPLOYMENTS.into_iter().filter_map(problem).collect()
}
