//! What the difference between two sides does, and which object of one side is which of the other.

use std::collections::{BTreeMap, BTreeSet};

use poolgate_core::api::API_VERSION;
use poolgate_core::diagnostic::FieldPath;
use poolgate_core::drift::DriftClaim;
use poolgate_core::json::Json;
use poolgate_core::karpenter::NodePool;
use serde::Serialize;

use super::pool::{Judge, PoolChange, differing};
use super::side::{Key, Placed, Side};

/// The whole difference. As JSON it is for programs: fields may be added, none is removed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    api_version: &'static str,
    kind: &'static str,
    /// NodePools that change, appear or vanish.
    pub pools: Vec<PoolChange>,
    #[serde(rename = "nodeClasses")]
    pub classes: Vec<ClassChange>,
    /// How many NodePools stay as they are.
    pub unchanged: usize,
    /// How many nodes are replaced, drained or deleted at most; `None` if nobody knows.
    pub nodes_at_stake: Option<usize>,
}

/// A node class that changes.
#[derive(Debug, Serialize)]
pub struct ClassChange {
    #[serde(flatten)]
    pub key: Key,
    pub place: String,
    pub fields: Vec<FieldPath>,
    /// The NodePools that refer to it.
    pub pools: BTreeSet<String>,
}

impl Comparison {
    /// Compares all NodePools and the node classes that they refer to.
    pub fn of(old: &Side, new: &Side, judge: &Judge) -> Result<Self, Ambiguous> {
        let Pairs { both, gone, added } = pairs(&old.pools, &new.pools)?;
        let claims = |pool: &Placed| -> Option<&[DriftClaim]> {
            let listed = old.claims.as_ref()?.get(&pool.key.name);
            Some(listed.map(Vec::as_slice).unwrap_or_default())
        };
        let compared = both.len();
        let both = both.into_iter();
        let changed = both.filter_map(|(before, after)| judge.changed(before, after, claims(before)));
        let mut pools: Vec<PoolChange> = changed.collect();
        let unchanged = compared - pools.len();
        pools.extend(
            gone.into_iter()
                .map(|before| judge.vanished(before, claims(before))),
        );
        pools.extend(added.into_iter().map(|after| judge.appeared(after)));
        pools.sort_by(|one, other| (&one.key, &one.place).cmp(&(&other.key, &other.place)));
        let classes = classes(old, new)?;
        Ok(Self {
            api_version: API_VERSION,
            kind: "DiffReport",
            nodes_at_stake: pools.iter().map(|pool| pool.nodes_at_stake).sum(),
            pools,
            classes,
            unchanged,
        })
    }
}

/// The node classes that change, with the NodePools that refer to them.
fn classes(old: &Side, new: &Side) -> Result<Vec<ClassChange>, Ambiguous> {
    let mut users: BTreeMap<Key, Vec<&Placed>> = BTreeMap::new();
    for pool in &new.pools {
        let object = Json::from(&pool.object);
        if let Some((group, kind, name)) = NodePool::view(pool.version, &object).template.node_class() {
            let [group, kind, name] = [group, kind, name].map(str::to_owned);
            users.entry(Key { group, kind, name }).or_default().push(pool);
        }
    }
    let used = |placed: &&Placed| users.contains_key(&placed.key);
    let both = pairs(old.others.iter().filter(used), new.others.iter().filter(used))?.both;
    let common = |one: &str, other: &str| {
        one.split('/')
            .zip(other.split('/'))
            .take_while(|(a, b)| a == b)
            .count()
    };
    let mut changes = Vec::new();
    for (before, after) in &both {
        let fields = differing(
            &FieldPath::of(&["spec"]),
            before.object.get("spec"),
            after.object.get("spec"),
        );
        // Of several with one name, a pool belongs to the one that is nearest to it.
        let is_nearest = |pool: &&&Placed| {
            let others = both.iter().filter(|(_, other)| other.key == after.key);
            let nearest = others.map(|(_, other)| common(&other.path, &pool.path)).max();
            nearest == Some(common(&after.path, &pool.path))
        };
        let pools = users.get(&after.key).into_iter().flatten().filter(is_nearest);
        let pools: BTreeSet<String> = pools.map(|pool| pool.key.name.clone()).collect();
        if !fields.is_empty() && !pools.is_empty() {
            changes.push(ClassChange {
                key: after.key.clone(),
                place: after.place.clone(),
                fields,
                pools,
            });
        }
    }
    Ok(changes)
}

/// The objects of two sides: those on both, and those on one only.
#[derive(Debug, Default)]
struct Pairs<'a> {
    both: Vec<(&'a Placed, &'a Placed)>,
    gone: Vec<&'a Placed>,
    added: Vec<&'a Placed>,
}

/// Objects that nobody can tell apart.
#[derive(Debug, thiserror::Error)]
#[error(
    "{key} is ambiguous: OLD has it at {old}, NEW at {new}. Compare the manifests of one cluster at a time, or two folders with \
     the same paths"
)]
pub struct Ambiguous {
    key: Key,
    old: String,
    new: String,
}

/// Pairs the objects that have the same kind and name: by the same path below their roots, then if there is one on each side.
fn pairs<'a>(
    old: impl IntoIterator<Item = &'a Placed>,
    new: impl IntoIterator<Item = &'a Placed>,
) -> Result<Pairs<'a>, Ambiguous> {
    let mut named: BTreeMap<&Key, [Vec<&Placed>; 2]> = BTreeMap::new();
    for placed in old {
        let [old, _] = named.entry(&placed.key).or_default();
        old.push(placed);
    }
    for placed in new {
        let [_, new] = named.entry(&placed.key).or_default();
        new.push(placed);
    }
    let mut pairs = Pairs::default();
    for (key, [old, new]) in named {
        let is_unique = old.len() == 1 && new.len() == 1;
        let mut added = new.clone();
        let mut gone = Vec::new();
        for &before in &old {
            match added
                .iter()
                .position(|after| is_unique || after.path == before.path)
            {
                Some(at) => pairs.both.push((before, added.remove(at))),
                None => gone.push(before),
            }
        }
        let is_ambiguous = !(gone.is_empty() || added.is_empty()) || repeats(&old) || repeats(&new);
        if is_ambiguous {
            return Err(Ambiguous {
                key: key.clone(),
                old: places(&old),
                new: places(&new),
            });
        }
        pairs.gone.extend(gone);
        pairs.added.extend(added);
    }
    Ok(pairs)
}

/// Whether two stand in the same file.
fn repeats(placed: &[&Placed]) -> bool {
    let mut paths: Vec<&str> = placed.iter().map(|placed| &*placed.path).collect();
    paths.sort_unstable();
    !paths.is_sorted_by(|one, next| one < next)
}

fn places(all: &[&Placed]) -> String {
    if all.is_empty() {
        return "none".to_owned();
    }
    let each: Vec<&str> = all.iter().map(|one| &*one.place).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use poolgate_core::karpenter::ApiVersion;
    use serde_json::Value;

    use super::*;

    fn placed(paths: &[(&str, &str)]) -> Vec<Placed> {
        let placed = |(path, name): &(&str, &str)| Placed {
            key: Key {
                group: "karpenter.sh".into(),
                kind: "NodePool".into(),
                name: (*name).to_owned(),
            },
            path: (*path).to_owned(),
            place: format!("{path}:1"),
            folder: ".".into(),
            version: ApiVersion::V1,
            object: Value::Null,
        };
        paths.iter().map(placed).collect()
    }

    fn paired(old: &[(&str, &str)], new: &[(&str, &str)]) -> Result<String, String> {
        let (old, new) = (placed(old), placed(new));
        let pairs = pairs(&old, &new).map_err(|error| error.to_string())?;
        let both = pairs
            .both
            .iter()
            .map(|(old, new)| format!("{}={}", old.path, new.path));
        let gone = pairs.gone.iter().map(|gone| format!("-{}", gone.path));
        let added = pairs.added.iter().map(|added| format!("+{}", added.path));
        Ok(both.chain(gone).chain(added).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn pools_are_paired_by_path_and_those_that_moved_by_their_name() {
        assert_eq!(
            paired(&[("a", "x"), ("b", "x")], &[("b", "x"), ("a", "x")]).as_deref(),
            Ok("a=a b=b")
        );
        assert_eq!(paired(&[("a", "x")], &[("b", "x")]).as_deref(), Ok("a=b"));
        assert_eq!(paired(&[("a", "x")], &[("a", "y")]).as_deref(), Ok("-a +a"));
        assert_eq!(
            paired(&[("a", "x"), ("b", "x")], &[("a", "x")]).as_deref(),
            Ok("a=a -b")
        );
        assert_eq!(
            paired(&[("a", "x")], &[("a", "x"), ("b", "x")]).as_deref(),
            Ok("a=a +b")
        );
        assert_eq!(paired(&[], &[]).as_deref(), Ok(""));
    }

    #[test]
    fn pools_that_cannot_be_told_apart_are_an_error_that_says_where_they_stand() {
        for (old, new) in [
            (&[("a", "x"), ("b", "x")][..], &[("a", "x"), ("c", "x")][..]),
            (&[("a", "x"), ("b", "x")], &[("", "x")]),
            (&[("", "x"), ("", "x")], &[("", "x")]),
            (&[], &[("", "x"), ("", "x")]),
        ] {
            let error = paired(old, new).expect_err("ambiguous");
            assert!(
                error.contains("NodePool x") && error.contains("the manifests of one cluster"),
                "{error}"
            );
            for (path, _) in old.iter().chain(new) {
                assert!(error.contains(&format!("{path}:1")), "{error}");
            }
        }
    }
}
