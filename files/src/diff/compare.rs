//! What the difference between two sides does, and which object of one side is which of the other.

use std::collections::{BTreeMap, BTreeSet};

use poolgate_core::api::API_VERSION;
use poolgate_core::diagnostic::FieldPath;
use poolgate_core::drift::DriftClaim;
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;
use serde::Serialize;

use super::pool::{Fate, Judge, PoolChange, differing};
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
    /// What is not compared, and why.
    pub not_compared: Vec<String>,
    /// How many NodePools stay as they are.
    pub unchanged: usize,
    /// How many nodes are replaced, drained or deleted at most; `None` if nobody knows.
    pub nodes_at_stake: Option<usize>,
}

/// A node class that changes, or vanishes while a NodePool of NEW refers to it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClassChange {
    #[serde(flatten)]
    pub key: Key,
    pub place: String,
    #[serde(rename = "change")]
    pub fate: Fate,
    pub fields: Vec<FieldPath>,
    /// The NodePools that refer to it.
    pub pools: BTreeSet<String>,
    /// How many nodes these have, if that is known: all of them are at stake.
    pub nodes_at_stake: Option<usize>,
    #[serde(skip)]
    uncounted: Vec<String>,
}

impl Comparison {
    /// Compares all NodePools and the node classes that they refer to.
    pub fn of(old: &Side, new: &Side, judge: &Judge) -> Result<Self, Ambiguous> {
        let Pairs { both, gone, added } = pairs(&old.pools, &new.pools)?;
        let claims = |pool: &Placed| -> Option<&[DriftClaim]> {
            let listed = old.claims.as_ref()?.get(&pool.key.name);
            Some(listed.map(Vec::as_slice).unwrap_or_default())
        };
        let mut users = Users::default();
        let mut unchanged = 0;
        let mut pools = Vec::new();
        for (before, after) in both {
            let change = judge.changed(before, after, claims(before));
            users.add(after, change.nodes);
            if change.is_nothing() {
                unchanged += 1;
            } else {
                pools.push((after.path.as_str(), change));
            }
        }
        for before in gone {
            pools.push((before.path.as_str(), judge.vanished(before, claims(before))));
        }
        for after in added {
            users.add(after, Some(0));
            pools.push((after.path.as_str(), judge.appeared(after)));
        }
        let classes = users.classes(old, new)?;
        // The nodes of a pool whose class changes are all at stake, whatever else happens to it.
        let mut stakes: BTreeMap<(&str, &str), Option<usize>> = BTreeMap::new();
        for (path, change) in &pools {
            stakes.insert((path, change.key.name.as_str()), change.nodes_at_stake);
        }
        for (pool, nodes) in classes.iter().flat_map(|(_, pools)| pools) {
            stakes.insert((pool.path.as_str(), pool.key.name.as_str()), *nodes);
        }
        let nodes_at_stake = stakes.into_values().sum();
        let mut pools: Vec<PoolChange> = pools.into_iter().map(|(_, change)| change).collect();
        pools.sort_by(|one, other| (&one.key, &one.place).cmp(&(&other.key, &other.place)));
        Ok(Self {
            api_version: API_VERSION,
            kind: "DiffReport",
            pools,
            classes: classes.into_iter().map(|(class, _)| class).collect(),
            not_compared: old.skipped.iter().chain(&new.skipped).cloned().collect(),
            unchanged,
            nodes_at_stake,
        })
    }

    /// The NodePools of whose nodes at stake nobody knows the number.
    pub fn uncounted(&self) -> BTreeSet<String> {
        let pools = self.pools.iter().filter(|pool| pool.nodes_at_stake.is_none());
        let of_classes = self.classes.iter().flat_map(|class| &class.uncounted);
        pools
            .map(|pool| pool.key.to_string())
            .chain(of_classes.cloned())
            .collect()
    }
}

/// NodePools of NEW, each with the nodes that it has in OLD, if that is known.
type Counted<'a> = Vec<(&'a Placed, Option<usize>)>;

/// The NodePools of NEW by the node class that they refer to.
#[derive(Debug, Default)]
struct Users<'a>(BTreeMap<Key, Counted<'a>>);

impl<'a> Users<'a> {
    fn add(&mut self, pool: &'a Placed, nodes: Option<usize>) {
        let object = Json::from(&pool.object);
        if let Some((group, kind, name)) = NodePool::view(pool.version, &object).template.node_class() {
            let [group, kind, name] = [group, kind, name].map(str::to_owned);
            let users = self.0.entry(Key { group, kind, name }).or_default();
            users.push((pool, nodes));
        }
    }

    /// The node classes that change or vanish, with the NodePools that refer to them.
    fn classes(&self, old: &Side, new: &Side) -> Result<Vec<(ClassChange, Counted<'a>)>, Ambiguous> {
        let used = |placed: &&Placed| self.0.contains_key(&placed.key);
        let pairs = pairs(old.others.iter().filter(used), new.others.iter().filter(used))?;
        let paths = |key: &Key| {
            let both = pairs.both.iter().map(|(_, after)| *after);
            let all = both
                .chain(pairs.added.iter().copied())
                .chain(pairs.gone.iter().copied());
            all.filter(|class| class.key == *key)
                .map(|class| &*class.path)
                .collect::<Vec<_>>()
        };
        let spec = FieldPath::of(&["spec"]);
        let changes = pairs.both.iter().map(|(before, after)| {
            let fields = differing(&spec, before.object.get("spec"), after.object.get("spec"));
            (*after, Fate::Changes, fields)
        });
        let changes = changes.filter(|(.., fields)| !fields.is_empty());
        let vanishes = pairs
            .gone
            .iter()
            .map(|before| (*before, Fate::Vanishes, Vec::new()));
        let mut all = Vec::new();
        for (class, fate, fields) in changes.chain(vanishes) {
            let users = self.0.get(&class.key).into_iter().flatten();
            let users = users.filter(|(pool, _)| is_nearest(&class.path, &pool.path, &paths(&class.key)));
            let users: Counted<'a> = users.copied().collect();
            if !users.is_empty() {
                let uncounted = users.iter().filter(|(_, nodes)| nodes.is_none());
                let change = ClassChange {
                    key: class.key.clone(),
                    place: class.place.clone(),
                    fate,
                    fields,
                    pools: users.iter().map(|(pool, _)| pool.key.name.clone()).collect(),
                    nodes_at_stake: users.iter().map(|(_, nodes)| *nodes).sum(),
                    uncounted: uncounted.map(|(pool, _)| pool.key.to_string()).collect(),
                };
                all.push((change, users));
            }
        }
        Ok(all)
    }
}

/// Whether the path of a class is the nearest to a pool. Of several with one name, a pool belongs to that one.
fn is_nearest(class: &str, pool: &str, all: &[&str]) -> bool {
    let common = |one: &str| {
        one.split('/')
            .zip(pool.split('/'))
            .take_while(|(a, b)| a == b)
            .count()
    };
    all.iter().map(|path| common(path)).max() == Some(common(class))
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
    use poolgate_core::facts::ApiVersion;
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
