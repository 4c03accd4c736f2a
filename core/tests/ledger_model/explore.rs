//! Explores all reachable worlds, breadth first, so that the story of a violation is as short as possible.
//!
//! A world is identified by its 64-bit fingerprint: in a million worlds, two collide in one of 30 million runs, and
//! a collision can only hide worlds, never invent them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::fingerprint::{Fast, fingerprint};
use crate::probe::Probe;
use crate::real::Real;
use crate::scenario::{Guard, Scenario};
use crate::steps::{Action, Steps, Violation};
use crate::world::World;

/// The result of an exploration.
#[derive(Debug)]
pub(crate) struct Explored {
    pub(crate) worlds: usize,
    /// Whether these are all worlds of the scenario.
    pub(crate) whole: bool,
    pub(crate) violation: Option<(Violation, Vec<Action>)>,
}

/// Fingerprint of a world → that of the world before it.
type Known = HashMap<u64, u64, Fast>;

/// Explores until a violation is found, no world is left, or this many worlds are known.
pub(crate) fn explore(scenario: &Scenario, without: Option<Guard>, most: usize) -> Explored {
    let mut real = Real::new(scenario, without);
    let mut probe = Probe::default();
    let start = scenario.start();
    let mut known = Known::default();
    known.insert(fingerprint(&start), 0);
    let mut queue = VecDeque::from([start]);
    while let Some(world) = queue.pop_front() {
        let from = fingerprint(&world);
        if let Some(violation) = probe.look(&world, &real) {
            let story = story(&known, &world, None, &mut real);
            return found(known.len(), violation, story);
        }
        let steps = Steps::of(&world, &mut real);
        if let Some((action, violation)) = steps.violation {
            let story = story(&known, &world, Some(action), &mut real);
            return found(known.len(), violation, story);
        }
        for (_, next) in steps.next {
            if let Entry::Vacant(entry) = known.entry(fingerprint(&next)) {
                entry.insert(from);
                queue.push_back(next);
            }
        }
        if known.len() >= most {
            break;
        }
    }
    Explored {
        worlds: known.len(),
        whole: queue.is_empty(),
        violation: None,
    }
}

fn found(worlds: usize, violation: Violation, story: Vec<Action>) -> Explored {
    Explored {
        worlds,
        whole: false,
        violation: Some((violation, story)),
    }
}

/// The steps from the beginning to this world, found by following the fingerprints.
fn story(known: &Known, end: &World, last: Option<Action>, real: &mut Real<'_>) -> Vec<Action> {
    let mut path = vec![fingerprint(end)];
    while let Some(before) = path
        .last()
        .and_then(|print| known.get(print))
        .filter(|print| **print != 0)
    {
        path.push(*before);
    }
    let mut world = real.scenario.start();
    let mut story = Vec::new();
    for print in path.iter().rev().skip(1) {
        let steps = Steps::of(&world, real).next;
        let (action, next) = steps
            .iter()
            .find(|(_, next)| fingerprint(next) == *print)
            .unwrap();
        story.push(*action);
        world = *next;
    }
    story.extend(last);
    story
}
