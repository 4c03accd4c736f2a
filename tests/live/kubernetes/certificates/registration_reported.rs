//! A server reports what is wrong with the registration of its webhooks: where failures are ignored, nothing else does.

use std::time::Duration;

use serde_json::json;

use super::{Installed, Kubelet, MUTATING, VALIDATING};

#[test]
fn a_server_reports_what_is_wrong_with_its_registration_and_stays_ready() {
    let installed = Installed::new();
    let mut keeper = installed.keeper(&[]);
    keeper.wait_until_ready();
    keeper.terminate();
    let account = installed.plane.kubeconfig_of("poolgate-system", "poolgate");
    let kubelet = Kubelet::start(&installed, Duration::ZERO);
    let server = kubelet.server(&account, &[]);
    let validating = installed.configuration((VALIDATING, "poolgate"));
    let policy = validating["webhooks"][0]["failurePolicy"]
        .as_str()
        .expect("a policy");
    let registered = format!("/mutate (Ignore), /validate ({policy}), /validate/delete (Ignore)");
    server.wait_until_reported(&format!("registration: {registered}\n"));
    let problems =
        |kind: &str| server.metric(&format!("poolgate_registration_problems{{problem=\"{kind}\"}}"));
    assert_eq!(problems("no_ca_bundle"), Some(0.0));

    let empty = [json!({"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"})];
    let patch = json!(empty).to_string();
    let args = [
        "patch",
        "validatingwebhookconfiguration",
        "poolgate",
        "--type=json",
        "-p",
        &patch,
    ];
    installed.plane.kubectl(&args, "").success();
    installed.client.delete(&format!("{MUTATING}/poolgate"));
    server.wait_until_reported("validate.nodepools.poolgate.dev: caBundle is empty");
    server.wait_until_reported("no webhook calls /mutate");
    assert_eq!(
        [problems("no_ca_bundle"), problems("not_registered")],
        [Some(1.0); 2]
    );
    let registered = format!(
        "poolgate_webhook_registered{{webhook=\"validate.nodepools.poolgate.dev\",path=\"/validate\",failure_policy=\"{policy}\"}}"
    );
    assert_eq!(server.metric(&registered), Some(1.0));
    assert_eq!(server.probe("/readyz").0, 200);
    let reported = server.logged("the webhook registration is wrong", 1);
    assert_eq!(reported.len(), 2, "once each: {reported:?}");
}
