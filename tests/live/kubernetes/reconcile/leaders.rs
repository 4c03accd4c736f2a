//! Several replicas, of which one writes.

use std::time::Instant;

use serde_json::json;

use crate::support::accounts::Account;
use crate::support::control_plane::ControlPlane;
use crate::support::fleet::Fleet;
use crate::support::reconciler::Reconciler;
use crate::support::wait::wait_for;

#[test]
fn one_leads_and_another_takes_over_when_it_goes_dies_or_stalls() {
    let plane = ControlPlane::start();
    let mut fleet = Fleet::in_cluster(&plane);
    fleet.pool("general", 2, &json!({}));
    fleet.busy("general", "node-a");
    let account = plane.kubeconfig_by(Account::Reconciler);
    let mut first = Reconciler::start(&account, &[]);
    wait_for("the first to lead", || first.leads().then_some(()));
    let second = Reconciler::start(&account, &[]);
    wait_for("the second to have asked for the Lease", || {
        let (_, reported) = second.probe("/readyz");
        (!reported.contains("leader: not yet known")).then_some(())
    });
    assert!(first.leads() && !second.leads());

    // A leader that is asked to stop hands over.
    let begun = Instant::now();
    assert!(first.terminate().success(), "{}", first.log());
    wait_for("the second to lead", || second.leads().then_some(()));
    println!("handed over after {:?}", begun.elapsed());
    fleet.busy("general", "node-b");
    fleet.wait_until_held("general", &["node-a", "node-b"]);

    // Who stalls does not lead when it goes on.
    let third = Reconciler::start(&account, &[]);
    let begun = Instant::now();
    second.signal("STOP");
    wait_for("the third to lead", || third.leads().then_some(()));
    println!("took over from a stalled one after {:?}", begun.elapsed());
    second.signal("CONT");
    wait_for("the second to see that the third leads", || {
        (second.metric("poolgate_leader") == Some(0.0) && third.leads()).then_some(())
    });
    fleet.limit("general", 9);
    fleet.wait_until_held("general", &[]);

    let begun = Instant::now();
    third.kill();
    wait_for("the second to lead again", || second.leads().then_some(()));
    println!("took over from a killed one after {:?}", begun.elapsed());
    fleet.limit("general", 2);
    fleet.wait_until_held("general", &["node-a", "node-b"]);
}
