//! Which nodes of frozen NodePools are marked, and whether a reconciler marks the others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use poolgate_core::facts::NODEPOOL_LABEL;
use poolgate_core::nodelimit::plan::ClaimState;
use serde_json::Value;

use crate::cluster::leases_path;
use crate::cluster::objects::{DeploymentObject, NODE_CLAIMS, NODES, NodeObject};
use crate::status::facts::{KnownClaim, KnownNode, Read};
use crate::status::look::Look;
use crate::status::reconciler::{DEPLOYMENT, Reconciler};

/// Whether a reconciler that writes leads. One with `--observe` never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    Now,
    /// Not now, but one is installed.
    Soon,
    Never,
}

/// The nodes of some NodePools.
#[derive(Debug)]
pub struct Marked {
    pub leads: Leads,
    /// The names of those that have the mark of a freeze.
    pub held: Vec<String>,
    /// The names of those that a freeze marks, and that are not marked.
    pub open: Vec<String>,
    /// How many others a user protects.
    pub users: usize,
}

impl Leads {
    pub async fn look(look: &Look<'_>, namespace: &str) -> Self {
        let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        let leases = leases_path(look.ledger_namespace);
        let (lease, deployment) = tokio::join!(
            look.get::<Lease>(&leases, DEPLOYMENT),
            look.get::<DeploymentObject>(&deployments, DEPLOYMENT),
        );
        Self::of(&lease, &deployment, Timestamp::now())
    }

    /// What could not be read may come.
    fn of(lease: &Read<Option<Lease>>, deployment: &Read<Option<DeploymentObject>>, now: Timestamp) -> Self {
        let writes =
            |one: &DeploymentObject| !one.spec.template.spec.observes() && one.spec.replicas != Some(0);
        let holder = lease
            .as_ref()
            .map(|lease| lease.clone().map(|lease| Reconciler::of(lease, now)));
        match (holder, deployment) {
            (Ok(Some(found)), Ok(deployment)) if found.clone().among(deployment.as_slice()).leads => {
                Self::Now
            }
            (Ok(Some(found)), Err(_)) if found.leads => Self::Now,
            (Ok(_), Ok(Some(deployment))) if writes(deployment) => Self::Soon,
            (Ok(_), Ok(_)) => Self::Never,
            _ => Self::Soon,
        }
    }
}

impl Marked {
    pub async fn look(look: &Look<'_>, pools: &[&str]) -> Read<Self> {
        let of_pools = ListParams::default().labels(&format!("{NODEPOOL_LABEL} in ({})", pools.join(",")));
        let (claims, nodes) = tokio::try_join!(
            look.list::<Value>(NODE_CLAIMS, of_pools.clone()),
            look.list::<NodeObject>(NODES, of_pools),
        )?;
        let claims: Vec<_> = claims.iter().filter_map(KnownClaim::of).collect();
        let nodes: Vec<_> = nodes.into_iter().filter_map(KnownNode::of).collect();
        Ok(Self::of(&claims, &nodes))
    }

    fn of(claims: &[KnownClaim], nodes: &[KnownNode]) -> Self {
        let by_name: BTreeMap<&str, &KnownNode> =
            nodes.iter().map(|known| (&*known.node.name, known)).collect();
        let (mut open, mut users) = (Vec::new(), 0);
        for known in claims {
            let name = known.details.node_name.as_deref();
            let node = name.and_then(|name| by_name.get(name));
            let state = ClaimState {
                claim: &known.claim,
                node: node.map(|known| &*known.node),
                tries: None,
                pods: Vec::new(),
            };
            let is_marked = node.is_some_and(|known| {
                let marks = known.node.marks;
                marks.held_for().freeze && marks.do_not_disrupt
            });
            if state.needs_freeze() && !is_marked {
                open.push(known.node_or_claim().to_owned());
            } else if state.is_candidate() && !state.needs_freeze() {
                users += 1;
            }
        }
        let held = nodes.iter().filter(|known| known.node.marks.held_for().freeze);
        let held: Vec<String> = held.map(|known| known.node.name.to_string()).collect();
        Self {
            leads: Leads::Soon,
            held,
            open,
            users,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn lease(ago: i64) -> Lease {
        let renewed = format!("{:.6}", Timestamp::UNIX_EPOCH - SignedDuration::from_secs(ago));
        let spec = json!({"holderIdentity": "poolgate-reconciler-a", "renewTime": renewed, "leaseDurationSeconds": 15});
        serde_json::from_value(json!({ "spec": spec })).expect("a Lease")
    }

    fn deployment(replicas: i32, argument: &str) -> DeploymentObject {
        let template = json!({"spec": {"containers": [{"args": ["reconcile", argument]}]}});
        let object =
            json!({"metadata": {"name": DEPLOYMENT}, "spec": {"replicas": replicas, "template": template}});
        serde_json::from_value(object).expect("a Deployment")
    }

    #[test]
    fn a_reconciler_that_writes_leads_now_soon_or_never() {
        let unread = || Err("forbidden".to_owned());
        for (lease, deployment, leads) in [
            (Ok(Some(lease(5))), Ok(Some(deployment(2, "-v"))), Leads::Now),
            (Ok(Some(lease(60))), Ok(Some(deployment(2, "-v"))), Leads::Soon),
            (Ok(None), Ok(Some(deployment(2, "-v"))), Leads::Soon),
            (Ok(None), Ok(Some(deployment(0, "-v"))), Leads::Never),
            (
                Ok(Some(lease(60))),
                Ok(Some(deployment(2, "--observe"))),
                Leads::Never,
            ),
            (Ok(Some(lease(5))), Ok(None), Leads::Never),
            (Ok(None), Ok(None), Leads::Never),
            (Ok(Some(lease(5))), Err("forbidden".into()), Leads::Now),
            (Ok(Some(lease(60))), Err("forbidden".into()), Leads::Soon),
            (unread(), Ok(None), Leads::Soon),
        ] {
            let found = Leads::of(&lease, &deployment, Timestamp::UNIX_EPOCH);
            assert_eq!(found, leads, "{lease:?} {deployment:?}");
        }
    }

    #[test]
    fn nodes_are_counted_as_marked_open_or_a_users() {
        let claim = |name: &str, initialized: &str| {
            KnownClaim::of(&json!({
                "metadata": {"name": name, "uid": name, "labels": {NODEPOOL_LABEL: "general"}},
                "status": {"nodeName": name, "conditions": [{"type": "Initialized", "status": initialized}]},
            }))
            .expect("a claim")
        };
        let node = |name: &str, annotations: &Value| {
            let labels = json!({NODEPOOL_LABEL: "general"});
            let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
            let object = serde_json::from_value(json!({ "metadata": metadata })).expect("a node");
            KnownNode::of(object).expect("a node of a pool")
        };
        let users = json!({"karpenter.sh/do-not-disrupt": "true"});
        let ours = |held_for: &str| json!({"karpenter.sh/do-not-disrupt": "true", "poolgate.dev/held-for": held_for});
        let claims = ["open", "limit", "frozen", "users"].map(|name| claim(name, "True"));
        let starting = [claim("starting", "False")];
        let nodes = [
            node("open", &json!({})),
            node("limit", &ours("node-limit")),
            node("frozen", &ours("node-limit,freeze")),
            node("users", &users),
            node("starting", &json!({})),
        ];
        let marked = Marked::of(&[&claims[..], &starting].concat(), &nodes);
        assert_eq!(
            (marked.open, marked.held),
            (vec!["open".into(), "limit".into()], vec!["frozen".into()])
        );
        assert_eq!(marked.users, 1);
    }
}
