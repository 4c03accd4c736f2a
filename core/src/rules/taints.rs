//! Taints and startup taints, each by itself.

use super::findings::Findings;
use crate::diagnostic::Origin;
use crate::karpenter::{Taint, Template};
use crate::rules::rule::Rule;
use crate::value::label::{corrected_key, corrected_value, label_value, qualified_name};
use crate::value::timestamp::{check_timestamp, corrected_timestamp};

pub static TAINT_KEY: Rule = rule!("taint-key", Error, Schema);
pub static TAINT_EFFECT: Rule = rule!("taint-effect", Error, Schema);
pub static TAINT_VALUE: Rule = rule!("taint-value", Error, Silent);
pub static TAINT_TIME_ADDED: Rule = rule!("taint-time-added", Error, Schema);

pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    for taint in template.all_taints() {
        check_key(taint, findings);
        check_value(taint, findings);
        check_time_added(taint, findings);
    }
}

fn check_key(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(key) = taint.key.present() else { return };
    if let Err(error) = qualified_name(key) {
        let path = taint.path("key");
        findings
            .report_text(&TAINT_KEY, path, key, Origin::Runtime, error.to_string())
            .suggest_if_known(corrected_key(key).map(|key| format!("write {key}")));
    }
}

fn check_value(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(value) = taint.value.present() else {
        return;
    };
    let path = || taint.path("value");
    let (reason, suggestion) = if value.is_empty() {
        (
            "the CRD rejects an empty value".to_owned(),
            Some("leave value out".to_owned()),
        )
    } else if let Err(error) = label_value(value) {
        let consequence = if findings.context.crd_rejects(&path(), value) {
            ""
        } else {
            ", so no node of this pool could register"
        };
        let suggestion = corrected_value(value).map(|value| format!("write {value}"));
        (format!("{error}{consequence}"), suggestion)
    } else {
        return;
    };
    // Karpenter accepts a value that is valid as a key.
    let otherwise = match qualified_name(value) {
        Ok(()) => Origin::Silent,
        Err(_) => Origin::Runtime,
    };
    findings
        .report_text(&TAINT_VALUE, path(), value, otherwise, reason)
        .suggest_if_known(suggestion);
}

fn check_time_added(taint: &Taint<'_>, findings: &mut Findings<'_>) {
    let Some(time) = taint.time_added.present() else {
        return;
    };
    if let Err(error) = check_timestamp(time) {
        let (path, suggestion) = (taint.path("timeAdded"), corrected_timestamp(time));
        findings
            .report_text(&TAINT_TIME_ADDED, path, time, Origin::Silent, error)
            .suggest(suggestion.map_or_else(
                || "leave it out".to_owned(),
                |time| format!("leave it out, or write {time}"),
            ));
    }
}
