//! A NodePool whose budgets are explained, and the words for that.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use poolgate_core::api::{Freeze, OVER_LIMIT_ANNOTATION};
use poolgate_core::budget::{Allowance, Budget, Budgets, Reason};
use poolgate_core::diagnostic::quoted;
use poolgate_core::facts::{ApiVersion, KarpenterVersion, ReleaseSource, TargetKarpenter, WHEN_EMPTY};
use poolgate_core::policy::{DeclaredCluster, FeatureGate, GateState, Policy};
use poolgate_core::pool::{Disruption, Field, NodePool};
use poolgate_core::rules::used_up;
use poolgate_core::value::nodes::BudgetNodes;
use poolgate_core::value::quantity::Quantity;
use serde_json::Value;

use super::live::InUse;
use crate::terminal;

/// How many nodes a pool is assumed to have if that is not known.
const ASSUMED_NODES: u32 = 10;

/// The reasons that every Karpenter knows.
const USUAL_REASONS: [Reason; 3] = [Reason::Underutilized, Reason::Empty, Reason::Drifted];

/// A NodePool whose budgets are explained.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its name, safe to print.
    pub name: String,
    /// The file that it is in, if there are several.
    pub file: Option<&'a str>,
    /// How many nodes it has.
    pub nodes: u32,
    /// Whether the number of its nodes is an assumption.
    pub assumed: bool,
    /// Its state in the cluster, if one is read.
    pub in_use: Option<InUse>,
    /// What its budgets say.
    pub budgets: Budgets,
    /// The reasons to explain.
    pub reasons: Vec<Reason>,
    /// The pool as the API server completes it.
    pub pool: NodePool<'a>,
    /// Its state in the cluster, as sentences.
    pub stored: Vec<String>,
    /// The policy, if one is given.
    pub policy: Option<&'a Policy>,
    /// The Karpenter that reads the pool: if none is known, the newest that serves its version.
    pub release: KarpenterVersion,
    /// When nodes expire if the pool does not say so, with the origin of that default.
    pub default_expiry: Option<String>,
    /// The release in words, if it is assumed.
    pub assumed_release: Option<String>,
    /// Whether no reason was chosen.
    has_all_reasons: bool,
}

impl<'a> Subject<'a> {
    /// Reads a pool, with the number of its nodes and the only reason to explain if they are given. An error says why
    /// Karpenter never acts on it.
    pub fn new(
        object: &Value,
        pool: NodePool<'a>,
        nodes: Option<u32>,
        reason: Option<Reason>,
    ) -> Result<Self, String> {
        let name = name(object);
        let budgets = Budgets::parse(&pool).map_err(|error| format!("NodePool {name}: {error}"))?;
        let in_status = || nodes_in_status(object);
        let replicas = || u32::try_from(pool.replicas.present()?).ok();
        let known = nodes.or_else(in_status).or_else(replicas);
        let has_all_reasons = reason.is_none();
        let reasons = reason.map_or(USUAL_REASONS.to_vec(), |reason| vec![reason]);
        Ok(Self {
            name,
            file: None,
            in_use: None,
            nodes: known.unwrap_or(ASSUMED_NODES),
            assumed: known.is_none(),
            budgets,
            reasons,
            stored: notes_in_status(object, &pool),
            policy: None,
            release: KarpenterVersion::NEWEST,
            default_expiry: None,
            assumed_release: None,
            has_all_reasons,
            pool,
        })
    }

    /// Sets the policy and the Karpenter that read it.
    pub fn read_by(mut self, policy: Option<&'a Policy>, karpenter: &TargetKarpenter) -> Self {
        let last = TargetKarpenter::assumed(KarpenterVersion::LAST_OF_V1BETA1);
        let karpenter = match self.pool.version {
            ApiVersion::V1Beta1 if karpenter.is_assumed() => &last,
            _ => karpenter,
        };
        self.policy = policy;
        self.release = karpenter.release();
        self.default_expiry = self.expiry_by(karpenter);
        self.assumed_release = karpenter.is_assumed().then(|| karpenter.called());
        if self.has_all_reasons && self.may_repair_otherwise() {
            self.reasons.push(Reason::Unhealthy);
        }
        self
    }

    /// The provider's own `expireAfter`, or else that of the definition.
    fn expiry_by(&self, karpenter: &TargetKarpenter) -> Option<String> {
        let provider = self.pool.template.provider();
        if let Some((name, age)) =
            provider.and_then(|provider| Some((provider.name, provider.settings.expire_after?)))
        {
            return Some(format!("{}h, {name}'s default", hours(age)));
        }
        let version = self.pool.version;
        let path = NodePool::expire_after_path(version).to_string();
        let age = karpenter.default_of(&path, version)?;
        let whose = match karpenter.source() {
            ReleaseSource::Definition => "the CRD's default",
            ReleaseSource::Newest | ReleaseSource::User => "Karpenter's default",
        };
        Some(format!("{}, {whose}", unquoted(age.as_str()?)))
    }

    /// Whether the budgets may limit repair otherwise than the usual reasons.
    fn may_repair_otherwise(&self) -> bool {
        let may_repair = self.release.has(KarpenterVersion::UNHEALTHY)
            && self.gate(FeatureGate::NodeRepair) != GateState::Off;
        let differs = |budget: &Budget| {
            let repairs = budget.has(Reason::Unhealthy);
            let mut usual = USUAL_REASONS.iter().map(|reason| budget.has(*reason));
            usual.any(|usual| usual != repairs) && (repairs || may_repair)
        };
        self.budgets.iter().any(differs)
    }

    /// The release that is assumed, behind a line about the pool; empty if it is known.
    pub fn and_assumed_release(&self) -> String {
        let release = self.assumed_release.as_ref();
        let release = release.map(|called| format!(", Karpenter {called} {}", terminal::ASSUMED_RELEASE));
        release.unwrap_or_default()
    }

    /// What is known of one of Karpenter's feature gates.
    pub fn gate(&self, gate: FeatureGate) -> GateState {
        let declared = self.policy.map(|policy| &policy.cluster);
        declared
            .unwrap_or(&DeclaredCluster::default())
            .gate(gate, self.pool.template.settings())
    }

    /// Its freeze, if it is frozen at this time.
    pub fn freeze_at(&self, at: Timestamp) -> Option<Freeze> {
        self.pool.freeze().filter(|freeze| freeze.holds_at(at))
    }

    /// Why a reason never applies, independent of budgets: a clause without a full stop.
    pub fn idle(&self, reason: Reason) -> Option<&'static str> {
        let disruption = self.pool.disruption.as_ref().present();
        let says = |field: fn(&Disruption<'a>) -> Field<&'a str>, word: &str| {
            disruption.is_some_and(|disruption| field(disruption).present() == Some(word))
        };
        match reason {
            Reason::Underutilized | Reason::Empty if !self.pool.replicas.is_absent() => {
                Some("the pool has replicas, and Karpenter does not consolidate static pools")
            }
            Reason::Underutilized | Reason::Empty if says(|it| it.consolidate_after, "Never") => {
                Some("consolidateAfter is Never")
            }
            Reason::Underutilized if says(|it| it.consolidation_policy, WHEN_EMPTY) => {
                Some("consolidationPolicy is WhenEmpty")
            }
            _ => None,
        }
    }

    /// A line for each reason that never applies.
    pub fn idle_reasons(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().filter_map(|reason| {
            let why = self.idle(*reason)?;
            Some(format!("{}: never happens, because {why}", reason.as_str()))
        })
    }

    /// The reasons that can apply.
    pub fn active_reasons(&self) -> Vec<Reason> {
        let reasons = self.reasons.iter().copied();
        reasons.filter(|reason| self.idle(*reason).is_none()).collect()
    }

    /// The reasons that can apply and that budgets should limit: repair only if a budget or the user names it.
    pub fn reasons_to_limit(&self) -> impl Iterator<Item = Reason> {
        let names_repair = |budget: &Budget| {
            budget.has(Reason::Unhealthy) && USUAL_REASONS.iter().any(|reason| !budget.has(*reason))
        };
        let is_named = !self.has_all_reasons || self.budgets.iter().any(names_repair);
        let reasons = self.active_reasons().into_iter();
        reasons.filter(move |reason| is_named || *reason != Reason::Unhealthy)
    }

    /// The name of a budget: its index, or that it is the default.
    pub fn called(&self, index: usize) -> String {
        match (self.budgets.are_written(), self.budgets.len()) {
            (true, _) => format!("budgets[{index}]"),
            (false, 0 | 1) => "the default".into(),
            (false, _) => format!("the default's budgets[{index}]"),
        }
    }

    /// How many nodes may be disrupted, and which budget decides it.
    pub fn described(&self, allowance: Allowance) -> String {
        match allowance {
            Allowance::Unlimited => "all nodes may be disrupted simultaneously (no budget is active)".into(),
            Allowance::Limited { nodes, budget } => {
                format!("{} ({})", counted(nodes), self.called(budget))
            }
            Allowance::Blocked { budget } => format!(
                "no node may be disrupted (Karpenter cannot parse the schedule of {})",
                self.called(budget)
            ),
        }
    }

    /// How many nodes may be disrupted for a reason besides those that already count against the budgets; empty if none does,
    /// or if no cluster is read.
    pub fn left(&self, reason: Reason, allowance: Allowance) -> String {
        let consumed = self.consumed(reason);
        let (Some(in_use), Some(nodes)) = (&self.in_use, allowance.nodes()) else {
            return String::new();
        };
        if consumed == 0 || nodes == 0 {
            return String::new();
        }
        let left = match nodes.saturating_sub(consumed) {
            0 => "no further node".to_owned(),
            left => format!("{left} more"),
        };
        format!("\n  {}, so {left} may be disrupted now", in_use.described(reason))
    }

    /// How many nodes count against the budgets for a reason.
    pub fn consumed(&self, reason: Reason) -> u32 {
        self.in_use.as_ref().map_or(0, |in_use| in_use.consumed(reason))
    }
}

/// The whole hours of a provider's default.
pub fn hours(length: Duration) -> u64 {
    length.as_secs() / 3_600
}

/// How many nodes may be disrupted, as a clause.
pub fn counted(nodes: u32) -> String {
    match nodes {
        0 => "no node may be disrupted".into(),
        1 => "1 node may be disrupted at a time".into(),
        several => format!("{several} nodes may be disrupted at a time"),
    }
}

/// `nodes` as it is in a budget.
pub fn nodes_text(nodes: BudgetNodes) -> String {
    match nodes {
        BudgetNodes::Percent(percent) => format!("{percent}%"),
        BudgetNodes::Count(count) => count.to_string(),
    }
}

/// When a budget is active, in the words of the object.
pub fn window(budget: &Budget) -> String {
    let schedule = budget.schedule.as_ref().present();
    let text = schedule.zip(budget.duration.as_ref().present());
    match text {
        None => "always".into(),
        Some((schedule, _)) if budget.is_always_active() => {
            format!("{}, which is always", quoted(&schedule.text))
        }
        Some((schedule, duration)) => format!("{} for {}", quoted(&schedule.text), duration.text),
    }
}

/// A duration as Karpenter's documentation has it, without quotes. Other text is quoted: it may be anything.
pub fn unquoted(duration: &str) -> String {
    if duration.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        duration.to_owned()
    } else {
        quoted(duration)
    }
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    match name {
        None => "without a name".into(),
        Some(name) => terminal::name(name),
    }
}

/// Reads the name of a reason, in upper or lower case if the argument ignores case.
pub fn reason_on_command_line() -> impl TypedValueParser<Value = Reason> {
    PossibleValuesParser::new(Reason::ALL.map(Reason::as_str)).try_map(|name| {
        let mut reasons = Reason::ALL.into_iter();
        let named = reasons.find(|reason| reason.as_str().eq_ignore_ascii_case(&name));
        named.ok_or("unknown reason")
    })
}

/// How many nodes the status counts.
fn nodes_in_status(object: &Value) -> Option<u32> {
    u32::try_from(object.pointer("/status/nodes")?.as_u64()?).ok()
}

/// Why Karpenter launches no nodes for the pool, or no more: sentences.
fn notes_in_status(object: &Value, pool: &NodePool<'_>) -> Vec<String> {
    let notes = [not_ready(object), above_limit(object, pool)];
    let used_up = used_up(pool, pool).into_iter();
    let used_up = used_up.map(|clause| format!("Limits: {clause}."));
    notes.into_iter().flatten().chain(used_up).collect()
}

fn above_limit(object: &Value, pool: &NodePool<'_>) -> Option<String> {
    let nodes = nodes_in_status(object)?;
    let limit = pool.node_limit()?;
    (limit < Quantity::from(i64::from(nodes))).then(|| {
        format!(
            "The status counts {nodes} nodes, more than limits.nodes allows. Either the limit was lowered, or Karpenter \
             launched several nodes simultaneously, which poolgate's gate prevents. Karpenter does not remove the excess \
             nodes. It launches none until the count is below the limit, and replaces a node only after it is gone. \
             poolgate's reconciler deletes the excess if the pool has the annotation {OVER_LIMIT_ANNOTATION}: Terminate."
        )
    })
}

fn not_ready(object: &Value) -> Option<String> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let text = |condition: &Value, field: &str| condition.get(field)?.as_str().map(str::to_owned);
    let is_open = |condition: &&Value| text(condition, "status").is_none_or(|status| status != "True");
    let (ready, others): (Vec<_>, Vec<_>) = conditions
        .iter()
        .filter(is_open)
        .partition(|condition| text(condition, "type").is_some_and(|kind| kind == "Ready"));
    let ready = ready.first()?;
    let reported = if others.is_empty() { vec![*ready] } else { others };
    let causes = reported.iter().map(|condition| {
        let of = |field| quoted(&text(condition, field).unwrap_or_default());
        format!("{} is {}: {}", of("type"), of("status"), of("message"))
    });
    Some(format!(
        "The pool is not ready, so Karpenter launches nothing for it. If no other pool is ready, Karpenter logs \"no nodepools \
         found\". {}. `poolgate lint` shows the lines that Karpenter's validation rejects.",
        causes.collect::<Vec<_>>().join(". ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poolgate_core::facts::ApiVersion;
    use poolgate_core::json::Json;
    use serde_json::json;

    #[test]
    fn a_pool_that_has_used_up_another_limit_says_what_a_replacement_needs() {
        let object = json!({"spec": {"limits": {"cpu": "48"}}, "status": {"resources": {"cpu": "48"}}});
        let read = Json::from(&object);
        let notes = notes_in_status(&object, &NodePool::view(ApiVersion::V1, &read));
        let said = "Limits: 48 of 48 cpu in use: no node is added, and a replacement must fit into what its node leaves.";
        assert_eq!(notes, [said]);
    }

    #[test]
    fn a_pool_above_its_limit_is_not_blamed_on_a_batch_alone() {
        let object = json!({"spec": {"limits": {"nodes": "3"}}, "status": {"nodes": 5}});
        let read = Json::from(&object);
        let notes = notes_in_status(&object, &NodePool::view(ApiVersion::V1, &read));
        let [note] = notes.as_slice() else {
            panic!("{notes:?}")
        };
        for said in ["the limit was lowered, or", "poolgate.dev/over-limit: Terminate"] {
            assert!(note.contains(said), "{note}");
        }
    }
}
