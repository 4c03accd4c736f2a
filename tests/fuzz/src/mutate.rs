//! Mutations of JSON that leave it JSON: of random bytes, nearly all would be refused by the parser.

use std::mem;

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};

use crate::corpus::words;
use crate::values;

/// The longest string that is mutated as bytes.
const LONGEST: usize = 64;

/// Pseudo-random numbers from a seed of libFuzzer's: its runs can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % bound.max(1)
    }
}

/// Mutates JSON in a buffer, and returns its new length. What is not JSON is mutated as bytes, and so is one in eight.
pub fn json(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut chance = Chance(u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let parsed = data
        .get(..size)
        .and_then(values)
        .filter(|values| !values.is_empty());
    let Some(mut values) = parsed.filter(|_| chance.below(8) > 0) else {
        return fuzzer_mutate(data, size, max_size);
    };
    for _ in 0..=chance.below(3) {
        match chance.below(24) {
            // The second value is the stored object: mostly that of the first with a difference.
            0 => {
                let first = values.first().cloned().unwrap_or_default();
                values.truncate(1);
                values.push(first);
            }
            1 => drop(values.pop()),
            _ => {}
        }
        let at = chance.below(values.len());
        if let Some(value) = values.get_mut(at) {
            change(value, &mut chance);
        }
    }
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    match data.get_mut(..text.len()).filter(|_| text.len() <= max_size) {
        Some(place) => {
            place.copy_from_slice(text.as_bytes());
            text.len()
        }
        None => fuzzer_mutate(data, size, max_size),
    }
}

/// Changes one value somewhere inside another.
fn change(whole: &mut Value, chance: &mut Chance) {
    let all = count(whole);
    let donor = nth(whole, &mut chance.below(all)).map(|value| value.clone());
    let Some(value) = nth(whole, &mut chance.below(all)) else {
        return;
    };
    let known = words();
    let any = |chance: &mut Chance| known.get(chance.below(known.len())).cloned().unwrap_or_default();
    match chance.below(12) {
        0..=2 => *value = any(chance).1,
        3 => *value = donor.unwrap_or_default(),
        4 => *value = number(value, chance),
        5 => *value = odd(chance),
        6 | 7 => match value {
            Value::String(text) => *text = bytes(text),
            Value::Array(list) => {
                let at = chance.below(list.len() + 1);
                list.insert(at, any(chance).1);
            }
            Value::Object(fields) => drop(fields.insert(any(chance).0, any(chance).1)),
            other => *other = any(chance).1,
        },
        8 => match value {
            Value::Array(list) if !list.is_empty() => drop(list.remove(chance.below(list.len()))),
            Value::Object(fields) => {
                let key = fields.keys().nth(chance.below(fields.len())).cloned();
                key.map(|key| fields.remove(&key));
            }
            other => *other = any(chance).1,
        },
        9 => match value {
            Value::Array(list) if !list.is_empty() => {
                let again = list.get(chance.below(list.len())).cloned();
                list.extend(again);
            }
            other => *other = json!([mem::take(other)]),
        },
        10 => {
            if let Value::Object(fields) = value {
                let key = fields.keys().nth(chance.below(fields.len())).cloned();
                if let Some(taken) = key.and_then(|key| fields.remove(&key)) {
                    fields.insert(any(chance).0, taken);
                }
            }
        }
        _ => *value = whole_like(value, chance),
    }
}

/// A known value of the same type, if there is one.
fn whole_like(value: &Value, chance: &mut Chance) -> Value {
    let kind = mem::discriminant(value);
    let known = words();
    let found = (0..32).filter_map(|_| known.get(chance.below(known.len())));
    let mut found = found.filter(|(_, known)| mem::discriminant(known) == kind);
    found
        .next()
        .map_or_else(|| value.clone(), |(_, value)| value.clone())
}

fn number(value: &Value, chance: &mut Chance) -> Value {
    let old = value.as_i64().unwrap_or_default();
    match chance.below(6) {
        0 => json!(old.wrapping_add(1)),
        1 => json!(old.wrapping_sub(1)),
        2 => json!(old.to_string()),
        3 => json!(i64::try_from(chance.below(1 << 31)).unwrap_or_default() << chance.below(32)),
        4 => json!([0, 1, -1, i64::MAX, i64::MIN, 1 << 31, 1 << 53][chance.below(7)]),
        _ => json!(chance.below(200)),
    }
}

fn odd(chance: &mut Chance) -> Value {
    [
        json!(null),
        json!(true),
        json!({}),
        json!([]),
        json!(""),
        json!(0.1),
        json!(1e300),
        json!(u64::MAX),
    ][chance.below(8)]
    .clone()
}

fn bytes(text: &str) -> String {
    let mut buffer = text.as_bytes().to_vec();
    let size = buffer.len();
    buffer.resize(size + LONGEST, 0);
    let most = buffer.len();
    let size = fuzzer_mutate(&mut buffer, size, most);
    String::from_utf8_lossy(buffer.get(..size).unwrap_or_default()).into_owned()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at this place in the order of the text.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth(value, left)),
        Value::Object(fields) => fields.values_mut().find_map(|value| nth(value, left)),
        _ => None,
    }
}
