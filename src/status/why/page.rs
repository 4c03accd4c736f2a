//! The answers for people.

use jiff::Timestamp;
use poolgate_core::nodelimit::why::{Cause, Wanted};

use super::report::{Keeps, Why, Whys};
use crate::status::table::Page;

impl Whys {
    /// The answers as text, whose lines have this many columns.
    pub fn text(&self, width: usize) -> String {
        let mut page = Page::new(width);
        for (number, why) in self.nodes.iter().enumerate() {
            if number > 0 {
                page.line("");
            }
            why.write(&mut page, self.at);
        }
        if self.nodes.is_empty() {
            page.line("No node of this NodePool is drifted, expired, unhealthy, empty or being deleted.");
        }
        page.list(
            "Blocking consolidation of other nodes",
            self.others.iter().map(Keeps::line),
        );
        page.list("Not read", self.unread.iter().cloned());
        page.into_text()
    }
}

impl Why {
    fn write(&self, page: &mut Page, now: Timestamp) {
        let node = self.node.as_deref().unwrap_or("No node yet");
        page.line(&format!(
            "{node} (NodeClaim {}, NodePool {})",
            self.node_claim, self.node_pool
        ));
        let wanted: Vec<String> = self.wanted.iter().map(Wanted::line).collect();
        let expires = self
            .expires
            .map(|at| format!("; expires at {at:.0}"))
            .unwrap_or_default();
        page.item(&if wanted.is_empty() {
            format!("It is not drifted, unhealthy or empty, so Karpenter could only consolidate it{expires}")
        } else {
            format!("It is {}{expires}", wanted.join("; "))
        });
        page.list("  Events", self.events.iter().map(|said| said.line(now)));
        if self.causes.is_empty() {
            page.line("");
            page.item(
                "poolgate sees nothing that keeps the node. Karpenter checks every 10 seconds and disrupts one node \
                 after another. Its events and log say more",
            );
        }
        page.list("  Kept by", self.causes.iter().map(Cause::line));
    }
}
