//! Another writer of `caBundle`, such as one that was left behind by a change from cert-manager to poolgate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Installed, VALIDATING, decoded};
use crate::support::authority::Authority;
use crate::support::client::Client;
use crate::support::wait::wait_for;

struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes this into the first webhook's `caBundle`, unless it is there.
fn inject(client: &Client, bundle: &str) {
    let path = format!("{VALIDATING}/poolgate");
    let stored = client.get(&path).expect("a configuration");
    let webhook = &stored["webhooks"][0];
    if decoded(&webhook["clientConfig"]["caBundle"]) != bundle {
        let injected =
            json!({"name": webhook["name"], "clientConfig": {"caBundle": STANDARD.encode(bundle)}});
        let by = format!("{path}?fieldManager=cert-manager-cainjector");
        client.merge_lists(&by, &json!({"webhooks": [injected]}));
    }
}

#[test]
fn a_second_writer_of_ca_bundle_is_named_and_outlasted() {
    let installed = Installed::new();
    let foreign = Authority::named("another").pem();
    let keeper = installed.keeper(&[]);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let client = Client::of(&installed.plane);
            while !over.load(Ordering::Relaxed) {
                inject(&client, &foreign);
            }
        });
        // Ends the other writer even if this fails.
        let _ended = Ended(&over);
        keeper.logged("could not renew the certificates, the stored ones stay in use", 1);
    });
    let logged = keeper.logged("could not renew the certificates, the stored ones stay in use", 1);
    let error = logged.first().map(|line| line["fields"]["error"].to_string());
    let named = "cert-manager-cainjector overwrites poolgate's changes";
    assert!(error.is_some_and(|error| error.contains(named)), "{logged:?}");
    assert_eq!(logged.len(), 1, "once");
    installed.wait_until_settled();
    wait_for("the contest to be over", || {
        (keeper.metric("poolgate_certificates_failing") == Some(0.0)).then_some(())
    });
}
