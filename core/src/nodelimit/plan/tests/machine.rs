//! Claims, nodes and pods that tests put into a pool.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::super::*;
use super::world::{minutes, noon};
use crate::karpenter::DISRUPTED_TAINT;

/// A claim with its node and pods.
#[derive(Debug, Clone)]
pub struct Machine {
    pub claim: Claim,
    pub node: Option<Node>,
    pub tries: Option<Tries>,
    pub pods: Vec<Pod>,
}

impl Machine {
    /// A launched and initialized claim `claim-N` with an empty node `node-N` of 4 CPUs; higher numbers are
    /// younger.
    pub fn new(number: usize) -> Self {
        let age = i64::try_from(10_000 - number).unwrap();
        let node = Node {
            name: Arc::from(format!("node-{number}")),
            uid: Arc::from(format!("node-uid-{number}")),
            labels: Arc::new(BTreeMap::from([(
                "kubernetes.io/hostname".to_owned(),
                format!("node-{number}"),
            )])),
            taints: Arc::default(),
            is_cordoned: false,
            is_ready: true,
            allocatable: Arc::new(Resources::given([("cpu", "4"), ("memory", "8Gi"), (PODS, "20")])),
            marks: Marks::default(),
            conditions: 0,
        };
        Self {
            claim: Claim {
                name: Arc::from(format!("claim-{number}")),
                uid: Arc::from(format!("uid-{number}")),
                created: noon() - SignedDuration::from_secs(age * 10),
                deleted: None,
                is_launched: true,
                expire_after: None,
                has_grace_period: false,
                has_deadline: false,
                conditions: Conditions {
                    initialized: true,
                    consolidatable: true,
                    ..Conditions::default()
                },
            },
            node: Some(node),
            tries: None,
            pods: Vec::new(),
        }
    }

    /// A claim that was just created: no machine, no node.
    pub fn unlaunched(number: usize) -> Self {
        let mut machine = Self::new(number);
        machine.node = None;
        machine.claim.is_launched = false;
        machine.claim.conditions = Conditions::default();
        machine.claim.created = noon() - SignedDuration::from_secs(1);
        machine
    }

    pub fn with_pod(self, cpu: &str) -> Self {
        self.with(pod(cpu))
    }

    pub fn with(mut self, pod: Pod) -> Self {
        self.pods.push(pod);
        self
    }

    pub fn drifted(mut self) -> Self {
        self.claim.conditions.drifted = true;
        self
    }

    /// Karpenter has begun to disrupt it.
    pub fn disrupted(mut self, since: Timestamp) -> Self {
        let is_repair = false;
        self.claim.conditions.disruption = Some(Disruption { since, is_repair });
        self.tainted()
    }

    /// Karpenter has tainted it, but has not written since when, or is of a release that never does.
    pub fn tainted(mut self) -> Self {
        let taint = Taint {
            key: DISRUPTED_TAINT.to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
        };
        self.node.as_mut().unwrap().taint(taint);
        self
    }

    pub fn deleted(mut self) -> Self {
        self.claim.deleted = Some(noon() - minutes(5));
        self
    }

    pub fn marked(mut self, marks: Marks) -> Self {
        self.node.as_mut().unwrap().marks = marks;
        self
    }

    pub fn held(self) -> Self {
        self.marked(HELD)
    }

    pub fn state(&self) -> ClaimState<'_> {
        ClaimState {
            claim: &self.claim,
            node: self.node.as_ref(),
            tries: self.tries,
            pods: self.pods.iter().collect(),
        }
    }
}

impl Node {
    pub(crate) fn taint(&mut self, taint: Taint) {
        self.taints = self.taints.iter().cloned().chain([taint]).collect();
    }
}

/// The marks of a node that poolgate holds.
pub const HELD: Marks = Marks {
    do_not_disrupt: true,
    held_label: true,
    do_not_repair: false,
    held_annotation: Some(HeldFor::NODE_LIMIT),
    keep: false,
};

/// The mark of a node that a user has closed.
pub const USERS: Marks = Marks {
    do_not_disrupt: true,
    held_label: false,
    do_not_repair: false,
    held_annotation: None,
    keep: false,
};

/// A pod of a `Deployment`.
pub fn pod(cpu: &str) -> Pod {
    Pod {
        needs: Arc::new(needs(cpu)),
        is_daemon: false,
        is_bare: false,
        is_mirror: false,
        is_terminal: false,
        is_leaving: false,
        do_not_disrupt: None,
        started: Some(noon() - minutes(30)),
        deletion_cost: None,
        priority: None,
    }
}

pub fn daemon() -> Pod {
    Pod {
        is_daemon: true,
        ..pod("100m")
    }
}

pub fn needs(cpu: &str) -> Needs {
    Needs {
        requests: Resources::asked([("cpu", cpu)]),
        ..Needs::default()
    }
}
