//! The one decision of the gate: which claims may be created.

use super::claims::ClaimView;
use super::decision::{Decision, Denial, Full, Needs, RequestVerdict, Step, Write};
use super::evidence::{FirstSeen, end_surges, settle};
use super::moment::{Moment, Observed};
use super::state::{DenialRecord, Ledger, LimitInForce, MAX_RESERVATIONS};
use super::uid::Uid;

/// What one replica knows of one pool.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The pool's ledger; `None` if it does not exist.
    pub ledger: Observed<Option<&'a Ledger>>,
    /// The ledger's resourceVersion; 0 if it does not exist.
    pub version: u64,
    /// The NodeClaims of the pool.
    pub claims: Observed<&'a ClaimView>,
    /// True if a LIST of the claims was requested and is late: nothing newer than what is known will arrive in
    /// time.
    pub claims_late: bool,
    /// The limit of the pool; `None` if it has none, or does not exist.
    pub limit: Observed<Option<LimitInForce>>,
    /// When this replica first saw each reservation.
    pub first_seen: &'a FirstSeen,
    /// Wall time in seconds since 1970, to be stored with a denial.
    pub clock: u64,
    /// Denials that this replica has answered since it last stored a ledger of this pool.
    pub untold: u64,
}

/// A request to create a NodeClaim.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    /// The UID of the NodeClaim, by which it is reserved.
    pub uid: &'a Uid,
    /// The name of the NodeClaim that is to be created.
    pub name: &'a str,
    /// When the call arrived: a limit read before that decides nothing, and nothing read before that may deny it.
    pub arrived: Moment,
    /// True if the request is denied while it is not known which other claims were admitted.
    pub strict: bool,
    /// True if it is admitted whatever the answer: then it gets a reservation above the limit too.
    pub observed: bool,
    /// True if nothing will be created. Such a request is answered by the count and reserves nothing.
    pub dry_run: bool,
}

/// Decides on the requests in their order, and removes reservations whose outcome is known. Without requests it is
/// a sweep.
///
/// # Why each check is there
///
/// - A view older than the ledger's `seen` may lack a claim whose reservation is gone.
/// - A ledger that does not exist has no `seen` to compare a view with: the claims must be listed after it was
///   found missing. If there are any, a ledger may have been deleted with its reservations, so the new one is
///   closed: for one lifetime the count may be too low.
/// - A new or lowered limit holds for every request that arrives after it was stored: watches may be silent, so the
///   limit is read after the request arrived, even to admit it.
/// - A closed ledger has lost its `seen`, too: `/gate`, which admits by it, lists the claims.
/// - Without a limit nothing is reserved. If the limit comes back, the ledger must not be trusted: it is closed before the
///   first claim is admitted without a reservation. A ledger that is closed and has no limit stays so until a decision
///   by a limit is stored, and ages from then on. So what was admitted by this read of it is over when it opens.
/// - Limits are ordered by the NodePool's version. A replica whose watch of the pool lags would bring back an
///   outdated limit, so if the ledger knows a newer one, the pool is read.
/// - Everything that a denial is based on must be read after the request arrived. Too high a count denies a claim
///   for which there is room, and that costs Karpenter minutes. But if a LIST takes longer than a request can wait
///   and everything known says full, admitting would be no better: the request is denied by what is known.
/// - So must be what an admission above the limit is based on: without a disruption there is nothing to replace. While
///   the ledger is closed there is none, because older views may lack claims that count: with them it could not be
///   said which claims are above the limit.
/// - Versions ahead of reads begun after the ledger arrived belong to another history (a backup restored, a ledger
///   copied from elsewhere): the read is believed and the ledger fixed, or no claim would be admitted again.
pub fn decide(facts: &Facts<'_>, requests: &[ClaimRequest<'_>]) -> Step {
    let Some(limit) = facts.limit.value else {
        return without_limit(facts, requests);
    };
    let mut outdated = outdated(facts, limit);
    let may_lack_claims = outdated.claims;
    outdated.claims &= !facts.claims_late || requests.is_empty();
    if outdated.any() {
        return Step::Read(outdated);
    }
    let mut round = Round::new(facts, limit);
    let mut needs = Needs::default();
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        needs.limit |= !facts.limit.is_as_of(request.arrived);
        let is_listed = facts.claims.is_as_of(request.arrived);
        let answer = round.answer(request, !is_listed);
        if matches!(answer, RequestVerdict::Deny(_)) {
            needs.add(facts.not_read_since(request.arrived));
        } else {
            needs.claims |= may_lack_claims || (round.ledger.closed && !facts.claims_late && !is_listed);
        }
        answers.push(answer);
    }
    if needs.any() {
        return Step::Read(needs);
    }
    Step::Decided(Decision {
        write: round.finish(facts),
        answers,
    })
}

/// Admits all requests, and closes the ledger before that.
fn without_limit(facts: &Facts<'_>, requests: &[ClaimRequest<'_>]) -> Step {
    let mut needs = Needs::default();
    for request in requests {
        needs.limit |= !facts.limit.is_as_of(request.arrived);
        needs.ledger |= !request.dry_run && !facts.ledger.is_as_of(request.arrived);
    }
    if needs.any() {
        return Step::Read(needs);
    }
    let creates = requests.iter().any(|request| !request.dry_run);
    let write = match facts.ledger.value {
        Some(ledger) if creates && !(ledger.closed && ledger.limit.is_none()) => {
            let mut closed = ledger.clone();
            closed.close(facts.version);
            Write::Required(closed)
        }
        _ => Write::Nothing,
    };
    Step::Decided(Decision {
        write,
        answers: vec![RequestVerdict::Allow; requests.len()],
    })
}

/// What must be read before anything can be counted.
fn outdated(facts: &Facts<'_>, limit: LimitInForce) -> Needs {
    let Some(ledger) = facts.ledger.value else {
        return Needs {
            claims: !facts.claims.follows(&facts.ledger),
            // A missing ledger must be read as missing; its absence cannot be remembered.
            ledger: facts.ledger.read.is_none(),
            limit: false,
        };
    };
    let newer_limit =
        |stored: &LimitInForce| stored.pool_version > limit.pool_version && !stored.agrees_with(&limit);
    let claims = facts.claims.value.version() < ledger.seen && !facts.claims.follows(&facts.ledger);
    let limit = ledger.limit.as_ref().is_some_and(newer_limit) && !facts.limit.follows(&facts.ledger);
    Needs {
        // No read follows a ledger that is from a watch: it must be read, or the same would be asked for again and again.
        ledger: facts.ledger.read.is_none() && (limit || (claims && !facts.claims_late)),
        claims,
        limit,
    }
}

impl Facts<'_> {
    fn not_read_since(&self, arrived: Moment) -> Needs {
        Needs {
            ledger: !self.ledger.is_as_of(arrived),
            claims: !self.claims_late && !self.claims.is_as_of(arrived),
            limit: !self.limit.is_as_of(arrived),
        }
    }
}

/// One run through the requests.
struct Round<'a> {
    view: &'a ClaimView,
    limit: LimitInForce,
    ledger: Ledger,
    /// The resourceVersion of the ledger before; 0 if there was none.
    version: u64,
    /// Claims that count. Reservations are added: those of claims in view are removed already.
    counted: usize,
    /// Claims that may have their replacements beside them; none without a surge.
    disrupted: usize,
    changed: bool,
    reserved: bool,
    denied: u64,
    last_denied: Option<&'a str>,
}

impl<'a> Round<'a> {
    fn new(facts: &Facts<'a>, read: LimitInForce) -> Self {
        let view = facts.claims.value;
        let known = facts.ledger.value.cloned();
        let mut changed = known.is_none() && !view.is_empty();
        let mut ledger = known.unwrap_or_else(|| Ledger::in_place_of_missing(!view.is_empty()));
        if view.version() < ledger.seen && !facts.claims_late {
            ledger.seen = view.version();
            changed = true;
        }
        changed |= settle(&mut ledger, &facts.claims, facts.first_seen);
        let (limit, is_new) = put_in_force(&mut ledger.limit, read);
        if is_new {
            ledger.unknown_inside.remove("limit");
        }
        changed |= is_new;
        let counted = view.counts().counted(limit.mode);
        if !facts.claims_late {
            let above = (counted + ledger.reservations.len()).saturating_sub(as_count(limit.nodes));
            changed |= end_surges(&mut ledger, view, above);
        }
        Self {
            view,
            limit,
            ledger,
            version: facts.version,
            counted,
            disrupted: if limit.surge > 0 { view.disrupted() } else { 0 },
            changed,
            reserved: false,
            denied: 0,
            last_denied: None,
        }
    }

    /// Claims that count, and those that were admitted and are not seen yet.
    fn occupied(&self) -> usize {
        self.counted + self.ledger.reservations.len()
    }

    fn answer(&mut self, request: &ClaimRequest<'a>, stale: bool) -> RequestVerdict {
        let uid = request.uid;
        if self.view.get(uid).is_some() || self.view.has_departed(uid) {
            // Created already: this call repeats one that was allowed.
            return RequestVerdict::Allow;
        }
        let is_new = !self.ledger.has_reservation(uid);
        let denied = if is_new {
            self.no_room(request.strict, stale)
        } else {
            // Of a closed ledger: another path may have admitted it, by a count that is too low.
            (request.strict && self.ledger.closed).then_some(Denial::LedgerLost)
        };
        if let Some(denied) = denied {
            if !request.dry_run {
                self.denied += 1;
                self.last_denied = Some(request.name);
                if request.observed {
                    self.admit_all_the_same(uid);
                }
            }
            return RequestVerdict::Deny(denied);
        }
        if request.dry_run {
            return RequestVerdict::Allow;
        }
        if is_new && self.occupied() >= as_count(self.limit.nodes) {
            self.ledger.surged.push(uid.clone());
        }
        self.reserve(uid);
        RequestVerdict::Reserved
    }

    /// Counts a call, even if there is a reservation already: the call that made it may still release it, and this call
    /// must keep its own.
    fn reserve(&mut self, uid: &Uid) {
        let calls = self.ledger.reservations.entry(uid.clone()).or_default();
        *calls = calls.saturating_add(1);
        self.reserved = true;
    }

    /// The claim will be created, so it must count from now on.
    fn admit_all_the_same(&mut self, uid: &Uid) {
        if self.ledger.has_reservation(uid) || self.ledger.reservations.len() < MAX_RESERVATIONS {
            self.reserve(uid);
        } else {
            self.ledger.close(self.version);
            self.reserved = true;
        }
    }

    fn no_room(&self, strict: bool, stale: bool) -> Option<Denial> {
        let outstanding = self.ledger.reservations.len();
        let occupied = self.occupied();
        let surge = if stale {
            0
        } else {
            self.disrupted.min(as_count(self.limit.surge))
        };
        if occupied >= as_count(self.limit.nodes).saturating_add(surge) {
            let counts = self.view.counts();
            return Some(Denial::Full(Full {
                limit: self.limit,
                occupied,
                terminating: counts.existing - counts.undeleted,
                outstanding,
                disrupted: self.disrupted,
                stale,
            }));
        }
        if self.ledger.closed && (strict || occupied >= as_count(self.limit.nodes)) {
            return Some(Denial::LedgerLost);
        }
        (outstanding >= MAX_RESERVATIONS).then_some(Denial::Busy)
    }

    fn finish(mut self, facts: &Facts<'_>) -> Write {
        self.changed |= self.note_denials(facts);
        match (self.reserved, self.changed) {
            (true, _) => Write::Required(self.ledger),
            (false, true) => Write::Useful(self.ledger),
            (false, false) => Write::Nothing,
        }
    }

    /// Records the denials, at most once per second unless the ledger is stored anyway.
    fn note_denials(&mut self, facts: &Facts<'_>) -> bool {
        let Some(name) = self.last_denied else {
            return false;
        };
        let last = self.ledger.denied.as_ref();
        let is_due = last.is_none_or(|last| last.at != facts.clock);
        if !is_due && !self.reserved && !self.changed {
            return false;
        }
        let before = last.map_or(0, |last| last.total);
        if last.is_some_and(|last| &*last.claim != name) {
            self.ledger.unknown_inside.remove("denied");
        }
        self.ledger.denied = Some(DenialRecord {
            at: facts.clock,
            total: before.saturating_add(facts.untold).saturating_add(self.denied),
            claim: name.into(),
        });
        true
    }
}

fn as_count(nodes: u32) -> usize {
    usize::try_from(nodes).unwrap_or(usize::MAX)
}

/// Replaces the limit in force by the one that was read, unless two releases read the same NodePool differently: then
/// the stricter one holds. Returns the limit to decide by, and whether it is different from the stored one: a new
/// version alone is stored with the next write, because Karpenter changes a NodePool's status often.
fn put_in_force(stored: &mut Option<LimitInForce>, read: LimitInForce) -> (LimitInForce, bool) {
    let limit = match *stored {
        Some(known) if known.agrees_with(&read) => LimitInForce {
            pool_version: known.pool_version.max(read.pool_version),
            ..read
        },
        Some(known) if known.pool_version == read.pool_version => read.stricter(known),
        _ => read,
    };
    let before = stored.replace(limit);
    (limit, before.is_none_or(|before| !before.agrees_with(&limit)))
}

#[cfg(test)]
mod tests;
