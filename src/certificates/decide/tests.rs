//! What must be true of the certificates at every moment, and step by step.

mod world;

use proptest::prelude::*;

use super::*;
use world::{Event, SETTINGS, World, certificate, event};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_leaf_is_served_that_an_api_server_does_not_trust(
        start in 0..3,
        events in prop::collection::vec(event(), 0..120),
    ) {
        let mut world = World::new();
        match start {
            0 => {}
            1 => world.settle(),
            _ => world.belong_to_somebody_else(),
        }
        for event in &events {
            world.happens(event);
            world.assert_trusted();
        }
        world.settle();
        let (authority, ..) = world.authority.expect("an authority");
        prop_assert!(world.bundles.iter().all(|bundle| *bundle == [authority]));
        prop_assert_eq!(world.leaf.map(|leaf| leaf.signer), Some(authority));
        prop_assert!(world.previous.is_empty());
    }
}

/// Reads and then acts immediately.
fn step(world: &mut World) -> Step {
    world.look(0);
    world.act(0).expect("a step")
}

#[test]
fn from_nothing_a_leaf_is_stored_as_soon_as_the_bundles_are_read_back() {
    let mut world = World::new();
    assert_eq!(step(&mut world), Step::MakeAuthority { previous: Vec::new() });
    assert_eq!(step(&mut world), Step::Trust(vec![certificate(1)]));
    assert_eq!(step(&mut world), Step::MakeLeaf);
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.serve_wait));
    world.settle();

    // Without a webhook nothing trusts the CA.
    let mut world = World::new();
    world.bundles = Vec::new();
    assert!(matches!(step(&mut world), Step::MakeAuthority { .. }));
    assert_eq!(step(&mut world), Step::MakeLeaf);
}

#[test]
fn a_first_leaf_waits_if_another_process_has_let_a_lost_authority_be_trusted() {
    let mut world = World::new();
    assert_eq!(step(&mut world), Step::MakeAuthority { previous: Vec::new() });
    world.look(1);
    world.happens(&Event::EmptyAuthority);
    assert_eq!(step(&mut world), Step::MakeAuthority { previous: Vec::new() });
    world.look(0);
    assert_eq!(world.act(1), Some(Step::Trust(vec![certificate(1)])));
    let both = vec![certificate(2), certificate(1)];
    assert_eq!(step(&mut world), Step::Trust(both));
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.trust_wait));
    world.settle();
}

#[test]
fn an_authority_is_replaced_step_by_step_and_each_wait_is_kept() {
    let mut world = World::new();
    world.settle();
    let (old, _, _) = world.authority.expect("an authority");
    world.passed += SETTINGS.authority_life * 2 / 3;
    let previous = vec![certificate(old)];
    assert_eq!(step(&mut world), Step::MakeAuthority { previous });
    let (new, ..) = world.authority.expect("an authority");
    let both = vec![certificate(new), certificate(old)];
    assert_eq!(step(&mut world), Step::Trust(both));
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.trust_wait));
    world.passed += SETTINGS.trust_wait;
    assert_eq!(step(&mut world), Step::MakeLeaf);
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.serve_wait));
    world.passed += SETTINGS.serve_wait.saturating_sub(Duration::from_secs(1));
    assert_eq!(step(&mut world), Step::Wait(Duration::from_secs(1)));
    // A process that restarts has seen nothing, and waits again.
    world.processes = Default::default();
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.serve_wait));
    world.passed += SETTINGS.serve_wait;
    assert_eq!(step(&mut world), Step::ForgetPrevious);
    assert_eq!(step(&mut world), Step::Trust(vec![certificate(new)]));
}

#[test]
fn a_leaf_is_renewed_when_two_thirds_of_its_life_are_over() {
    let mut world = World::new();
    world.settle();
    let until = world.leaf.expect("a leaf").validity.1 - 3_000;
    world.clock += until - world.wall() - 1;
    assert_eq!(step(&mut world), Step::Rest);
    world.clock += 1;
    assert_eq!(step(&mut world), Step::MakeLeaf);
    assert!(matches!(step(&mut world), Step::Wait(_)));
}

#[test]
fn nothing_is_made_while_the_clock_stands_before_what_was_made() {
    let mut world = World::new();
    world.settle();
    world.clock -= 20_000;
    world.set_leaf(None);
    assert_eq!(step(&mut world), Step::ClockIsBehind);
    // Trust needs no clock.
    world.happens(&Event::Install);
    assert!(matches!(step(&mut world), Step::Trust(_)));
    world.clock += 20_000;
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.trust_wait));
}

#[test]
fn an_authority_of_somebody_else_stays_until_nobody_can_need_it() {
    let mut world = World::new();
    world.settle();
    world.happens(&Event::AddForeign);
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.serve_wait));
    world.passed += SETTINGS.trust_wait;
    world.happens(&Event::SwapLeaf);
    assert_eq!(step(&mut world), Step::MakeLeaf);
    world.assert_trusted();
    assert_eq!(step(&mut world), Step::Wait(SETTINGS.serve_wait));
    world.passed += SETTINGS.serve_wait;
    let (own, ..) = world.authority.expect("an authority");
    assert_eq!(step(&mut world), Step::Trust(vec![certificate(own)]));
}

#[test]
fn what_is_not_a_certificate_is_removed_from_a_bundle() {
    let mut world = World::new();
    world.settle();
    let mut seen = world.seen();
    seen.bundles[0].is_clean = false;
    let now = Now {
        wall: world.wall(),
        at: world.begun + world.passed,
    };
    let (own, ..) = world.authority.expect("an authority");
    assert_eq!(
        next_step(&seen, &world.processes[0].since, now, &SETTINGS),
        Step::Trust(vec![certificate(own)])
    );
}
