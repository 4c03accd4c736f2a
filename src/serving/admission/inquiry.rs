//! An inquiry is a dry run of a creation under one name. The webhook answers with its self report in a warning. So
//! `poolgate status` learns that the API server reaches a webhook, and which policy reviews there.

use std::fmt::Write as _;
use std::sync::Arc;

use super::envelope::{AdmissionRequest, Operation};
use crate::cluster::view::ClusterView;
use crate::runtime::policy_watch::PolicyInForce;
use crate::serving::certs::Current;

/// The name of the object in an inquiry. It is never stored.
pub const NAME: &str = "poolgate-status";

/// The beginning of the warning.
pub const BEGINNING: &str = "poolgate-status ";

/// The self report of a server.
#[derive(Debug, Clone)]
pub struct About {
    /// The policy that it reviews with, if it reviews.
    pub policy: Option<PolicyInForce>,
    /// Its view of the cluster.
    pub view: Arc<ClusterView>,
    /// The certificate that it shows.
    pub certificate: Arc<Current>,
}

impl About {
    /// The warning of the webhook at a path, with its decision.
    pub fn warning(&self, webhook: &str, decision: &str) -> String {
        let mut text = format!(
            "{BEGINNING}path=/{webhook} decision={decision} version={} karpenter={}",
            env!("CARGO_PKG_VERSION"),
            self.view.karpenter().release(),
        );
        if let Some(policy) = &self.policy {
            let loaded = policy.load();
            let _ = write!(text, " policy={}", loaded.sha256.as_deref().unwrap_or("built-in"));
        }
        if let Some(ends) = self.certificate.not_after() {
            let _ = write!(text, " certificate-ends={ends}");
        }
        text
    }
}

/// Whether a request is an inquiry.
pub fn is_inquiry(request: &AdmissionRequest<'_>) -> bool {
    request.dry_run && request.name == NAME && request.operation == Operation::Create
}

#[cfg(test)]
mod tests {
    use poolgate_core::policy::Policy;
    use serde_json::{Value, json};

    use super::*;
    use crate::review::{Endpoint, MutateVerdict, Reviewer};

    /// The response to the creation of a NodePool with many mistakes.
    fn response(name: &str, operation: &str, dry_run: bool) -> Value {
        let policy = PolicyInForce::from(Policy::default());
        let about = About {
            policy: Some(policy.clone()),
            view: Arc::default(),
            certificate: Arc::default(),
        };
        let reviewer = Reviewer::new(policy, Arc::default(), MutateVerdict::On).answering_inquiries(about);
        let body = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "review",
                "kind": {"group": "karpenter.sh", "version": "v1", "kind": "NodePool"},
                "operation": operation,
                "name": name,
                "object": {"metadata": {"name": name}, "spec": {"limits": {"memory": "-1Gi"}}},
                "dryRun": dry_run,
            },
        });
        let body = body.to_string();
        let answer = reviewer
            .respond(Endpoint::Validate, body.as_bytes())
            .expect("an answer");
        let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
        answer["response"].clone()
    }

    #[test]
    fn an_inquiry_by_a_dry_run_is_answered_and_nothing_else_is_checked() {
        let reported = response(NAME, "CREATE", true);
        let warning = reported["warnings"][0].as_str().expect("a warning");
        assert!(
            warning.starts_with("poolgate-status path=/validate decision=admitted version="),
            "{warning}"
        );
        assert!(warning.ends_with(" policy=built-in"), "{warning}");
        assert!(warning.chars().count() <= 256, "{warning}");
        assert_eq!(reported["allowed"], true);
    }

    #[test]
    fn what_may_be_stored_is_reviewed_whatever_its_name() {
        for (name, operation, dry_run) in [
            (NAME, "CREATE", false),
            (NAME, "UPDATE", true),
            ("poolgate-status-2", "CREATE", true),
        ] {
            let reviewed = response(name, operation, dry_run);
            assert_eq!(reviewed["allowed"], false, "{name} {operation} {dry_run}");
            assert_eq!(reviewed["warnings"], Value::Null);
        }
    }
}
