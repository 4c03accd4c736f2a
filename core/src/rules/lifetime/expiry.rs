//! `expireAfter`: how long nodes live.

use std::time::Duration;

use super::parse;
use crate::diagnostic::FieldPath;
use crate::karpenter::{Field, NodePool, Template, TemplateOwner};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::duration::NillableDuration;

/// How long Karpenter gives a machine to register as a node (`registrationTTL` of its liveness controller).
const REGISTRATION: Duration = Duration::from_mins(15);

pub static EXPIRE_AFTER: Rule = rule!("expire-after", Error, [Schema, Silent], Shown);
pub static EXPIRE_AFTER_ZERO: Rule = rule!("expire-after-zero", Error, [Silent], Read);
pub static EXPIRE_AFTER_SHORT: Rule = rule!("expire-after-short", Warning, [Silent], Read);

/// Checks the text, and returns the parsed duration.
pub fn check(
    field: Field<&str>,
    template: &Template<'_>,
    findings: &mut Findings<'_>,
) -> Option<NillableDuration> {
    let text = field.present()?;
    let (owner, version) = (template.owner, template.version);
    let path = || match owner {
        TemplateOwner::Pool => NodePool::expire_after_path(version),
        TemplateOwner::Claim => owner.path("expireAfter"),
    };
    let duration = parse(text, &EXPIRE_AFTER, path, owner, findings)?;
    if let NillableDuration::After(length) = duration
        && length < REGISTRATION
    {
        check_short(length, owner, path(), text, findings);
    }
    Some(duration)
}

fn check_short(
    length: Duration,
    owner: TemplateOwner,
    path: FieldPath,
    text: &str,
    findings: &mut Findings<'_>,
) {
    let (rule, reason, suggestion) = if length.is_zero() {
        let reason = match owner {
            TemplateOwner::Pool => {
                "every node would expire as soon as it is created and be replaced by the next, for ever"
            }
            TemplateOwner::Claim => "the node would expire as soon as it is created",
        };
        (&EXPIRE_AFTER_ZERO, reason, "write Never for no expiry")
    } else {
        let reason =
            "an instance has 15 minutes to become a node, so this one may expire before it runs a single pod";
        (&EXPIRE_AFTER_SHORT, reason, "write hours, or Never")
    };
    findings.report(rule, path, text, reason).suggest(suggestion);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::testing::{errors, errors_for, warnings};

    fn pool(text: &str) -> Value {
        json!({"spec": {"template": {"spec": {"expireAfter": text}}}})
    }

    #[test]
    fn what_crd_or_karpenter_cannot_read_is_denied_with_a_suggestion() {
        for (text, end) in [
            ("30d", "; write 720h [expire-after]"),
            ("never", "; write Never [expire-after]"),
            ("720h | Never", "; choose one [expire-after]"),
            (
                "2562048h",
                "; write Never if it should never happen [expire-after]",
            ),
        ] {
            let denied = errors(&pool(text));
            assert_eq!(denied.len(), 1, "{text}");
            assert!(denied[0].ends_with(end), "{denied:?}");
        }
        assert!(errors(&pool("2562048h"))[0].contains("could then not read any NodePool"));
    }

    #[test]
    fn older_crds_accept_more_and_karpenter_reads_some_of_it() {
        let errors = |text| errors_for(ApiVersion::V1, KarpenterVersion::new(1, 3, 0), &pool(text), None);
        assert_eq!(errors("3600000ms"), [""; 0]);
        let poison = errors("1hr");
        assert!(
            poison[0].contains("could then not read any NodePool"),
            "{poison:?}"
        );
        assert!(poison[0].ends_with("; write 1h [expire-after]"), "{poison:?}");
    }

    #[test]
    fn nodes_that_expire_at_once_or_too_soon_are_reported() {
        for text in ["0s", "00h"] {
            assert!(errors(&pool(text))[0].ends_with("[expire-after-zero]"));
        }
        assert!(warnings(&pool("14m"))[0].ends_with("[expire-after-short]"));
    }

    #[test]
    fn v1beta1_has_expire_after_below_disruption() {
        let object = json!({"spec": {"disruption": {"expireAfter": "30d"}}});
        let denied = errors_for(ApiVersion::V1Beta1, KarpenterVersion::new(1, 0, 8), &object, None);
        assert!(
            denied[0].starts_with("spec.disruption.expireAfter: "),
            "{denied:?}"
        );
    }
}
