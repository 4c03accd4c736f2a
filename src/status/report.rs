//! The report on a cluster: a pure function of what is known.

use jiff::{SignedDuration, Timestamp};
use poolgate_core::policy::Policy;
use serde::Serialize;

use super::facts::{Asked, Facts, Read, SelfReport};
use super::pools::{PoolReport, of_pools};
use super::reconciler::Reconciler;
use crate::certs::read_certificates;
use crate::cluster::webhooks::Webhook;
use crate::policy_file;
use crate::registration::{Served, called, compare};
use crate::sha256::sha256;

/// How long before its end a certificate is a problem.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The report.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) now: Timestamp,
    pub(super) namespace: String,
    pub(super) webhooks: Vec<WebhookReport>,
    pub(super) policy: PolicyReport,
    pub(super) reconciler: Option<Reconciler>,
    pub(super) pools: Vec<PoolReport>,
    /// What is wrong, a sentence each.
    pub(super) problems: Vec<String>,
    /// What could not be read, and why.
    pub(super) unread: Vec<String>,
}

/// A webhook that is registered.
#[derive(Debug)]
pub(super) struct WebhookReport {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) failure_policy: String,
    pub(super) answers: Answers,
    /// When the last CA in its `caBundle` expires.
    pub(super) authority_ends: Option<Timestamp>,
    /// Its self report.
    pub(super) report: Option<SelfReport>,
}

/// Whether a webhook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answers {
    /// The API server got its answer just now.
    Yes,
    /// The API server got none.
    No(String),
    /// It is not known.
    Unknown(String),
}

/// The policy that is stored, and those that servers report as in force.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicyReport {
    /// The SHA-256 of the stored policy; `None` for the built-in one.
    pub(super) stored: Option<String>,
    /// What the stored policy does with mistakes.
    pub(super) enforcement: &'static str,
    /// The policies in force, each once.
    pub(super) in_force: Vec<String>,
}

impl Report {
    /// Makes the report from what is known.
    pub(super) fn of(facts: &Facts) -> Self {
        let mut report = Self {
            now: facts.now,
            namespace: facts.namespace.clone(),
            unread: unread(facts),
            ..Self::default()
        };
        let webhooks = facts.webhooks.as_deref().unwrap_or_default();
        let mut paths = webhooks.iter().map(|webhook| called(webhook).1);
        let has_gate = paths.any(|path| path.starts_with("/gate"));
        if facts.webhooks.is_ok() {
            let served = Served {
                reviews: true,
                gate: has_gate,
                chain: None,
                now: facts.now.as_second(),
            };
            let problems = compare(&webhooks.iter().collect::<Vec<_>>(), &served).problems;
            report.problems.extend(problems.into_iter().map(|(_, text)| text));
        }
        for webhook in webhooks {
            let webhook = of_webhook(webhook, facts);
            report.problems.extend(webhook.problems(facts.now));
            report.webhooks.push(webhook);
        }
        let policy = report.check_policy(facts);
        let lease = facts.lease.iter().flatten().next();
        report.reconciler = lease.map(|lease| Reconciler::of(lease, facts.now));
        report.pools = of_pools(facts, &policy, has_gate, report.reconciler.as_ref());
        report
            .problems
            .extend(report.pools.iter().flat_map(|pool| pool.problems.clone()));
        report
    }

    /// Reports problems of the policy, and returns the stored one.
    fn check_policy(&mut self, facts: &Facts) -> Policy {
        let mut in_force: Vec<String> = self
            .webhooks
            .iter()
            .filter_map(|webhook| Some(webhook.report.as_ref()?.get("policy")?.to_owned()))
            .collect();
        in_force.sort();
        in_force.dedup();
        let text = facts.policy.as_ref().ok().and_then(Option::as_deref);
        let read = text.map(policy_file::read);
        let policy = match read {
            Some(Ok(read)) => read.policy,
            Some(Err(mistakes)) => {
                self.problems
                    .push(format!("the policy that is stored cannot be used: {mistakes}"));
                Policy::default()
            }
            None => Policy::default(),
        };
        let stored = text.map(|text| sha256(text.as_bytes()));
        let expected = stored.as_deref().unwrap_or("built-in");
        if facts.policy.is_ok() && in_force.iter().any(|one| one != expected) {
            self.problems.push(format!(
                "a server uses another policy than the stored one: {} instead of {expected}; a change \
                 takes about a minute",
                in_force.join(" and ")
            ));
        }
        self.policy = PolicyReport {
            stored,
            enforcement: policy.enforcement.as_str(),
            in_force,
        };
        policy
    }
}

impl WebhookReport {
    fn problems(&self, now: Timestamp) -> Vec<String> {
        let mut problems = Vec::new();
        if let Answers::No(why) = &self.answers {
            problems.push(format!("{}: no answer: {why}", self.name));
        }
        for (what, ends) in [
            ("the CA in caBundle", self.authority_ends),
            ("its certificate", self.certificate_ends()),
        ] {
            if let Some(ends) = ends.filter(|ends| ends.duration_since(now) < SOON) {
                problems.push(format!("{}: {what} ends at {ends:.0}", self.name));
            }
        }
        problems
    }

    /// When the certificate that it shows expires.
    pub(super) fn certificate_ends(&self) -> Option<Timestamp> {
        let seconds = self.report.as_ref()?.get("certificate-ends")?.parse().ok()?;
        Timestamp::from_second(seconds).ok()
    }
}

fn of_webhook(webhook: &Webhook, facts: &Facts) -> WebhookReport {
    let (_, path) = called(webhook);
    let of_claims = path.starts_with("/gate");
    let asked: Vec<&Read<Asked>> = if of_claims {
        facts.asked_of_claims.values().collect()
    } else {
        facts.asked.iter().collect()
    };
    let report = asked
        .iter()
        .flat_map(|asked| asked.iter())
        .flat_map(|asked| &asked.reports)
        .find(|report| report.get("path") == Some(&path));
    let bundle = webhook.client_config.ca_bundle().unwrap_or_default();
    WebhookReport {
        answers: match report {
            Some(_) => Answers::Yes,
            None => unanswered(webhook, &asked, path == "/gate/strict"),
        },
        report: report.cloned(),
        name: webhook.name.clone(),
        path,
        failure_policy: webhook.failure_policy.clone(),
        authority_ends: authority_ends(&bundle),
    }
}

/// Why a webhook has no self report.
fn unanswered(webhook: &Webhook, asked: &[&Read<Asked>], names_its_pools: bool) -> Answers {
    let failed = format!("failed calling webhook \"{}\": ", webhook.name);
    let mut error = None;
    let mut was_admitted = false;
    for asked in asked {
        match asked {
            Ok(Asked { error: None, .. }) => was_admitted = true,
            Ok(Asked {
                error: Some(text), ..
            })
            | Err(text) => match text.split_once(&failed) {
                Some((_, why)) => return Answers::No(why.to_owned()),
                None => error = Some(text),
            },
        }
    }
    if asked.is_empty() {
        Answers::Unknown("not asked".into())
    } else if let Some(error) = error {
        Answers::Unknown(error.clone())
    } else if was_admitted && names_its_pools {
        Answers::Unknown("no pool is there that it is asked about".into())
    } else {
        Answers::No("the API server admits what it should be asked about".into())
    }
}

/// When the last certificate in a bundle expires.
fn authority_ends(bundle: &[u8]) -> Option<Timestamp> {
    let (certificates, _) = read_certificates(bundle);
    let ends = certificates.iter().filter_map(|certificate| {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()
    });
    ends.max()
}

/// What could not be read, and why.
fn unread(facts: &Facts) -> Vec<String> {
    let part = |name: &str, error: Option<&String>| Some(format!("{name}: {}", error?));
    [
        part("webhook configurations", facts.webhooks.as_ref().err()),
        part("policy", facts.policy.as_ref().err()),
        part("reconcilers' Lease", facts.lease.as_ref().err()),
        part("NodePools", facts.pools.as_ref().err()),
        part("NodeClaims", facts.claims.as_ref().err()),
        part("Nodes", facts.nodes.as_ref().err()),
        part("ledgers", facts.ledgers.as_ref().err()),
        part("events", facts.events.as_ref().err()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests;
