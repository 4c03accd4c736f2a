//! poolgate in place of the CRD's validation: an API server whose CRDs check types alone, with poolgate
//! behind both webhooks, and one with Karpenter's CRDs as published and no webhook, asked the same questions.
//!
//! The second one is the oracle: the table says what is tried and where the two differ on purpose, never what
//! is legal.

mod cases;
mod expansion;
mod sides;

use std::collections::BTreeSet;
use std::fmt::Write;

use poolgate_core::diagnostic::{Origin, Severity};
use poolgate_core::rules::rule::FindingKind;
use poolgate_core::rules::{CATALOGUE, find};
use serde_json::Value;

use crate::support::poolgate::Poolgate;
use cases::{Case, Difference, Stricter};
use sides::{Side, Verdict};

/// What this table must have at least.
const FEWEST_CASES: usize = 150;

/// The most characters of an object that are shown.
const LONGEST_EXCERPT: usize = 400;

#[test]
fn poolgate_denies_what_the_crd_rejects_and_more_only_by_rules_that_say_so() {
    let cases = cases::all();
    assert!(cases.len() >= FEWEST_CASES, "{} cases", cases.len());
    // Before the sides, so that no webhook is asked that is gone.
    let poolgate = Poolgate::serve();
    let (by_crd, by_types, by_poolgate) = std::thread::scope(|scope| {
        let published = scope.spawn(|| {
            let mut side = Side::unchecked(&cases);
            side.check_all();
            side.verdicts(&cases)
        });
        let mut stripped = Side::unchecked(&cases);
        let by_types = stripped.verdicts(&cases);
        stripped.ask(&poolgate);
        let by_poolgate = stripped.verdicts(&cases);
        let by_crd = published.join().expect("the CRD's side answers");
        (by_crd, by_types, by_poolgate)
    });

    let mut mismatches = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let outcome =
            compare(case, &by_crd[number], &by_poolgate[number]).and_then(|()| only_types(&by_types[number]));
        if let Err(wrong) = outcome {
            mismatches.push(reported(case, &wrong, &by_crd[number], &by_poolgate[number]));
        }
    }
    assert!(
        mismatches.is_empty(),
        "{} of {} cases:\n\n{}",
        mismatches.len(),
        cases.len(),
        mismatches.join("\n")
    );
    assert_eq!(
        unused_rules(&by_poolgate),
        Vec::<&str>::new(),
        "rules of the schema without a case"
    );
}

/// Whether the two verdicts are the same, or differ as the case says.
fn compare(case: &Case, by_crd: &Verdict, by_poolgate: &Verdict) -> Result<(), String> {
    use Verdict::{Admitted, Denied};
    match (&case.difference, by_crd, by_poolgate) {
        (None, Admitted, Admitted) | (Some(Difference::Ratchet(Stricter::Crd)), Denied(_), Admitted) => {
            Ok(())
        }
        (None, Denied(_), Denied(denial))
        | (Some(Difference::Ratchet(Stricter::Poolgate)), Admitted, Denied(denial)) => {
            if !denial.rules.iter().any(|rule| stands_for_schema(rule)) {
                return Err(format!(
                    "denied by none of the rules that stand for the schema: {:?}",
                    denial.rules
                ));
            }
            Ok(())
        }
        (Some(Difference::More(rule)), Admitted, Denied(denial)) => {
            if denial.rules != [rule.as_str()] {
                return Err(format!(
                    "should be denied by {rule} alone, not by {:?}",
                    denial.rules
                ));
            }
            let Some(found) = find(rule) else {
                return Err(format!("{rule} is no rule"));
            };
            if found
                .page()
                .kinds
                .iter()
                .all(|kind| kind.origin == Origin::Schema)
            {
                return Err(format!("{rule} says that the CRD rejects this too"));
            }
            Ok(())
        }
        (None, Denied(_), Admitted) => Err("poolgate admits what the CRD rejects".to_owned()),
        (None, Admitted, Denied(_)) => Err("poolgate denies what the CRD admits".to_owned()),
        (Some(difference), _, _) => Err(format!("does not differ as said: {difference:?}")),
    }
}

/// Whether a rule denies what the schema rejects. Without this question, a rule of poolgate's own that speaks of
/// the same object could hide that the rule in the schema's place is missing.
fn stands_for_schema(rule: &str) -> bool {
    let denies = |kind: &FindingKind| kind.origin == Origin::Schema && kind.severity == Severity::Error;
    find(rule).is_some_and(|rule| rule.page().kinds.iter().any(denies))
}

/// Whether the API server without poolgate objects to nothing but a type: then all other denials are poolgate's.
fn only_types(by_types: &Verdict) -> Result<(), String> {
    match by_types {
        Verdict::Denied(denial) if !denial.message.contains("must be of type") => Err(format!(
            "denied without poolgate, but not as a wrong type: {}",
            denial.message
        )),
        Verdict::Denied(_) | Verdict::Admitted => Ok(()),
    }
}

fn reported(case: &Case, wrong: &str, by_crd: &Verdict, by_poolgate: &Verdict) -> String {
    let mut text = format!("{}\n    {wrong}\n", case.name);
    if let Some(old) = &case.old {
        let _ = writeln!(text, "    old:      {}", excerpt(&old["spec"]));
    }
    let _ = writeln!(text, "    new:      {}", excerpt(&case.new["spec"]));
    for (side, verdict) in [("CRD:     ", by_crd), ("poolgate:", by_poolgate)] {
        let verdict = match verdict {
            Verdict::Admitted => "admitted",
            Verdict::Denied(denial) => &denial.message,
        };
        let _ = writeln!(text, "    {side} {verdict}");
    }
    text
}

fn excerpt(spec: &Value) -> String {
    let text = spec.to_string();
    let mut shown: String = text.chars().take(LONGEST_EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Rules that replace checks of the API server, but not of the definition: it answers or prunes unknown fields before any
/// webhook is asked, and the table names its objects itself.
const BEYOND_THE_TABLE: &[&str] = &["field-unknown", "nodepool-name"];

/// The rules that replace checks of the schema of v1 and deny nothing in the table.
fn unused_rules(by_poolgate: &[Verdict]) -> Vec<&'static str> {
    let denials = by_poolgate.iter().filter_map(|verdict| match verdict {
        Verdict::Denied(denial) => Some(&denial.rules),
        Verdict::Admitted => None,
    });
    let used: BTreeSet<&str> = denials.flatten().map(String::as_str).collect();
    CATALOGUE
        .iter()
        .filter(|rule| {
            let mut kinds = rule.page().kinds.into_iter();
            kinds.any(|kind| {
                let is_of_a_nodepool = !["kind: NodeOverlay", "kind: CapacityBuffer"]
                    .iter()
                    .any(|other| kind.bad.contains(other));
                is_of_a_nodepool && !kind.bad.contains("karpenter.sh/v1beta1")
            })
        })
        .map(|rule| rule.id.as_str())
        .filter(|id| stands_for_schema(id) && !BEYOND_THE_TABLE.contains(id))
        .filter(|id| !used.contains(id))
        .collect()
}
