//! A report for people.

use jiff::Timestamp;

use super::deployments::DeploymentReport;
use super::glance::Window;
use super::pools::PoolReport;
use super::reconciler::Reconciler;
use super::report::{Answers, PolicyReport, Report, StoredPolicy, WebhookReport};
use poolgate_core::diagnostic::counted;
use poolgate_files::terminal;

/// The cell of what is not there, or could not be read.
const NOTHING: &str = "-";

/// The cell of an answer that is not known.
const UNKNOWN: &str = "?";

/// How many digits of a checksum are shown.
const DIGITS: usize = 12;

const WEBHOOKS: [&str; 4] = ["WEBHOOK", "PATH", "FAILURE POLICY", "CA UNTIL"];

/// Only the webhooks themselves say this.
const ANSWERS: [&str; 2] = ["ANSWERS", "CERTIFICATE UNTIL"];

const DEPLOYMENTS: [&str; 2] = ["DEPLOYMENT", "READY"];

const POOLS: [&str; 12] = [
    "NODEPOOL",
    "READY",
    "NODES",
    "MODE",
    "EXCESS",
    "HELD",
    "CPU",
    "MEMORY",
    "OUTDATED",
    "BLOCKED",
    "NEXT WINDOW",
    "FINDINGS",
];

/// How many causes of blocked nodes are shown for a pool.
const MOST_CAUSES: usize = 10;

/// Only the gate says this.
const NEXT: [&str; 1] = ["NEXT CLAIM"];

/// The report as text, whose lines have this many columns. A table is as wide as its words, so long texts are lines
/// below it.
pub fn render(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    page.line(&format!("poolgate in {}, {:.0}", report.namespace, report.now));
    let pools = report.pools.iter().flatten();
    page.list(
        "Frozen",
        pools.filter_map(|pool| {
            Some(format!(
                "NodePool {} is {}",
                pool.name,
                pool.frozen.as_ref()?.described()
            ))
        }),
    );
    page.list("Problems", report.problems.iter().cloned());
    page.list("Not read", report.unread.iter().cloned());
    page.line("");
    match report.pools.as_deref() {
        None => page.line("NodePools were not read."),
        Some([]) => page.line("No NodePools."),
        Some(pools) => {
            let next: &[&str] = if report.probed { &NEXT } else { &[] };
            let rows = pools.iter().map(|one| pool(one, report.probed));
            let (head, rows) = filled(&[&POOLS, next].concat(), rows.collect());
            page.table(&head, rows.into_iter());
        }
    }
    let of_pools = |lines: fn(&PoolReport, Timestamp) -> Vec<String>| {
        let pools = report.pools.iter().flatten();
        pools.flat_map(move |pool| {
            let lines = lines(pool, report.now).into_iter();
            lines.map(|line| format!("{}: {line}", pool.name))
        })
    };
    page.list("Blocked", of_pools(blocked));
    page.list("Waiting", of_pools(waiting));
    page.list("Notes", report.notes.iter().cloned());
    page.line("");
    match report.webhooks.as_deref() {
        None => page.line("Webhooks were not read."),
        Some([]) => page.line("No webhook of poolgate is registered."),
        Some(webhooks) => {
            let answers: &[&str] = if report.probed { &ANSWERS } else { &[] };
            let rows = webhooks.iter().map(|one| webhook(one, report.probed));
            page.table(&[&WEBHOOKS, answers].concat(), rows);
            if !report.probed {
                page.line("Webhooks were not called: --probe calls them.");
            }
        }
    }
    if let Some(deployments @ [_, ..]) = report.deployments.as_deref() {
        let ready = |one: &DeploymentReport| vec![one.name.clone(), format!("{}/{}", one.ready, one.wanted)];
        page.line("");
        page.table(&DEPLOYMENTS, deployments.iter().map(ready));
    }
    let reconciler = match &report.reconciler {
        Err(_) => "not read".into(),
        Ok(None) => "none".into(),
        Ok(Some(found)) => reconciler(found),
    };
    page.line("");
    page.line(&format!("Policy      {}", policy(&report.policy, report.probed)));
    page.line(&format!("Reconciler  {reconciler}"));
    page.into_text()
}

/// The text. Anybody may have written the names and messages in it: nothing in a line or cell may move the cursor or
/// forge a line.
pub struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty page whose lines have this many columns.
    pub const fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    /// A line at the margin.
    pub fn line(&mut self, line: &str) {
        self.wrapped(line, "", "");
    }

    fn wrapped(&mut self, line: &str, first: &str, others: &str) {
        self.text += &terminal::wrapped(&terminal::clean(line), first, others, self.width);
        self.text += "\n";
    }

    fn table(&mut self, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
        let rows = rows.map(|row| row.iter().map(|cell| terminal::clean(cell)).collect());
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        self.text += &terminal::columns("", &rows);
    }

    /// An indented line.
    pub fn item(&mut self, line: &str) {
        self.wrapped(line, "  ", "    ");
    }

    /// Lines under a title, indented further than the title; nothing if there are none.
    pub fn list(&mut self, title: &str, lines: impl Iterator<Item = String>) {
        let margin = " ".repeat(title.len() - title.trim_start().len());
        for (number, line) in lines.enumerate() {
            if number == 0 {
                self.line("");
                self.line(&format!("{title}:"));
            }
            self.wrapped(&line, &format!("{margin}  "), &format!("{margin}    "));
        }
    }
}

fn webhook(webhook: &WebhookReport, probed: bool) -> Vec<String> {
    let date = |at: Option<Timestamp>| shown(at.map(|at| at.strftime("%Y-%m-%d")));
    let mut row = vec![
        webhook.name.clone(),
        webhook.path.clone(),
        webhook.failure_policy.clone(),
        date(webhook.authority_ends),
    ];
    if probed {
        let answers = match &webhook.answers {
            Answers::Yes => "yes",
            Answers::No(_) => "no",
            Answers::Unknown(_) => UNKNOWN,
            Answers::Unasked(_) => NOTHING,
        };
        row.extend([answers.to_owned(), date(webhook.certificate_ends())]);
    }
    row
}

fn pool(pool: &PoolReport, probed: bool) -> Vec<String> {
    let (limit, glance) = (pool.limit.as_ref(), &pool.glance);
    let nodes = match limit {
        Some(limit) => format!("{}/{}", shown(limit.taken), limit.nodes),
        None => shown(pool.node_claims),
    };
    let percent = |used: Option<f64>| shown(used.map(|used| format!("{:.0}%", used * 100.0)));
    let ready = glance
        .ready
        .as_deref()
        .map(|ready| if ready == "True" { "yes" } else { ready });
    let window = glance.next_window.as_ref().map(|window| match window {
        Window::Open => "now".to_owned(),
        Window::At(at) => at.strftime("%Y-%m-%dT%H:%MZ").to_string(),
        Window::Never => "never".to_owned(),
    });
    let findings = match (glance.errors, glance.warnings) {
        (0, 0) => None,
        (0, warnings) => Some(counted(warnings, "warning")),
        (errors, _) => Some(counted(errors, "error")),
    };
    let mut row = vec![
        pool.name.clone(),
        shown(ready),
        nodes,
        shown(limit.map(|limit| limit.mode)),
        shown(limit.and_then(|limit| limit.excess)),
        shown(pool.held_nodes),
        percent(glance.cpu_used),
        percent(glance.memory_used),
        shown(glance.outdated),
        shown(glance.blocked_nodes()),
        shown(window),
        shown(findings),
    ];
    if probed {
        let unknown = limit.map(|_| UNKNOWN);
        row.push(shown(pool.next.as_deref().or(unknown)));
    }
    row
}

/// The columns in which a row has a value.
fn filled<'h>(head: &[&'h str], mut rows: Vec<Vec<String>>) -> (Vec<&'h str>, Vec<Vec<String>>) {
    let has_value = |column: usize| {
        rows.iter()
            .any(|row| row.get(column).is_some_and(|cell| cell != NOTHING))
    };
    let is_filled: Vec<bool> = (0..head.len()).map(has_value).collect();
    for row in &mut rows {
        let mut filled = is_filled.iter();
        row.retain(|_| filled.next() == Some(&true));
    }
    let head = head.iter().zip(&is_filled).filter(|(_, is_filled)| **is_filled);
    (head.map(|(title, _)| *title).collect(), rows)
}

/// A cell: a dash for what is not there or not known.
fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

fn blocked(pool: &PoolReport, now: Timestamp) -> Vec<String> {
    let groups = pool.glance.blocked.iter().flatten();
    groups.take(MOST_CAUSES).map(|group| group.line(now)).collect()
}

fn waiting(pool: &PoolReport, _: Timestamp) -> Vec<String> {
    let denied = pool.denied.as_ref().map(|denied| {
        let at = denied.at.map(|at| format!(" at {at:.0}")).unwrap_or_default();
        format!("denied so far: {}, last {}{at}", denied.total, denied.last_claim)
    });
    denied.into_iter().chain(pool.notes.iter().cloned()).collect()
}

fn policy(policy: &PolicyReport, probed: bool) -> String {
    let short = |sha256: &str| sha256.chars().take(DIGITS).collect::<String>();
    let (stored, expected) = match &policy.stored {
        None => ("not read".to_owned(), None),
        Some(StoredPolicy { sha256: None, .. }) => ("built-in".to_owned(), Some("built-in")),
        Some(StoredPolicy {
            sha256: Some(sha256),
            enforcement,
        }) => {
            let enforcement =
                enforcement.map_or_else(|| "unusable".to_owned(), |word| format!("enforcement {word}"));
            (
                format!("sha256 {}, {enforcement}", short(sha256)),
                Some(sha256.as_str()),
            )
        }
    };
    match policy.in_force.as_slice() {
        [] if !probed => stored,
        [] => format!("{stored}; no server has reported its policy"),
        [one] if Some(one.as_str()) == expected => format!("{stored}; in force"),
        others => {
            let others: Vec<String> = others.iter().map(|one| short(one)).collect();
            format!("{stored}; a server uses {}", others.join(" and "))
        }
    }
}

fn reconciler(reconciler: &Reconciler) -> String {
    let renewed = reconciler.renewed.map(|renewed| renewed.as_secs());
    let renewed = renewed.map_or("never renewed".into(), |seconds| {
        format!("renewed {seconds} s ago")
    });
    match (&*reconciler.holder, reconciler.leads) {
        ("", _) => "no leader".into(),
        (holder, _) if reconciler.is_gone => {
            format!("no leader: {holder} led, {renewed}, and its Deployment is gone")
        }
        (holder, true) => format!("{holder} leads, {renewed}"),
        (holder, false) => format!("no leader by the local clock; {holder} led, {renewed}"),
    }
}
