//! What was recorded of the providers' modules (`core/tests/data/providers.jsonl`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::{rows, text};

pub type Release = (u16, u16, u16);

/// A release as three numbers.
pub fn release(written: &str) -> Release {
    let parts: Vec<u16> = written
        .split('.')
        .map(|part| part.parse().expect("a number"))
        .collect();
    (parts[0], parts[1], parts[2])
}

/// What was recorded of a module: its releases, oldest first, each with what it registers.
pub struct Recorded {
    pub module: String,
    pub releases: Vec<(Release, Value)>,
    /// The releases whose definition has `karpenter.sh/v1`, oldest first, each with its rules about labels.
    pub definitions: Vec<(Release, Value)>,
    /// From which release on it contains which release of Karpenter.
    pub core: Vec<(Release, Release)>,
    pub types: Option<Value>,
}

/// What was recorded of each module.
pub fn recorded() -> Vec<Recorded> {
    let lines = include_str!("../data/providers.jsonl").lines();
    let mut modules: BTreeMap<String, Recorded> = BTreeMap::new();
    for line in lines {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let module = text(&record["module"]).to_owned();
        let known = modules.entry(module.clone()).or_insert_with(|| Recorded {
            module,
            releases: Vec::new(),
            definitions: Vec::new(),
            core: Vec::new(),
            types: None,
        });
        if record.get("instanceTypes").is_some() {
            known.types = Some(record);
        } else if record.get("core").is_some() {
            let both = |pair: &Value| (release(text(&pair[0])), release(text(&pair[1])));
            known.core = rows(&record, "core").iter().map(both).collect();
        } else if let Some(rules) = record.get("definition") {
            for written in rows(&record, "releases") {
                known.definitions.push((release(text(written)), rules.clone()));
            }
        } else {
            for written in rows(&record, "releases") {
                known.releases.push((release(text(written)), record.clone()));
            }
        }
    }
    let mut modules: Vec<_> = modules.into_values().collect();
    for module in &mut modules {
        module.releases.sort_by_key(|(release, _)| *release);
    }
    modules
}

/// The releases in which something is true, as the data has them: the first one from which it stays true (`None`: it is in
/// the oldest), and the first one in which it no longer is. `None` if it is never true.
pub fn releases_with(
    releases: &[(Release, Value)],
    is_true: impl Fn(&Value) -> bool,
) -> Option<(Option<Release>, Option<Release>)> {
    let found: Vec<_> = releases.iter().map(|(at, says)| (*at, is_true(says))).collect();
    let last = found.iter().rposition(|(_, yes)| *yes)?;
    let first = found[..last]
        .iter()
        .rposition(|(_, yes)| !yes)
        .map(|before| before + 1);
    Some((
        first.map(|first| found[first].0),
        found.get(last + 1).map(|(at, _)| *at),
    ))
}
