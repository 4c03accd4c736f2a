//! Whether what happened in a cluster keeps poolgate's promises about node limits: told each review, each answer and each
//! change of what is stored, in the order of resourceVersions. It knows nothing of poolgate's code.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

#[path = "history_pools.rs"]
mod pools;

use pools::{Claim, Ledger, Pool, text};
pub(crate) use pools::{Limit, Now};

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A review of the creation of a NodeClaim began.
    Review { call: u64, claim: String, pool: String },
    /// It was answered. `refusal` is the message of a denial.
    Answer { call: u64, refusal: Option<String> },
    /// It got no answer.
    NoAnswer { call: u64 },
    /// An object is new, has changed or is gone.
    Stored {
        kind: Kind,
        before: Option<Value>,
        now: Option<Value>,
    },
    /// poolgate deletes a NodeClaim.
    Deleted { claim: String },
    /// The garbage collector deletes the ledger that has this UID.
    Collected { ledger: String },
    /// A reconciler has read the Lease as it is now.
    LeaseRead { by: String },
}

/// The kinds of objects that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pool,
    Claim,
    Node,
    Ledger,
    Lease,
}

/// A review that began.
#[derive(Debug, Default)]
struct Review {
    pool: String,
    order: u64,
    began: Duration,
    /// Whether it began after the limit in force was stored.
    is_newer: bool,
    /// The claims that existed when it began.
    existed: BTreeSet<String>,
    /// Whether its claim is excepted from what is promised: the ledger of a pool without claims was made of nothing since.
    is_excepted: bool,
}

/// A call of the webhook that is not answered.
#[derive(Debug)]
struct Open {
    pool: String,
    /// What held a place since it arrived.
    held: BTreeSet<String>,
    /// The limits that were in force since. A gate may decide by one of them although the pool is gone: it has read it.
    limits: Vec<Limit>,
    /// The least that was allowed since by one of them.
    least: Option<usize>,
}

impl Open {
    /// Its pool has changed.
    fn see(&mut self, pool: &Pool) {
        self.limits
            .extend(pool.limit.filter(|limit| !self.limits.contains(limit)));
        let allowed = self.limits.iter().map(|limit| pool.allowed_by(*limit)).min();
        self.least = self.least.into_iter().chain(allowed).min();
    }
}

/// Checks a history.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pools: BTreeMap<String, Pool>,
    reviews: BTreeMap<String, Review>,
    open: BTreeMap<u64, Open>,
    orders: u64,
    /// The marks of users on nodes.
    users: BTreeSet<String>,
    /// Who had the Lease last.
    lease_holder: String,
    /// Who has the Lease as it is stored, and until when it is not free.
    lease: (String, Duration),
    /// The same as each reconciler has last read it.
    leases_read: BTreeMap<String, (String, Duration)>,
    /// The ledgers that the garbage collector deletes.
    collected: BTreeSet<String>,
    /// When each reservation was first stored.
    reserved_at: BTreeMap<String, Duration>,
    /// How often it happened.
    pub(crate) happened: BTreeMap<&'static str, usize>,
    /// What broke a promise.
    pub(crate) violations: Vec<String>,
}

/// How long after poolgate has read that a node is too many it may still delete it.
const DECIDED_BEFORE: Duration = Duration::from_secs(13);

/// How long a gate may take a node to be on its way out that is not any more: a watch may be silent for a minute. Soft needs no
/// list.
const SOFT_LAGS: Duration = Duration::from_secs(90);

/// How long a reservation lives at least.
const LIFETIME: Duration = Duration::from_secs(45);

impl Checker {
    /// Takes what happened at this time. Fails if it breaks a promise.
    pub(crate) fn see(&mut self, at: Duration, event: &Event) -> Result<(), String> {
        let seen = match event {
            Event::Review { call, claim, pool } => {
                self.review(at, *call, claim, pool);
                Ok(())
            }
            Event::Answer { call, refusal } => self.answer(*call, refusal.as_deref()),
            Event::NoAnswer { call } => {
                self.open.remove(call);
                Ok(())
            }
            Event::Stored { kind, before, now } => match kind {
                Kind::Pool => {
                    self.pool(at, before.as_ref(), now.as_ref());
                    Ok(())
                }
                Kind::Claim => self.claim(at, before.as_ref(), now.as_ref()),
                Kind::Node => self.node(before.as_ref(), now.as_ref()),
                Kind::Ledger => self.ledger(at, before.as_ref(), now.as_ref()),
                Kind::Lease => self.lease(at, now.as_ref()),
            },
            Event::Deleted { claim } => self.deleted(at, claim),
            Event::Collected { ledger } => {
                self.collected.insert(ledger.clone());
                Ok(())
            }
            Event::LeaseRead { by } => {
                self.leases_read.insert(by.clone(), self.lease.clone());
                Ok(())
            }
        };
        for pool in self.pools.values_mut() {
            let staying = pool.claims.values().filter(|claim| !claim.is_deleted).count();
            if pool.staying().is_some_and(|most| staying > most) {
                pool.over_at = Some(at);
            }
            if pool
                .limit
                .is_some_and(|limit| pool.claims.len() + pool.reserved() >= limit.nodes)
            {
                pool.full_at = Some(at);
            }
        }
        if let Err(violation) = &seen {
            self.violations.push(violation.clone());
        }
        seen
    }

    /// Counts what is worth knowing of a history.
    pub(crate) fn happens(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }

    fn review(&mut self, at: Duration, call: u64, claim: &str, name: &str) {
        let pool = self.pools.entry(name.into()).or_default();
        let existed: BTreeSet<_> = pool.claims.keys().cloned().collect();
        let mut held = existed.clone();
        held.extend(
            pool.ledger
                .iter()
                .flat_map(|ledger| ledger.reservations.iter().cloned()),
        );
        let mut open = Open {
            pool: name.into(),
            held,
            limits: Vec::new(),
            least: None,
        };
        open.see(pool);
        self.open.insert(call, open);
        self.orders += 1;
        let review = Review {
            pool: name.into(),
            order: self.orders,
            began: at,
            is_newer: true,
            existed,
            is_excepted: false,
        };
        // A repeated call rests on what the first one found.
        self.reviews.entry(claim.into()).or_insert(review);
    }

    fn answer(&mut self, call: u64, refusal: Option<&str>) -> Result<(), String> {
        let Some(open) = self.open.remove(&call) else {
            return Ok(());
        };
        let Some(refusal) = refusal else {
            self.happens("admitted");
            return Ok(());
        };
        if refusal.contains("cannot tell whether") {
            self.happens("denied undecided");
        } else if refusal.contains("may be at its node limit") {
            self.happens("denied by a closed ledger");
        } else if refusal.contains("by the last count") {
            self.happens("denied by an old count");
        } else if refusal.contains("is at its node limit") {
            self.happens("denied at the limit");
            let least = open
                .least
                .ok_or_else(|| format!("{}: denied without a limit", open.pool))?;
            if open.held.len() < least {
                return Err(format!(
                    "{}: denied although only {} of {least} places were ever held: {:?}",
                    open.pool,
                    open.held.len(),
                    open.held
                ));
            }
        } else {
            self.happens("denied by something else");
        }
        Ok(())
    }

    fn pool(&mut self, at: Duration, before: Option<&Value>, now: Option<&Value>) {
        let Some(object) = now.or(before) else { return };
        let name = text(&object["metadata"]["name"]);
        let pool = self.pools.entry(name.clone()).or_default();
        let freeze = now.and_then(|now| now["metadata"]["annotations"]["poolgate.dev/freeze"].as_str());
        // One that ends in the year of these runs may be over.
        let is_frozen = freeze.is_some_and(|text| !text.contains("until=2026"));
        if is_frozen && pool.frozen_at.is_none() {
            *self.happened.entry("freeze").or_default() += 1;
        }
        pool.frozen_at = is_frozen.then(|| pool.frozen_at.unwrap_or(at));
        let (uid, limit) = match now {
            Some(now) => (text(&now["metadata"]["uid"]), Limit::of(now)),
            None => (String::new(), None),
        };
        if pool.limit == limit && pool.uid == uid {
            return;
        }
        if pool.uid != uid {
            // Its ledger is not that of the next pool of its name.
            pool.delist(at);
            pool.is_lost = false;
        }
        (pool.uid, pool.limit) = (uid, limit);
        for review in self.reviews.values_mut().filter(|review| review.pool == name) {
            review.is_newer = false;
        }
        for open in self.open.values_mut().filter(|open| open.pool == name) {
            open.see(pool);
        }
    }

    fn claim(&mut self, at: Duration, before: Option<&Value>, now: Option<&Value>) -> Result<(), String> {
        let Some(object) = now.or(before) else {
            return Ok(());
        };
        let uid = text(&object["metadata"]["uid"]);
        let name = text(&object["metadata"]["labels"]["karpenter.sh/nodepool"]);
        let pool = self.pools.entry(name.clone()).or_default();
        if now.is_none() {
            pool.claims.remove(&uid);
            return Ok(());
        }
        let annotations = &object["metadata"]["annotations"];
        let is_deleted = !object["metadata"]["deletionTimestamp"].is_null();
        if !is_deleted && !annotations["karpenter.sh/nodeclaim-termination-timestamp"].is_null() {
            return Err(format!(
                "{name}: the drain of {uid}, which is not being deleted, is bounded"
            ));
        }
        let is_true = |kind: &str| {
            let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
        };
        let is_disrupted = is_true("DisruptionReason");
        let is_new = !pool.claims.contains_key(&uid);
        let claim = pool.claims.entry(uid.clone()).or_default();
        if claim.is_left_out() {
            claim.left_out_until = Some(at);
        }
        (claim.is_deleted, claim.is_disrupted) = (is_deleted, is_disrupted);
        claim.is_replaced = is_disrupted && !is_deleted && is_true("Initialized");
        for open in self.open.values_mut().filter(|open| open.pool == name) {
            open.held.insert(uid.clone());
            open.see(pool);
        }
        if is_new { self.created(&name, &uid) } else { Ok(()) }
    }

    /// A claim was stored: of what existed when a review began, and what was reviewed since, there is no more than the limit.
    fn created(&mut self, name: &str, uid: &str) -> Result<(), String> {
        self.happens("created");
        let Some(pool) = self.pools.get(name) else {
            return Ok(());
        };
        let Some(limit) = pool.limit else { return Ok(()) };
        if !self.reviews.get(uid).is_some_and(|review| review.is_newer) {
            return Ok(());
        }
        let existing = || {
            pool.claims
                .keys()
                .filter_map(|uid| Some((uid, self.reviews.get(uid)?)))
        };
        for (_, review) in existing().filter(|(_, review)| review.is_newer && !review.is_excepted) {
            let counts = |uid: &String, claim: &Claim| {
                let other = self.reviews.get(uid);
                let is_since = other.is_some_and(|other| other.order >= review.order);
                let is_left_out = limit.is_soft
                    && (claim.is_left_out()
                        || claim
                            .left_out_until
                            .is_some_and(|until| until + SOFT_LAGS >= review.began));
                let is_excepted = other.is_some_and(|other| other.is_excepted);
                (is_since || review.existed.contains(uid)) && !is_left_out && !is_excepted
            };
            let counted: Vec<_> = pool
                .claims
                .iter()
                .filter(|(uid, claim)| counts(uid, claim))
                .collect();
            if counted.len() > limit.nodes + limit.surge {
                let uids: Vec<_> = counted.iter().map(|(uid, _)| uid.as_str()).collect();
                return Err(format!(
                    "{name}: {uid} is one too many for a limit of {} and a surge of {}, beside {uids:?}",
                    limit.nodes, limit.surge
                ));
            }
        }
        Ok(())
    }

    /// The ledgers are in another namespace from now on. Those before are gone, and nothing in the new ones is about them.
    pub(crate) fn ledgers_moved(&mut self) {
        for pool in self.pools.values_mut() {
            pool.ledger = None;
        }
        self.happens("ledgers moved");
    }

    fn ledger(&mut self, at: Duration, was: Option<&Value>, stored: Option<&Value>) -> Result<(), String> {
        let Some(object) = stored.or(was) else {
            return Ok(());
        };
        let name = text(&object["data"]["nodepool"]);
        let pool = self.pools.entry(name.clone()).or_default();
        if text(&object["metadata"]["ownerReferences"][0]["uid"]) != pool.uid {
            self.ledger_of_another(&name, object);
            return Ok(());
        }
        let before = pool.delist(at);
        if stored.is_none() {
            pool.is_lost = !self.collected.remove(&text(&object["metadata"]["uid"]));
            self.happens("ledger deleted");
            return Ok(());
        }
        let read = object["data"]["ledger.json"].as_str().unwrap_or_default();
        let read = serde_json::from_str::<Value>(read).unwrap_or_default();
        if read["seen"].is_null() {
            self.happens("ledger spoilt");
            return Ok(());
        }
        let now = Ledger::of(&read);
        let forgotten = before.as_ref().and_then(|before| before.forgotten_by(&now));
        let reserved: BTreeSet<String> = before
            .iter()
            .flat_map(|before| before.reservations.clone())
            .collect();
        let ended: Vec<_> = reserved.difference(&now.reservations).cloned().collect();
        let unseen: Vec<_> = ended
            .into_iter()
            .filter(|uid| !pool.claims.contains_key(uid))
            .collect();
        let held = now.reservations.clone();
        let (was_closed, was_surged) = before.as_ref().map_or((false, false), |before| {
            (before.is_closed, !before.surged.is_empty())
        });
        let (is_closed, is_surged) = (now.is_closed, !now.surged.is_empty());
        let is_of_nothing = pool.is_lost && !is_closed;
        pool.is_lost = false;
        pool.ledger = Some(now);
        if is_of_nothing {
            let exists: BTreeSet<String> = pool.claims.keys().cloned().collect();
            let before = self.reviews.iter_mut().filter(|(_, review)| review.pool == name);
            for (_, review) in before.filter(|(uid, _)| !exists.contains(*uid) && !held.contains(*uid)) {
                review.is_excepted = true;
            }
        }
        for open in self.open.values_mut().filter(|open| open.pool == name) {
            open.held.extend(held.iter().cloned());
        }
        for uid in held {
            self.reserved_at.entry(uid).or_insert(at);
        }
        for uid in unseen {
            let since = self.reserved_at.get(&uid).copied().unwrap_or(at);
            self.happens(if at.saturating_sub(since) >= LIFETIME {
                "reservation expired"
            } else {
                "reservation released"
            });
        }
        if was_closed && !is_closed {
            self.happens("closed ledger opened");
        }
        if is_surged && !was_surged {
            self.happens("surge");
        }
        match forgotten {
            Some(part) => Err(format!(
                "{name}: what a later release wrote into {part} of the ledger is gone"
            )),
            None => Ok(()),
        }
    }

    /// The ledger of a pool that had this name before has changed. Who still decides by that pool counts by it.
    fn ledger_of_another(&mut self, name: &str, object: &Value) {
        let text = object["data"]["ledger.json"].as_str().unwrap_or_default();
        let ledger = Ledger::of(&serde_json::from_str(text).unwrap_or_default());
        for open in self.open.values_mut().filter(|open| open.pool == name) {
            open.held.extend(ledger.reservations.iter().cloned());
        }
    }

    fn deleted(&mut self, at: Duration, uid: &str) -> Result<(), String> {
        let pool = self.pools.iter().find(|(_, pool)| pool.claims.contains_key(uid));
        let Some((name, pool)) = pool else { return Ok(()) };
        let now = pool.ledger.as_ref().filter(|ledger| ledger.listed.contains(uid));
        let before = pool
            .delisted
            .get(uid)
            .filter(|(until, _)| at <= *until + DECIDED_BEFORE);
        let Some(ledger) = now.or(before.map(|(_, ledger)| ledger)) else {
            return Err(format!("{name}: {uid} is deleted and not listed"));
        };
        if pool.frozen_at.is_some_and(|since| at > since + DECIDED_BEFORE) {
            return Err(format!("{name}: {uid} is deleted, and the pool is frozen"));
        }
        let is_replaced = ledger.replaced.contains(uid);
        let reason = if is_replaced { pool.full_at } else { pool.over_at };
        if reason.is_none_or(|reason| at > reason + DECIDED_BEFORE) {
            return Err(format!(
                "{name}: {uid} is deleted, and the pool has not been {} for long",
                if is_replaced { "full" } else { "above its limit" }
            ));
        }
        self.happens(if is_replaced { "replacement" } else { "termination" });
        Ok(())
    }

    fn node(&mut self, before: Option<&Value>, now: Option<&Value>) -> Result<(), String> {
        let mark = |node: Option<&Value>| {
            node.is_some_and(|node| node["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true")
        };
        let held = |node: Option<&Value>| {
            node.is_some_and(|node| !node["metadata"]["annotations"]["poolgate.dev/held-for"].is_null())
        };
        if held(now) && !held(before) {
            self.happens("held");
        }
        let Some(object) = now.or(before) else {
            return Ok(());
        };
        let uid = text(&object["metadata"]["uid"]);
        if now.is_none() {
            self.users.remove(&uid);
        } else if object["metadata"]["annotations"]["example.com/users"] == "true" {
            self.users.insert(uid.clone());
        }
        if now.is_some() && self.users.contains(&uid) && !mark(now) {
            self.users.remove(&uid);
            return Err(format!("{uid}: the mark of a user is gone"));
        }
        Ok(())
    }

    /// The Lease has changed, or somebody has deleted it: then its holder may still write.
    fn lease(&mut self, at: Duration, now: Option<&Value>) -> Result<(), String> {
        let Some(now) = now else { return Ok(()) };
        let holder = text(&now["spec"]["holderIdentity"]);
        let seconds = now["spec"]["leaseDurationSeconds"].as_u64().unwrap_or_default();
        self.lease = (holder.clone(), at + Duration::from_secs(seconds));
        if !holder.is_empty() && holder != self.lease_holder {
            self.happens("leader");
            self.lease_holder.clone_from(&holder);
        }
        let read = self.leases_read.get(&holder);
        match read.filter(|(other, until)| !other.is_empty() && *other != holder && at < *until) {
            Some((other, _)) => Err(format!(
                "{holder} takes the Lease of {other}, which it knows to be held"
            )),
            None => Ok(()),
        }
    }

    /// What is true of a pool now.
    pub(crate) fn now(&self, name: &str) -> Option<Now> {
        let pool = self.pools.get(name)?;
        let ledger = pool.ledger.as_ref();
        Some(Now {
            limit: pool.limit?,
            claims: pool.claims.len(),
            undeleted: pool.claims.values().filter(|claim| !claim.is_deleted).count(),
            reserved: pool.reserved(),
            surged: ledger.map_or(0, |ledger| ledger.surged.len()),
            is_closed: ledger.is_some_and(|ledger| ledger.is_closed),
        })
    }

    /// Who leads.
    pub(crate) fn leader(&self) -> &str {
        &self.lease_holder
    }
}
