//! How long nodes live, and how long they may take to go: `expireAfter` and `terminationGracePeriod`.

use std::time::Duration;

use super::findings::Findings;
use super::{Context, too_long};
use crate::diagnostic::{FieldPath, Fix, Problem, RuleId, Severity, quoted};
use crate::karpenter::{ApiVersion, Field, NodeClaim, NodePool, Place, Release};
use crate::rule::{Origin, Rule};
use crate::value::duration::{DurationPattern, NillableDuration, NillableDurationError};

/// How long Karpenter gives a machine to register as a node (`registrationTTL` of its liveness controller).
const REGISTRATION: Duration = Duration::from_mins(15);

pub(super) static EXPIRE_AFTER: Rule = Rule {
    id: RuleId::new("expire-after"),
    title: "`expireAfter` is a duration that Karpenter can read, or `Never`",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "It is whole seconds, minutes and hours, such as `720h`; there are no days. The CRD bounds no \
          number, and before Karpenter 1.4, and in v1beta1, it lets texts like `1hr` through. A value that \
          Karpenter cannot decode makes the list of **all** NodePools unreadable.",
    seen_in: &["2055"],
    bad: "\
spec:
  template:
    spec:
      expireAfter: 99999999h
",
    good: "\
spec:
  template:
    spec:
      expireAfter: 720h
",
};

pub(super) static EXPIRE_AFTER_ZERO: Rule = Rule {
    id: RuleId::new("expire-after-zero"),
    title: "Nodes do not expire at once",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "With `expireAfter: 0s` every node has expired by the time it is created. Karpenter terminates it \
          and launches the next one, for ever; no budget limits this.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      expireAfter: 0s
",
    good: "\
spec:
  template:
    spec:
      expireAfter: Never
",
};

pub(super) static EXPIRE_AFTER_SHORT: Rule = Rule {
    id: RuleId::new("expire-after-short"),
    title: "Nodes live at least as long as a machine may take to become one",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Karpenter gives a machine 15 minutes to become a node. One that expires sooner may be terminated \
          before any pod has run on it. No budget limits expiration.",
    seen_in: &["1750"],
    bad: "\
spec:
  template:
    spec:
      expireAfter: 5m
",
    good: "\
spec:
  template:
    spec:
      expireAfter: 12h
",
};

pub(super) static TERMINATION_GRACE_PERIOD: Rule = Rule {
    id: RuleId::new("termination-grace-period"),
    title: "`terminationGracePeriod` is a duration that Karpenter can read",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "It is whole seconds, minutes and hours, such as `48h`; there are no days, and no `Never`: leave \
          the field out instead. The CRD bounds no number, and one that Karpenter cannot decode makes the \
          list of **all** NodePools unreadable.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      terminationGracePeriod: 2562048h
",
    good: "\
spec:
  template:
    spec:
      terminationGracePeriod: 48h
",
};

pub(super) static TERMINATION_GRACE_PERIOD_ZERO: Rule = Rule {
    id: RuleId::new("termination-grace-period-zero"),
    title: "Pods get time to leave a node that is terminated",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "With `terminationGracePeriod: 0s` pods are killed as soon as their node is to go, regardless of \
          PodDisruptionBudgets and `karpenter.sh/do-not-disrupt`.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      terminationGracePeriod: 0s
",
    good: "\
spec:
  template:
    spec:
      terminationGracePeriod: 1h
",
};

/// The two durations, where they can be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lifetime {
    /// `expireAfter`; none where it is absent or wrong.
    pub(super) expire_after: Option<NillableDuration>,
    /// `terminationGracePeriod`; none where it is absent or wrong.
    pub(super) grace: Option<Duration>,
}

/// Checks the lifetime of a pool's nodes.
pub(super) fn check_pool(
    pool: &NodePool<'_>,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) -> Lifetime {
    let path = || NodePool::expire_after_path(pool.version);
    let pattern = pattern(pool.version, context.release);
    Lifetime {
        expire_after: check_expire_after(pool.expire_after, path, pattern, findings),
        grace: check_grace(
            pool.template.termination_grace_period,
            Place::Pool,
            pool.version,
            findings,
        ),
    }
}

/// Checks the lifetime of one node.
pub(super) fn check_claim(claim: &NodeClaim<'_>, context: &Context<'_>, findings: &mut Findings<'_>) {
    if claim.version == ApiVersion::V1 {
        let path = || Place::Claim.path("expireAfter");
        check_expire_after(
            claim.expire_after,
            path,
            pattern(claim.version, context.release),
            findings,
        );
    }
    check_grace(
        claim.template.termination_grace_period,
        Place::Claim,
        claim.version,
        findings,
    );
}

fn pattern(version: ApiVersion, release: Release) -> DurationPattern {
    if version == ApiVersion::V1 && release.has(Release::ANCHORED_DURATIONS) {
        DurationPattern::Anchored
    } else {
        DurationPattern::HalfAnchored
    }
}

fn check_expire_after(
    field: Field<&str>,
    path: impl Fn() -> FieldPath,
    pattern: DurationPattern,
    findings: &mut Findings<'_>,
) -> Option<NillableDuration> {
    let text = field.present()?;
    let problem = || Problem::Invalid { value: quoted(text) };
    if let Some(reason) = too_long(text) {
        findings.push(EXPIRE_AFTER.finding(path(), problem(), reason));
        return None;
    }
    match NillableDuration::parse(text, pattern) {
        Ok(duration) => {
            if let NillableDuration::After(length) = duration
                && length < REGISTRATION
            {
                check_short(length, path(), problem(), findings);
            }
            Some(duration)
        }
        Err(error) => {
            let reason = format!("{error}{}", consequence(pattern.accepts(text)));
            findings.push(
                EXPIRE_AFTER
                    .finding(path(), problem(), reason)
                    .mend_if_known(error.mend())
                    .fix_if_known(error.meant().map(Fix::text)),
            );
            None
        }
    }
}

fn check_short(length: Duration, path: FieldPath, problem: Problem, findings: &mut Findings<'_>) {
    if length.is_zero() {
        let reason = "every node would expire at its creation and be replaced by the next, for ever";
        findings.push(
            EXPIRE_AFTER_ZERO
                .finding(path, problem, reason)
                .mend("write Never for no expiry"),
        );
    } else {
        let reason = "a machine has 15 minutes to become a node, so this one may be gone before it is of use";
        findings.push(
            EXPIRE_AFTER_SHORT
                .finding(path, problem, reason)
                .mend("write hours, or Never"),
        );
    }
}

/// What follows from a text that Karpenter cannot decode and the CRD lets through.
const fn consequence(is_let_through: bool) -> &'static str {
    if is_let_through {
        ", and Karpenter could then read no NodePool at all"
    } else {
        ""
    }
}

fn check_grace(
    field: Field<&str>,
    place: Place,
    version: ApiVersion,
    findings: &mut Findings<'_>,
) -> Option<Duration> {
    // v1beta1 has no such field, of which `field-unknown` speaks.
    let text = field.present().filter(|_| version == ApiVersion::V1)?;
    let path = || place.path("terminationGracePeriod");
    let problem = || Problem::Invalid { value: quoted(text) };
    if let Some(reason) = too_long(text) {
        findings.push(TERMINATION_GRACE_PERIOD.finding(path(), problem(), reason));
        return None;
    }
    let (reason, mend) = match NillableDuration::parse(text, DurationPattern::Anchored) {
        Ok(NillableDuration::After(length)) => {
            if length.is_zero() {
                let reason = "pods would be killed at once, whatever PodDisruptionBudgets say";
                findings.push(
                    TERMINATION_GRACE_PERIOD_ZERO
                        .finding(path(), problem(), reason)
                        .mend("write how long pods may take, or leave it out for as long as they take"),
                );
            }
            return Some(length);
        }
        Ok(NillableDuration::Never) | Err(NillableDurationError::NeverMisspelt) => {
            ("it cannot be Never".to_owned(), Some(FOR_EVER.to_owned()))
        }
        Err(NillableDurationError::Overflow) => {
            let reason = format!("{}{}", NillableDurationError::Overflow, consequence(true));
            (reason, Some(FOR_EVER.to_owned()))
        }
        Err(NillableDurationError::Other) => {
            ("a duration is written like 30s, 10m or 1h30m".to_owned(), None)
        }
        Err(error) => (error.to_string(), error.mend()),
    };
    findings.push(
        TERMINATION_GRACE_PERIOD
            .finding(path(), problem(), reason)
            .mend_if_known(mend),
    );
    None
}

const FOR_EVER: &str = "leave it out to wait as long as pods take";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::review::Subject;
    use crate::rules::testing::{errors, errors_for, errors_on, warnings};

    fn pool(field: &str, text: &str) -> Value {
        json!({"spec": {"template": {"spec": {field: text}}}})
    }

    #[test]
    fn usual_lifetimes_pass() {
        for text in ["720h", "Never", "1h30m", "15m", "30m1h", "2562047h"] {
            assert_eq!(errors(&pool("expireAfter", text)), [""; 0], "{text}");
            assert_eq!(warnings(&pool("expireAfter", text)), [""; 0], "{text}");
        }
        assert_eq!(errors(&pool("terminationGracePeriod", "48h")), [""; 0]);
    }

    #[test]
    fn what_crd_or_karpenter_cannot_read_is_refused_with_the_mend() {
        for (text, end) in [
            ("30d", "; write 720h [expire-after]"),
            ("never", "; write Never [expire-after]"),
            ("720h | Never", "; choose one [expire-after]"),
            (
                "2562048h",
                "; write Never if it should never happen [expire-after]",
            ),
        ] {
            let refused = errors(&pool("expireAfter", text));
            assert_eq!(refused.len(), 1, "{text}");
            assert!(refused[0].ends_with(end), "{refused:?}");
        }
        assert!(errors(&pool("expireAfter", "2562048h"))[0].contains("could then read no NodePool at all"));
        for (text, end) in [
            ("1d", "; write 24h [termination-grace-period]"),
            (
                "Never",
                "; leave it out to wait as long as pods take [termination-grace-period]",
            ),
            (
                "99999999h",
                "; leave it out to wait as long as pods take [termination-grace-period]",
            ),
            ("soon", "like 30s, 10m or 1h30m [termination-grace-period]"),
        ] {
            let refused = errors(&pool("terminationGracePeriod", text));
            assert!(refused[0].ends_with(end), "{refused:?}");
        }
    }

    #[test]
    fn older_crds_let_more_through_of_which_karpenter_reads_some() {
        let errors = |text| {
            errors_for(
                ApiVersion::V1,
                Release::new(1, 3, 0),
                &pool("expireAfter", text),
                None,
            )
        };
        assert_eq!(errors("3600000ms"), [""; 0]);
        let poison = errors("1hr");
        assert!(poison[0].contains("could then read no NodePool"), "{poison:?}");
        assert!(poison[0].ends_with("; write 1h [expire-after]"), "{poison:?}");
    }

    #[test]
    fn nodes_that_expire_at_once_or_too_soon_are_told() {
        for text in ["0s", "00h"] {
            assert!(errors(&pool("expireAfter", text))[0].ends_with("[expire-after-zero]"));
        }
        assert!(warnings(&pool("expireAfter", "14m"))[0].ends_with("[expire-after-short]"));
        assert!(
            warnings(&pool("terminationGracePeriod", "0s"))[0].ends_with("[termination-grace-period-zero]")
        );
    }

    #[test]
    fn v1beta1_has_the_expiry_elsewhere() {
        let object = json!({"spec": {"disruption": {"expireAfter": "30d"}}});
        let refused = errors_for(ApiVersion::V1Beta1, Release::new(1, 0, 8), &object, None);
        assert!(
            refused[0].starts_with("spec.disruption.expireAfter: "),
            "{refused:?}"
        );
    }

    #[test]
    fn a_claim_has_them_below_its_spec() {
        let claim = json!({"spec": {"expireAfter": "1d", "terminationGracePeriod": "1d"}});
        let refused = errors_on(Subject::NodeClaim(ApiVersion::V1), Release::NEWEST, &claim, None);
        assert_eq!(refused.len(), 2);
        assert!(refused[0].starts_with("spec.expireAfter: "), "{refused:?}");
        assert!(
            refused[1].starts_with("spec.terminationGracePeriod: "),
            "{refused:?}"
        );
    }
}
