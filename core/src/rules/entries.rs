//! How many entries each list and map has. Checked once for all of them: the checks of a list rely on it.

use super::budgets::alone::BUDGET_REASON;
use super::budgets::list::BUDGETS_COUNT;
use super::findings::Findings;
use super::labels::LABELS_COUNT;
use super::requirements::count::REQUIREMENTS_COUNT;
use crate::diagnostic::{Diagnostic, ErrorType, FieldPath};
use crate::pool::NodePool;
use crate::pool::door::{BUDGETS, Bound, REASONS, REQUIREMENTS, Source, TEMPLATE_LABELS};
use crate::rules::rule::Rule;

pub static ENTRIES_COUNT: Rule = rule!("entries-count", Error, Poolgate);

/// Reports each list or map that has more entries than the cluster's definition allows, or than are read.
pub fn check(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    let karpenter = findings.context.karpenter;
    let defined = |bound: &Bound| karpenter.most(bound.path, pool.version);
    for beyond in &pool.beyond {
        let (bound, actual) = (beyond.bound, beyond.actual);
        let mut stored = old.into_iter().flat_map(|old| &old.beyond);
        let is_stored = stored.any(|stored| stored.path == beyond.path && stored.actual >= actual);
        let defined = defined(bound).filter(|most| actual > *most);
        match defined.map(|most| words(bound, most.min(bound.most))) {
            Some(words) => report(words, beyond.path.clone(), actual, findings),
            None => report(own_words(bound), beyond.path.clone(), actual, findings)
                .consequence("Karpenter sets no bound, but poolgate reads no more"),
        }
        // Karpenter itself writes annotations.
        .lessened(is_stored && defined.is_none());
    }
    let disruption = pool.disruption.as_ref().present();
    let budgets = disruption.and_then(|disruption| disruption.budgets.present());
    let within = [
        (&REQUIREMENTS, pool.template.requirements().len()),
        (&BUDGETS, budgets.map_or(0, <[_]>::len)),
    ];
    // An installed definition may allow fewer than are read.
    for (bound, actual) in within {
        if let Some(most) = defined(bound).filter(|most| actual > *most) {
            report(words(bound, most), bound.path(0), actual, findings);
        }
    }
}

/// The rule that reports a list, its title, and the help.
type Words = (&'static Rule, String, &'static str);

/// The words for a list that the definition bounds.
fn words(bound: &Bound, most: usize) -> Words {
    match bound.path {
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
        _ => own_words(bound),
    }
}

/// The words for a list that only poolgate bounds.
fn own_words(bound: &Bound) -> Words {
    let most = bound.most;
    if bound.source == Source::OwnTogether {
        return (
            &ENTRIES_COUNT,
            format!("all requirements together may have at most {most} values"),
            "replace a list of instance types with requirements on their families or sizes",
        );
    }
    let title = format!("{} may have at most {most} entries", bound.field());
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

    use crate::rules::requirements::testing::{errors, requirements_of};

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
}
