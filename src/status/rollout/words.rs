//! What is printed of rollouts.

use jiff::Timestamp;
use poolgate_core::api::API_VERSION;
use poolgate_core::nodelimit::rollout::{Progress, Verdict};
use poolgate_files::terminal;
use serde::Serialize;

use crate::status::why::Keeps;

/// How far all rollouts are at one moment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutReport {
    api_version: &'static str,
    kind: &'static str,
    at: Timestamp,
    /// Stuck if one is, done if all are.
    #[serde(flatten)]
    pub state: Verdict,
    node_pools: Vec<PoolProgress>,
    /// What could not be read, and why: without it fewer causes are found.
    unread: Vec<String>,
}

/// How far the rollout of one NodePool is.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolProgress {
    pub node_pool: String,
    #[serde(flatten)]
    pub progress: Progress,
    /// How fast nodes are replaced.
    pub pace: Option<String>,
    /// When the next node may be replaced, if none may now.
    pub opens: Option<Timestamp>,
    /// What keeps nodes beyond the deadline.
    pub kept: Vec<Keeps>,
}

impl RolloutReport {
    pub fn new(at: Timestamp, node_pools: Vec<PoolProgress>, unread: Vec<String>) -> Self {
        let mut verdicts = node_pools.iter().map(|pool| &pool.progress.verdict);
        let stuck = verdicts
            .clone()
            .find(|verdict| matches!(verdict, Verdict::Stuck(_)));
        let others = || {
            if verdicts.all(|verdict| *verdict == Verdict::Done) {
                Verdict::Done
            } else {
                Verdict::Waiting
            }
        };
        Self {
            api_version: API_VERSION,
            kind: "RolloutReport",
            at,
            state: stuck.cloned().unwrap_or_else(others),
            node_pools,
            unread,
        }
    }

    /// Whether another report differs in more than its time.
    pub fn differs(&self, other: &Self) -> bool {
        self.node_pools != other.node_pools || self.unread != other.unread
    }

    /// A line for each pool, and for what keeps its nodes. Anybody may have written the names in it.
    pub fn text(&self) -> String {
        let lines = self.node_pools.iter().flat_map(PoolProgress::lines);
        let unread = self
            .unread
            .iter()
            .map(|unread| format!("could not read {unread}"));
        let lines = if self.node_pools.is_empty() {
            vec!["no NodePools found".to_owned()]
        } else {
            lines.chain(unread).collect()
        };
        // In the log of a pipeline, a line is a line.
        let width = terminal::width().unwrap_or(usize::MAX);
        let wrapped = |line: &String| terminal::wrapped(&terminal::clean(line), "", "    ", width) + "\n";
        lines.iter().map(wrapped).collect()
    }
}

impl PoolProgress {
    fn lines(&self) -> Vec<String> {
        let Progress {
            nodes,
            up_to_date,
            waiting,
            replacing,
            blocked,
            starting,
            ..
        } = self.progress;
        let subject = format!("nodepool/{}", self.node_pool);
        let part = |count: usize, says: &str| (count > 0).then(|| format!("{count} {says}"));
        let parts = [
            Some(format!("{up_to_date} of {nodes} nodes are up to date")),
            part(waiting, "waiting"),
            part(replacing, "being replaced"),
            part(blocked, "blocked"),
            part(starting, "starting"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let pace = self.pace.as_ref().filter(|_| waiting + blocked > 0);
        let pace = pace.map(|pace| format!("; {pace}")).unwrap_or_default();
        let mut lines = vec![match &self.progress.verdict {
            Verdict::Done => format!("{subject}: rolled out: {}", parts.join(", ")),
            Verdict::Waiting => format!("{subject}: {}{pace}", parts.join(", ")),
            Verdict::Stuck(why) => format!("{subject}: not rolled out: {}{pace}: {why}", parts.join(", ")),
        }];
        lines.extend(self.kept.iter().map(|keeps| format!("  {}", keeps.line())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use poolgate_core::nodelimit::rollout::Stuck;

    use super::*;

    fn pool(verdict: Verdict) -> PoolProgress {
        PoolProgress {
            node_pool: "general".to_owned(),
            progress: Progress {
                nodes: 40,
                up_to_date: 30,
                waiting: 5,
                replacing: 4,
                blocked: 1,
                starting: 2,
                verdict,
                ..Progress::stuck(Stuck::Gone)
            },
            pace: Some("at most 4 at a time (budgets[0])".to_owned()),
            opens: None,
            kept: Vec::new(),
        }
    }

    fn report(pools: Vec<PoolProgress>) -> RolloutReport {
        RolloutReport::new(Timestamp::UNIX_EPOCH, pools, Vec::new())
    }

    #[test]
    fn a_line_says_how_far_a_pool_is() {
        let parts = "30 of 40 nodes are up to date, 5 waiting, 4 being replaced, 1 blocked, 2 starting; at most 4 at a \
                     time (budgets[0])";
        assert_eq!(
            report(vec![pool(Verdict::Waiting)]).text(),
            format!("nodepool/general: {parts}\n")
        );
        let gone = report(vec![pool(Verdict::Stuck(Stuck::Gone))]);
        assert_eq!(
            gone.text(),
            format!("nodepool/general: not rolled out: {parts}: the NodePool is gone\n")
        );
        let gone = serde_json::to_value(&gone).expect("JSON");
        assert_eq!(gone["nodePools"][0]["state"], "stuck");
        assert_eq!(gone["why"], "the NodePool is gone");
    }

    #[test]
    fn rollouts_are_done_if_all_are_and_stuck_if_one_is() {
        let stuck = || Verdict::Stuck(Stuck::Behind);
        for (verdicts, state) in [
            (vec![Verdict::Done, Verdict::Done], Verdict::Done),
            (vec![Verdict::Done, Verdict::Waiting], Verdict::Waiting),
            (vec![Verdict::Waiting, stuck(), Verdict::Done], stuck()),
            (vec![], Verdict::Done),
        ] {
            assert_eq!(report(verdicts.into_iter().map(pool).collect()).state, state);
        }
    }
}
