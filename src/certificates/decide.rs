//! The next step for the certificates: a pure function of what was read. Reading, creating and writing them happens
//! elsewhere.
//!
//! A leaf is served only while every API server trusts the CA that signed it. So a new CA goes into every bundle
//! first, next to the old one. The new leaf follows when API servers have had time to read the bundles. The old CA
//! leaves the bundles when every pod has had time to load the new leaf. The next step follows from what is stored, so
//! a process that starts in the middle continues from there. Waits are measured by a monotonic clock, from when this
//! process itself saw the state: a process that restarts waits again.

use std::time::{Duration, Instant};

use rustls::pki_types::CertificateDer;

/// A certificate, compared by all of its bytes.
pub type Certificate = CertificateDer<'static>;

/// The stored state, read in this order: dependents before their dependencies, so that nothing here is newer than its
/// dependency.
#[derive(Debug, Clone, Default)]
pub struct StoredCertificates {
    /// The `caBundle` of each webhook.
    pub bundles: Vec<Bundle>,
    /// The leaf, if the authority signed it and it is for every name.
    pub leaf: Option<Lasting>,
    /// The CA that signs, if it can be used.
    pub authority: Option<Lasting>,
    /// The CAs that were stored before it. Their leaves may still be served.
    pub previous: Vec<Certificate>,
}

/// The `caBundle` of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The certificates in it.
    pub certificates: Vec<Certificate>,
    /// Whether there is nothing else in it.
    pub is_clean: bool,
}

/// A certificate, and from when to when it is valid, in seconds since 1970.
#[derive(Debug, Clone)]
pub struct Lasting {
    pub certificate: Certificate,
    pub not_before: i64,
    pub not_after: i64,
}

/// Lifetimes and waits.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// A new authority.
    pub authority_life: Duration,
    /// A new leaf.
    pub leaf_life: Duration,
    /// Until API servers have read a bundle that this process has read.
    pub trust_wait: Duration,
    /// Until every pod serves the leaf that is stored.
    pub serve_wait: Duration,
}

/// The time on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Seconds since 1970. This clock may be set forward or back.
    pub wall: i64,
    /// Monotonic.
    pub at: Instant,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make a CA and store it, with these as the CAs before it.
    MakeAuthority { previous: Vec<Certificate> },
    /// Let every webhook trust exactly these.
    Trust(Vec<Certificate>),
    /// Make a leaf and store it.
    MakeLeaf,
    /// Store the CA alone: no pod serves a leaf of the CAs before it any more.
    ForgetPrevious,
    /// Nothing, for at most this long.
    Wait(Duration),
    /// Nothing, until something changes: everything is as it should be.
    Rest,
    /// Nothing: the clock is before the time at which the certificates were made. A certificate made by this clock
    /// would already be expired on other machines.
    ClockIsBehind,
}

/// Since when this process has seen what it waits for.
#[derive(Debug, Default)]
pub struct Since {
    authority: Option<Certificate>,
    /// Whether no webhook trusted anything before this CA.
    is_first: bool,
    /// Since when every bundle has contained the CA.
    trusted: Option<Instant>,
    /// Since when this leaf has been stored.
    leaf: Option<(Certificate, Instant)>,
    /// Since when the bundles have contained these.
    present: Option<(Vec<Certificate>, Instant)>,
}

impl Since {
    /// Compares with what is stored now.
    pub fn saw(&mut self, seen: &StoredCertificates, at: Instant) {
        let authority = seen.authority.as_ref().map(|authority| &authority.certificate);
        if self.authority.as_ref() != authority {
            *self = Self {
                authority: authority.cloned(),
                is_first: seen.present().is_empty(),
                ..Self::default()
            };
        }
        let is_trusted = authority.is_some_and(|authority| seen.is_trusted(authority));
        self.trusted = self.trusted.filter(|_| is_trusted).or(is_trusted.then_some(at));
        let leaf = seen.leaf.as_ref().map(|leaf| leaf.certificate.clone());
        // A CA to trust has appeared, or some webhook trusts another one.
        let is_alone = seen.present().iter().all(|present| Some(present) == authority);
        self.is_first &= leaf.is_none() && is_alone;
        keep(&mut self.leaf, leaf, at);
        keep(&mut self.present, Some(seen.present()), at);
    }

    /// How long it takes until API servers trust the CA.
    fn until_trusted(&self, at: Instant, settings: &Settings) -> Option<Duration> {
        let since = self.trusted?;
        if self.is_first {
            return Some(Duration::ZERO);
        }
        Some(left(settings.trust_wait, since, at))
    }

    /// How long it takes until every pod serves the stored leaf. A bundle that changed lately counts too: its
    /// writer may be about to change the leaf.
    fn until_served(&self, at: Instant, settings: &Settings) -> Option<Duration> {
        let ((_, leaf), (_, present)) = (self.leaf.as_ref()?, self.present.as_ref()?);
        Some(left(settings.serve_wait, *leaf.max(present), at))
    }
}

/// Remembers since when something has been the same.
fn keep<T: PartialEq>(kept: &mut Option<(T, Instant)>, now: Option<T>, at: Instant) {
    if kept.as_ref().map(|(before, _)| before) != now.as_ref() {
        *kept = now.map(|now| (now, at));
    }
}

fn left(wait: Duration, since: Instant, at: Instant) -> Duration {
    wait.saturating_sub(at.saturating_duration_since(since))
}

impl StoredCertificates {
    /// All certificates that any webhook trusts, each once and sorted.
    fn present(&self) -> Vec<Certificate> {
        let bundles = self.bundles.iter();
        let mut present: Vec<Certificate> = bundles
            .flat_map(|bundle| bundle.certificates.iter().cloned())
            .collect();
        present.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        present.dedup();
        present
    }

    /// Whether every webhook trusts this CA.
    fn is_trusted(&self, authority: &Certificate) -> bool {
        self.bundles
            .iter()
            .all(|bundle| bundle.certificates.contains(authority))
    }

    /// Whether every webhook trusts the stored leaf.
    pub fn is_complete(&self) -> bool {
        let authority = self.authority.as_ref();
        self.leaf.is_some() && authority.is_some_and(|authority| self.is_trusted(&authority.certificate))
    }
}

impl Bundle {
    /// Whether it contains exactly these, in any order.
    pub fn is(&self, certificates: &[Certificate]) -> bool {
        self.is_clean
            && self.certificates.len() == certificates.len()
            && certificates.iter().all(|one| self.certificates.contains(one))
    }
}

impl Lasting {
    /// Whether two thirds of its life are over.
    fn is_due(&self, life: Duration, wall: i64) -> bool {
        let third = i64::try_from(life.as_secs() / 3).unwrap_or(i64::MAX);
        self.not_after.saturating_sub(wall) <= third
    }
}

/// The next step for this state. `since` must already have been compared with it.
pub fn next_step(seen: &StoredCertificates, since: &Since, now: Now, settings: &Settings) -> Step {
    let Some(authority) = &seen.authority else {
        return Step::MakeAuthority {
            previous: seen.previous.clone(),
        };
    };
    let made = seen.leaf.iter().chain([authority]).map(|made| made.not_before);
    let is_behind = made.max().is_some_and(|made| made > now.wall);
    if authority.is_due(settings.authority_life, now.wall) && !is_behind {
        let previous = [std::slice::from_ref(&authority.certificate), &seen.previous[..]].concat();
        return Step::MakeAuthority { previous };
    }
    let served_in = since.until_served(now.at, settings);
    let target = target(seen, authority, served_in == Some(Duration::ZERO));
    if seen.bundles.iter().any(|bundle| !bundle.is(&target)) {
        return Step::Trust(target);
    }
    let is_due = |leaf: &Lasting| leaf.is_due(settings.leaf_life, now.wall);
    let wants_leaf = seen.leaf.as_ref().is_none_or(is_due);
    if is_behind {
        return Step::ClockIsBehind;
    }
    if wants_leaf {
        return match since.until_trusted(now.at, settings) {
            Some(Duration::ZERO) => Step::MakeLeaf,
            wait => Step::Wait(wait.unwrap_or_default()),
        };
    }
    match served_in {
        Some(Duration::ZERO) if seen.previous.is_empty() => Step::Rest,
        Some(Duration::ZERO) => Step::ForgetPrevious,
        wait => Step::Wait(wait.unwrap_or_default()),
    }
}

/// What every webhook should trust: the CA and those before it. Until all pods serve its leaf, also everything that
/// any webhook trusts already.
fn target(seen: &StoredCertificates, authority: &Lasting, is_served: bool) -> Vec<Certificate> {
    let mut target = vec![authority.certificate.clone()];
    let present = if is_served { Vec::new() } else { seen.present() };
    for certificate in seen.previous.iter().cloned().chain(present) {
        if !target.contains(&certificate) {
            target.push(certificate);
        }
    }
    target
}

#[cfg(test)]
mod tests;
