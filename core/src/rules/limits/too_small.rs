//! Limits that leave no room for the smallest machine that the requirements allow.

use super::{Limit, Limits, path};
use crate::karpenter::{NodePool, Requirement, Selection, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, Silent);

/// The labels with which instance types give their amount of a resource.
struct Size {
    resource: &'static str,
    keys: &'static [&'static str],
    /// The divisor of the label's value that gives what the node certainly has.
    share: i64,
    /// How many units of the resource one unit of the label is.
    unit: i64,
    unit_name: &'static str,
}

const SIZES: [Size; 2] = [
    Size {
        resource: "cpu",
        keys: &[
            "karpenter.k8s.aws/instance-cpu",
            "eks.amazonaws.com/instance-cpu",
            "karpenter.azure.com/sku-cpu",
        ],
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
        keys: &[
            "karpenter.k8s.aws/instance-memory",
            "eks.amazonaws.com/instance-memory",
            "karpenter.azure.com/sku-memory",
        ],
        share: 2,
        unit: 1 << 20,
        unit_name: "MiB",
    },
];

pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    for size in &SIZES {
        if let Some(limit) = limits.get(size.resource) {
            check_size(pool, size, limit, findings);
        }
    }
}

fn check_size(pool: &NodePool<'_>, size: &Size, written: &Limit<'_>, findings: &mut Findings<'_>) {
    for key in size.keys {
        let requirements = pool.template.requirements().iter();
        let mut own = requirements
            .filter(|requirement| requirement.key.present() == Some(*key))
            .peekable();
        let Some(first) = own.peek().map(|requirement| requirement.index) else {
            continue;
        };
        let Some(selections) = own.map(Requirement::selection).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let Some(least) = Selection::all(selections).least() else {
            continue;
        };
        let (Some(needed), Some(limit)) = ((least / size.share).checked_mul(size.unit), written.quantity())
        else {
            continue;
        };
        // A limit of 0 switches the pool off, and another rule reports it.
        if limit.is_zero() || limit.is_negative() || *limit >= Quantity::from(needed) {
            continue;
        }
        let (resource, unit) = (size.resource, size.unit_name);
        let reason = format!(
            "the smallest machine that the requirements allow has {least} {unit}, so no node fits into this limit and the \
             pool never launches one"
        );
        findings
            .report(&LIMIT_TOO_SMALL, path(resource), written.value, reason)
            .suggest("raise the limit to what all nodes together may have, or allow smaller machines")
            .related(Template::requirements_path().index(first));
    }
}
