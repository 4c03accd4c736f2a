//! Texts for each grammar: some from the lists of `words.json`, which contain earlier failures and borderline
//! cases, some generated at random.

use std::collections::HashMap;
use std::sync::LazyLock;

use rand::Rng;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;

/// Karpenter hangs on these. Each costs a second of processor time.
pub(crate) const HARMFUL_QUANTITIES: &[&str] = &["1e2147483648", "1e-99999999999", "1E999999999"];

/// The lists, by their subject.
static LISTS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("words.json")).expect("words.json holds lists of texts")
});

/// A text for a field of this name in a NodePool; any text for an unknown name.
pub(crate) fn for_field(rng: &mut impl Rng, field: &str, parent: &str) -> String {
    match field {
        "consolidateAfter" | "expireAfter" | "terminationGracePeriod" | "duration" => duration(rng),
        "schedule" => schedule(rng),
        "key" => key(rng),
        "value" => pick(rng, &[label_value, key]),
        "operator" => listed(rng, "operators"),
        "effect" => listed(rng, "effects"),
        "consolidationPolicy" => listed(rng, "consolidation policies"),
        "nodeLimitMode" => listed(rng, "node limit modes"),
        "timeAdded" => listed(rng, "times"),
        "group" => listed(rng, "groups"),
        "kind" | "name" => listed(rng, "names"),
        "apiVersion" => listed(rng, "api versions"),
        "nodes" if parent != "limits" => nodes(rng),
        _ => match parent {
            "limits" if rng.random_ratio(1, 400) => one_of(rng, HARMFUL_QUANTITIES),
            "limits" => quantity(rng),
            "values" | "labels" => label_value(rng),
            "reasons" => listed(rng, "reasons"),
            _ => pick(rng, &[noise, label_value, duration, quantity, key]),
        },
    }
}

type Grammar<R> = fn(&mut R) -> String;

fn pick<R: Rng>(rng: &mut R, grammars: &[Grammar<R>]) -> String {
    let grammar = grammars.choose(rng).expect("a list of grammars is not empty");
    grammar(rng)
}

/// One of a list.
fn listed(rng: &mut impl Rng, list: &str) -> String {
    LISTS[list].choose(rng).expect("no list is empty").clone()
}

/// One of some texts.
pub(crate) fn one_of(rng: &mut impl Rng, words: &[&str]) -> String {
    (*words.choose(rng).expect("a list of words is not empty")).to_owned()
}

/// A duration, or something similar.
pub(crate) fn duration(rng: &mut impl Rng) -> String {
    if rng.random_bool(0.4) {
        return listed(rng, "durations");
    }
    let mut text = if rng.random_bool(0.05) {
        one_of(rng, &["-", "+"])
    } else {
        String::new()
    };
    for _ in 0..rng.random_range(1..4) {
        text.push_str(&number(rng));
        text.push_str(&if rng.random_bool(0.8) {
            one_of(rng, &["h", "m", "s"])
        } else {
            one_of(rng, &["ms", "us", "µs", "μs", "ns", "d", "", " ", "hr"])
        });
    }
    perhaps_marred(rng, text)
}

/// A quantity, or something similar.
pub(crate) fn quantity(rng: &mut impl Rng) -> String {
    if rng.random_bool(0.4) {
        return listed(rng, "quantities");
    }
    let mut text = one_of(rng, &["", "", "", "", "-", "+"]);
    text.push_str(&number(rng));
    text.push_str(&listed(rng, "quantity suffixes"));
    perhaps_marred(rng, text)
}

/// Digits, perhaps with a decimal point.
fn number(rng: &mut impl Rng) -> String {
    let digits = match rng.random_range(0..10) {
        0 => rng.random_range(0..=u64::MAX).to_string(),
        1 => "0".repeat(rng.random_range(0..3)),
        2 => format!("0{}", rng.random_range(0..100)),
        _ => rng.random_range(0..200).to_string(),
    };
    match rng.random_range(0..20) {
        0 => format!("{digits}."),
        1 => format!(".{digits}"),
        2 => format!("{digits}.{}", rng.random_range(0..2_000)),
        _ => digits,
    }
}

/// A schedule, or something similar.
pub(crate) fn schedule(rng: &mut impl Rng) -> String {
    if rng.random_bool(0.3) {
        return listed(rng, "schedules");
    }
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    let fields = bounds.map(|(low, high)| cron_field(rng, low, high));
    let blank = one_of(rng, &[" ", " ", " ", " ", " ", "\t", "  "]);
    perhaps_marred(rng, fields.join(&blank))
}

fn cron_field(rng: &mut impl Rng, low: u32, high: u32) -> String {
    if rng.random_bool(0.4) {
        return "*".into();
    }
    let items: Vec<String> = (0..rng.random_range(1..4))
        .map(|_| cron_item(rng, low, high))
        .collect();
    items.join(",")
}

fn cron_item(rng: &mut impl Rng, low: u32, high: u32) -> String {
    // One in thirty is just outside.
    let value = |rng: &mut _| {
        let number = |rng: &mut _, from, to| rand::RngExt::random_range::<u32, _>(rng, from..=to);
        if number(rng, 0, 29) == 0 {
            high + 1
        } else {
            number(rng, low, high)
        }
    };
    let name = match (low, high) {
        (1, 12) => Some(&["jan", "FEB", "mar", "dec", "june"][..]),
        (0, 6) => Some(&["sun", "MON", "tue", "sat", "thurs", "7"][..]),
        _ => None,
    };
    let one = value(rng);
    match rng.random_range(0..12) {
        0..4 => one.to_string(),
        4..6 => {
            let other = value(rng);
            format!("{}-{}", one.min(other), one.max(other))
        }
        6 => format!("{one}-{}", value(rng)),
        7 => format!("*/{}", rng.random_range(0..20)),
        8 => format!("{one}/{}", rng.random_range(1..9)),
        9 => one_of(rng, &["?", "*", "", "L", "*-5", "?/2"]),
        _ => name.map_or_else(|| one.to_string(), |names| one_of(rng, names)),
    }
}

/// A number of nodes or a percentage, or something similar.
pub(crate) fn nodes(rng: &mut impl Rng) -> String {
    if rng.random_bool(0.5) {
        return listed(rng, "nodes");
    }
    let number = rng.random_range(0..130).to_string();
    let unit = one_of(rng, &["%", ""]);
    perhaps_marred(rng, number + &unit)
}

/// A label's or requirement's key, or something similar. The longest are around the limits of 63, 253, 316, 317.
pub(crate) fn key(rng: &mut impl Rng) -> String {
    match rng.random_range(0..20) {
        0 => "k".repeat(rng.random_range(60..67)),
        1 => format!("example.com/{}", "k".repeat(rng.random_range(60..67))),
        2 => format!(
            "{}/{}",
            "d".repeat(rng.random_range(250..256)),
            "k".repeat(rng.random_range(60..65))
        ),
        3..9 => {
            let prefix = one_of(
                rng,
                &[
                    "",
                    "",
                    "example.com/",
                    "a.b/",
                    "karpenter.sh/",
                    "kubernetes.io/",
                    "EXAMPLE.com/",
                ],
            );
            perhaps_marred(rng, prefix + "team-a.b_C1")
        }
        _ => listed(rng, "keys"),
    }
}

/// A label's value, or something similar.
pub(crate) fn label_value(rng: &mut impl Rng) -> String {
    match rng.random_range(0..20) {
        0 => "v".repeat(rng.random_range(60..67)),
        1..5 => perhaps_marred(rng, "m5.large_x-1".into()),
        5..8 => rng.random_range(0..1_000).to_string(),
        _ => listed(rng, "label values"),
    }
}

/// Any short text.
pub(crate) fn noise(rng: &mut impl Rng) -> String {
    let alphabet: Vec<char> = "aZ09 -_./:%*,@#=\t\n\u{a0}é\u{0}☃[]{}".chars().collect();
    (0..rng.random_range(0..12))
        .map(|_| *alphabet.choose(rng).expect("an alphabet is not empty"))
        .collect()
}

/// The text, mostly unchanged.
fn perhaps_marred(rng: &mut impl Rng, text: String) -> String {
    if rng.random_bool(0.8) {
        text
    } else {
        marred(rng, &text)
    }
}

/// The text with one character too many, too few or changed.
pub(crate) fn marred(rng: &mut impl Rng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let place = rng.random_range(0..=characters.len());
    let strange = noise(rng).chars().next().unwrap_or('x');
    match rng.random_range(0..5) {
        0 => characters.insert(place, strange),
        1 if place < characters.len() => {
            characters.remove(place);
        }
        2 if place < characters.len() => characters[place] = strange,
        3 if place + 1 < characters.len() => characters.swap(place, place + 1),
        _ if place < characters.len() => {
            let again = characters[place];
            characters.insert(
                place,
                if again.is_lowercase() {
                    again.to_ascii_uppercase()
                } else {
                    again
                },
            );
        }
        _ => characters.push(strange),
    }
    characters.into_iter().collect()
}
