//! The bounded worlds that are explored, and the guards that are disabled.

use poolgate_core::api::NodeLimitMode;

use crate::steps::Violation;
use crate::world::{Book, CREATES, Create, Mishaps, REPLICAS, Replica, World};

/// A bounded world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) mode: NodeLimitMode,
    /// Whether requests are denied while it is not known which claims were admitted.
    pub(crate) strict: bool,
    /// The limits of the NodePool, one after the other.
    pub(crate) limits: &'static [u8],
    /// How many more there may be while claims are disrupted. Without it, none is.
    pub(crate) surge: u8,
    pub(crate) creates: usize,
    /// Which creates are dry runs, as bits.
    pub(crate) dry: u8,
    /// How many of the creates exist from the beginning.
    pub(crate) older: usize,
    /// Whether those stay, so that a LIST always shows a claim.
    pub(crate) pinned: bool,
    /// Whether there is the ledger by which those were admitted.
    pub(crate) has_ledger: bool,
    pub(crate) replicas: usize,
    pub(crate) ticks: u8,
    pub(crate) mishaps: Mishaps,
}

/// The limit of a NodePool that has none.
pub(crate) const NO_LIMIT: u8 = u8::MAX;

/// What keeps the count exact. Each is disabled alone, and that must cause a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Guard {
    /// Claims that are admitted and not seen yet count.
    ReservationsCount,
    /// A view older than the ledger's `seen` is not used for counting.
    ViewNotOlderThanSeen,
    /// `seen` is raised when a reservation is removed because its claim is in view.
    SeenIsRaised,
    /// A ledger is stored only over the version that it is based on.
    CompareAndSwap,
    /// No "allow" is sent before its reservation is stored.
    StoredBeforeAnswered,
    /// A write without an answer is not treated as a success.
    UnknownIsNoSuccess,
    /// A reservation lives longer than a create.
    LifetimeOutlivesCreate,
    /// A reservation that this replica has never seen before is young.
    UnknownReservationIsYoung,
    /// A reservation ends on a LIST that lacks the claim, not on a watch that lacks it.
    WatchIsNoEvidence,
    /// That LIST began after the lifetime was over.
    ListAfterLifetime,
    /// A reservation whose create came to nothing is removed eventually.
    ReservationsEnd,
    /// If there is no ledger, the claims are listed.
    ListWithoutLedger,
    /// A denial is based on claims listed since the request arrived.
    DenialOnFreshClaims,
    /// A denial is based on a ledger read since the request arrived.
    DenialOnFreshLedger,
    /// A denial is based on a limit read since the request arrived.
    DenialOnFreshLimit,
    /// So is an admission, if the pool had no limit.
    AdmissionOnFreshLimit,
    /// While the ledger is closed, no request is admitted.
    ClosedLedgerDenies,
    /// Until what it admitted has been created or has ended.
    ClosedForALifetime,
    /// Which begins anew with each loss.
    LossesAreToldApart,
    /// And only once there is a limit again.
    ClosedAgesWithLimit,
    /// Before a claim is admitted without a reservation, the ledger is closed.
    ClosedWithoutLimit,
    /// By a ledger that was read since the request arrived.
    ClosedByFreshLedger,
    /// The reconciler, too, makes a missing ledger anew as a closed one.
    MissingIsClosed,
    /// After that, only views that show it are used for counting.
    OpenedAboveOlderViews,
    /// A limit that the ledger knows to be newer is not replaced by an older one.
    NewestLimit,
    /// A reservation that allowed two calls is not released by one of them.
    RepeatedCallsCount,
    /// Only a reservation whose "allow" was not sent is released.
    ReleaseOnlyUnsent,
    /// A call that was allowed without a reservation releases none.
    ReleaseOnlyReserved,
    /// A reservation is released once for each call, whatever the outcome of the write.
    ReleaseOnce,
    /// A dry run reserves nothing.
    DryRunReservesNothing,
    /// An admission above the limit is based on disruptions listed since the request arrived.
    SurgeOnFreshClaims,
    /// Without a disruption nothing is admitted above the limit.
    SurgeOnlyForDisrupted,
    /// However many are disrupted, no more than the surge are.
    SurgeIsBounded,
    /// While the ledger is lost, nothing is.
    NoSurgeWhileClosed,
    /// What is admitted above the limit is recorded.
    SurgedIsRecorded,
    /// The record ends when the claim is gone, or when the pool is not above its limit any more.
    SurgesEnd,
    /// A guard in the API server: a create is over after 34 s.
    CreatesAreCapped,
}

const NONE: Mishaps = Mishaps {
    crashes: 0,
    losses: 0,
    repeats: 0,
    unsent: 0,
    corruptions: 0,
    deletions: 0,
    reconciles: 0,
};

const ONCE_EACH: Mishaps = Mishaps {
    crashes: 1,
    losses: 1,
    repeats: 1,
    unsent: 1,
    corruptions: 0,
    deletions: 0,
    reconciles: 0,
};

/// Two replicas, one place, two creates, from the first to one reservation lifetime after it; the other scenarios
/// say what they change.
const BASE: Scenario = Scenario {
    name: "two for one place",
    mode: NodeLimitMode::Hard,
    strict: false,
    limits: &[1],
    surge: 0,
    creates: 2,
    dry: 0,
    older: 0,
    pinned: false,
    has_ledger: false,
    replicas: 2,
    ticks: 3,
    mishaps: NONE,
};

/// The worlds of every test run.
pub(crate) const BOUNDED: &[Scenario] = &[
    BASE,
    OLDER,
    DRY,
    CRASH,
    LOST,
    REPEATED,
    RAISED,
    LOWERED,
    LIMITED,
    CORRUPTED,
    SOFT,
    SURGE,
    SURGE_WITHOUT_LEDGER,
    LIMITED_WITH_CLAIMS,
    RETURNED,
];

const OLDER: Scenario = Scenario {
    name: "one of the two is there before the ledger",
    older: 1,
    ..BASE
};

const DRY: Scenario = Scenario {
    name: "one of the two is a dry run",
    dry: 0b10,
    ..BASE
};

const CRASH: Scenario = Scenario {
    name: "a crash",
    ticks: 1,
    mishaps: Mishaps { crashes: 1, ..NONE },
    ..BASE
};

const LOST: Scenario = Scenario {
    name: "a lost write",
    ticks: 1,
    mishaps: Mishaps { losses: 1, ..NONE },
    ..BASE
};

const REPEATED: Scenario = Scenario {
    name: "repeated calls and unsent answers",
    ticks: 0,
    mishaps: Mishaps {
        repeats: 1,
        unsent: 1,
        ..NONE
    },
    ..BASE
};

const RAISED: Scenario = Scenario {
    name: "the limit is raised",
    limits: &[1, 2],
    ticks: 0,
    ..BASE
};

const LOWERED: Scenario = Scenario {
    name: "the limit is lowered",
    limits: &[2, 1],
    ticks: 0,
    ..BASE
};

const LIMITED: Scenario = Scenario {
    name: "a pool gets its first limit",
    limits: &[NO_LIMIT, 1],
    strict: true,
    ticks: 0,
    ..BASE
};

const CORRUPTED: Scenario = Scenario {
    name: "the ledger is lost",
    strict: true,
    mishaps: Mishaps {
        corruptions: 1,
        ..NONE
    },
    ..BASE
};

const LOST_TWICE: Scenario = Scenario {
    name: "a ledger is lost twice",
    has_ledger: true,
    strict: true,
    ticks: 4,
    mishaps: Mishaps {
        corruptions: 2,
        ..NONE
    },
    ..BASE
};

const DELETED_TWICE: Scenario = Scenario {
    name: "a ledger is deleted twice, and the reconciler writes",
    limits: &[2],
    creates: 3,
    older: 1,
    pinned: true,
    has_ledger: true,
    strict: true,
    ticks: 4,
    mishaps: Mishaps {
        deletions: 2,
        reconciles: 1,
        ..NONE
    },
    ..BASE
};

const LIMITED_WITH_CLAIMS: Scenario = Scenario {
    name: "a pool that has a claim gets its first limit",
    limits: &[NO_LIMIT, 2],
    creates: 3,
    older: 1,
    pinned: true,
    strict: true,
    ..BASE
};

/// The limit goes and comes back: the ledger of before is still there.
const RESET: Scenario = Scenario {
    name: "a limit goes and comes back",
    limits: &[1, NO_LIMIT, 1],
    has_ledger: true,
    strict: true,
    ..BASE
};

/// The ledger was closed when the limit went.
const RETURNED: Scenario = Scenario {
    name: "a limit comes back",
    limits: &[NO_LIMIT, 1],
    has_ledger: true,
    strict: true,
    ..BASE
};

const RETURNED_TWICE: Scenario = Scenario {
    name: "a limit comes back twice",
    limits: &[NO_LIMIT, 1, NO_LIMIT, 1],
    ticks: 0,
    ..RETURNED
};

const SOFT: Scenario = Scenario {
    name: "Soft",
    mode: NodeLimitMode::Soft,
    ticks: 1,
    ..BASE
};

const SURGE: Scenario = Scenario {
    name: "three, of which one may be above the limit",
    surge: 1,
    creates: 3,
    older: 1,
    has_ledger: true,
    ticks: 0,
    ..BASE
};

const SURGE_WITHOUT_LEDGER: Scenario = Scenario {
    name: "a surge without a ledger",
    strict: true,
    has_ledger: false,
    ..SURGE
};

/// Larger worlds.
pub(crate) const FULL: &[Scenario] = &[
    LOST_TWICE,
    DELETED_TWICE,
    RESET,
    RETURNED_TWICE,
    Scenario {
        name: "a crash and a lost write, until reservations end",
        ticks: 3,
        mishaps: Mishaps {
            crashes: 1,
            losses: 1,
            ..NONE
        },
        ..BASE
    },
    Scenario {
        name: "a repeated call and two unsent answers, until reservations end",
        ticks: 3,
        mishaps: Mishaps {
            repeats: 1,
            unsent: 2,
            ..NONE
        },
        ..BASE
    },
    Scenario {
        name: "every mishap once",
        ticks: 0,
        mishaps: ONCE_EACH,
        ..BASE
    },
    Scenario {
        name: "three for two places",
        creates: 3,
        limits: &[2],
        ticks: 0,
        ..BASE
    },
    Scenario {
        name: "three for one place",
        creates: 3,
        ticks: 0,
        ..BASE
    },
    Scenario {
        name: "a pool with three creates gets its first limit",
        creates: 3,
        ..LIMITED
    },
    Scenario {
        name: "a surge, and an answer that cannot be sent",
        mishaps: Mishaps { unsent: 1, ..NONE },
        ..SURGE
    },
    Scenario {
        name: "a surge and a crash",
        mishaps: Mishaps { crashes: 1, ..NONE },
        ..SURGE
    },
    Scenario {
        name: "three replicas",
        replicas: 3,
        ticks: 3,
        ..BASE
    },
];

/// Each guard, the world in which disabling it shows, and the violation.
pub(crate) const MISSED: &[(Guard, Scenario, Violation)] = &[
    (Guard::ReservationsCount, BASE, Violation::TooMany),
    (Guard::ViewNotOlderThanSeen, BASE, Violation::TooMany),
    (Guard::SeenIsRaised, BASE, Violation::TooMany),
    (Guard::CompareAndSwap, BASE, Violation::TooMany),
    (Guard::StoredBeforeAnswered, BASE, Violation::TooMany),
    (Guard::UnknownIsNoSuccess, LOST, Violation::TooMany),
    (Guard::LifetimeOutlivesCreate, BASE, Violation::TooMany),
    (Guard::UnknownReservationIsYoung, BASE, Violation::TooMany),
    (Guard::WatchIsNoEvidence, BASE, Violation::TooMany),
    (Guard::ListAfterLifetime, BASE, Violation::TooMany),
    (Guard::ReservationsEnd, BASE, Violation::HeldForEver),
    (Guard::ListWithoutLedger, OLDER, Violation::TooMany),
    (Guard::DenialOnFreshClaims, BASE, Violation::WrongDenial),
    (Guard::DenialOnFreshLedger, BASE, Violation::WrongDenial),
    (Guard::DenialOnFreshLimit, RAISED, Violation::WrongDenial),
    (Guard::AdmissionOnFreshLimit, LIMITED, Violation::TooMany),
    (Guard::ClosedLedgerDenies, CORRUPTED, Violation::TooMany),
    (Guard::ClosedForALifetime, CORRUPTED, Violation::TooMany),
    (Guard::LossesAreToldApart, LOST_TWICE, Violation::TooMany),
    (Guard::ClosedAgesWithLimit, RETURNED, Violation::TooMany),
    (Guard::ClosedWithoutLimit, RESET, Violation::TooMany),
    (Guard::ClosedByFreshLedger, RETURNED_TWICE, Violation::TooMany),
    (Guard::MissingIsClosed, DELETED_TWICE, Violation::TooMany),
    (Guard::OpenedAboveOlderViews, CORRUPTED, Violation::TooMany),
    (Guard::NewestLimit, LOWERED, Violation::OlderLimit),
    (Guard::RepeatedCallsCount, REPEATED, Violation::TooMany),
    (Guard::ReleaseOnlyUnsent, REPEATED, Violation::TooMany),
    (Guard::ReleaseOnlyReserved, REPEATED, Violation::TooMany),
    (Guard::ReleaseOnce, REPEATED, Violation::TooMany),
    (Guard::DryRunReservesNothing, DRY, Violation::DryRunReserved),
    (Guard::SurgeOnFreshClaims, SURGE, Violation::SurgedForNothing),
    (Guard::SurgeOnlyForDisrupted, SURGE, Violation::SurgedForNothing),
    (Guard::SurgeIsBounded, SURGE, Violation::TooMany),
    (
        Guard::NoSurgeWhileClosed,
        SURGE_WITHOUT_LEDGER,
        Violation::Unrecorded,
    ),
    (Guard::SurgedIsRecorded, SURGE, Violation::Unrecorded),
    (Guard::SurgesEnd, SURGE, Violation::SurgeKept),
    (Guard::CreatesAreCapped, BASE, Violation::TooMany),
];

/// Leaves enough time before it for something first seen a lifetime ago.
pub(crate) const FIRST_TICK: u8 = 4;

impl Scenario {
    /// The world in which it begins.
    pub(crate) fn start(&self) -> World {
        assert!(self.creates <= CREATES && self.replicas <= REPLICAS && self.older <= self.creates);
        let mut creates = [Create::Idle; CREATES];
        let mut revision = 0;
        for create in creates.iter_mut().take(self.older) {
            revision += 1;
            *create = Create::Live { created: revision };
        }
        World {
            tick: FIRST_TICK,
            revision,
            pool: 1,
            creates,
            newer: 0,
            existed: [0; CREATES],
            made_of_nothing: false,
            ledger: self.has_ledger.then_some(if self.limit(1) == NO_LIMIT {
                Book {
                    seen: revision,
                    ..Book::default().lost()
                }
            } else {
                Book {
                    seen: revision,
                    pool: 1,
                    ..Book::default()
                }
            }),
            object: 0,
            replicas: [Replica::new(1, !self.limit_changes()); REPLICAS],
            left: self.mishaps,
        }
    }

    /// The limit that a version of the NodePool sets.
    pub(crate) fn limit(&self, pool: u8) -> u8 {
        self.limits[usize::from(pool) - 1]
    }

    /// Whether the NodePool changes. If not, no replica needs to read it.
    pub(crate) fn limit_changes(&self) -> bool {
        self.limits.len() > 1
    }

    pub(crate) fn is_dry(&self, claim: usize) -> bool {
        self.dry & (1 << claim) != 0
    }

    pub(crate) fn soft(&self) -> bool {
        self.mode == NodeLimitMode::Soft
    }
}
