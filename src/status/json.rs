//! A report as JSON.

use poolgate_core::api::API_VERSION;
use serde_json::{Value, json};

use super::report::{Answers, PolicyReport, Report, WebhookReport};

/// The report as one object; what is not known is null.
pub fn from_report(report: &Report) -> Value {
    let reconciler = report.reconciler.iter().flatten().next();
    let reconciler = reconciler.map(|reconciler| {
        json!({
            "holder": reconciler.holder,
            "leads": reconciler.leads,
            "renewedSecondsAgo": reconciler.renewed.map(|renewed| renewed.as_secs()),
        })
    });
    let webhooks = report.webhooks.as_ref();
    let webhooks = webhooks.map(|webhooks| webhooks.iter().map(of_webhook).collect::<Value>());
    json!({
        "apiVersion": API_VERSION,
        "kind": "StatusReport",
        "at": report.now.to_string(),
        "namespace": report.namespace,
        "probed": report.probed,
        "webhooks": webhooks,
        "deployments": report.deployments,
        "policy": of_policy(&report.policy),
        "reconciler": reconciler,
        "nodePools": report.pools,
        "notes": report.notes,
        "problems": report.problems,
        "unread": report.unread,
    })
}

fn of_policy(policy: &PolicyReport) -> Value {
    let stored = policy.stored.as_ref();
    json!({
        "stored": stored.and_then(|stored| stored.sha256.as_ref()),
        "enforcement": stored.and_then(|stored| stored.enforcement),
        "inForce": policy.in_force,
    })
}

fn of_webhook(webhook: &WebhookReport) -> Value {
    let (answers, why) = match &webhook.answers {
        Answers::Yes => (Some(true), None),
        Answers::No(why) => (Some(false), Some(why.as_str())),
        Answers::Unknown(why) => (None, Some(why.as_str())),
        Answers::Unasked(why) => (None, Some(*why)),
    };
    let reported = |key| webhook.report.as_ref().and_then(|report| report.get(key));
    json!({
        "name": webhook.name,
        "path": webhook.path,
        "failurePolicy": webhook.failure_policy,
        "answers": answers,
        "why": why,
        "authorityEnds": webhook.authority_ends.map(|ends| ends.to_string()),
        "certificateEnds": webhook.certificate_ends().map(|ends| ends.to_string()),
        "version": reported("version"),
        "karpenter": reported("karpenter"),
        "policy": reported("policy"),
    })
}
