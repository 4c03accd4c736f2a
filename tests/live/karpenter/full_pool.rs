//! A pool with as many busy nodes as it may have, all that happens to them, and what must never happen.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::guarded::Guarded;
use crate::support::karpenter::look::{annotation, condition};
use crate::support::karpenter::objects::one_pod_a_node;
use crate::support::recording::{Change, Recording, counts, deleted_in_order, is_going, name};

/// By when Karpenter ends a drain, whatever the pods say.
const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// The pool, and a recording of it from its beginning.
pub struct FullPool<'g> {
    guarded: &'g Guarded,
    pub name: String,
    limit: usize,
    pods: usize,
    pool: Recording,
    pub claims: Recording,
    pub nodes: Recording,
}

/// One of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub claim: String,
    pub node: String,
}

/// How long after a beginning a node was deleted, was gone, and had a successor that was initialized.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
pub struct Replaced {
    pub deleted: Duration,
    gone: Duration,
    initialized: Duration,
}

impl<'g> FullPool<'g> {
    /// Creates a pool and so many pods, each of which needs one of its nodes to itself.
    pub fn fill(guarded: &'g Guarded, pool: &Value, limit: usize) -> Self {
        let pods = u32::try_from(limit).expect("a number of pods");
        let deployment = one_pod_a_node(name(pool), name(pool), pods);
        Self::fill_with(guarded, pool, limit, &deployment)
    }

    /// Creates a pool and a Deployment of the same name that fills it.
    pub fn fill_with(guarded: &'g Guarded, pool: &Value, limit: usize, deployment: &Value) -> Self {
        let (cluster, name) = (&guarded.cluster, name(pool).to_owned());
        let pods = deployment["spec"]["replicas"].as_u64();
        let pods = pods
            .and_then(|pods| pods.try_into().ok())
            .expect("a number of pods");
        let filled = Self {
            guarded,
            limit,
            pods,
            pool: cluster.record_pool(&name),
            claims: cluster.record_claims(&name),
            nodes: cluster.record_nodes(&name),
            name,
        };
        cluster.create_pool(pool);
        cluster.deploy(deployment);
        filled.wait_until_full_without(&BTreeSet::new());
        filled
    }

    /// Its nodes, by the names of their NodeClaims.
    pub fn members(&self) -> Vec<Member> {
        let claims = self.guarded.cluster.claims(&self.name);
        let member = |claim: &Value| Member {
            claim: name(claim).to_owned(),
            node: claim["status"]["nodeName"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        };
        let mut members: Vec<_> = claims.iter().map(member).collect();
        members.sort();
        members
    }

    /// Waits until there are as many nodes as may be, all of them with their pods, and none of these among them.
    #[track_caller]
    pub fn wait_until_full_without(&self, old: &BTreeSet<String>) {
        let what = format!("{} to be full without {old:?}", self.name);
        self.guarded.wait_for(&what, |cluster| {
            let claims = cluster.claims(&self.name);
            let is_new = |claim: &Value| !old.contains(name(claim)) && is_ready(claim);
            let is_full = claims.len() == self.limit && claims.iter().all(is_new);
            (is_full && cluster.pods_in_phase(&self.name, "Running") == self.pods).then_some(())
        });
    }

    /// Waits until a node is replaced, and says how long after `begun` each part of that was.
    #[track_caller]
    pub fn wait_until_replaced(&self, member: &Member, begun: Instant) -> Replaced {
        self.wait_until_full_without(&BTreeSet::from([member.claim.clone()]));
        let changes = self.claims.changes(self.guarded.cluster.client());
        let first = |what: &str, is: &dyn Fn(&Change) -> bool| {
            let found = changes.iter().find(|change| change.at >= begun && is(change));
            let found = found.unwrap_or_else(|| panic!("nothing {what}\n{}", self.guarded.story()));
            found.at - begun
        };
        let is_it = |change: &Change| name(&change.object) == member.claim;
        let known: BTreeSet<_> = changes
            .iter()
            .filter(|change| change.at < begun)
            .map(|change| name(&change.object))
            .collect();
        Replaced {
            deleted: first("deleted", &|change| is_it(change) && is_going(&change.object)),
            gone: first("gone", &|change| is_it(change) && change.gone),
            initialized: first("initialized", &|change| {
                !known.contains(name(&change.object)) && is_ready(&change.object)
            }),
        }
    }

    /// Each `spec.limits.nodes` that was written since `begun`.
    pub fn limits_since(&self, begun: Instant) -> Vec<String> {
        let changes = self.pool.changes(self.guarded.cluster.client());
        let limit = |change: &Change| (change.at, text_of(&change.object["spec"]["limits"]["nodes"]));
        let mut limits: Vec<_> = changes.iter().map(limit).collect();
        limits.dedup_by(|later, before| later.1 == before.1);
        let since = limits.into_iter().filter(|(at, _)| *at >= begun);
        since.map(|(_, limit)| limit).collect()
    }

    /// The NodeClaims that were deleted so far, in that order.
    pub fn deleted(&self) -> Vec<String> {
        deleted_in_order(&self.claims.changes(self.guarded.cluster.client()))
    }

    /// What holds at every moment: never more nodes than may be, and no deadline on a NodeClaim that lives. Karpenter never
    /// takes that off again, so a later drain would kill pods past it.
    #[track_caller]
    pub fn assert_sound(&self) {
        assert_eq!(
            self.guarded.most(&self.claims),
            self.limit,
            "{}",
            self.guarded.story()
        );
        self.assert_no_deadline_of_the_living();
    }

    /// The second half of that.
    #[track_caller]
    pub fn assert_no_deadline_of_the_living(&self) {
        for change in self.claims.changes(self.guarded.cluster.client()) {
            let claim = &change.object;
            let is_due = annotation(claim, DEADLINE).is_some();
            assert!(!is_due || is_going(claim), "{claim}\n{}", self.guarded.story());
        }
    }

    /// The deadline that a NodeClaim was given last, if it was given one.
    pub fn deadline(&self, member: &Member) -> Option<String> {
        let changes = self.claims.changes(self.guarded.cluster.client());
        let mut of_it = changes
            .iter()
            .filter(|change| name(&change.object) == member.claim);
        let last = of_it.next_back()?;
        annotation(&last.object, DEADLINE).map(str::to_owned)
    }

    /// The fewest nodes of use at one time since `begun`: initialized, and not being deleted.
    pub fn fewest_ready(&self, begun: Instant) -> usize {
        let changes = self.claims.changes(self.guarded.cluster.client());
        let history = counts(&changes, is_ready);
        let before = history.iter().rev().find(|(at, _)| *at < begun);
        let since = history.iter().filter(|(at, _)| *at >= begun);
        let counts = before.into_iter().chain(since).map(|(_, count)| *count);
        counts.min().unwrap_or_default()
    }

    /// Whether a node ever carried poolgate's mark against repair.
    pub fn was_marked_against_repair(&self, node: &str) -> bool {
        let changes = self.nodes.changes(self.guarded.cluster.client());
        let mut of_it = changes.iter().filter(|change| name(&change.object) == node);
        of_it.any(|change| is_marked_against_repair(&change.object))
    }

    /// Waits until a node carries that mark, or no longer does.
    #[track_caller]
    pub fn wait_until_marked_against_repair(&self, node: &str, marked: bool) {
        let what = format!("{node} to be marked against repair: {marked}");
        self.guarded.wait_for(&what, |cluster| {
            let nodes = cluster.nodes(&self.name);
            let node = nodes.iter().find(|found| name(found) == node)?;
            (is_marked_against_repair(node) == marked).then_some(())
        });
    }

    /// Makes the pool say what becomes of its nodes at the limit.
    pub fn at_limit(&self, choice: &str) {
        let change = json!({"metadata": {"annotations": {"poolgate.dev/at-limit": choice}}});
        let path = format!("/apis/karpenter.sh/v1/nodepools/{}", self.name);
        self.guarded.cluster.client().merge(&path, &change);
    }

    /// Waits for an event about the pool, and returns its message.
    #[track_caller]
    pub fn wait_for_event(&self, reason: &str) -> String {
        self.guarded.wait_for(&format!("an event {reason}"), |cluster| {
            let events = cluster.events(&self.name, reason);
            Some(events.first()?["message"].as_str()?.to_owned())
        })
    }
}

/// A quantity, which may be a number or a text.
fn text_of(quantity: &Value) -> String {
    quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), str::to_owned)
}

/// Whether a NodeClaim has a node of use.
pub fn is_ready(claim: &Value) -> bool {
    condition(claim, "Initialized") == "True" && !is_going(claim)
}

fn is_marked_against_repair(node: &Value) -> bool {
    let held_for = annotation(node, "poolgate.dev/held-for").unwrap_or_default();
    let is_ours = held_for.split(',').any(|reason| reason == "repair");
    is_ours && annotation(node, "karpenter.sh/do-not-repair") == Some("true")
}
