//! A gate of a test's own on the shared API server, and what tests ask of it.

use kube::Error;
use serde_json::{Value, json};

use super::super::shared::published;
use super::objects::{CLAIMS, POOLS, of_pool};
use crate::support::accounts::Account;
use crate::support::client::Client;
use crate::support::control_plane::ControlPlane;
use crate::support::poolgate::Poolgate;

/// A gate of a test's own in front of the NodeClaims whose names begin with a word of its own.
pub struct Gated {
    pub plane: &'static ControlPlane,
    pub client: Client,
    pub poolgate: Poolgate,
}

impl Gated {
    pub fn start(prefix: &str, args: &[&str]) -> Self {
        let plane = &published().plane;
        let poolgate = Poolgate::gate_watching(&plane.kubeconfig_by(Account::Gate), args);
        plane.register_gate_for(prefix, &poolgate.base_url(), &poolgate.ca(), "Fail");
        let client = Client::of(plane);
        Self {
            plane,
            client,
            poolgate,
        }
    }

    pub fn apply(&self, pool: &Value) {
        let name = pool["metadata"]["name"].as_str().expect("a name");
        self.client.apply(&format!("{POOLS}/{name}"), &pool.to_string());
    }

    /// Creates a claim, which must be admitted.
    #[track_caller]
    pub fn create(&self, claim: &Value) {
        self.client.create(CLAIMS, claim);
    }

    /// Creates a claim, and returns why it was denied, if it was.
    pub fn try_create(&self, claim: &Value) -> Result<(), String> {
        message_of(self.client.try_create(CLAIMS, claim))
    }

    pub fn dry_run(&self, claim: &Value) -> Result<(), String> {
        let path = format!("{CLAIMS}?dryRun=All");
        message_of(self.client.try_create(&path, claim))
    }

    pub fn merge(&self, name: &str, change: &Value) -> Result<(), String> {
        message_of(self.client.try_merge(&format!("{CLAIMS}/{name}"), change))
    }

    pub fn delete(&self, name: &str) {
        self.client.delete(&format!("{CLAIMS}/{name}"));
    }

    pub fn claims(&self, pool: &str) -> usize {
        let path = format!("{CLAIMS}?labelSelector={}", of_pool(pool));
        self.client.list(&path).len()
    }

    pub fn ledger_path(&self, pool: &str) -> String {
        let name = self.client.ledger_name(pool);
        format!("/api/v1/namespaces/poolgate-ledgers/configmaps/{name}")
    }

    /// The ConfigMap with the ledger of a pool.
    pub fn stored(&self, pool: &str) -> Value {
        let stored = self.client.get(&self.ledger_path(pool));
        stored.expect("a ledger")
    }

    pub fn ledger(&self, pool: &str) -> Value {
        let object = self.stored(pool);
        let text = object["data"]["ledger.json"].as_str().expect("a ledger");
        serde_json::from_str(text).expect("JSON")
    }

    /// Writes this over the ledger of a pool, by the gate's account, or deletes it.
    pub fn replace_ledger(&self, pool: &str, text: Option<&str>) {
        let Some(text) = text else {
            return self.client.delete(&self.ledger_path(pool));
        };
        let mut object = self.stored(pool);
        object["metadata"] =
            json!({"name": object["metadata"]["name"], "labels": object["metadata"]["labels"]});
        object["data"]["ledger.json"] = json!(text);
        let account = Client::by(&self.plane.kubeconfig_by(Account::Gate));
        account.replace(&self.ledger_path(pool), &object);
    }

    #[track_caller]
    pub fn assert_metric(&self, line: &str) {
        let (_, text) = self.poolgate.probe("/metrics");
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }
}

fn message_of(answer: Result<Value, Error>) -> Result<(), String> {
    match answer {
        Ok(_) => Ok(()),
        Err(Error::Api(status)) => Err(status.message),
        Err(error) => panic!("no answer: {error}"),
    }
}
