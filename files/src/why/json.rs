//! The answers as JSON. Its shape is versioned: fields are added, never changed or removed.

use poolgate_core::api::API_VERSION;
use serde::Serialize;

use super::answer::Answer;
use super::{Place, words};

/// All answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    api_version: &'static str,
    kind: &'static str,
    pods: Vec<Pod>,
    /// What was not read, with its place and the reason.
    not_shown: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod {
    kind: String,
    namespace: Option<String>,
    name: String,
    #[serde(flatten)]
    at: Option<Place>,
    pools: Vec<Pool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    name: String,
    #[serde(flatten)]
    at: Option<Place>,
    verdict: &'static str,
    reasons: Vec<String>,
}

/// The answers, and what is missing among them.
pub fn report(answers: &[Answer<'_>], complaints: &[String]) -> PodReport {
    PodReport {
        api_version: API_VERSION,
        kind: "PodReport",
        pods: answers.iter().map(pod).collect(),
        not_shown: complaints.to_vec(),
    }
}

fn pod(answer: &Answer<'_>) -> Pod {
    let pools = answer.verdicts.iter().map(|(pool, verdict)| Pool {
        name: pool.name.clone(),
        at: pool.at.clone(),
        verdict: verdict.as_str(),
        reasons: words::reasons(verdict, answer.pod, pool),
    });
    Pod {
        kind: answer.pod.kind.clone(),
        namespace: answer.pod.namespace.clone(),
        name: answer.pod.name.clone(),
        at: answer.pod.at.clone(),
        pools: pools.collect(),
    }
}
