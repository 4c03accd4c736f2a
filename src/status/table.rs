//! A report for people.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::pools::PoolReport;
use super::reconciler::Reconciler;
use super::report::{Answers, PolicyReport, Report, WebhookReport};
use crate::files;

/// How many digits of a checksum are shown.
const DIGITS: usize = 12;

/// The report as text.
pub(super) fn of(report: &Report) -> String {
    let mut text = format!("poolgate in {}, {:.0}\n\n", report.namespace, report.now);
    if report.webhooks.is_empty() {
        text += "No webhook of poolgate is registered.\n";
    } else {
        text += &files::columns("", &webhooks(&report.webhooks));
    }
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\nPolicy      {}\nReconciler  {}\n\n",
        policy(&report.policy),
        report.reconciler.as_ref().map_or("none".into(), reconciler),
    );
    if report.pools.is_empty() {
        text += "No NodePools.\n";
    } else {
        text += &files::columns("", &pools(&report.pools));
    }
    let notes = report.pools.iter().flat_map(|pool| {
        said(pool)
            .into_iter()
            .map(|note| format!("{}: {note}", pool.name))
    });
    list(&mut text, "What waits", notes);
    list(&mut text, "Wrong", report.problems.iter().cloned());
    list(&mut text, "Not read", report.unread.iter().cloned());
    text
}

fn webhooks(webhooks: &[WebhookReport]) -> Vec<Vec<String>> {
    let date = |at: Option<Timestamp>| at.map_or("-".into(), |at| at.strftime("%Y-%m-%d").to_string());
    let head = [
        "WEBHOOK",
        "PATH",
        "FAILURE POLICY",
        "ANSWERS",
        "CA UNTIL",
        "CERTIFICATE UNTIL",
    ];
    let rows = webhooks.iter().map(|webhook| {
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
    });
    with_head(&head, rows)
}

fn pools(pools: &[PoolReport]) -> Vec<Vec<String>> {
    let head = [
        "NODEPOOL",
        "LIMIT",
        "MODE",
        "NODECLAIMS",
        "FREE",
        "HELD",
        "OVER LIMIT",
        "NEXT CLAIM",
    ];
    let none = || "-".to_owned();
    let rows = pools.iter().map(|pool| {
        let limit = pool.limit.as_ref();
        vec![
            pool.name.clone(),
            limit.map_or_else(none, |limit| limit.nodes.to_string()),
            limit.map_or_else(none, |limit| limit.mode.into()),
            pool.node_claims.to_string(),
            limit.map_or_else(none, |limit| limit.free.to_string()),
            pool.held_nodes.to_string(),
            limit.map_or_else(none, |limit| limit.over_limit.into()),
            pool.next.clone().unwrap_or_else(none),
        ]
    });
    with_head(&head, rows)
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
    let stored = match &policy.stored {
        Some(sha256) => format!("sha256 {}, enforcement {}", short(sha256), policy.enforcement),
        None => "built-in".into(),
    };
    let expected = policy.stored.as_deref().unwrap_or("built-in");
    match policy.in_force.as_slice() {
        [] => format!("{stored}; no server has said which one it uses"),
        [one] if one == expected => format!("{stored}; in force"),
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

fn with_head(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let head = head.iter().map(|&title| title.to_owned()).collect();
    std::iter::once(head).chain(rows).collect()
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    for (number, line) in lines.enumerate() {
        if number == 0 {
            let _ = write!(text, "\n{title}:\n");
        }
        let _ = writeln!(text, "  {line}");
    }
}
