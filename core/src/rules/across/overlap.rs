//! Pools where one can take every pod that the other can.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::{AcrossFinding, Together};
use crate::diagnostic::{ErrorType, FieldPath, Severity, quoted};
use crate::facts::{LabelSets, Operator, Selection, canonical_label};
use crate::pool::{NodePool, Template};
use crate::rules::limits::switches_off;
use crate::rules::rule::Rule;

/// With how many pools that are tried before it a pool is compared. Real clusters have fewer of one kind.
const MOST_COMPARED: usize = 100;

pub static NODEPOOL_OVERLAP: Rule = rule!("nodepool-overlap", Warning, Silent).across();

/// A pool that competes with others for pods.
struct Contender<'a> {
    index: usize,
    name: &'a str,
    weight: i64,
    taints: Vec<[&'a str; 3]>,
    /// True if nothing but a lack of machines keeps it from launching nodes.
    is_unlimited: bool,
    /// Its selection for each label of instance types.
    machines: BTreeMap<&'a str, Selection<'a>>,
}

/// The properties that two pools must share to be interchangeable for the pods that tolerate their taints.
#[derive(PartialEq, Eq, Hash)]
struct OverlapKey<'a> {
    class: (&'a str, &'a str, &'a str),
    /// The pool's selection for each other label.
    labels: BTreeMap<&'a str, Selection<'a>>,
}

/// How a pool relates to another one that is tried first.
#[derive(Clone, Copy)]
enum Overlap {
    /// The other has the same weight and taints, and all machines of the pool.
    All,
    /// The other has the same weight and taints, and a part of its machines.
    Part,
    /// The other is heavier, has no taint that the pool lacks, and all its machines.
    Heavier,
}

/// Reports each of these pools if another one of its kind that has all its machines, or a part of them, is tried
/// before it.
pub(crate) fn check(together: Together<'_>, indexes: &[usize], findings: &mut Vec<AcrossFinding>) {
    let mut kinds: HashMap<OverlapKey<'_>, Vec<Contender<'_>>> = HashMap::new();
    for index in indexes {
        let known = together.pools.get(*index).zip(together.labels.get(*index));
        let contender = known.and_then(|(pool, labels)| Contender::classify(*index, pool, labels));
        if let Some((kind, contender)) = contender {
            kinds.entry(kind).or_default().push(contender);
        }
    }
    let first = findings.len();
    for mut contenders in kinds.into_values() {
        contenders.sort_by(|one, other| one.order().cmp(&other.order()));
        let unlimited: Vec<_> = contenders.iter().filter(|pool| pool.is_unlimited).collect();
        for equals in contenders.chunk_by(Contender::is_equal) {
            for (index, contender) in equals.iter().enumerate() {
                let before = equals.get(..index.min(MOST_COMPARED)).unwrap_or_default();
                let found = contender
                    .overlap(before)
                    .or_else(|| Some((contender.outweighed(&unlimited)?, Overlap::Heavier)));
                findings.extend(found.map(|(other, overlap)| finding(contender, other, overlap)));
            }
        }
    }
    if let Some(own) = findings.get_mut(first..) {
        own.sort_by_key(|finding| finding.pool);
    }
}

fn finding(contender: &Contender<'_>, other: &Contender<'_>, overlap: Overlap) -> AcrossFinding {
    let name = quoted(other.name);
    let only_while = format!("gets nodes only while {name} can launch none");
    let (title, consequence, severity) = match overlap {
        Overlap::All => (
            format!("NodePool {name} has the same weight and takes the same pods"),
            format!("Karpenter tries the later name first, so this pool {only_while}"),
            Severity::Warning,
        ),
        Overlap::Part => (
            format!("NodePool {name} has the same weight and takes some of the same pods"),
            format!(
                "Karpenter tries the later name first, so this pool gets only the pods that {name} cannot take"
            ),
            Severity::Note,
        ),
        Overlap::Heavier => (
            format!("NodePool {name} is heavier and takes the same pods"),
            format!("the heavier pool has the same machines and no limits, so this pool {only_while}"),
            Severity::Note,
        ),
    };
    let path = FieldPath::of(&["spec", "weight"]);
    let mut diagnostic = NODEPOOL_OVERLAP.finding(path, ErrorType::note(&contender.weight.into()), title);
    diagnostic
        .severity(severity)
        .consequence(consequence)
        .suggest("give the preferred pool a higher weight, or distinguish the pools by a taint or a label");
    AcrossFinding {
        pool: contender.index,
        diagnostic,
        others: vec![other.index],
    }
}

impl<'a> Contender<'a> {
    /// The kind and machines of a pool; `None` if it takes no pods, or if a field cannot be read.
    fn classify(index: usize, pool: &'a NodePool<'a>, labels: &LabelSets) -> Option<(OverlapKey<'a>, Self)> {
        let name = pool.name.present()?;
        if !pool.replicas.is_absent() || switches_off(pool) {
            return None;
        }
        let weight = if pool.weight.is_absent() {
            0
        } else {
            pool.weight.present()?
        };
        let (machines, labels) = selections(&pool.template, labels)?;
        let kind = OverlapKey {
            class: pool.template.node_class()?,
            labels,
        };
        let mut requirements = pool.template.requirements().iter();
        let has_limit = !pool.limits.is_absent() || pool.node_limit().is_some();
        let contender = Self {
            index,
            name,
            weight,
            taints: taints(&pool.template)?,
            is_unlimited: !has_limit && requirements.all(|one| one.min_values.is_absent()),
            machines,
        };
        Some((kind, contender))
    }

    /// The order in which Karpenter tries them, by taints within a weight: those with other taints take other pods.
    // karpenter: pkg/utils/nodepool/nodepool.go OrderByWeight
    fn order(&self) -> impl Ord + '_ {
        (Reverse(self.weight), &self.taints, Reverse(self.name))
    }

    /// True if the pools have the same weight and taints.
    fn is_equal(&self, other: &Self) -> bool {
        (self.weight, &self.taints) == (other.weight, &other.taints)
    }

    /// The first of these equal pools that are tried before it which has all its machines, or else a part of them.
    fn overlap<'o>(&self, before: &'o [Self]) -> Option<(&'o Self, Overlap)> {
        let all = before.iter().find(|other| other.has_all_of(self));
        let part = || before.iter().find(|other| self.has_all_of(other));
        all.map(|other| (other, Overlap::All))
            .or_else(|| Some((part()?, Overlap::Part)))
    }

    /// The first of these pools, in their order, that is heavier, and takes every pod that this one can.
    fn outweighed<'o>(&self, unlimited: &[&'o Self]) -> Option<&'o Self> {
        let heavier = unlimited.iter().take_while(|other| other.weight > self.weight);
        let mut heavier = heavier.take(MOST_COMPARED).copied();
        let lacks_none = |other: &Self| other.taints.iter().all(|taint| self.taints.contains(taint));
        heavier.find(|other| lacks_none(other) && other.has_all_of(self))
    }

    /// True if this pool allows every machine that the other allows.
    fn has_all_of(&self, other: &Self) -> bool {
        self.machines.iter().all(|(key, allowed)| {
            other
                .machines
                .get(key)
                .is_some_and(|others| others.clone().and(allowed.clone()) == *others)
        })
    }
}

type Selections<'a> = BTreeMap<&'a str, Selection<'a>>;

/// What requirements and labels allow, first for the labels that instance types surely have, then for all others.
/// `None` if something cannot be read, or if no machine is left.
pub(super) fn selections<'a>(
    template: &Template<'a>,
    known: &LabelSets,
) -> Option<(Selections<'a>, Selections<'a>)> {
    let provider = template.provider();
    let mut all: Selections<'a> = BTreeMap::new();
    let mut add = |key: &'a str, selection: Selection<'a>| {
        let of_key = all.entry(canonical_label(key, provider)).or_default();
        *of_key = std::mem::take(of_key).and(selection);
    };
    if let Some(labels) = template.labels.present() {
        // The API server drops null values.
        for (key, value) in labels.iter().filter(|(_, value)| !value.is_null()) {
            add(key, Selection::new(Operator::In, &[value.as_str()?]));
        }
    }
    for requirement in template.requirements.as_ref().present()? {
        add(requirement.key.present()?, requirement.selection()?);
    }
    let (machines, labels): (Selections<'a>, Selections<'a>) = all
        .into_iter()
        .partition(|(key, _)| known.kind_of(key, template.node_class_group()).is_well_known());
    machines
        .values()
        .all(|selection| !selection.is_empty())
        .then_some((machines, labels))
}

/// The taints that stay on the nodes, sorted.
fn taints<'a>(template: &Template<'a>) -> Option<Vec<[&'a str; 3]>> {
    let taints = template.taints.as_ref();
    if taints.is_absent() {
        return Some(Vec::new());
    }
    let mut read = Vec::new();
    for taint in taints.present()? {
        let value = taint.value.present().unwrap_or_default();
        read.push([taint.key.present()?, value, taint.effect.present()?]);
    }
    read.sort_unstable();
    Some(read)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::facts::{LabelSets, LabelValues};
    use crate::rules::across::testing::{FoundAcross, found, found_with};
    use crate::rules::across::{ClassSource, NodeClasses};

    const ARCH: &str = "kubernetes.io/arch";

    fn pool(name: &str, requirements: &[(&str, &str, &[&str])]) -> Value {
        let requirements: Vec<Value> = requirements
            .iter()
            .map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values}))
            .collect();
        json!({"metadata": {"name": name}, "spec": {"template": {"spec": {"requirements": requirements}}}})
    }

    fn with(mut pool: Value, pointer: &str, value: Value) -> Value {
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        let parent = pool.pointer_mut(parent).expect("a field");
        parent[field] = value;
        pool
    }

    fn overlaps(pools: &[Value]) -> Vec<FoundAcross> {
        found(pools, "nodepool-overlap")
    }

    #[test]
    fn a_pool_is_reported_if_another_one_with_its_machines_is_tried_first() {
        let narrow = || pool("a", &[(ARCH, "In", &["amd64"])]);
        let wide = || pool("b", &[(ARCH, "NotIn", &["arm64"])]);
        let found = overlaps(&[wide(), narrow()]);
        let [(1, message, others)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(others, &[0]);
        assert!(
            message.starts_with("spec.weight: NodePool \"b\" has the same weight and takes the same pods: 0"),
            "{message}"
        );
        let equal = [
            pool("x", &[(ARCH, "Exists", &[])]),
            pool("y", &[(ARCH, "Exists", &[])]),
        ];
        assert!(
            overlaps(&equal)[0]
                .1
                .contains("gets nodes only while \"y\" can launch none")
        );
    }

    #[test]
    fn a_label_that_the_policy_knows_is_one_of_the_machines() {
        const CORES: &str = "machines.example.com/cores";
        let pools = [
            pool("a", &[(CORES, "In", &["8"])]),
            pool("b", &[(CORES, "Exists", &[])]),
        ];
        let known = LabelSets::with([(CORES.to_owned(), LabelValues::Any)], []);
        let classes = NodeClasses::new(ClassSource::Cluster);
        let found = found_with(&known, &pools, &classes, "nodepool-overlap");
        assert!(
            matches!(found.as_slice(), [(0, _, others)] if *others == [1]),
            "{found:?}"
        );
        assert_eq!(overlaps(&pools), [], "pods can select a custom label");
    }

    #[test]
    fn a_pool_that_is_tried_after_a_narrower_one_gets_the_rest() {
        let found = overlaps(&[pool("a", &[]), pool("b", &[(ARCH, "In", &["amd64"])])]);
        let [(0, message, others)] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(others, &[1]);
        assert!(
            message.contains("gets only the pods that \"b\" cannot take"),
            "{message}"
        );
    }

    #[test]
    fn pools_that_pods_can_select_do_not_overlap() {
        let b = || pool("b", &[(ARCH, "In", &["amd64"])]);
        let taint = json!([{"key": "a", "effect": "NoSchedule"}]);
        let class = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "other"});
        for a in [
            with(b(), "/spec/replicas", json!(1)),
            with(b(), "/spec/limits", json!({"cpu": "0"})),
            with(b(), "/spec/template/spec/taints", taint),
            with(b(), "/spec/template/spec/nodeClassRef", class),
            with(b(), "/spec/template/metadata", json!({"labels": {"team": "a"}})),
            pool("a", &[(ARCH, "In", &["amd64"]), ("team", "In", &["a"])]),
            pool("a", &[(ARCH, "In", &["arm64"])]),
            pool("a", &[(ARCH, "In", &["amd64"]), (ARCH, "In", &["arm64"])]),
            pool("a", &[("karpenter.sh/capacity-type", "In", &["spot"])]),
            pool("a", &[(ARCH, "Gt", &["x"])]),
            with(b(), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ] {
            let a = with(a, "/metadata/name", json!("a"));
            assert_eq!(overlaps(&[a.clone(), b()]), [], "{a}");
        }
        assert_eq!(overlaps(&[with(b(), "/metadata/name", json!("a")), b()]).len(), 1);
    }

    #[test]
    fn a_heavier_pool_without_limits_that_has_all_machines_is_noted() {
        let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
        let wide = || with(pool("a", &[(ARCH, "Exists", &[])]), "/spec/weight", json!(1));
        let narrow = || pool("z", &[(ARCH, "In", &["amd64"])]);
        let tainted = |pool, keys: &[&str]| {
            let taints: Vec<Value> = keys.iter().map(|key| taint(key)).collect();
            with(pool, "/spec/template/spec/taints", json!(taints))
        };
        for lighter in [narrow(), tainted(narrow(), &["x"])] {
            let found = overlaps(&[lighter, wide()]);
            let [(0, message, others)] = found.as_slice() else {
                panic!("{found:?}");
            };
            assert_eq!(others, &[1]);
            assert!(
                message.contains("NodePool \"a\" is heavier and takes the same pods"),
                "{message}"
            );
        }
        assert_eq!(
            overlaps(&[tainted(narrow(), &["x"]), tainted(wide(), &["x"])]).len(),
            1
        );
        let least = json!([{"key": ARCH, "operator": "Exists", "minValues": 2}]);
        let annotated = json!({"name": "a", "annotations": {"poolgate.dev/node-limit": "5"}});
        for heavier in [
            tainted(wide(), &["x"]),
            with(wide(), "/spec/limits", json!({"cpu": "10"})),
            with(wide(), "/metadata", annotated),
            with(wide(), "/spec/template/spec/requirements", least),
            with(
                wide(),
                "/spec/template/metadata",
                json!({"labels": {"team": "a"}}),
            ),
            with(pool("a", &[(ARCH, "In", &["arm64"])]), "/spec/weight", json!(1)),
        ] {
            assert_eq!(overlaps(&[narrow(), heavier.clone()]), [], "{heavier}");
        }
        let equal = [narrow(), with(narrow(), "/metadata/name", json!("y")), wide()];
        let found = overlaps(&equal);
        assert!(
            matches!(found.as_slice(), [(0, _, one), (1, _, other)] if *one == [2] && *other == [0]),
            "{found:?}"
        );
    }

    #[test]
    fn startup_taints_and_the_order_of_taints_do_not_matter() {
        let taints = |keys: [&str; 2]| keys.map(|key| json!({"key": key, "effect": "NoSchedule"}));
        let [one, other] = [["a", "b"], ["b", "a"]].map(|keys| json!(taints(keys)));
        let a = with(pool("a", &[]), "/spec/template/spec/taints", one.clone());
        let a = with(a, "/spec/template/spec/startupTaints", one);
        let b = with(pool("b", &[]), "/spec/template/spec/taints", other);
        assert_eq!(overlaps(&[a, b]).len(), 1);
    }

    #[test]
    fn of_a_thousand_equal_pools_all_but_the_first_tried_are_reported_in_their_order() {
        let pools: Vec<Value> = (0..1_000)
            .map(|number| pool(&format!("p{number:04}"), &[]))
            .collect();
        let found = overlaps(&pools);
        assert_eq!(found.len(), 999);
        assert!(found.iter().all(|(_, _, others)| *others == [999]));
        assert!(found.is_sorted_by_key(|(index, ..)| *index));
    }
}
