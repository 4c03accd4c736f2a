//! Which nodes could go without a replacement, because all their pods together fit on nodes that stay.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::nodelimit::plan::state::{ClaimState, Node, Pod};
use crate::pods::{Needs, Resources, tolerated};

/// The number of hosts that may be tried for pods in any case.
const FEWEST_LOOKS: usize = 10_000;

/// The number of hosts that may be tried in addition, per node and per pod. A pod counts as not fitting if none of these
/// takes it.
const LOOKS_EACH: usize = 16;

/// The UIDs of those `givers` that can all go together, their pods moved to `hosts` that stay: the emptiest leave
/// first, the fullest are filled first.
pub fn fitting<'p>(givers: &[&'p ClaimState<'p>], hosts: &[&'p ClaimState<'p>]) -> BTreeSet<&'p str> {
    let mut packing = Packing::new(givers, hosts);
    let mut leaving = BTreeSet::new();
    for index in (0..packing.nodes.len()).rev() {
        if packing.can_leave(index) {
            leaving.extend(packing.nodes.get(index).map(|packed| packed.uid));
        }
    }
    leaving
}

/// A node whose pods may leave, or that may take others.
struct PackedNode<'p> {
    uid: &'p str,
    node: &'p Node,
    is_drifted: bool,
    age: (jiff::Timestamp, &'p str, &'p str),
    /// The pods that must move elsewhere, as indices of [`Packing::kinds`], the largest first.
    movers: Vec<usize>,
    /// What they take of the pool together, as a share.
    load: f64,
    left: Resources,
    may_leave: bool,
    takes: bool,
}

/// Pods with the same needs.
struct PodKind<'p> {
    needs: &'p Needs,
    /// What they request, including one of the node's `pods`.
    asked: Resources,
    share: f64,
    /// No node before this index can take such a pod.
    first: usize,
}

struct Packing<'p> {
    /// The fullest first.
    nodes: Vec<PackedNode<'p>>,
    kinds: Vec<PodKind<'p>>,
    looks_left: usize,
}

/// The kinds found so far, as indices of [`Packing::kinds`].
#[derive(Default)]
struct SeenKinds<'p> {
    /// By the address of the needs: most pods share them, and comparing their contents takes longer.
    by_address: BTreeMap<*const Needs, usize>,
    by_value: BTreeMap<&'p Needs, usize>,
}

/// Where the pods of one node would go, so that it can be undone.
#[derive(Default)]
struct Moves {
    /// For each pod that was moved: the index of the node, and the kind of the pod.
    pods: Vec<(usize, usize)>,
    /// For each search: the kind, and the index of the node where it began.
    searches: Vec<(usize, usize)>,
}

impl<'p> Packing<'p> {
    fn new(givers: &[&'p ClaimState<'p>], hosts: &[&'p ClaimState<'p>]) -> Self {
        let mut packing = Self {
            nodes: Vec::with_capacity(hosts.len()),
            kinds: Vec::new(),
            looks_left: 0,
        };
        let mut known = SeenKinds::default();
        let whole = whole(hosts);
        let leavers: BTreeSet<&str> = givers.iter().map(|claim| &*claim.uid).collect();
        for claim in hosts {
            packing.add(claim, leavers.contains(&*claim.uid), true, &mut known, &whole);
        }
        let takes: BTreeSet<&str> = hosts.iter().map(|claim| &*claim.uid).collect();
        for claim in givers.iter().filter(|claim| !takes.contains(&*claim.uid)) {
            packing.add(claim, true, false, &mut known, &whole);
        }
        packing.nodes.sort_unstable_by(PackedNode::fuller_first);
        let pods: usize = packing.nodes.iter().map(|packed| packed.movers.len()).sum();
        packing.looks_left = FEWEST_LOOKS + LOOKS_EACH * (packing.nodes.len() + pods);
        packing
    }

    fn add(
        &mut self,
        claim: &'p ClaimState<'p>,
        gives: bool,
        takes: bool,
        known: &mut SeenKinds<'p>,
        whole: &Resources,
    ) {
        let Some(node) = claim.node else { return };
        let mut movers = Vec::new();
        let mut is_bound = false;
        for pod in claim.pods.iter().filter(|pod| pod.is_reschedulable()) {
            is_bound |= pod.needs.is_bound();
            movers.push(self.kind(&pod.needs, known, whole));
        }
        let share = |kind: &usize| self.kinds.get(*kind).map_or(0.0, |kind| kind.share);
        let needs = |kind: &usize| self.kinds.get(*kind).map(|kind| kind.needs);
        // With a tie-break, so that the order of the pods does not matter.
        movers.sort_by(|one, other| {
            if one == other {
                return Ordering::Equal;
            }
            let larger = share(other).total_cmp(&share(one));
            larger.then_with(|| needs(one).cmp(&needs(other)))
        });
        self.nodes.push(PackedNode {
            uid: &claim.uid,
            node,
            is_drifted: claim.conditions.drifted,
            age: claim.age_key(),
            load: movers.iter().map(share).sum(),
            movers,
            left: left(node, &claim.pods),
            may_leave: gives && !is_bound,
            takes,
        });
    }

    fn kind(&mut self, needs: &'p Needs, known: &mut SeenKinds<'p>, whole: &Resources) -> usize {
        *known.by_address.entry(needs).or_insert_with(|| {
            *known.by_value.entry(needs).or_insert_with(|| {
                let asked = asked(needs);
                self.kinds.push(PodKind {
                    needs,
                    share: share(&asked, whole),
                    asked,
                    first: 0,
                });
                self.kinds.len() - 1
            })
        })
    }

    /// Moves the pods of a node to others, if there is room for all of them. The node then takes no more pods.
    fn can_leave(&mut self, index: usize) -> bool {
        let Some(packed) = self.nodes.get_mut(index).filter(|packed| packed.may_leave) else {
            return false;
        };
        let movers = std::mem::take(&mut packed.movers);
        let mut done = Moves::default();
        let all_put = movers.iter().all(|kind| self.put(*kind, index, &mut done));
        if !all_put {
            self.undo(&done);
            return false;
        }
        for (host, _) in done.pods {
            if let Some(host) = self.nodes.get_mut(host) {
                host.may_leave = false;
            }
        }
        if let Some(packed) = self.nodes.get_mut(index) {
            packed.takes = false;
        }
        true
    }

    /// Moves a pod to the first node that can take it, except its own.
    fn put(&mut self, kind: usize, own: usize, done: &mut Moves) -> bool {
        let Some(PodKind {
            needs, asked, first, ..
        }) = self.kinds.get_mut(kind)
        else {
            return false;
        };
        done.searches.push((kind, *first));
        for (index, packed) in self.nodes.iter_mut().enumerate().skip(*first) {
            if self.looks_left == 0 {
                return false;
            }
            self.looks_left -= 1;
            if index == own || !packed.takes || !packed.could_take(needs, asked) {
                continue;
            }
            packed.left.take(asked);
            done.pods.push((index, kind));
            *first = if *first <= own { index.min(own) } else { index };
            return true;
        }
        *first = if *first <= own { own } else { usize::MAX };
        false
    }

    fn undo(&mut self, done: &Moves) {
        for (index, kind) in &done.pods {
            if let (Some(packed), Some(kind)) = (self.nodes.get_mut(*index), self.kinds.get(*kind)) {
                packed.left.add(&kind.asked);
            }
        }
        // If no pod was moved, what was found out about the nodes still holds.
        if !done.pods.is_empty() {
            for (kind, first) in done.searches.iter().rev() {
                if let Some(kind) = self.kinds.get_mut(*kind) {
                    kind.first = *first;
                }
            }
        }
    }
}

impl PackedNode<'_> {
    fn could_take(&self, needs: &Needs, asked: &Resources) -> bool {
        asked.fit_in(&self.left)
            && tolerated(&self.node.taints, &needs.tolerations)
            && needs
                .node_selector
                .iter()
                .all(|(key, value)| self.node.labels.get(key) == Some(value))
    }

    /// Fuller nodes first; of equal ones, those that have not drifted first.
    fn fuller_first(&self, other: &Self) -> Ordering {
        let fuller = other.load.total_cmp(&self.load);
        fuller.then_with(|| (self.is_drifted, self.age).cmp(&(other.is_drifted, other.age)))
    }
}

/// What a pod takes of a node, one of the node's `pods` included.
fn asked(needs: &Needs) -> Resources {
    let mut asked = needs.requests.clone();
    asked.add(&Resources::pods(1));
    asked
}

/// What is free on a node. Finished pods take nothing.
fn left(node: &Node, pods: &[&Pod]) -> Resources {
    let mut left = Resources::clone(&node.allocatable);
    let mut count = 0_i64;
    for pod in pods.iter().filter(|pod| !pod.is_terminal) {
        left.take(&pod.needs.requests);
        count += 1;
    }
    left.take(&Resources::pods(count));
    left
}

/// What all hosts have together.
fn whole(hosts: &[&ClaimState<'_>]) -> Resources {
    let mut whole = Resources::default();
    for node in hosts.iter().filter_map(|claim| claim.node) {
        whole.add(&node.allocatable);
    }
    whole
}

/// The largest share that a pod takes of any resource.
#[allow(clippy::cast_precision_loss, reason = "only the order of sizes matters")]
fn share(asked: &Resources, whole: &Resources) -> f64 {
    let shares = asked
        .iter()
        .map(|(name, amount)| amount as f64 / whole.amount(name).max(1) as f64);
    shares.fold(0.0, f64::max)
}
