//! What the difference between two sides does.

use std::collections::{BTreeMap, BTreeSet};

use poolgate_core::diagnostic::FieldPath;
use poolgate_core::drift::DriftClaim;
use poolgate_core::json::Json;
use poolgate_core::karpenter::NodePool;

use super::pairs::{Ambiguous, Pairs, pairs};
use super::pool::{Judge, PoolChange, differing};
use super::side::{Key, Placed, Side};

/// The whole difference.
#[derive(Debug, Default)]
pub struct Comparison {
    /// NodePools that change, appear or vanish.
    pub pools: Vec<PoolChange>,
    pub classes: Vec<ClassChange>,
    /// How many NodePools stay as they are.
    pub unchanged: usize,
}

/// A node class that changes.
#[derive(Debug)]
pub struct ClassChange {
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
            pools,
            classes,
            unchanged,
        })
    }

    /// How many nodes are replaced, drained or deleted at most; `None` if nobody knows.
    pub fn at_stake(&self) -> Option<usize> {
        self.pools.iter().map(PoolChange::at_stake).sum()
    }

    /// The pools for which that is not known.
    pub fn uncounted(&self) -> impl Iterator<Item = &PoolChange> {
        self.pools.iter().filter(|pool| pool.at_stake().is_none())
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
