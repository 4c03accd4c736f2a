//! A report for people.

use jiff::Timestamp;

use super::pools::PoolReport;
use super::reconciler::Reconciler;
use super::report::{Answers, PolicyReport, Report, StoredPolicy, WebhookReport};
use poolgate_lint::files;

/// How many digits of a checksum are shown.
const DIGITS: usize = 12;

const WEBHOOKS: [&str; 6] = [
    "WEBHOOK",
    "PATH",
    "FAILURE POLICY",
    "ANSWERS",
    "CA UNTIL",
    "CERTIFICATE UNTIL",
];

const POOLS: [&str; 8] = [
    "NODEPOOL",
    "LIMIT",
    "MODE",
    "NODECLAIMS",
    "FREE",
    "HELD",
    "OVER LIMIT",
    "NEXT CLAIM",
];

/// The report as text.
pub fn render(report: &Report) -> String {
    let mut page = Page::default();
    page.line(&format!("poolgate in {}, {:.0}", report.namespace, report.now));
    page.line("");
    match report.webhooks.as_deref() {
        None => page.line("Webhooks were not read."),
        Some([]) => page.line("No webhook of poolgate is registered."),
        Some(webhooks) => page.table(&WEBHOOKS, webhooks.iter().map(webhook)),
    }
    let reconciler = match &report.reconciler {
        Err(_) => "not read".into(),
        Ok(None) => "none".into(),
        Ok(Some(found)) => reconciler(found),
    };
    page.line("");
    page.line(&format!("Policy      {}", policy(&report.policy)));
    page.line(&format!("Reconciler  {reconciler}"));
    page.line("");
    match report.pools.as_deref() {
        None => page.line("NodePools were not read."),
        Some([]) => page.line("No NodePools."),
        Some(pools) => page.table(&POOLS, pools.iter().map(pool)),
    }
    let notes = report.pools.iter().flatten().flat_map(|pool| {
        said(pool)
            .into_iter()
            .map(|note| format!("{}: {note}", pool.name))
    });
    page.list("What waits", notes);
    page.list("Wrong", report.problems.iter().cloned());
    page.list("Not read", report.unread.iter().cloned());
    page.0
}

/// The text. Anybody may have written the names and messages in it: nothing in a line or cell may move the cursor or
/// forge a line.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        self.0 += &files::clean(line);
        self.0 += "\n";
    }

    fn table(&mut self, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
        let rows = rows.map(|row| row.iter().map(|cell| files::clean(cell)).collect());
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        self.0 += &files::columns("", &rows);
    }

    fn list(&mut self, title: &str, lines: impl Iterator<Item = String>) {
        for (number, line) in lines.enumerate() {
            if number == 0 {
                self.line("");
                self.line(&format!("{title}:"));
            }
            self.line(&format!("  {line}"));
        }
    }
}

fn webhook(webhook: &WebhookReport) -> Vec<String> {
    let date = |at: Option<Timestamp>| shown(at.map(|at| at.strftime("%Y-%m-%d")));
    let answers = match &webhook.answers {
        Answers::Yes => "yes".into(),
        Answers::No(_) => "no".into(),
        Answers::Unknown(why) => format!("? ({why})"),
    };
    vec![
        webhook.name.clone(),
        webhook.path.clone(),
        webhook.failure_policy.clone(),
        answers,
        date(webhook.authority_ends),
        date(webhook.certificate_ends()),
    ]
}

fn pool(pool: &PoolReport) -> Vec<String> {
    let limit = pool.limit.as_ref();
    vec![
        pool.name.clone(),
        shown(limit.map(|limit| limit.nodes)),
        shown(limit.and_then(|limit| limit.mode)),
        shown(pool.node_claims),
        shown(limit.and_then(|limit| limit.free)),
        shown(pool.held_nodes),
        shown(limit.and_then(|limit| limit.over_limit)),
        shown(pool.next.as_deref()),
    ]
}

/// A cell: a dash for what is not there or not known.
fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The lines below the table.
fn said(pool: &PoolReport) -> Vec<String> {
    let denied = pool.denied.as_ref().map(|denied| {
        let at = denied.at.map(|at| format!(" at {at:.0}")).unwrap_or_default();
        format!("denied so far: {}, last {}{at}", denied.total, denied.last_claim)
    });
    denied.into_iter().chain(pool.notes.iter().cloned()).collect()
}

fn policy(policy: &PolicyReport) -> String {
    let short = |sha256: &str| sha256.chars().take(DIGITS).collect::<String>();
    let (stored, expected) = match &policy.stored {
        None => ("not read".to_owned(), None),
        Some(StoredPolicy { sha256: None, .. }) => ("built-in".to_owned(), Some("built-in")),
        Some(StoredPolicy {
            sha256: Some(sha256),
            enforcement,
        }) => {
            let enforcement = enforcement.map_or_else(
                || "cannot be used".to_owned(),
                |word| format!("enforcement {word}"),
            );
            (
                format!("sha256 {}, {enforcement}", short(sha256)),
                Some(sha256.as_str()),
            )
        }
    };
    match policy.in_force.as_slice() {
        [] => format!("{stored}; no server has said which one it uses"),
        [one] if Some(one.as_str()) == expected => format!("{stored}; in force"),
        others => {
            let others: Vec<String> = others.iter().map(|one| short(one)).collect();
            format!("{stored}; in force is {}", others.join(" and "))
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
        (holder, true) => format!("{holder} leads, {renewed}"),
        (holder, false) => format!("no leader; {holder} led, {renewed}"),
    }
}
