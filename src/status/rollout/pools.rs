//! The NodePools whose rollout is followed: what is read of them, and what core makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::class::{NodeClass, class_of};
use super::words::{PoolProgress, RolloutReport};
use crate::cluster::objects::{NodeClassRef, PoolObject};
use crate::status::explainer::Explainer;
use crate::status::facts::{Facts, KnownClaim};
use crate::status::look::Look;
use crate::status::seen_pool::NodesByName;
use crate::status::why::{Keeps, Why, Whys};
use anyhow::{Context as _, anyhow, ensure};
use jiff::Timestamp;
use poolgate_core::drift::{CurrentTemplate, Start};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::nodelimit::rollout::{Progress, Rollout, RolloutClaim, RolloutLook, Stuck};
use poolgate_core::nodelimit::why::{CauseKind, Goal};
use poolgate_core::pool::NodePool;

/// The subject of a rollout: a NodePool, or all that use a node class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Pool(String),
    /// The kind in lower case, and the name.
    Class(String, String),
}

impl FromStr for Subject {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, name) = text
            .split_once('/')
            .filter(|(_, name)| !name.is_empty())
            .ok_or("write nodepool/NAME or a node class with its name, such as ec2nodeclass/NAME")?;
        let kind = kind.to_ascii_lowercase();
        match kind.as_str() {
            "nodepool" | "nodepools" => Ok(Self::Pool(name.to_owned())),
            _ if kind.ends_with("nodeclass") => Ok(Self::Class(kind, name.to_owned())),
            _ => Err("the kind must be nodepool or a node class, such as ec2nodeclass"),
        }
    }
}

/// The rollouts of NodePools.
pub struct Rollouts {
    deadline: Option<Timestamp>,
    /// By the name of the pool.
    pools: BTreeMap<String, Followed>,
}

/// The rollout of one.
#[derive(Default)]
struct Followed {
    /// Its node class, if a change of that is waited for.
    class: Option<NodeClassRef>,
    /// None before the first look.
    rollout: Option<Rollout>,
}

/// A pool, and its NodeClaims as they are judged.
struct Judged<'f> {
    object: &'f PoolObject,
    is_seen: Option<bool>,
    claims: Vec<RolloutClaim<'f>>,
}

impl Rollouts {
    /// Finds the requested pools.
    pub async fn begin(
        look: &Look<'_>,
        subjects: &[Subject],
        deadline: Option<Timestamp>,
    ) -> anyhow::Result<Self> {
        let stored = look
            .pools()
            .await
            .map_err(|error| anyhow!("could not read NodePools: {error}"))?;
        let mut pools: BTreeMap<String, Followed> = BTreeMap::new();
        for subject in subjects {
            let mut is_found = false;
            for pool in &stored {
                let class = match subject {
                    Subject::Pool(name) if **name == *pool.metadata.name => None,
                    Subject::Class(kind, name) => {
                        let class = with_view(pool, class_of);
                        let is_it = |class: &NodeClassRef| {
                            class.kind.eq_ignore_ascii_case(kind) && *class.name == **name
                        };
                        let Some(class) = class.filter(is_it) else {
                            continue;
                        };
                        Some(class)
                    }
                    Subject::Pool(_) => continue,
                };
                is_found = true;
                let followed = pools.entry(pool.metadata.name.to_string()).or_default();
                followed.class = class.or(followed.class.take());
            }
            match subject {
                Subject::Pool(name) => ensure!(is_found, "NodePool {name:?} does not exist"),
                Subject::Class(kind, name) => ensure!(is_found, "no NodePool uses {kind}/{name}"),
            }
        }
        if subjects.is_empty() {
            let names = stored.iter().map(|pool| pool.metadata.name.to_string());
            pools = names.map(|name| (name, Followed::default())).collect();
        }
        Ok(Self { deadline, pools })
    }

    /// How far they are now.
    pub async fn look(&mut self, look: &Look<'_>) -> anyhow::Result<RolloutReport> {
        let facts = look.once().await;
        let mut judged = self.judge(look, &facts).await?;
        let policy = facts.policy();
        let claims = judged.values().flat_map(|pool| &pool.claims);
        let outdated: BTreeSet<&str> = claims
            .filter(|claim| claim.is_outdated())
            .map(|claim| &*claim.state.claim.uid)
            .collect();
        let asked = facts.claims.iter().flatten();
        let asked: Vec<&KnownClaim> = asked
            .filter(|known| outdated.contains(&*known.claim.uid))
            .collect();
        let kept = if asked.is_empty() {
            None
        } else {
            Some(look.kept(None).await)
        };
        let explainer = Explainer::of(&facts, kept.as_ref(), policy.as_ref());
        let Whys {
            nodes: whys, unread, ..
        } = Whys::of(&facts, &explainer, &asked);
        let whys = whys.into_iter().map(|why| (why.node_claim.clone(), why));
        let mut whys: BTreeMap<String, Why> = whys.collect();
        let mut pools = Vec::new();
        for (name, followed) in &mut self.pools {
            let Some(Judged {
                object,
                is_seen,
                claims,
            }) = judged.get_mut(name.as_str())
            else {
                pools.push(PoolProgress::gone(name));
                continue;
            };
            let Some(known) = explainer.pools.get(name.as_str()).map(|pool| &pool.known) else {
                continue;
            };
            let pace = known.pace(facts.now);
            let empty_go_first = pace.is_some_and(|pace| pace.empty_go_first);
            for claim in claims.iter_mut() {
                if let Some(why) = whys.get_mut(&*claim.state.claim.name) {
                    let is_empty = why.wanted.iter().any(|wanted| wanted.goal == Goal::Empty);
                    why.causes.retain(|cause| {
                        cause.kind != CauseKind::BudgetClosed || !is_empty || !empty_go_first
                    });
                    claim.causes.clone_from(&why.causes);
                }
            }
            let look = RolloutLook {
                at: facts.now,
                generation: object.metadata.generation,
                is_of_class: followed.class.is_some(),
                is_seen: *is_seen,
                makes_room: known.makes_room(),
                claims,
            };
            let begin = || Rollout::begin(&look, self.deadline);
            let progress = followed.rollout.get_or_insert_with(begin).progress(&look);
            pools.push(PoolProgress {
                node_pool: name.clone(),
                pace: pace.and_then(|pace| {
                    let clauses: Vec<String> =
                        [pace.clause(), pace.if_gated()].into_iter().flatten().collect();
                    (!clauses.is_empty()).then(|| clauses.join("; "))
                }),
                opens: pace.and_then(|pace| match pace.start {
                    Start::At(at) => Some(at),
                    _ => None,
                }),
                kept: Keeps::of(
                    progress
                        .kept
                        .iter()
                        .filter_map(|name| whys.remove(&**name))
                        .collect(),
                ),
                progress,
            });
        }
        Ok(RolloutReport::new(facts.now, pools, unread))
    }

    /// The pools that are followed, with what is outdated in each.
    async fn judge<'f>(
        &self,
        look: &Look<'_>,
        facts: &'f Facts,
    ) -> anyhow::Result<BTreeMap<&'f str, Judged<'f>>> {
        let unread = |what: &str, error: &String| anyhow!("could not read {what}: {error}");
        let stored = facts.pools.as_ref().map_err(|error| unread("NodePools", error))?;
        let claims = facts
            .claims
            .as_ref()
            .map_err(|error| unread("NodeClaims", error))?;
        let nodes = NodesByName::of(facts);
        let mut judged = BTreeMap::new();
        for object in stored {
            let name = &*object.metadata.name;
            let Some(followed) = self.pools.get(name) else {
                continue;
            };
            let class = match &followed.class {
                Some(class) => {
                    let read = NodeClass::read(look, class.clone()).await;
                    let read = read
                        .map_err(|error| anyhow!("could not read {} {}: {error}", class.kind, class.name))?;
                    Some(read.with_context(|| format!("{} {} does not exist", class.kind, class.name))?)
                }
                None => None,
            };
            let pool = with_view(object, |view| {
                let template = CurrentTemplate::of(view);
                let its = claims.iter().filter(|known| *known.pool == *name);
                let its = its.map(|known| {
                    let drift = known.origin.clone().drift_claim();
                    RolloutClaim {
                        state: nodes.state(known, &[]),
                        by_template: template.outdates(&drift),
                        is_of_template: template.made(&drift),
                        by_class: class.as_ref().and_then(|class| class.outdates(&known.origin)),
                        drifted: known.details.drifted.as_ref(),
                        causes: Vec::new(),
                    }
                });
                let is_class_seen = class.as_ref().is_none_or(NodeClass::is_seen);
                Judged {
                    object,
                    is_seen: if is_class_seen {
                        template.is_seen()
                    } else {
                        Some(false)
                    },
                    claims: its.collect(),
                }
            });
            judged.insert(name, pool);
        }
        Ok(judged)
    }
}

/// What a function makes of a NodePool.
fn with_view<T>(object: &PoolObject, make: impl FnOnce(&NodePool<'_>) -> T) -> T {
    let kept = object.kept();
    make(&NodePool::view(ApiVersion::V1, &Json::from(&kept)))
}

impl PoolProgress {
    fn gone(name: &str) -> Self {
        Self {
            node_pool: name.to_owned(),
            pace: None,
            opens: None,
            kept: Vec::new(),
            progress: Progress::stuck(Stuck::Gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_written_as_for_kubectl() {
        let class = |kind: &str| Subject::Class(kind.to_owned(), "default".to_owned());
        assert_eq!("nodepool/a".parse(), Ok(Subject::Pool("a".to_owned())));
        assert_eq!("NodePools/a".parse(), Ok(Subject::Pool("a".to_owned())));
        assert_eq!("EC2NodeClass/default".parse(), Ok(class("ec2nodeclass")));
        assert_eq!("aksnodeclass/default".parse(), Ok(class("aksnodeclass")));
        assert_eq!("nodeclass/default".parse(), Ok(class("nodeclass")));
        for wrong in ["general", "nodepool/", "deployment/a", ""] {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }
}
