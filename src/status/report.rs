//! The report on a cluster: a pure function of the known facts.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use poolgate_core::api::NodeLimitMode;
use poolgate_core::api::unwritten_modes;
use poolgate_core::diagnostic::{counted, first_few};
use poolgate_core::policy::Policy;

use super::deployments::{self, DeploymentReport, ISSUER, of_deployments};
use super::facts::{self, Asked, Facts, Kept, Read, SelfReport};
use super::pools::{PoolReport, of_pools};
use super::reconciler::Reconciler;
use super::replacements::MOST_NAMES;
use crate::cluster::webhooks::Webhook;
use crate::serving::certs::read_certificates;
use crate::serving::registration::{DELETIONS, Problem, Serves, compare, host_and_path};
use poolgate_core::sha256::sha256;

/// How long before its end a certificate is a problem.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The report. What is `None` could not be read.
#[derive(Debug)]
pub struct Report {
    pub now: Timestamp,
    pub namespace: String,
    /// Whether the webhooks were called.
    pub probed: bool,
    pub webhooks: Option<Vec<WebhookReport>>,
    pub deployments: Option<Vec<DeploymentReport>>,
    pub policy: PolicyReport,
    pub reconciler: Read<Option<Reconciler>>,
    pub pools: Option<Vec<PoolReport>>,
    /// Notes on details that are easily overlooked, a sentence each.
    pub notes: Vec<String>,
    /// The problems, a sentence each.
    pub problems: Vec<String>,
    /// What could not be read, and why.
    pub unread: Vec<String>,
}

/// A webhook that is registered.
#[derive(Debug)]
pub struct WebhookReport {
    pub name: String,
    pub path: String,
    pub failure_policy: String,
    pub answers: Answers,
    /// When the last CA in its `caBundle` expires.
    pub authority_ends: Option<Timestamp>,
    /// Its self report.
    pub report: Option<SelfReport>,
}

/// Whether a webhook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The API server got its answer just now.
    Yes,
    /// The API server got none.
    No(String),
    /// It was called, but the result is unclear.
    Unknown(String),
    /// It was not called, and why.
    Unasked(&'static str),
}

/// The policy that is stored, and those that servers report as in force.
#[derive(Debug, Default)]
pub struct PolicyReport {
    /// `None` if it could not be read.
    pub stored: Option<StoredPolicy>,
    /// The policies in force, each once.
    pub in_force: Vec<String>,
}

/// The policy that is stored.
#[derive(Debug)]
pub struct StoredPolicy {
    /// Its SHA-256; `None` for the built-in one.
    pub sha256: Option<String>,
    /// What it does with mistakes; `None` if it cannot be used.
    pub enforcement: Option<&'static str>,
}

impl Report {
    /// Makes the report from what is known. `kept` is what decides why nodes stay, if it was read.
    pub fn of(facts: &Facts, kept: Option<&Kept>) -> Self {
        let webhooks = facts.webhooks.as_ref().ok();
        let has_gate = facts.has_gate();
        let mut report = Self {
            now: facts.now,
            namespace: facts.namespace.clone(),
            probed: facts.asked.is_some(),
            webhooks: webhooks.map(|webhooks| {
                webhooks
                    .iter()
                    .map(|webhook| of_webhook(webhook, facts))
                    .collect()
            }),
            deployments: of_deployments(facts),
            policy: PolicyReport::default(),
            reconciler: facts.reconciler.clone(),
            pools: None,
            problems: Vec::new(),
            notes: Vec::new(),
            unread: unread(facts, kept),
        };
        // Stopped Deployments cause most other problems.
        if let Some(found) = &report.deployments {
            report.problems.extend(deployments::problems(facts, found));
        }
        report.problems.extend(registration_problems(facts, has_gate));
        for webhook in report.webhooks.iter().flatten() {
            report.problems.extend(webhook.problems(facts.now));
        }
        let policy = report.check_policy(facts);
        report.pools = of_pools(facts, kept, policy.as_ref());
        for pool in report.pools.iter().flatten() {
            report.problems.extend(pool.problems.iter().cloned());
        }
        report.notes.extend(report.changed(facts));
        report
            .notes
            .extend(report.ungated().filter(|_| has_gate == Some(false)));
        let default = policy.map(|policy| policy.defaults.node_limit_mode);
        report
            .notes
            .extend(default.and_then(|default| report.unwritten_modes(default)));
        report
    }

    /// How many pools the installed release treats differently.
    fn changed(&self, facts: &Facts) -> Option<String> {
        let (from, to) = facts.step()?;
        let changed = self.pools.iter().flatten().filter(|pool| pool.is_changed).count();
        let called = |(major, minor): (u16, u16)| format!("{major}.{minor}");
        let (from, to) = (called(from.line()), called(to.line()));
        (changed > 0).then(|| {
            let pools = counted(changed, "NodePool");
            format!(
                "Karpenter {to} treats {pools} differently than {from}: poolgate upgrade --cluster --from {from} --to {to}"
            )
        })
    }

    /// The pools whose limit nothing enforces without a gate.
    fn ungated(&self) -> Option<String> {
        let pools = self.pools.iter().flatten();
        let limited: Vec<&str> = pools
            .filter(|pool| pool.limit.is_some())
            .map(|pool| &*pool.name)
            .collect();
        let names = first_few(&limited, MOST_NAMES);
        (!limited.is_empty()).then(|| {
            format!(
                "no gate is registered, so Karpenter can exceed the node limits of these NodePools: {names}"
            )
        })
    }

    /// The pools whose mode is not the one that the policy writes, because they say none.
    fn unwritten_modes(&self, default: NodeLimitMode) -> Option<String> {
        let pools = self.pools.iter().flatten();
        let lacks = |pool: &&PoolReport| pool.limit.as_ref().is_some_and(|limit| !limit.mode_is_written);
        let names: Vec<&str> = pools.filter(lacks).map(|pool| &*pool.name).collect();
        unwritten_modes(&names, default)
    }

    /// Reports on the policy, and returns the stored one if it is known.
    fn check_policy(&mut self, facts: &Facts) -> Option<Policy> {
        let webhooks = self.webhooks.iter().flatten();
        let mut in_force: Vec<String> = webhooks
            .filter_map(|webhook| Some(webhook.report.as_ref()?.get("policy")?.to_owned()))
            .collect();
        in_force.sort();
        in_force.dedup();
        self.policy.in_force = in_force;
        let text = facts.policy.as_ref().ok()?.as_deref();
        let policy = match text.map(poolgate_core::policy_file::parse) {
            Some(Ok(read)) => Some(read.policy),
            Some(Err(mistakes)) => {
                self.problems
                    .push(format!("the stored policy is unusable: {mistakes}"));
                None
            }
            None => Some(Policy::default()),
        };
        let checksum = text.map(|text| sha256(text.as_bytes()));
        let expected = checksum.as_deref().unwrap_or("built-in");
        if self.policy.in_force.iter().any(|one| one != expected) {
            self.problems.push(format!(
                "a server uses policy {} instead of the stored {expected}. A change takes about a minute",
                self.policy.in_force.join(" and ")
            ));
        }
        self.policy.stored = Some(StoredPolicy {
            sha256: checksum,
            enforcement: policy.as_ref().map(|policy| policy.enforcement.as_str()),
        });
        policy
    }
}

/// What is wrong with how the webhooks are registered.
fn registration_problems(facts: &Facts, has_gate: Option<bool>) -> Vec<String> {
    let (Ok(webhooks), Some(gate)) = (&facts.webhooks, has_gate) else {
        return Vec::new();
    };
    let serves = [Serves::Reviews].into_iter().chain(gate.then_some(Serves::Gate));
    let compared = compare(webhooks, &serves.collect::<Vec<_>>(), None);
    let mut found = facts.deployments.iter().flatten();
    let is_filled = found.any(|deployment| &*deployment.metadata.name == ISSUER);
    let told = |(problem, text): (Problem, String)| match text.split_once(". ") {
        Some((begin, _)) if problem == Problem::NoCaBundle && is_filled => {
            format!("{begin}. Deployment {ISSUER} fills it when one of its pods is ready")
        }
        _ => text,
    };
    compared.problems.into_iter().map(told).collect()
}

impl WebhookReport {
    fn problems(&self, now: Timestamp) -> Vec<String> {
        let mut problems = Vec::new();
        if let Answers::No(why) = &self.answers {
            problems.push(format!("{}: no response: {why}", self.name));
        }
        for (what, ends) in [
            ("the CA in caBundle", self.authority_ends),
            ("its certificate", self.certificate_ends()),
        ] {
            if let Some(ends) = ends.filter(|ends| ends.duration_since(now) < SOON) {
                problems.push(format!("{}: {what} expires at {ends:.0}", self.name));
            }
        }
        problems
    }

    /// When the certificate that it shows expires.
    pub fn certificate_ends(&self) -> Option<Timestamp> {
        let seconds = self.report.as_ref()?.get("certificate-ends")?.parse().ok()?;
        Timestamp::from_second(seconds).ok()
    }
}

fn of_webhook(webhook: &Webhook, facts: &Facts) -> WebhookReport {
    let (_, path) = host_and_path(webhook);
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
            None if path == DELETIONS => Answers::Unasked("not called: only a deletion calls it"),
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
    for text in asked.iter().filter_map(|asked| objection(asked)) {
        match text.split_once(&failed) {
            Some((_, why)) => return Answers::No(why.to_owned()),
            None => error = Some(text),
        }
    }
    if asked.is_empty() {
        Answers::Unasked("not called: --probe calls it")
    } else if let Some(error) = error {
        Answers::Unknown(error.to_owned())
    } else if names_its_pools {
        Answers::Unasked("not called: no pool uses it")
    } else {
        Answers::No("the API server does not call it".into())
    }
}

/// Why a dry run was not admitted, if it was not.
fn objection(asked: &Read<Asked>) -> Option<&str> {
    match asked {
        Ok(Asked { error, .. }) => error.as_deref(),
        Err(error) => Some(error),
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
fn unread(facts: &Facts, kept: Option<&Kept>) -> Vec<String> {
    let pods = kept.and_then(|kept| kept.pods.as_ref().err());
    let mut unread = facts::unread([
        ("webhook configurations", facts.webhooks.as_ref().err()),
        ("Deployments", facts.deployments.as_ref().err()),
        ("Pods", pods.or(facts.waiting.as_ref().err())),
        (
            "PodDisruptionBudgets",
            kept.and_then(|kept| kept.budgets.as_ref().err()),
        ),
        ("NodePool definition", facts.definition.as_ref().err()),
        ("policy", facts.policy.as_ref().err()),
        ("reconcilers' Lease", facts.reconciler.as_ref().err()),
        ("NodePools", facts.pools.as_ref().err()),
        ("NodeClaims", facts.claims.as_ref().err()),
        ("Nodes", facts.nodes.as_ref().err()),
        ("ledgers", facts.ledgers.as_ref().err()),
        ("events", facts.events.as_ref().err()),
    ]);
    unread.extend(unanswered_probes(facts));
    unread
}

/// Why dry runs say nothing about webhooks, each reason once. Usually a right is missing, for all of them. A failed
/// call of a poolgate webhook is a problem of that webhook instead.
fn unanswered_probes(facts: &Facts) -> BTreeSet<String> {
    let of_pools = facts.asked.iter().map(|asked| ("a NodePool", asked));
    let of_claims = facts.asked_of_claims.values().map(|asked| ("a NodeClaim", asked));
    let names: Vec<&str> = facts
        .webhooks
        .iter()
        .flatten()
        .map(|webhook| &*webhook.name)
        .collect();
    let is_known = |text: &str| {
        text.split_once("failed calling webhook \"")
            .is_some_and(|(_, rest)| names.iter().any(|name| rest.starts_with(name)))
    };
    let probes = of_pools.chain(of_claims);
    let objections = probes.filter_map(|(what, asked)| Some((what, objection(asked)?)));
    objections
        .filter(|(_, text)| !is_known(text))
        .map(|(what, text)| format!("dry run of {what}: {text}"))
        .collect()
}

#[cfg(test)]
mod tests;
