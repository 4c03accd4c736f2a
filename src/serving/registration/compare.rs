//! Compares the registered webhooks with the served paths: a pure function.

use prometheus_client::encoding::EncodeLabelSet;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, Error};

use crate::cluster::webhooks::{Rule, Webhook};
use crate::serving::certs::{read_certificates, verify};

/// The reviews that a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Reviews of NodePools.
    Reviews,
    /// Reviews of NodeClaims.
    Gate,
}

/// The certificate that a server shows.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its chain, leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Seconds since 1970.
    pub now: i64,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// No webhook calls a path that is served.
    NotRegistered,
    /// A webhook trusts no CA, so no call succeeds.
    NoCaBundle,
    /// It does not trust the certificate that is served.
    Untrusted,
    /// It calls a path that is not served.
    Path,
    /// Its rules leave out objects or operations that the path must receive.
    Rules,
    /// Its failure policy contradicts its path.
    FailurePolicy,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::NotRegistered,
        Self::NoCaBundle,
        Self::Untrusted,
        Self::Path,
        Self::Rules,
        Self::FailurePolicy,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotRegistered => "not_registered",
            Self::NoCaBundle => "no_ca_bundle",
            Self::Untrusted => "untrusted",
            Self::Path => "path",
            Self::Rules => "rules",
            Self::FailurePolicy => "failure_policy",
        }
    }
}

/// A webhook that is registered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub struct Registered {
    pub webhook: String,
    pub path: String,
    pub failure_policy: String,
}

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    pub registered: Vec<Registered>,
    /// What is wrong, each with a sentence.
    pub problems: Vec<(Problem, String)>,
}

/// The paths to which NodePools must be sent before they are stored.
const REVIEWS: [&str; 2] = ["/mutate", "/validate"];

/// The path to which deletions of NodePools may be sent.
pub const DELETIONS: &str = "/validate/delete";

const STRICT: &str = "/gate/strict";

const STORES: &[&str] = &["CREATE", "UPDATE"];

/// The paths to which creations of NodeClaims are sent. One configuration has both.
const GATE: [&str; 2] = ["/gate", STRICT];

/// Compares the registered webhooks with what is served. Whether they trust the certificate is compared if it is known.
pub fn compare<'w>(
    webhooks: impl IntoIterator<Item = &'w Webhook>,
    serves: &[Serves],
    shown: Option<&Shown>,
) -> Comparison {
    let [reviews, gate] = [Serves::Reviews, Serves::Gate].map(|what| serves.contains(&what));
    let mut comparison = Comparison::default();
    for webhook in webhooks {
        let (host, path) = host_and_path(webhook);
        comparison.registered.push(Registered {
            webhook: webhook.name.clone(),
            path: path.clone(),
            failure_policy: webhook.failure_policy.clone(),
        });
        let problem = |problem, text: String| (problem, format!("{}: {text}", webhook.name));
        comparison
            .problems
            .extend(distrust(webhook, &host, shown).map(|(kind, text)| problem(kind, text)));
        let (resource, operations): (_, &[&str]) = match &*path {
            path if reviews && REVIEWS.contains(&path) => ("nodepools", STORES),
            DELETIONS if reviews => ("nodepools", &["DELETE"]),
            path if gate && GATE.contains(&path) => ("nodeclaims", &["CREATE"]),
            path => {
                let text = format!("it calls {path}, which is not served");
                comparison.problems.push(problem(Problem::Path, text));
                continue;
            }
        };
        if let Some(lacks) = unasked(&webhook.rules, resource, operations) {
            comparison.problems.push(problem(Problem::Rules, lacks));
        }
        if webhook.failure_policy == "Ignore" && (path == STRICT || webhook.is_to_fail_closed) {
            let text = if path == STRICT {
                format!("{STRICT} fails closed, but failurePolicy Ignore fails open")
            } else {
                "it was installed to fail closed, but failurePolicy Ignore fails open".to_owned()
            };
            comparison.problems.push(problem(Problem::FailurePolicy, text));
        }
    }
    let is_called = |path: &&str| comparison.registered.iter().any(|one| one.path == *path);
    let uncalled = REVIEWS.into_iter().filter(|path| reviews && !is_called(path));
    let mut missing: Vec<&str> = uncalled.collect();
    if gate && !GATE.iter().any(is_called) {
        missing.push("/gate");
    }
    let missing = missing.into_iter().map(|path| {
        let text = format!("no webhook calls {path}, so objects are admitted without this review");
        (Problem::NotRegistered, text)
    });
    comparison.problems.extend(missing);
    comparison
}

/// The host and the path that a webhook calls.
pub fn host_and_path(webhook: &Webhook) -> (String, String) {
    if let Some(service) = &webhook.client_config.service {
        let host = format!("{}.{}.svc", service.name, service.namespace);
        return (host, service.path.clone().unwrap_or_else(|| "/".into()));
    }
    let url = webhook.client_config.url.as_deref().unwrap_or_default();
    let url = url.strip_prefix("https://").unwrap_or(url);
    let (authority, path) = url.split_once('/').unwrap_or((url, ""));
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (host.to_owned(), format!("/{path}"))
}

/// Why a webhook does not trust the served certificate.
fn distrust(webhook: &Webhook, host: &str, shown: Option<&Shown>) -> Option<(Problem, String)> {
    let bundle = webhook.client_config.ca_bundle().unwrap_or_default();
    if bundle.is_empty() {
        let text = "caBundle is empty, so every call fails. See docs/certificates.md";
        return Some((Problem::NoCaBundle, text.into()));
    }
    let Shown { chain, now } = shown?;
    let (authorities, _) = read_certificates(&bundle);
    let Ok(name) = ServerName::try_from(host.to_owned()) else {
        return Some((
            Problem::Untrusted,
            format!("it calls {host:?}, which is not a DNS name"),
        ));
    };
    let error = verify(chain, &authorities, &[name], *now).err()?;
    let reason = reason(&error);
    let writer = match &*webhook.client_config.written_by {
        "" => String::new(),
        writers => format!(" (caBundle was written by {writers})"),
    };
    let text = format!("caBundle does not trust the served certificate for {host}: {reason}{writer}");
    Some((Problem::Untrusted, text))
}

/// The same words for the same reason: the error itself contains the time.
fn reason(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "it has expired".into()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "it is not valid yet".into(),
        error => error.to_string(),
    }
}

/// Which operations or objects of a resource the rules leave out.
fn unasked(rules: &[Rule], resource: &str, operations: &[&str]) -> Option<String> {
    let covers = |operation: &str| {
        rules.iter().any(|rule| {
            let has =
                |values: &[String], wanted: &str| values.iter().any(|value| value == wanted || value == "*");
            has(&rule.api_groups, "karpenter.sh")
                && has(&rule.api_versions, "v1")
                && (has(&rule.resources, resource) || has(&rule.resources, "*/*"))
                && has(&rule.operations, operation)
        })
    };
    let unasked = operations.iter().copied().filter(|operation| !covers(operation));
    let unasked: Vec<&str> = unasked.collect();
    (!unasked.is_empty()).then(|| format!("its rules omit {} of {resource}", unasked.join(" and ")))
}

#[cfg(test)]
mod tests;
