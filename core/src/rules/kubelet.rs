//! Fields that only templates of v1beta1 have: the kubelet's settings and `resources`. Also the annotation that the conversion
//! to v1 makes of the kubelet's settings.

use super::context::Context;
use super::findings::{Findings, UNREADABLE};
use super::limits::amount::noticed_by;
use crate::diagnostic::{ErrorType, FieldPath, Origin, Severity};
use crate::facts::{ApiVersion, Installed, KarpenterVersion, Provider, ProviderVersion, ReleaseSource};
use crate::json::{Json, Object};
use crate::pool::door::KUBELET as KUBELET_MAPS;
use crate::pool::{Field, Map, NodePool, Template};
use crate::rules::rule::Rule;
use crate::value::duration::GoDuration;
use crate::value::quantity::Quantity;

// karpenter 1.0.8: pkg/apis/v1beta1/nodeclaim.go KubeletConfiguration
const SIGNALS: &[&str] = &[
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];
// karpenter 1.0.8: pkg/apis/v1beta1/nodeclaim.go KubeletConfiguration
const RESERVED: &[&str] = &["cpu", "memory", "ephemeral-storage", "pid"];

/// The only field of `resources`. The API server drops all others before it looks whether `resources` is empty.
const REQUESTS: &str = "requests";

pub static KUBELET: Rule = rule!("kubelet", Error, Schema);
pub static TEMPLATE_RESOURCES: Rule = rule!("template-resources", Error, Schema);

pub static KUBELET_CONVERSION: Rule = rule!("kubelet-conversion", Error, Silent);

/// The annotation that keeps the `kubelet` settings of v1beta1 for Karpenter 1.0.
// karpenter 1.0.8: pkg/apis/v1/labels.go KubeletCompatibilityAnnotationKey
const CONVERTED: &str = "compatibility.karpenter.sh/v1beta1-kubelet-conversion";
/// The group of the node classes of AWS. It stands here and not in the provider's data, because what its Karpenter does about
/// one annotation is a fault of some releases, and nothing that a provider has.
const AWS: &str = "karpenter.k8s.aws";

/// Reports settings that the conversion to v1 moves to an annotation, and this annotation if nothing reads it.
pub fn check_conversion(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let is_converted = pool.version == ApiVersion::V1Beta1
        && findings.context.release.has(KarpenterVersion::V1_STORED)
        && pool.template.kubelet.present().is_some();
    if is_converted {
        findings
            .report(
                &KUBELET_CONVERSION,
                Template::path("kubelet"),
                ErrorType::Note { value: None },
                "Karpenter stores kubelet in an annotation that only 1.0 reads",
            )
            .severity(Severity::Note)
            .consequence("nodes lose these kubelet settings in Karpenter 1.1 and newer")
            .suggest("move the settings to spec.kubelet of the node class before an upgrade to 1.1");
    }
    let Some(settings) = pool.annotation(CONVERTED).filter(|value| !value.is_null()) else {
        return;
    };
    if !findings.context.release.has(KarpenterVersion::V1_ALONE) {
        return;
    }
    let is_fatal = pool.template.node_class_group() == Some(AWS) && ends_at_start(&findings.context);
    let title = "only Karpenter 1.0 reads this annotation";
    let finding = findings.report(
        &KUBELET_CONVERSION,
        FieldPath::of(&["metadata", "annotations", CONVERTED]),
        ErrorType::note(settings),
        title,
    );
    if is_fatal {
        finding
            .consequence("Karpenter for AWS 1.1 to 1.5 exits at startup if any NodePool has this annotation");
    } else {
        finding
            .severity(Severity::Note)
            .consequence("nodes do not get these kubelet settings");
    }
    finding.suggest("move the settings to spec.kubelet of the node class, and remove the annotation");
}

/// Whether the Karpenter for AWS is known to be one that exits if a pool has the annotation: 1.1.0 to 1.5.8. Its first two
/// numbers are those of the Karpenter that it contains.
fn ends_at_start(context: &Context<'_>) -> bool {
    let cluster = &context.policy.cluster;
    let version = Provider::of_group(AWS).and_then(|aws| cluster.version_of(aws));
    if let Some(version) = version {
        return (ProviderVersion::new(1, 1, 0)..ProviderVersion::new(1, 6, 0)).contains(&version);
    }
    let exits = |release| (KarpenterVersion::V1_ALONE..KarpenterVersion::new(1, 6, 0)).contains(&release);
    match context.karpenter.source() {
        ReleaseSource::Newest => false,
        ReleaseSource::User => exits(context.release),
        ReleaseSource::Definition => {
            let releases = context
                .karpenter
                .installed()
                .and_then(|Installed { releases, .. }| *releases);
            releases.is_some_and(|releases| exits(releases.oldest) && exits(releases.newest))
        }
    }
}

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    if template.version != ApiVersion::V1Beta1 {
        return;
    }
    if let Some(kubelet) = template.kubelet.present() {
        let maps = &template.kubelet_maps;
        Kubelet {
            settings: kubelet,
            maps,
        }
        .check(findings);
    }
    if template
        .resources
        .present()
        .and_then(|resources| resources.get(REQUESTS))
        .is_some_and(|requests| !requests.is_null())
    {
        findings
            .report(
                &TEMPLATE_RESOURCES,
                Template::path("resources"),
                ErrorType::showing("{…}"),
                "Karpenter adds up the requests of pods instead of resources",
            )
            .suggest("leave resources out");
    }
}

struct Kubelet<'a> {
    settings: &'a Object<'a>,
    /// Those of [`KUBELET_MAPS`].
    maps: &'a [Field<Map<'a>>],
}

fn path(field: &'static str) -> FieldPath {
    Template::path("kubelet").key(field)
}

impl<'a> Kubelet<'a> {
    /// The keys and strings of a setting that is a map.
    fn texts(&self, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut maps = KUBELET_MAPS.iter().zip(self.maps);
        let map = maps.find_map(|(entries, map)| (entries.field() == field).then_some(map.present()?));
        map.into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key, value.as_str()?)))
    }

    /// Whether a map has a value for a key. The API server drops null values.
    fn has(&self, field: &str, key: &str) -> bool {
        let value = self.settings.get(field).and_then(|map| map.get(key));
        value.is_some_and(|value| !value.is_null())
    }

    fn check(&self, findings: &mut Findings<'_>) {
        self.check_numbers(findings);
        for field in ["evictionHard", "evictionSoft"] {
            self.check_keys(field, SIGNALS, findings);
            self.check_each(field, threshold, findings);
        }
        self.check_keys("evictionSoftGracePeriod", SIGNALS, findings);
        self.check_each("evictionSoftGracePeriod", grace_period, findings);
        self.check_pairs("evictionSoft", "evictionSoftGracePeriod", findings);
        self.check_pairs("evictionSoftGracePeriod", "evictionSoft", findings);
        for field in ["kubeReserved", "systemReserved"] {
            self.check_keys(field, RESERVED, findings);
            self.check_each(field, reserved, findings);
        }
    }

    fn check_numbers(&self, findings: &mut Findings<'_>) {
        let number = |field: &str| self.settings.get(field).and_then(Json::as_f64);
        let (high, low) = ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent");
        if let (Some(most), Some(least)) = (number(high), number(low))
            && most <= least
        {
            let reason = format!("the high threshold must be greater than the low one, which is {least}");
            findings
                .report(&KUBELET, path(high), ErrorType::showing(most.to_string()), reason)
                .related(path(low));
        }
    }

    fn check_keys(&self, field: &'static str, known: &'static [&'static str], findings: &mut Findings<'_>) {
        for (key, _) in self.texts(field).filter(|(key, _)| !known.contains(key)) {
            let path = path(field).key(key.to_owned());
            findings.unsupported(&KUBELET, path, key, known, "the kubelet has no such key here");
        }
    }

    fn check_each(
        &self,
        field: &'static str,
        check: fn(&str) -> Result<(), Wrong>,
        findings: &mut Findings<'_>,
    ) {
        for (key, text) in self.texts(field) {
            if let Err((origin, title)) = check(text) {
                let path = path(field).key(key.to_owned());
                let finding = findings.report(&KUBELET, path, text, title).origin(origin);
                if field == "evictionSoftGracePeriod" {
                    finding.consequence(UNREADABLE);
                }
            }
        }
    }

    fn check_pairs(&self, field: &'static str, other: &'static str, findings: &mut Findings<'_>) {
        for (key, text) in self.texts(field).filter(|(key, _)| !self.has(other, key)) {
            let reason = format!("{other} must have a value for the same signal");
            findings
                .report(&KUBELET, path(field).key(key.to_owned()), text, reason)
                .related(path(other));
        }
    }
}

/// The origin and the title of a mistake.
type Wrong = (Origin, String);

/// A percentage with at most two decimals, or a quantity. The CRD's pattern accepts an empty string, too.
fn threshold(text: &str) -> Result<(), Wrong> {
    let Some(percent) = text.strip_suffix('%') else {
        return if text.is_empty() { Ok(()) } else { quantity(text) };
    };
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, "0"));
    let digits = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hundred = whole == "100" && matches!(decimals, "0" | "00");
    if is_hundred || (digits(whole) && digits(decimals)) {
        Ok(())
    } else {
        Err((
            Origin::Schema,
            "a percentage must be from 0% to 100%, with at most two decimals".into(),
        ))
    }
}

fn reserved(text: &str) -> Result<(), Wrong> {
    if text.starts_with('-') {
        return Err((Origin::Schema, "a reserved amount must not be negative".into()));
    }
    quantity(text)
}

fn quantity(text: &str) -> Result<(), Wrong> {
    Quantity::parse(text)
        .map(|_| ())
        .map_err(|error| (noticed_by(&error), error.to_string()))
}

/// A duration that Karpenter can read. The CRD accepts any string.
fn grace_period(text: &str) -> Result<(), Wrong> {
    GoDuration::parse(text)
        .map(|_| ())
        .map_err(|error| (Origin::Silent, error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::KarpenterVersion;
    use crate::rules::testing::errors_for;

    #[test]
    fn a_reserved_amount_is_a_string() {
        let object = json!({"spec": {"template": {"spec": {"kubelet": {"kubeReserved": {"cpu": 1}}}}}});
        let denied = errors_for(ApiVersion::V1Beta1, KarpenterVersion::OLDEST, &object, None);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].ends_with("[field-type]. Write it in quotes: \"1\"."),
            "{denied:?}"
        );
    }
}
