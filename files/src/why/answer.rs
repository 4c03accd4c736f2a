//! What each NodePool makes of a pod.

use std::collections::BTreeMap;

use poolgate_core::pods::{
    Comparer, Comparison, Conflict, Facts, InstanceType, LabelRequirement, Machines, Needs, Unknown,
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
    /// Compares each of these pods with each pool.
    pub fn all(pods: &'a [Asked], pools: &'a [Candidate], known: Known<'_>) -> Vec<Self> {
        let judges: Vec<_> = pools.iter().map(|pool| Judge::new(pool, known)).collect();
        let answer = |pod: &'a Asked| Self {
            pod,
            verdicts: judges
                .iter()
                .map(|judge| (judge.pool, judge.verdict(&pod.needs)))
                .collect(),
        };
        pods.iter().map(answer).collect()
    }

    /// Whether the pod gets no node.
    pub fn is_refused_by_all(&self) -> bool {
        let mut verdicts = self.verdicts.iter();
        verdicts.all(|(_, verdict)| matches!(verdict, Verdict::RefusesAll(_) | Verdict::Refuses(_)))
    }
}

/// A pool as pods are compared with it.
struct Judge<'a, 'k> {
    pool: &'a Candidate,
    comparer: Comparer<'k>,
    /// By the machines that the pool has had.
    seen: Option<Comparer<'k>>,
}

impl<'a: 'k, 'k> Judge<'a, 'k> {
    fn new(pool: &'a Candidate, known: Known<'k>) -> Self {
        let by = |types| {
            let machines = Machines {
                types,
                daemons: known.daemons,
                left: Some(&pool.left),
                relaxes_min_values: pool.relaxes_min_values,
            };
            pool.template.comparer(Facts {
                machines,
                volumes: known.volumes,
                ..Facts::default()
            })
        };
        let seen = known.seen.and_then(|seen| seen.get(&pool.name));
        Self {
            pool,
            comparer: by(known.types),
            seen: seen.map(|seen| by(Some(seen))),
        }
    }

    fn verdict(&self, needs: &Needs) -> Verdict {
        if let Some(why) = &self.pool.refuses_all {
            return Verdict::RefusesAll(why.clone());
        }
        let mut seen = self.seen.iter();
        if seen.any(|seen| seen.compare(needs) == Comparison::Fits) {
            return Verdict::Takes;
        }
        match self.comparer.compare(needs) {
            Comparison::Fits => Verdict::Takes,
            Comparison::Open(unknown) => Verdict::Open(unknown),
            Comparison::Conflicts(conflicts) => Verdict::Refuses(conflicts),
        }
    }
}

impl Verdict {
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Takes => "takes",
            Self::Open(_) => "open",
            Self::RefusesAll(_) | Self::Refuses(_) => "refuses",
        }
    }
}
