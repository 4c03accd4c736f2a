//! The state at one instant: creates under way, the stored objects, and what each replica believes.
//!
//! Plain small data, so that a million states fit into memory. Versions of NodeClaims count only the changes of
//! NodeClaims: only their order matters. Of the ledger's resourceVersion only one thing matters, and it is a flag:
//! whether a copy is still the stored one.

/// The most creates, replicas and ticks that a scenario may have.
pub(crate) const CREATES: usize = 4;
pub(crate) const REPLICAS: usize = 3;

/// What a replica sees for the first time: each reservation, and that the ledger is closed.
pub(crate) const SIGHTS: usize = CREATES + 1;
pub(crate) const CLOSED: usize = CREATES;

/// What a replica has not seen.
pub(crate) const UNSEEN: u8 = u8::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct World {
    pub(crate) tick: u8,
    /// How many changes of NodeClaims there were.
    pub(crate) revision: u8,
    /// The version of the NodePool: its first limit is that of 1.
    pub(crate) pool: u8,
    pub(crate) creates: [Create; CREATES],
    /// The creates whose reviews began after the limit in force was stored.
    pub(crate) newer: u8,
    /// For each of these, the claims that existed when its review began and still exist.
    pub(crate) existed: [u8; CREATES],
    /// Whether a ledger was made in place of a missing one because the pool had no claim: the exception that the
    /// documentation names. Then the claims that existed before are not promised to count.
    pub(crate) made_of_nothing: bool,
    pub(crate) ledger: Option<Book>,
    /// The object that the next ledger is stored in.
    pub(crate) object: u8,
    pub(crate) replicas: [Replica; REPLICAS],
    pub(crate) left: Mishaps,
}

/// The failures that may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mishaps {
    /// Restarts of a replica or of its watch: from a list that may be the oldest of all.
    pub(crate) crashes: u8,
    /// Writes that are carried out without an answer, or after the caller has stopped waiting.
    pub(crate) losses: u8,
    /// Calls that are repeated.
    pub(crate) repeats: u8,
    /// Answers that cannot be sent.
    pub(crate) unsent: u8,
    /// Ledgers that are overwritten with unreadable text.
    pub(crate) corruptions: u8,
    /// Ledgers that are deleted.
    pub(crate) deletions: u8,
    /// Writes of the reconciler.
    pub(crate) reconciles: u8,
}

/// One NodeClaim's life, as the API server sees it. Numbers are revisions, `started` is a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Create {
    Idle,
    Open {
        started: u8,
        allowed: bool,
    },
    Live {
        created: u8,
    },
    /// Karpenter wants to replace its node.
    Disrupted {
        created: u8,
        since: u8,
    },
    /// Karpenter does not any more.
    Kept {
        created: u8,
        since: u8,
        until: u8,
    },
    Replaced {
        created: u8,
        since: u8,
        removed: u8,
    },
    Deleting {
        created: u8,
        marked: u8,
    },
    Gone {
        created: u8,
        marked: u8,
        removed: u8,
    },
    Failed,
}

/// The revision of a change that did not happen.
const NEVER: u8 = u8::MAX;

/// The content of a ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Book {
    /// Allowed calls of each reservation; 0 means no reservation.
    pub(crate) calls: [u8; CREATES],
    pub(crate) seen: u8,
    /// 0 if it is open, else one more than the version that it was closed over.
    pub(crate) closed: u8,
    /// The highest version that a ledger of this object was closed over.
    pub(crate) mark: u8,
    /// Which object it is stored in.
    pub(crate) object: u8,
    /// The version of the NodePool whose limit is in force; 0 is none.
    pub(crate) pool: u8,
    /// The claims that were admitted above the limit.
    pub(crate) surged: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Replica {
    /// The revision up to which its watch has shown changes.
    pub(crate) view: u8,
    /// Claims that it has seen deleted.
    pub(crate) departed: u8,
    /// The tick of its last LIST.
    pub(crate) listed: Option<u8>,
    pub(crate) listed_after_copy: bool,
    /// The version of the NodePool that it knows.
    pub(crate) pool: u8,
    pub(crate) pool_fresh: bool,
    pub(crate) pool_after_copy: bool,
    pub(crate) copy: Option<Copied>,
    /// When it first saw each reservation, and that the ledger is closed.
    pub(crate) first_seen: [u8; SIGHTS],
    pub(crate) sighted: Sighted,
    pub(crate) calls: [Call; CREATES],
    /// A write whose caller no longer waits and that may still be carried out.
    pub(crate) late: Option<Late>,
}

/// Which ledger a replica has seen last: its object, and [`Book::closed`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sighted {
    pub(crate) object: u8,
    pub(crate) closed: u8,
}

/// A replica's copy of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Copied {
    pub(crate) book: Option<Book>,
    /// Whether it is the stored ledger, so that a compare-and-swap succeeds.
    pub(crate) current: bool,
    /// Whether it was read, rather than kept from an own write.
    pub(crate) read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Late {
    pub(crate) book: Book,
    pub(crate) current: bool,
    /// Whether it is the first of an object.
    pub(crate) creates: bool,
}

/// A webhook call at a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Call {
    None,
    Waiting(Waiting),
    /// Allowed, with or without a reservation for it, and the answer not sent.
    Ready {
        reserved: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Waiting {
    /// Whether the ledger was read since it arrived.
    pub(crate) ledger: bool,
    /// Whether the claims were listed since it arrived.
    pub(crate) claims: bool,
    /// The claims that held a place at any instant since it arrived.
    pub(crate) held: u8,
    /// The lowest limit there was since it arrived.
    pub(crate) lowest: u8,
    /// The least and the most places above the limit that there were since it arrived.
    pub(crate) least_surge: u8,
    pub(crate) most_surge: u8,
}

/// A claim in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Shown {
    pub(crate) version: u8,
    pub(crate) deleting: bool,
    pub(crate) disrupted: bool,
}

impl Create {
    /// How a view that is complete up to this revision shows it.
    pub(crate) fn at(self, revision: u8) -> Option<Shown> {
        let (created, [since, until], [marked, removed]) = match self {
            Self::Idle | Self::Open { .. } | Self::Failed => return None,
            Self::Live { created } => (created, [NEVER; 2], [NEVER; 2]),
            Self::Disrupted { created, since } => (created, [since, NEVER], [NEVER; 2]),
            Self::Kept {
                created,
                since,
                until,
            } => (created, [since, until], [NEVER; 2]),
            Self::Replaced {
                created,
                since,
                removed,
            } => (created, [since, NEVER], [NEVER, removed]),
            Self::Deleting { created, marked } => (created, [NEVER; 2], [marked, NEVER]),
            Self::Gone {
                created,
                marked,
                removed,
            } => (created, [NEVER; 2], [marked, removed]),
        };
        let changes = [created, since, until, marked].into_iter();
        let version = changes.filter(|change| *change <= revision).max()?;
        (created <= revision && revision < removed).then_some(Shown {
            version,
            deleting: marked <= revision,
            disrupted: since <= revision && revision < until,
        })
    }
}

impl Book {
    /// An unreadable ledger in place of this one.
    pub(crate) fn lost(self) -> Self {
        let mark = self.mark + 1;
        Self {
            closed: mark + 1,
            mark,
            object: self.object,
            ..Self::default()
        }
    }

    /// The claims that hold a reservation.
    pub(crate) fn reservations(self) -> u8 {
        mask(|claim| self.calls[claim] > 0)
    }
}

impl Replica {
    /// A replica that has just started. `pool_fresh` if the pool never changes.
    pub(crate) const fn new(pool: u8, pool_fresh: bool) -> Self {
        Self {
            view: 0,
            departed: 0,
            listed: None,
            listed_after_copy: false,
            pool,
            pool_fresh,
            pool_after_copy: false,
            copy: None,
            first_seen: [UNSEEN; SIGHTS],
            sighted: Sighted { object: 0, closed: 0 },
            calls: [Call::None; CREATES],
            late: None,
        }
    }

    pub(crate) fn waiting_mut(&mut self) -> impl Iterator<Item = &mut Waiting> {
        self.calls.iter_mut().filter_map(|call| match call {
            Call::Waiting(waiting) => Some(waiting),
            _ => None,
        })
    }

    pub(crate) fn waiting(&self) -> u8 {
        mask(|claim| matches!(self.calls[claim], Call::Waiting(_)))
    }

    /// Forgets what can no longer make a difference, so that worlds that differ in nothing else become one.
    /// `keep_lists` if even a LIST from before a reservation's end must count.
    pub(crate) fn forget(&mut self, keep_lists: bool) {
        let (ledger, claims) = self.waiting_mut().fold((false, false), |any, call| {
            (any.0 | call.ledger, any.1 | call.claims)
        });
        if let Some(copy) = &mut self.copy
            && copy.book.is_some()
        {
            copy.read &= ledger;
            self.listed_after_copy = false;
        }
        if let Some(listed) = self.listed {
            // A reservation seen three ticks before it is more than a lifetime old.
            let ends_a_reservation = self
                .first_seen
                .iter()
                .any(|first| first.saturating_add(3) <= listed);
            if !claims
                && !ends_a_reservation
                && !keep_lists
                && self.copy.is_none_or(|copy| copy.book.is_some())
            {
                self.listed = None;
            }
        }
    }

    /// Drops its copy, which is useless now.
    pub(crate) fn drop_copy(&mut self) {
        self.copy = None;
        self.listed_after_copy = false;
        self.pool_after_copy = false;
        self.waiting_mut().for_each(|waiting| waiting.ledger = false);
    }
}

impl World {
    /// What a view that is complete up to this revision shows.
    pub(crate) fn shown(&self, revision: u8) -> [Option<Shown>; CREATES] {
        self.creates.map(|create| create.at(revision))
    }

    /// The claims that exist and count.
    pub(crate) fn counted(&self, soft: bool) -> u8 {
        let shown = self.shown(self.revision);
        mask(|claim| shown[claim].is_some_and(|shown| !(soft && shown.deleting)))
    }

    /// The claims that hold a place: by existing or by a reservation. Under Soft, a reservation may hold one for an
    /// instant while its claim is being deleted already.
    pub(crate) fn places(&self, soft: bool) -> u8 {
        self.counted(soft) | self.ledger.map_or(0, Book::reservations)
    }

    /// How many claims are being disrupted.
    pub(crate) fn disrupted(&self) -> u8 {
        let shown = self.shown(self.revision).into_iter().flatten();
        shown.map(|shown| u8::from(shown.disrupted)).sum()
    }

    /// Deletes the ledger: who has found none before can create one.
    pub(crate) fn delete_ledger(&mut self) {
        self.ledger = None;
        self.object += 1;
        for replica in &mut self.replicas {
            if let Some(copy) = &mut replica.copy {
                copy.current = copy.book.is_none();
            }
            if let Some(late) = &mut replica.late {
                late.current = late.creates;
            }
        }
    }

    /// Stores a ledger: every other copy is outdated, and a late write of such a copy will never be carried out.
    pub(crate) fn store(&mut self, mut book: Book, unchecked: bool) {
        if self.ledger.is_none() {
            book.object = self.object;
            self.made_of_nothing |= book.closed == 0;
        }
        self.ledger = Some(book);
        for replica in &mut self.replicas {
            if let Some(copy) = &mut replica.copy {
                copy.current = false;
            }
            if let Some(late) = &mut replica.late {
                late.current = false;
            }
            if !unchecked && replica.late.is_some_and(|late| !late.current && !late.creates) {
                replica.late = None;
            }
        }
    }
}

/// The claims for which `holds` is true, as bits.
pub(crate) fn mask(holds: impl Fn(usize) -> bool) -> u8 {
    (0..CREATES).fold(0, |mask, claim| mask | (u8::from(holds(claim)) << claim))
}
