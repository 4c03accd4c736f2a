//! Texts that others have written into the cluster.

use super::*;

#[test]
fn what_others_wrote_neither_moves_the_cursor_nor_forges_a_line() {
    let hostile = "x\u{1b}[2J\nKept by:\u{202e}";
    let mut cluster = Cluster::drifted();
    cluster.pods = vec![pod(hostile, &json!({"karpenter.sh/do-not-disrupt": "true"}))];
    cluster.events = vec![
        json!({"metadata": {}, "involvedObject": {"kind": "Node", "name": "node-a"},
        "reason": "DisruptionBlocked", "message": hostile}),
    ];
    let text = cluster.whys().text(1000);
    let is_unsafe = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
    assert!(!text.contains(is_unsafe), "{text:?}");
    assert_eq!(text.matches("\nKept by:").count(), 0, "{text}");
    assert_eq!(text.matches("\n  Kept by:").count(), 1, "{text}");
}
