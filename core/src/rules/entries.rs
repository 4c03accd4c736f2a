//! How many entries each list and map has. Checked once for all of them: the checks of a list rely on it.

use super::budgets::alone::BUDGET_REASON;
use super::budgets::list::BUDGETS_COUNT;
use super::findings::Findings;
use super::labels::LABELS_COUNT;
use super::requirements::count::REQUIREMENTS_COUNT;
use crate::diagnostic::{Diagnostic, ErrorType, FieldPath};
use crate::facts::ApiVersion;
use crate::pool::NodePool;
use crate::pool::door::{BUDGETS, Entries, REASONS, REQUIREMENTS, Source, TEMPLATE_LABELS};
use crate::rules::rule::Rule;

pub static ENTRIES_COUNT: Rule = rule!("entries-count", Error, Poolgate);

/// Reports each list or map that has more entries than the cluster's definition allows, or than are read.
pub fn check(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let defined = |entries: &Entries| karpenter.most(entries.path, pool.version);
    for beyond in &pool.beyond {
        let (entries, actual) = (beyond.entries, beyond.actual);
        // The API server drops a list that the version does not have; `field-unknown` says so.
        if pool.version == ApiVersion::V1Beta1 && entries.path == REASONS.path {
            continue;
        }
        let mut stored = old.into_iter().flat_map(|old| &old.beyond);
        // Karpenter and kubectl write metadata. What changes in another list is not judged, so only fewer entries are better.
        let is_metadata = entries.path.starts_with("metadata.");
        let is_stored = stored.any(|stored| {
            stored.path == beyond.path && (stored.actual > actual || is_metadata && stored.actual == actual)
        });
        let defined = defined(entries).filter(|most| actual > *most);
        match defined.map(|most| words(entries, most.min(entries.most))) {
            Some(words) => report(words, beyond.path.clone(), actual, findings),
            None => report(own_words(entries), beyond.path.clone(), actual, findings)
                .consequence("Karpenter sets no maximum, but poolgate reads no more"),
        }
        .lessened(is_stored && defined.is_none());
    }
    let disruption = pool.disruption.as_ref().present();
    let budgets = disruption.and_then(|disruption| disruption.budgets.present());
    let within = [
        (&REQUIREMENTS, pool.template.requirements().len()),
        (&BUDGETS, budgets.map_or(0, <[_]>::len)),
    ];
    // An installed definition may allow fewer than are read.
    for (entries, actual) in within {
        if let Some(most) = defined(entries).filter(|most| actual > *most) {
            report(words(entries, most), entries.path(0), actual, findings);
        }
    }
}

/// The rule that reports a list, its title, and the help.
type Words = (&'static Rule, String, &'static str);

/// The words for a list that the definition limits.
fn words(entries: &Entries, most: usize) -> Words {
    match entries.path {
        path if path == REQUIREMENTS.path => (
            &REQUIREMENTS_COUNT,
            format!("a NodePool must have at most {most} requirements"),
            "combine entries that have the same key, with operator In",
        ),
        path if path == BUDGETS.path => (
            &BUDGETS_COUNT,
            format!("a NodePool must have at most {most} budgets"),
            "combine windows of the same kind into one schedule, such as 0 9 * * mon-fri",
        ),
        path if path == REASONS.path => (
            &BUDGET_REASON,
            format!("a budget must have at most {most} reasons"),
            "list each reason once",
        ),
        path if path == TEMPLATE_LABELS.path => (
            &LABELS_COUNT,
            format!("a template must have at most {most} labels"),
            "remove labels that no pod selects",
        ),
        _ => own_words(entries),
    }
}

/// The words for a list that only poolgate limits.
fn own_words(entries: &Entries) -> Words {
    let most = entries.most;
    if entries.source == Source::OwnTogether {
        return (
            &ENTRIES_COUNT,
            format!("all requirements together may have at most {most} values"),
            "replace a list of instance types with requirements on their families or sizes",
        );
    }
    let title = format!("{} may have at most {most} entries", entries.field());
    (&ENTRIES_COUNT, title, "remove entries")
}

fn report<'f>(
    (rule, title, help): Words,
    path: FieldPath,
    actual: usize,
    findings: &'f mut Findings<'_>,
) -> &'f mut Diagnostic {
    findings
        .report(rule, path, ErrorType::TooMany { actual }, title)
        .suggest(help)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::facts::{ApiVersion, TargetKarpenter};
    use crate::json::Json;
    use crate::policy::Policy;
    use crate::pool::door::lists_and_maps;
    use crate::review::{Request, Subject, review};
    use crate::rules::requirements::testing::{errors, requirements_of};
    use crate::test_cost::{assert_in_proportion, assert_no_more};

    fn values(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("v{number}")).collect()
    }

    fn found(lists: &[usize]) -> Vec<String> {
        let one = |(at, count): (usize, &usize)| json!({"key": format!("x.io/k{at}"), "operator": "In", "values": values(*count)});
        let requirements: Value = lists.iter().enumerate().map(one).collect();
        let found = errors(&requirements_of("karpenter.k8s.aws", &requirements)).into_iter();
        let short = |line: String| line.split(" [").next().unwrap_or_default().to_owned();
        found.map(short).collect()
    }

    #[test]
    fn values_of_all_requirements_count_together_and_a_list_beyond_is_left_out() {
        let at = |index: usize, actual: usize| {
            format!(
                "spec.template.spec.requirements[{index}].values: all requirements together may have at most 30000 values: {actual}"
            )
        };
        assert_eq!(found(&[15_000, 15_000]), [""; 0]);
        assert_eq!(found(&[30_001]), [at(0, 30_001)]);
        assert_eq!(
            found(&[15_000, 15_001, 15_000, 1]),
            [at(1, 30_001), at(3, 30_001)]
        );
        // Beside such a list, others are checked as always.
        let mut pool = requirements_of(
            "karpenter.k8s.aws",
            &json!([
                {"key": "x.io/k", "operator": "In", "values": values(30_001)},
                {"key": "x.io/l", "operator": "Im", "values": ["a"]},
            ]),
        );
        pool["spec"]["weight"] = json!(101);
        let found = errors(&pool);
        for rule in ["[entries-count]", "[requirement-operator]", "[weight]"] {
            assert!(found.iter().any(|line| line.contains(rule)), "{rule}: {found:?}");
        }
        assert_eq!(found.len(), 3, "{found:?}");
    }

    /// How often a pool is reviewed: once is too short to be measured.
    const OFTEN: usize = 4;

    /// An entry of a list or map that costs much: it needs a finding, a suggestion or a comparison with the others.
    fn costly(entries: &Entries, at: usize) -> (String, Value) {
        let name = |like: &str| format!("{like}{at}");
        match entries.field() {
            "labels" => (name("karpenter.k8s.aws/instance-famly"), json!("a b")),
            "annotations" | "clusterDNS" | "evictionSoftGracePeriod" => {
                (name("poolgate.dev/node-limt"), json!(7))
            }
            "limits" | "requests" | "kubeReserved" | "systemReserved" => (name("memry"), json!("1e4096")),
            "evictionHard" | "evictionSoft" => (name("memory.availabl"), json!("101%")),
            "budgets" => (
                name("budget"),
                json!({"nodes": "1", "schedule": format!("{} {} * * mon-fri", at % 60, at % 24), "duration": "9h30m"}),
            ),
            "reasons" => (name("reason"), json!("Underutilizd")),
            "requirements" => (
                name("requirement"),
                json!({"key": format!("karpenter.k8s.aws/instance-famly{at}"), "operator": "im", "values": ["m5", "m6"]}),
            ),
            "values" => (name("value"), json!(format!("m{}.large{at}", at % 9))),
            _ => (
                name("taint"),
                json!({"key": format!("a b{at}"), "value": "c d", "effect": "NoSchedul"}),
            ),
        }
    }

    /// A pool with so many costly entries in a list or map. It is never freed, because only its review is measured.
    fn pool(entries: &Entries, count: usize) -> Json<'static> {
        let all = || (0..count).map(|at| costly(entries, at));
        let is_list = costly(entries, 0).1.is_object()
            || ["values", "reasons", "clusterDNS"].contains(&entries.field());
        let mut value = if is_list {
            all().map(|(_, value)| value).collect()
        } else {
            Value::Object(all().collect())
        };
        for step in entries.path.rsplit('.') {
            value = match step.strip_suffix("[]") {
                Some("requirements") => json!({"requirements": [
                    {"key": "instance-family", "operator": "In", "values": ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m0"]},
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": value["values"]},
                ]}),
                Some(list) => json!({list: [value]}),
                None => json!({step: value}),
            };
        }
        value["spec"]["template"]["spec"]["nodeClassRef"]["group"] = json!("karpenter.k8s.aws");
        Json::from(&*Box::leak(Box::new(value)))
    }

    fn reviewed(entries: &Entries, pool: &Json<'_>) {
        let is_old = ["kubelet", "resources"]
            .iter()
            .any(|field| entries.path.contains(field));
        let version = if is_old {
            ApiVersion::V1Beta1
        } else {
            ApiVersion::V1
        };
        let request = Request {
            subject: Subject::NodePool(version),
            object: pool,
            old: None,
            claims: None,
            at: jiff::Timestamp::default(),
        };
        for _ in 0..OFTEN {
            let review = review(&request, &Policy::default(), &TargetKarpenter::default());
            assert!(review.report.denies(), "{}", entries.path);
        }
    }

    #[test]
    fn the_worst_of_each_list_costs_in_proportion_and_no_more_beyond_the_door() {
        for entries in lists_and_maps() {
            let of = |count| pool(entries, count);
            assert_in_proportion(entries.most, of, |pool| reviewed(entries, pool));
            let (at, beyond) = (of(entries.most), of(20 * entries.most));
            assert_no_more(|| reviewed(entries, &at), || reviewed(entries, &beyond));
        }
    }
}
