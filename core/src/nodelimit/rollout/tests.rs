//! What a rollout says of pools whose nodes are replaced, or are not.

use proptest::prelude::*;

use super::*;
use crate::nodelimit::plan::{Claim, Conditions};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// A NodeClaim, as Karpenter and a rollout see it.
#[derive(Debug, Clone)]
struct Seen {
    claim: Claim,
    by_template: Option<bool>,
    by_class: Option<bool>,
    drifted: Option<Condition>,
    causes: Vec<Cause>,
}

impl Seen {
    fn new(name: &str) -> Self {
        Self {
            claim: Claim {
                name: name.into(),
                uid: format!("uid-{name}").into(),
                created: at(-3600),
                deleted: None,
                is_launched: true,
                expire_after: None,
                has_grace_period: false,
                has_deadline: false,
                drift_hash: None,
                conditions: Conditions {
                    initialized: true,
                    ..Conditions::default()
                },
            },
            by_template: Some(false),
            by_class: None,
            drifted: None,
            causes: Vec::new(),
        }
    }

    /// Made from another template, and marked by Karpenter.
    fn outdated(name: &str) -> Self {
        Self {
            by_template: Some(true),
            ..Self::new(name).drifted(0)
        }
    }

    fn drifted(mut self, seconds: i64) -> Self {
        self.drifted = Some(Condition {
            status: "True".into(),
            reason: "NodePoolDrifted".into(),
            since: Some(at(seconds)),
        });
        self
    }

    fn kept(mut self, kind: CauseKind, until: Option<i64>) -> Self {
        self.causes = vec![Cause::new(kind, "something keeps it").until(until.map(at))];
        self
    }

    fn starting(mut self, created: i64) -> Self {
        self.claim.created = at(created);
        self.claim.conditions.initialized = false;
        self
    }

    fn going(mut self) -> Self {
        self.claim.deleted = Some(at(0));
        self
    }
}

/// A rollout with a deadline after two hours, and what its pool is.
struct World {
    rollout: Option<Rollout>,
    deadline: Option<Timestamp>,
    is_seen: Option<bool>,
    is_of_class: bool,
    makes_room: bool,
    generation: i64,
}

impl World {
    fn new() -> Self {
        Self {
            rollout: None,
            deadline: Some(at(7200)),
            is_seen: Some(true),
            is_of_class: false,
            makes_room: false,
            generation: 1,
        }
    }

    fn look(&mut self, seconds: i64, nodes: &[Seen]) -> Progress {
        let claims: Vec<RolloutClaim<'_>> = nodes
            .iter()
            .map(|seen| RolloutClaim {
                state: ClaimState {
                    claim: &seen.claim,
                    node: None,
                    tries: None,
                    pods: Vec::new(),
                },
                by_template: seen.by_template,
                is_of_template: seen.by_template.map(|is_outdated| !is_outdated),
                by_class: seen.by_class,
                drifted: seen.drifted.as_ref(),
                causes: seen.causes.clone(),
            })
            .collect();
        let look = RolloutLook {
            at: at(seconds),
            generation: Some(self.generation),
            is_of_class: self.is_of_class,
            is_seen: self.is_seen,
            makes_room: self.makes_room,
            claims: &claims,
        };
        let begin = || Rollout::begin(&look, self.deadline);
        self.rollout.get_or_insert_with(begin).progress(&look)
    }

    /// What it comes to if everything stays as it is, and after how many seconds.
    fn ends(&mut self, nodes: &[Seen]) -> (i64, Verdict) {
        let verdicts = (0..=7200).step_by(10);
        let mut verdicts = verdicts.map(|seconds| (seconds, self.look(seconds, nodes).verdict));
        verdicts
            .find(|(_, verdict)| *verdict != Verdict::Waiting)
            .unwrap_or((7200, Verdict::Waiting))
    }
}

#[test]
fn a_rollout_is_done_when_nothing_has_been_outdated_for_half_a_minute() {
    let mut world = World::new();
    let (old, new) = (Seen::outdated("old"), Seen::new("new").starting(5));
    let first = world.look(0, &[old.clone(), Seen::new("same")]);
    assert_eq!((first.nodes, first.up_to_date, first.waiting), (2, 1, 1));
    let second = world.look(10, &[old.clone().going(), Seen::new("same"), new.clone()]);
    assert_eq!((second.replacing, second.waiting, second.starting), (1, 0, 1));
    for seconds in [20, 60, 90] {
        let progress = world.look(seconds, &[Seen::new("same"), new.clone()]);
        assert_eq!(
            (progress.up_to_date, progress.verdict),
            (2, Verdict::Waiting),
            "{seconds}"
        );
    }
    let progress = world.look(100, &[Seen::new("same"), Seen::new("new")]);
    assert_eq!(progress.verdict, Verdict::Done);
}

#[test]
fn a_rollout_of_what_is_up_to_date_is_done_after_half_a_minute() {
    assert_eq!(World::new().ends(&[Seen::new("a")]), (30, Verdict::Done));
    assert_eq!(World::new().ends(&[]), (30, Verdict::Done));
}

#[test]
fn a_single_look_is_done_if_nothing_is_left() {
    let once = |node: Seen| {
        let mut world = World::new();
        world.deadline = None;
        world.look(0, &[node]).verdict
    };
    assert_eq!(once(Seen::new("a")), Verdict::Done);
    for node in [
        Seen::outdated("a"),
        Seen::outdated("a").kept(CauseKind::PodDoNotDisrupt, None),
        Seen::new("a").starting(0),
    ] {
        assert_eq!(once(node), Verdict::Waiting);
    }
}

#[test]
fn nodes_that_come_later_do_not_hold_up_a_rollout() {
    let mut world = World::new();
    world.look(0, &[Seen::new("a")]);
    let late = Seen::new("late").starting(31);
    assert_eq!(world.look(31, &[Seen::new("a"), late]).verdict, Verdict::Done);
}

#[test]
fn an_image_that_is_released_meanwhile_does_not_hold_up_a_rollout() {
    let mut world = World::new();
    world.look(0, &[Seen::outdated("old")]);
    world.look(60, &[Seen::outdated("old").going(), Seen::new("new")]);
    world.look(3600, &[Seen::new("new").drifted(3600)]);
    let progress = world.look(3630, &[Seen::new("new").drifted(3600)]);
    assert_eq!((progress.nodes, progress.verdict), (1, Verdict::Done));
}

#[test]
fn a_new_node_that_drifts_immediately_is_a_drift_loop() {
    let new = || {
        let mut new = Seen::new("new").drifted(61);
        new.claim.created = at(50);
        new
    };
    let nodes = [Seen::outdated("old"), new()];
    let mut world = World::new();
    world.look(0, &nodes[..1]);
    let progress = world.look(60, &nodes);
    assert_eq!(progress.verdict, Verdict::Stuck(Stuck::Loop("new".into())));
    // One that Karpenter made before it saw the change is replaced once more.
    let mut world = World::new();
    world.look(0, &nodes[..1]);
    let early = world.look(10, &nodes);
    assert_eq!((early.nodes, early.verdict), (2, Verdict::Waiting));
    let mut other = new();
    other.by_template = Some(true);
    let late = world.look(60, &[nodes[0].clone(), nodes[1].clone(), other]);
    assert_eq!((late.nodes, late.verdict), (2, Verdict::Waiting));
    // So is one of a pool that was changed again.
    let mut world = World::new();
    world.look(0, &nodes[..1]);
    world.generation = 2;
    assert_eq!(world.look(60, &nodes).verdict, Verdict::Waiting);
}

#[test]
fn a_karpenter_that_does_not_react_within_a_minute_is_down_or_behind() {
    let behind = (60, Verdict::Stuck(Stuck::Behind));
    let mut world = World::new();
    world.is_seen = Some(false);
    assert_eq!(world.ends(&[Seen::new("a")]), behind);
    let unmarked = Seen {
        drifted: None,
        ..Seen::outdated("a")
    };
    assert_eq!(World::new().ends(std::slice::from_ref(&unmarked)), behind);
    let unconsolidated = unmarked.clone().kept(CauseKind::BudgetClosed, None);
    assert_eq!(World::new().ends(&[unconsolidated]), behind);
    // It is at work while it marks one after the other.
    let mut world = World::new();
    let nodes = [
        unmarked.clone(),
        Seen {
            claim: Seen::new("b").claim,
            ..unmarked.clone()
        },
    ];
    world.look(0, &nodes);
    world.look(50, &nodes[..1]);
    assert_eq!(world.look(100, &nodes[..1]).verdict, Verdict::Waiting);
    assert_eq!(world.look(110, &nodes[..1]).verdict, behind.1);
    let mut unlaunched = unmarked;
    unlaunched.claim.is_launched = false;
    assert_eq!(World::new().ends(&[unlaunched]).1, Verdict::Waiting);
}

#[test]
fn a_rollout_is_stuck_when_something_keeps_all_that_is_left_beyond_the_deadline() {
    let kept = |kind, until| World::new().ends(&[Seen::outdated("a").kept(kind, until), Seen::new("b")]);
    let stuck = |seconds| (seconds, Verdict::Stuck(Stuck::Blocked));
    for kind in [
        CauseKind::Frozen,
        CauseKind::NodeDoNotDisrupt,
        CauseKind::PodDoNotDisrupt,
        CauseKind::BudgetClosed,
        CauseKind::BudgetUnreadable,
        CauseKind::HeldByPoolgate,
        CauseKind::PoolFull,
    ] {
        assert_eq!(kept(kind, None), stuck(30), "{kind:?}");
        assert_eq!(kept(kind, Some(7201)), stuck(30), "{kind:?}");
        assert_eq!(kept(kind, Some(7199)).1, Verdict::Waiting, "{kind:?}");
    }
    for kind in [
        CauseKind::PodDisruptionBudget,
        CauseKind::NodeClassNotReady,
        CauseKind::PoolNotReady,
    ] {
        assert_eq!(kept(kind, None), stuck(300), "{kind:?}");
    }
    for kind in [
        CauseKind::BudgetUsedUp,
        CauseKind::NotInitialized,
        CauseKind::NoTerminationGracePeriod,
    ] {
        assert_eq!(kept(kind, None).1, Verdict::Waiting, "{kind:?}");
    }
}

#[test]
fn a_rollout_goes_on_while_anything_moves() {
    let pinned = || Seen::outdated("pinned").kept(CauseKind::PodDoNotDisrupt, None);
    assert_eq!(
        World::new().ends(&[pinned(), Seen::outdated("b").going()]).1,
        Verdict::Waiting
    );
    assert_eq!(
        World::new().ends(&[pinned(), Seen::new("c").starting(0)]).1,
        Verdict::Waiting
    );
    let drained = Seen::outdated("b").going().kept(CauseKind::PodDoNotDisrupt, None);
    let mut world = World::new();
    let progress = world.look(0, &[pinned(), drained.clone()]);
    assert_eq!(
        (progress.blocked, progress.replacing, progress.kept.len()),
        (1, 1, 2)
    );
    assert_eq!(world.ends(&[pinned(), drained]).1, Verdict::Stuck(Stuck::Blocked));
    // poolgate gives held nodes their turn.
    let mut world = World::new();
    world.makes_room = true;
    let held = Seen::outdated("held").kept(CauseKind::HeldByPoolgate, None);
    assert_eq!(world.ends(&[held]).1, Verdict::Waiting);
}

#[test]
fn a_change_of_a_class_that_no_hash_shows_needs_five_minutes_of_quiet() {
    let of_class = |by_class| Seen {
        by_class,
        ..Seen::new("a")
    };
    for by_class in [None, Some(false)] {
        let mut world = World::new();
        world.is_of_class = true;
        assert_eq!(world.ends(&[of_class(by_class)]), (300, Verdict::Done));
    }
    let mut world = World::new();
    world.is_of_class = true;
    world.look(0, &[of_class(Some(true)).drifted(0)]);
    world.look(10, &[]);
    assert_eq!(world.look(40, &[]).verdict, Verdict::Done);
    let mut unknown = World::new();
    unknown.is_seen = None;
    assert_eq!(unknown.ends(&[Seen::new("a")]), (300, Verdict::Done));
}

/// A node in any state.
fn any_node() -> impl Strategy<Value = Seen> {
    let kinds = prop::sample::select(vec![
        CauseKind::PodDoNotDisrupt,
        CauseKind::BudgetUsedUp,
        CauseKind::PodDisruptionBudget,
        CauseKind::HeldByPoolgate,
    ]);
    let state = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (0..6u8, any::<Option<bool>>(), state, prop::option::of(kinds)).prop_map(
        |(name, by_template, (is_marked, is_going, is_initialized, is_launched), kept)| {
            let mut seen = Seen::new(&name.to_string());
            seen.by_template = by_template;
            if is_marked {
                seen = seen.drifted(0);
            }
            if is_going {
                seen = seen.going();
            }
            seen.claim.conditions.initialized = is_initialized;
            seen.claim.is_launched = is_launched;
            match kept {
                Some(kind) => seen.kept(kind, None),
                None => seen,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_rollout_ends_only_as_what_is_there_allows(
        looks in prop::collection::vec((prop::collection::vec(any_node(), 0..6), any::<Option<bool>>()), 1..40),
    ) {
        let mut world = World::new();
        let mut quiet = 0;
        for (step, (mut nodes, is_seen)) in looks.into_iter().enumerate() {
            nodes.sort_by(|one, other| one.claim.name.cmp(&other.claim.name));
            nodes.dedup_by(|one, other| one.claim.name == other.claim.name);
            world.is_seen = is_seen;
            let progress = world.look(i64::try_from(step).unwrap() * 10, &nodes);
            let left = progress.waiting + progress.replacing + progress.blocked;
            prop_assert_eq!(progress.up_to_date + left, progress.nodes);
            quiet = if left == 0 && is_seen != Some(false) { quiet + 1 } else { 0 };
            match progress.verdict {
                Verdict::Done => prop_assert!(quiet > 3),
                Verdict::Stuck(Stuck::Blocked) => prop_assert!(left > 0 && progress.kept.len() == left),
                Verdict::Stuck(Stuck::Behind) => prop_assert!(step >= 6),
                Verdict::Stuck(Stuck::Loop(_) | Stuck::Gone) | Verdict::Waiting => {}
            }
        }
    }
}
