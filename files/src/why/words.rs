//! The answers in words.

use poolgate_core::diagnostic::counted;
use poolgate_core::pods::{Conflict, Offered, Shortfall, Unknown, Wanted};

use super::answer::{Answer, Verdict};
use super::pods::Asked;
use super::pools::Candidate;
use crate::terminal;

/// A pod, and a line for each pool; more lines if its affinity has several terms that the pool refuses.
pub fn paragraph(answer: &Answer<'_>) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (pool, verdict) in &answer.verdicts {
        let mut reasons = reasons(verdict, answer.pod, pool).into_iter();
        let first = reasons.next().unwrap_or_default();
        rows.push([terminal::name(&pool.name), verdict.as_str().to_owned(), first]);
        rows.extend(reasons.map(|reason| [String::new(), String::new(), reason]));
    }
    let pod = answer.pod;
    let namespace = pod
        .namespace
        .as_ref()
        .map(|namespace| format!("{}/", terminal::name(namespace)));
    let (namespace, name) = (namespace.unwrap_or_default(), terminal::name(&pod.name));
    let at = pod.at.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
    format!(
        "{} {namespace}{name}{at}\n{}",
        pod.kind,
        terminal::columns("  ", &rows)
    )
}

/// Why a pool refuses a pod, or on what that depends.
pub(super) fn reasons(verdict: &Verdict, pod: &Asked, pool: &Candidate) -> Vec<String> {
    match verdict {
        Verdict::Takes => Vec::new(),
        Verdict::Open(unknown) => {
            let all: Vec<_> = unknown.iter().map(depends).collect();
            vec![format!("depends on {}", all.join(", and on "))]
        }
        Verdict::RefusesAll(why) => vec![why.clone()],
        Verdict::Refuses(conflicts) => conflicts.iter().map(|one| refused(one, pod, pool)).collect(),
    }
}

fn depends(unknown: &Unknown) -> String {
    match unknown {
        Unknown::Label(key) => format!("whether the provider knows the label {}", terminal::clean(key)),
        Unknown::PreferencePolicy => {
            "whether Karpenter ignores preferences (its flag --preference-policy)".to_owned()
        }
        Unknown::MinValuesPolicy => {
            "whether Karpenter relaxes minValues (cluster.minValuesPolicy in the policy)".to_owned()
        }
        Unknown::Terms => "terms of its affinity after the 100th".to_owned(),
        Unknown::Machines => "its instance types (--instance-types)".to_owned(),
        Unknown::MachineLabel(key) => {
            format!(
                "the label {} of its instance types, which the file does not say",
                terminal::clean(key)
            )
        }
        Unknown::Overhead => "what DaemonSets and the kubelet take of a machine".to_owned(),
        Unknown::Pods => "where other pods run".to_owned(),
        Unknown::Volumes => "where the pod's volumes are".to_owned(),
        Unknown::Ports => "the ports of DaemonSets".to_owned(),
        Unknown::Claims => "the devices of nodes".to_owned(),
    }
}

fn refused(conflict: &Conflict, pod: &Asked, pool: &Candidate) -> String {
    let wants = |wanted: &[Wanted]| {
        let each = wanted
            .iter()
            .map(|one| terminal::clean(&format!("{} ({})", one.requirement, pod.place(&one.at))));
        each.collect::<Vec<_>>().join(" and ")
    };
    let has = |offered: &[Offered]| {
        let each = offered
            .iter()
            .map(|one| terminal::clean(&format!("{} ({})", one.requirement, pool.place(&one.at))));
        each.collect::<Vec<_>>().join(" and ")
    };
    match conflict {
        Conflict::Taint(taint) => {
            let (text, place) = (
                terminal::clean(&taint.to_string()),
                pool.place(&pool.path_of(taint)),
            );
            format!("the pod does not tolerate {text} ({place})")
        }
        Conflict::Missing(wanted) => {
            format!("the pod wants {}, and its nodes lack that label", wants(wanted))
        }
        Conflict::Label(wanted, offered) => {
            format!("the pod wants {}, the pool {}", wants(wanted), has(offered))
        }
        Conflict::Volume(key, offered) if offered.is_empty() => {
            format!(
                "a volume of the pod wants {}, and its nodes lack that label",
                terminal::clean(key)
            )
        }
        Conflict::Volume(key, offered) => {
            format!(
                "a volume of the pod is in another {}, the pool {}",
                terminal::clean(key),
                has(offered)
            )
        }
        Conflict::Fields(_) => {
            "Karpenter ignores pods with matchFields, or with an unknown operator".to_owned()
        }
        Conflict::Reserved(wanted) => format!(
            "Karpenter ignores pods that select by this label: {}",
            wants(std::slice::from_ref(wanted))
        ),
        Conflict::Machines(shortfall) => lacking(shortfall),
    }
}

fn lacking(shortfall: &Shortfall) -> String {
    match shortfall {
        Shortfall::Limits => "its limits leave no room for another node".to_owned(),
        Shortfall::Labels => "no instance type has the labels that the pod and the pool want".to_owned(),
        Shortfall::Size => "no instance type that both the pod and the pool allow is large enough".to_owned(),
        Shortfall::Offering => "no instance type that is large enough is available as they want".to_owned(),
        Shortfall::MinValues(key, left, least) => format!(
            "{} of {} left for the pod, and minValues requires {least}",
            counted(*left, "value"),
            terminal::clean(key)
        ),
    }
}
