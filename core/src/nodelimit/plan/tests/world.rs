//! A pool that tests build, look at through a plan, and change as the plan says.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::*;
use crate::facts::DISRUPTED_TAINT;
use crate::nodelimit::ledger::Moment;
use crate::pods::*;
use crate::policy::Policy;

/// The time of most plans.
pub const NOON: &str = "2026-01-05T12:00:00Z";

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub fn noon() -> Timestamp {
    time(NOON)
}

/// What a monotonic clock shows at a time, if the wall clock is never set. It began a day before noon.
pub fn clock(at: Timestamp) -> Moment {
    let start = noon() - SignedDuration::from_hours(24);
    Moment::at(at.duration_since(start).unsigned_abs())
}

impl Plan {
    /// What it writes into `spec.limits.nodes`.
    pub fn spec_limit(&self) -> Option<u32> {
        self.limit.map(|limit| limit.nodes)
    }
}

pub fn both(at: Timestamp) -> Now {
    Now {
        wall: at,
        clock: clock(at),
    }
}

fn long_ago() -> Moment {
    clock(noon() - SignedDuration::from_hours(1))
}

pub fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

/// A ledger that says nothing, in this object, open or closed.
pub fn ledger(object: &str, closed_over: Option<u64>) -> LedgerState {
    let object = object.into();
    LedgerState {
        identity: Some(LedgerIdentity { object, closed_over }),
        ..LedgerState::default()
    }
}

/// A pool with everything that belongs to it.
#[derive(Debug)]
pub struct World {
    pub pool: Pool,
    pub claims: Vec<Machine>,
    pub pending: Vec<Needs>,
    pub ledger: LedgerState,
    pub steady_since: Option<Moment>,
    pub denied_at: Option<Moment>,
    pub denied_anywhere_at: Option<Moment>,
    pub replaces_elsewhere: bool,
    pub terminations_left: usize,
    pub settings: Settings,
    pub memory: Memory,
}

impl World {
    /// A pool with this limit, whose budgets allow all nodes to be disrupted.
    pub fn new(limit: u32) -> Self {
        Self::with_mode(limit, "Hard", &json!([{"nodes": "100%"}]))
    }

    pub fn with_mode(limit: u32, mode: &str, budgets: &Value) -> Self {
        let object = json!({
            "metadata": {"name": "general", "uid": "pool"},
            "spec": {
                "limits": {"nodes": limit.to_string()},
                "disruption": {"nodeLimitMode": mode, "budgets": budgets},
            },
        });
        Self::from_object(&object)
    }

    pub fn from_object(object: &Value) -> Self {
        Self {
            pool: Pool::of(object, &Policy::default()),
            claims: Vec::new(),
            pending: Vec::new(),
            ledger: ledger("ledger", None),
            steady_since: Some(long_ago()),
            denied_at: None,
            denied_anywhere_at: None,
            replaces_elsewhere: false,
            terminations_left: usize::MAX,
            settings: Settings::default(),
            memory: Memory::default(),
        }
    }

    /// This many nodes, each with one pod that fills it.
    pub fn with_full_nodes(mut self, count: usize) -> Self {
        for index in 0..count {
            self.claims.push(Machine::new(index).with_pod("4"));
        }
        self
    }

    pub fn terminating(mut self) -> Self {
        if let Some(limit) = &mut self.pool.limit {
            limit.over_limit = crate::api::OverLimit::Terminate;
        }
        self
    }

    pub fn plan(&self) -> Plan {
        self.plan_at(noon())
    }

    pub fn plan_at(&self, now: Timestamp) -> Plan {
        self.plan_by(both(now))
    }

    pub fn plan_by(&self, now: Now) -> Plan {
        plan(&self.state(), &self.remembered(), now)
    }

    /// The memory before the first plan of a pool that has been as it is for a long time.
    pub fn remembered(&self) -> Memory {
        if self.memory != Memory::default() {
            return self.memory.clone();
        }
        let mut state = self.state();
        state.claims.clear();
        let mut memory = Memory::default();
        for clock in [Moment::default(), long_ago()] {
            let now = Now { wall: noon(), clock };
            Situation::assess(&state, &mut memory, now);
        }
        memory
    }

    /// The gate has denied a claim.
    pub fn denied(&mut self, at: Timestamp) {
        self.ledger.denial = Some(LastDenial { at, total: 1 });
        self.denied_at = Some(clock(at));
    }

    pub fn state(&self) -> PoolState<'_> {
        PoolState {
            pool: &self.pool,
            claims: self.claims.iter().map(Machine::state).collect(),
            pending: self.pending.iter().collect(),
            ledger: self.ledger.clone(),
            steady_since: self.steady_since,
            denied_at: self.denied_at,
            denied_anywhere_at: self.denied_anywhere_at.max(self.denied_at),
            replaces_elsewhere: self.replaces_elsewhere,
            terminations_left: self.terminations_left,
            settings: self.settings,
        }
    }

    /// Carries out the plan, as the API server would show it. Finalizers keep what is deleted.
    pub fn carry_out(&mut self, plan: Plan, now: Timestamp) {
        for Hold { node, reasons } in &plan.hold {
            self.marks(&node.name, |marks| {
                let before = marks.held_for();
                marks.held_label = true;
                marks.held_annotation = Some(*reasons);
                marks.do_not_disrupt =
                    reasons.forbid_disruption() || marks.do_not_disrupt && !before.forbid_disruption();
                marks.do_not_repair = reasons.repair || marks.do_not_repair && !before.repair;
            });
        }
        for unhold in &plan.unhold {
            self.marks(&unhold.node.name, |marks| {
                let before = marks.held_for();
                marks.held_label = false;
                marks.held_annotation = None;
                marks.do_not_disrupt =
                    unhold.hand_over || marks.do_not_disrupt && !before.forbid_disruption();
                marks.do_not_repair &= !before.repair;
            });
        }
        if let Some(ReplacementState { replacement, stopped }) = plan.replacement {
            assert_eq!(plan.replace, None, "nothing is deleted before it is listed");
            self.ledger.replacement = replacement;
            self.ledger.stopped = stopped;
        }
        if let Some(claim) = &plan.replace {
            let listed = self.ledger.replacement.as_ref().unwrap();
            assert_eq!(listed.uid.as_str(), &*claim.uid, "only a listed claim is deleted");
            self.claim(&claim.uid).deleted = Some(now);
        }
        if let Some(deadline) = &plan.deadline {
            let claim = self.claim(&deadline.claim.uid);
            assert!(claim.deleted.is_some(), "a living claim gets no deadline");
            claim.has_deadline = true;
        }
        if plan.store_ledger {
            assert_eq!(self.ledger, LedgerState::default(), "a ledger is there");
            self.ledger = ledger("stored", Some(0));
        }
        if let Some(victims) = plan.victims {
            assert_eq!(plan.terminate, [], "nothing goes before the list is written");
            self.ledger.victims = victims;
        }
        for victim in &plan.terminate {
            assert!(self.ledger.victims.contains(&victim.uid), "only listed claims go");
            self.claim(&victim.uid).deleted = Some(now);
        }
        self.memory = plan.memory;
    }

    /// Plans and carries it out.
    pub fn step(&mut self, now: Timestamp) -> Plan {
        let plan = self.plan_at(now);
        self.carry_out(plan.clone(), now);
        plan
    }

    fn claim(&mut self, uid: &str) -> &mut Claim {
        let mut claims = self.claims.iter_mut().map(|machine| &mut machine.claim);
        claims.find(|claim| &*claim.uid == uid).unwrap()
    }

    fn marks(&mut self, node: &str, change: impl Fn(&mut Marks)) {
        let mut nodes = self.claims.iter_mut().filter_map(|machine| machine.node.as_mut());
        change(&mut nodes.find(|own| &*own.name == node).unwrap().marks);
    }

    /// The names of the nodes that Karpenter might disrupt.
    pub fn open(&self) -> Vec<&str> {
        let nodes = self.claims.iter().filter_map(|machine| machine.node.as_ref());
        let open = nodes.filter(|node| !node.marks.do_not_disrupt);
        open.map(|node| &*node.name).collect()
    }
}

pub fn names(nodes: &[Hold]) -> Vec<&str> {
    nodes.iter().map(|hold| &*hold.node.name).collect()
}

pub fn released(plan: &Plan) -> Vec<&str> {
    plan.unhold.iter().map(|unhold| &*unhold.node.name).collect()
}

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
                drift_hash: None,
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
        let taint = NodeTaint {
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
    pub(crate) fn taint(&mut self, taint: NodeTaint) {
        self.taints = self.taints.iter().cloned().chain([taint]).collect();
    }
}

/// The marks of a node that poolgate holds.
pub const HELD: Marks = Marks {
    do_not_disrupt: true,
    held_label: true,
    do_not_repair: false,
    held_annotation: Some(HeldFor {
        node_limit: true,
        freeze: false,
        repair: false,
    }),
    keep: false,
};

/// The mark by which a user protects a node.
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
        namespace: "default".into(),
        labels: BTreeMap::new(),
        is_unready: false,
        is_terminal: false,
        is_leaving: false,
        deleted: None,
        do_not_disrupt: None,
        started: Some(noon() - minutes(30)),
        disruption_cost: None,
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
