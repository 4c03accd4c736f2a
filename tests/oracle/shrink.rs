//! Reduces a case with a difference to the smallest one with the same difference.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::case::Case;
use super::compare::{Comparison, compare};
use super::mismatch::Mismatch;
use super::mutate::{pointers, remove, split};
use super::program::Oracles;

/// How long one case may be shrunk. A case that harms the oracle costs a second each time.
const PATIENCE: Duration = Duration::from_secs(20);

/// The smallest case found that still has the same difference, and the difference.
pub(crate) fn shrink(oracles: &mut Oracles, case: &Case, mismatch: &Mismatch) -> (Case, Mismatch) {
    let begun = Instant::now();
    let mut smallest = (case.clone(), mismatch.clone());
    loop {
        let before = smallest.0.clone();
        for candidate in candidates(&before) {
            // The list was made for a larger case; steps that no longer fit change nothing.
            let candidate = candidate(&smallest.0);
            if candidate == smallest.0 {
                continue;
            }
            if let Some(still) = same(oracles, &candidate, mismatch) {
                smallest = (candidate, still);
            }
            if begun.elapsed() > PATIENCE {
                return smallest;
            }
        }
        if smallest.0 == before {
            return smallest;
        }
    }
}

fn same(oracles: &mut Oracles, case: &Case, wanted: &Mismatch) -> Option<Mismatch> {
    match compare(oracles, std::slice::from_ref(case)).remove(0) {
        Comparison::Unjudged => None,
        Comparison::Judged { mismatches, .. } => mismatches
            .into_iter()
            .find(|found| found.kind == wanted.kind && found.signature == wanted.signature),
    }
}

type Step = Box<dyn Fn(&Case) -> Case>;

/// Ways to make a case smaller, the largest steps first.
fn candidates(case: &Case) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    steps.push(Box::new(|case| Case {
        old: None,
        ..case.clone()
    }));
    let mut places = pointers(&case.object);
    places.extend(case.old.iter().flat_map(pointers));
    places.extend(["/metadata/labels", "/metadata/annotations"].map(String::from));
    // Long lists first lose their later elements, so that the indices of the others stay the same.
    places.sort_by_key(|place| {
        (
            place.matches('/').count(),
            std::cmp::Reverse(split(place).1.parse::<usize>().ok()),
        )
    });
    places.dedup();
    for place in &places {
        steps.push(in_both(place, remove));
        steps.push(in_one(place, true, remove));
        steps.push(in_one(place, false, remove));
    }
    for place in &places {
        for simple in [json!("a"), json!("1"), json!(1)] {
            let set = move |object: &mut Value, place: &str| set_simple(object, place, &simple);
            steps.push(in_both(place, set));
        }
        steps.push(in_both(place, halve));
    }
    steps
}

fn in_both(place: &str, change: impl Fn(&mut Value, &str) + 'static) -> Step {
    let place = place.to_owned();
    Box::new(move |case| {
        let mut smaller = case.clone();
        change(&mut smaller.object, &place);
        if let Some(old) = &mut smaller.old {
            change(old, &place);
        }
        smaller
    })
}

fn in_one(place: &str, is_new: bool, change: impl Fn(&mut Value, &str) + 'static) -> Step {
    let place = place.to_owned();
    Box::new(move |case| {
        let mut smaller = case.clone();
        match &mut smaller.old {
            Some(_) if is_new => change(&mut smaller.object, &place),
            Some(old) => change(old, &place),
            None => {}
        }
        smaller
    })
}

/// A simpler value of the same type.
fn set_simple(object: &mut Value, place: &str, simple: &Value) {
    if let Some(value) = object.pointer_mut(place)
        && value.is_string() == simple.is_string()
        && (value.is_string() || value.is_number())
        && value.to_string().len() > simple.to_string().len()
    {
        value.clone_from(simple);
    }
}

fn halve(object: &mut Value, place: &str) {
    if let Some(Value::String(text)) = object.pointer_mut(place) {
        let length = text.chars().count();
        *text = text.chars().take(length / 2).collect();
    }
}
