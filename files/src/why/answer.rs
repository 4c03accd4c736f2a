//! What each NodePool makes of a pod.

use std::collections::BTreeMap;

use poolgate_core::pods::{
    Comparison, Conflict, Facts, InstanceType, LabelRequirement, Machines, Needs, Unknown,
};

use super::pods::Asked;
use super::pools::Candidate;

/// What is known besides the pod and the pools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'k> {
    /// The provider's instance types.
    pub types: Option<&'k [InstanceType]>,
    /// What the pods of `DaemonSets` need; `None` if that is not known.
    pub daemons: Option<&'k [Needs]>,
    /// Machines that pools have had, by the name of the pool: they show what a pool can launch, and not what it cannot.
    pub seen: Option<&'k BTreeMap<String, Vec<InstanceType>>>,
    /// The places of the pod's volumes.
    pub volumes: Option<&'k [Vec<LabelRequirement>]>,
}

/// The answer for one pod.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The pod.
    pub pod: &'a Asked,
    /// In the order in which Karpenter tries the pools.
    pub verdicts: Vec<(&'a Candidate, Verdict)>,
}

/// What a pool makes of a pod.
#[derive(Debug)]
pub enum Verdict {
    /// Karpenter would launch a node of it for the pod.
    Takes,
    /// That depends on what is not known.
    Open(Vec<Unknown>),
    /// Karpenter launches no node of it for any pod.
    RefusesAll(String),
    /// Karpenter launches no node of it for this pod: why, for each required term of its affinity.
    Refuses(Vec<Conflict>),
}

impl<'a> Answer<'a> {
    /// Compares a pod with pools.
    pub fn new(pod: &'a Asked, pools: &'a [Candidate], known: Known<'_>) -> Self {
        let verdicts = pools
            .iter()
            .map(|pool| (pool, Verdict::new(&pod.needs, pool, known)));
        Self {
            pod,
            verdicts: verdicts.collect(),
        }
    }

    /// Whether the pod gets no node.
    pub fn is_refused_by_all(&self) -> bool {
        let mut verdicts = self.verdicts.iter();
        verdicts.all(|(_, verdict)| matches!(verdict, Verdict::RefusesAll(_) | Verdict::Refuses(_)))
    }
}

impl Verdict {
    fn new(needs: &Needs, pool: &Candidate, known: Known<'_>) -> Self {
        if let Some(why) = &pool.refuses_all {
            return Self::RefusesAll(why.clone());
        }
        let compare = |types| {
            let machines = Machines {
                types,
                daemons: known.daemons,
                left: Some(&pool.left),
                relaxes_min_values: pool.relaxes_min_values,
            };
            let facts = Facts {
                machines,
                volumes: known.volumes,
                ..Facts::default()
            };
            pool.template.compare(needs, &facts)
        };
        let seen = known.seen.and_then(|seen| seen.get(&pool.name));
        if seen.is_some_and(|seen| compare(Some(seen)) == Comparison::Fits) {
            return Self::Takes;
        }
        match compare(known.types) {
            Comparison::Fits => Self::Takes,
            Comparison::Open(unknown) => Self::Open(unknown),
            Comparison::Conflicts(conflicts) => Self::Refuses(conflicts),
        }
    }

    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Takes => "takes",
            Self::Open(_) => "open",
            Self::RefusesAll(_) | Self::Refuses(_) => "refuses",
        }
    }
}
