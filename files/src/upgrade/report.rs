//! What another release changes for NodePools, and how that is printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::api::API_VERSION;
use poolgate_core::changes::{Change, ChangeKind, between, field};
use poolgate_core::diagnostic::{Diagnostic, Origin, Severity, counted, first_few};
use poolgate_core::facts::{ApiVersion, KarpenterVersion, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, review_file};
use serde_json::{Value, json};

use crate::input::Pool;
use crate::terminal;

/// The rule about kinds and versions that are not served.
const KIND: &str = "manifest-kind";

/// How many NodePools a line names.
const MOST_NAMES: usize = 5;

/// What the step from one release to another changes.
pub(super) struct UpgradeReport {
    pub(super) from: KarpenterVersion,
    pub(super) to: KarpenterVersion,
    pub(super) pools: Vec<PoolChanges>,
    /// What could not be read, and why.
    pub(super) unread: Vec<String>,
}

/// What it changes for a NodePool.
pub(super) struct PoolChanges {
    /// As `name (file:line)`.
    called: String,
    name: String,
    file: String,
    line: usize,
    rejections: Vec<Rejection>,
    changes: Vec<(&'static Change, String)>,
}

/// A mistake under the release to come.
struct Rejection {
    rule: &'static str,
    field: String,
    message: String,
    /// Whether it is one now, too.
    is_old: bool,
}

impl PoolChanges {
    /// What is different under the Karpenter that the pool is judged by, than under the one that runs now.
    pub(super) fn of(pool: &Pool<'_>, from: &TargetKarpenter, at: Timestamp) -> Self {
        let (object, completed) = (Json::from(&pool.object), Json::from(&pool.completed));
        let view = NodePool::view(pool.version, &completed);
        let errors = |karpenter: &TargetKarpenter| -> Vec<Diagnostic> {
            let request = Request {
                subject: Subject::NodePool(pool.version),
                object: &object,
                old: None,
                claims: None,
                at,
            };
            let review = review_file(&request, &pool.project.policy, karpenter);
            let found = review.report.diagnostics().iter();
            found.filter(|found| is_rejected(found)).cloned().collect()
        };
        let now = errors(from);
        let is_same =
            |one: &Diagnostic, other: &Diagnostic| (one.rule, &one.path) == (other.rule, &other.path);
        let rejections = errors(pool.karpenter).into_iter().map(|found| Rejection {
            rule: found.rule.as_str(),
            field: found.path.to_string(),
            message: found.message(),
            is_old: now.iter().any(|old| is_same(old, &found)),
        });
        let rejections = unserved(pool, from).into_iter().chain(rejections);
        let releases = (from.release(), pool.karpenter.release());
        let changes = between(&view, &pool.project.policy, releases);
        Self {
            called: format!("{} ({}:{})", pool.name(), pool.file, pool.line),
            name: pool.name().to_owned(),
            file: pool.file.to_owned(),
            line: pool.line,
            rejections: rejections.collect(),
            changes: changes
                .map(|(change, of)| (change, field(of, pool.version)))
                .collect(),
        }
    }

    fn is_touched(&self) -> bool {
        !self.changes.is_empty() || self.rejections.iter().any(|one| !one.is_old)
    }

    fn json(&self) -> Value {
        let rejections = self.rejections.iter().map(
            |one| json!({"rule": one.rule, "field": one.field, "message": one.message, "isOld": one.is_old}),
        );
        let changes = self.changes.iter().map(|(change, field)| {
            json!({
                "change": change.id, "kind": change.kind.as_str(), "since": change.since.to_string(), "field": field,
                "text": change.text,
            })
        });
        json!({
            "name": self.name, "file": self.file, "line": self.line,
            "rejections": rejections.collect::<Value>(), "changes": changes.collect::<Value>(),
        })
    }
}

/// That the release to come does not serve the version in which a NodePool is written.
fn unserved(pool: &Pool<'_>, from: &TargetKarpenter) -> Option<Rejection> {
    let is_gone = |karpenter: &TargetKarpenter| {
        pool.version == ApiVersion::V1Beta1 && karpenter.release().has(KarpenterVersion::V1_ALONE)
    };
    is_gone(pool.karpenter).then(|| Rejection {
        rule: KIND,
        field: "apiVersion".to_owned(),
        message: "karpenter.sh/v1beta1 is not served any more: write karpenter.sh/v1, and convert the fields"
            .to_owned(),
        is_old: is_gone(from),
    })
}

/// Whether the object would not be stored, or never be used.
fn is_rejected(found: &Diagnostic) -> bool {
    let is_karpenters = matches!(found.origin, Origin::Schema | Origin::Runtime);
    found.severity == Severity::Error || is_karpenters && found.own_severity == Severity::Error
}

/// What one change touches.
struct Group<'r> {
    change: &'static Change,
    /// The NodePools by the field that it touches.
    pools: BTreeMap<&'r str, Vec<&'r str>>,
}

impl UpgradeReport {
    /// Whether a NodePool would be rejected.
    pub(super) fn rejects(&self) -> bool {
        self.pools.iter().any(|pool| !pool.rejections.is_empty())
    }

    /// Whether a NodePool would be treated differently.
    pub(super) fn differs(&self) -> bool {
        let mut changes = self.pools.iter().flat_map(|pool| &pool.changes);
        changes.any(|(change, _)| change.kind == ChangeKind::Different)
    }

    /// The changes of a kind that touch a NodePool, the oldest first.
    fn groups(&self, kind: ChangeKind) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for pool in &self.pools {
            for (change, field) in pool.changes.iter().filter(|(change, _)| change.kind == kind) {
                let known = groups.iter().position(|group| group.change.id == change.id);
                let at = known.unwrap_or_else(|| {
                    groups.push(Group {
                        change,
                        pools: BTreeMap::new(),
                    });
                    groups.len() - 1
                });
                if let Some(group) = groups.get_mut(at) {
                    group.pools.entry(field).or_default().push(&pool.called);
                }
            }
        }
        groups.sort_by_key(|group| group.change.since);
        groups
    }

    /// The mistakes that are none yet.
    fn new_rejections(&self) -> impl Iterator<Item = (&PoolChanges, &Rejection)> {
        let all = self.pools.iter();
        let all = all.flat_map(|pool| pool.rejections.iter().map(move |one| (pool, one)));
        all.filter(|(_, one)| !one.is_old)
    }

    /// In one sentence, or two.
    fn summary(&self) -> Vec<String> {
        let touched = self.pools.iter().filter(|pool| pool.is_touched()).count();
        let (from, to) = (self.from, self.to);
        let pools = counted(self.pools.len(), "NodePool");
        let old = self.pools.iter().flat_map(|pool| &pool.rejections);
        let old = old.filter(|one| one.is_old).count();
        let old = (old > 0).then(|| {
            format!(
                "{} that Karpenter {from} rejects, too: see poolgate lint --karpenter-version {to}.",
                counted(old, "mistake")
            )
        });
        let touched = format!("The step from Karpenter {from} to {to} touches {touched} of {pools}.");
        [Some(touched), old].into_iter().flatten().collect()
    }

    /// For people, in lines of this many columns.
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        let width = width.unwrap_or(usize::MAX);
        let mut line = |line: &str, first: &str, others: &str| {
            text += &terminal::wrapped(&terminal::clean(line), first, others, width);
            text += "\n";
        };
        for (number, (pool, one)) in self.new_rejections().enumerate() {
            if number == 0 {
                line(&format!("Rejected by Karpenter {}:", self.to), "", "");
            }
            let what = format!("{}: {}: {}", pool.called, one.field, one.message);
            line(&what, "  ", "    ");
        }
        for (kind, heading) in [
            (ChangeKind::Different, "Different:"),
            (ChangeKind::New, "New for a field in use:"),
        ] {
            for (number, group) in self.groups(kind).iter().enumerate() {
                if number == 0 {
                    line(heading, "", "");
                }
                let Change { since, text, id, .. } = group.change;
                line(&format!("since {since}: {text}. [{id}]"), "  ", "    ");
                for (field, pools) in &group.pools {
                    line(
                        &format!("{field} of {}", first_few(pools, MOST_NAMES)),
                        "    ",
                        "      ",
                    );
                }
            }
        }
        for said in self.summary() {
            line(&said, "", "");
        }
        text
    }

    /// A comment for a pull request.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!(
            "### Karpenter {} to {}\n\n{}\n",
            self.from,
            self.to,
            self.summary().join(" ")
        );
        let cell = |text: &str| terminal::clean(text).replace('|', "\\|");
        for (number, (pool, one)) in self.new_rejections().enumerate() {
            if number == 0 {
                text += "\n| rejected | field | why |\n| --- | --- | --- |\n";
            }
            let (called, field, message) = (cell(&pool.called), cell(&one.field), cell(&one.message));
            let _ = writeln!(text, "| {called} | `{field}` | {message} |");
        }
        for (kind, heading) in [(ChangeKind::Different, "different"), (ChangeKind::New, "new")] {
            for (number, group) in self.groups(kind).iter().enumerate() {
                if number == 0 {
                    let _ = write!(text, "\n| since | {heading} | NodePools |\n| --- | --- | --- |\n");
                }
                let pools = group.pools.iter();
                let pools =
                    pools.map(|(field, pools)| format!("`{field}` of {}", first_few(pools, MOST_NAMES)));
                let pools: Vec<String> = pools.collect();
                let Change {
                    since, text: what, ..
                } = group.change;
                let _ = writeln!(
                    text,
                    "| {since} | {}. | {} |",
                    cell(what),
                    cell(&pools.join("; "))
                );
            }
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "apiVersion": API_VERSION,
            "kind": "UpgradeReport",
            "from": self.from.to_string(),
            "to": self.to.to_string(),
            "nodePools": self.pools.iter().map(PoolChanges::json).collect::<Value>(),
            "unread": self.unread,
        })
    }
}
