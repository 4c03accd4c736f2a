//! Pods that wait for a full pool.

use std::sync::Arc;

use poolgate_core::pods::PodSpec;

use super::*;

#[test]
fn a_full_pool_says_how_many_pods_wait_for_it_and_what_gives_it_room() {
    let waits = |team: Option<&str>| {
        let selector = team.map(|team| json!({"team": team}));
        let spec: PodSpec = read(json!({"nodeSelector": selector}));
        Arc::new(spec.needs(&mut |name| name.into()))
    };
    let notes = |claims: usize, pods: &[Option<&str>]| {
        let claims = (0..claims).map(|index| claim(&format!("claim-{index}"), None));
        let facts = Facts {
            claims: Ok(claims.collect()),
            waiting: Ok(pods.iter().map(|team| waits(*team)).collect()),
            ..well()
        };
        let report = Report::of(&facts, None);
        let notes = report.pools.expect("pools").remove(0).notes;
        notes
            .into_iter()
            .filter(|note| note.contains("for a node"))
            .collect::<Vec<_>>()
    };
    let room = r#"To give it room: kubectl patch nodepool general --type=merge --patch='{"spec":{"limits":{"nodes":"6"}}}'"#;
    // The pool has no label team.
    let pods = [None, None, Some("red")];
    assert_eq!(notes(5, &pods), [format!("2 pods wait for a node. {room}")]);
    assert_eq!(notes(5, &pods[1..]), [format!("1 pod waits for a node. {room}")]);
    assert_eq!(notes(5, &pods[2..]), [""; 0]);
    assert_eq!(notes(4, &pods), [""; 0]);
}
